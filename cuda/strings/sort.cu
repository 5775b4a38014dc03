/*
 * sort.cu
 *		Sorting byte strings: segment-id radix sort.
 *
 * Deshpande and Narayanan, "Can GPUs Sort Strings Efficiently?" (HiPC 2013), algorithm 1.  Rounds
 * (segments/rounds.h) sort a few bytes of every string that has not found its place, together with the number
 * of its segment; a segment are the strings that agree in all bytes so far.  Both optimisations of their
 * section III are here: singletons leave (III.A), and segment numbers take as few bits as they need, so that
 * keys hold as many bytes of the string as they can (III.B).
 *
 * Different from the paper: strings have offsets and may hold any byte; equal strings leave together as soon
 * as they have ended; segment numbers are fitted by the bit, not by the byte.  And there are fewer rounds:
 *	- characters take as few bits as their frequency allows (codes.h);
 *	- each segment has a depth of its own, and goes on behind what its strings have in common, however many
 *	  bytes these are (load.h);
 *	- segments of few strings are sorted at once (finish.h).
 */
#include <utility>

#include "primitives/row_numbers.h"
#include "strings/finish.h"
#include "strings/load.h"
#include "strings/survey.h"

/* How many bytes the first round skips at most; every further one twice as many, up to the last. */
#define SKIP_FIRST_LIMIT 256
#define SKIP_LAST_LIMIT (UINT32_C(1) << 20)

/*
 * After the first round, only if the last one made the segments no more than 1/SKIP_GROWTH more: where
 * strings differ anyway, to compare them costs more than the next round (10 million paths on an H100,
 * 2026-11-21: 12.9 ms with every skip, 9.3 with these).
 */
#define SKIP_GROWTH 4

static DevSortStatus
check_shape(const DevSortStringsJob *job)
{
	if (job == NULL)
		return status_make(DEVSORT_INVALID, "no job is given");
	RETURN_IF_FAILED(check_algorithm(job->algorithm));
	if (job->n > DEVSORT_MAX_ROWS)
		return status_make(DEVSORT_INVALID, "%llu strings are too many; at most %llu can be sorted",
						   (unsigned long long) job->n, (unsigned long long) DEVSORT_MAX_ROWS);
	return status_ok();
}

/* bytes may be NULL: all strings may be empty. */
static DevSortStatus
check_pointers(const DevSortStringsJob *job)
{
	if (job->offsets == NULL || (uintptr_t) job->offsets % 16 != 0)
		return status_make(DEVSORT_INVALID, "offsets is %p; an address aligned to 16 bytes is needed",
						   (const void *) job->offsets);
	if (job->sorted_indexes == NULL || (uintptr_t) job->sorted_indexes % 16 != 0)
		return status_make(DEVSORT_INVALID, "sorted_indexes is %p; an address aligned to 16 bytes is needed",
						   (void *) job->sorted_indexes);
	return status_ok();
}

/* The arrays of a sort. */
struct StringPieces
{
	SegmentRounds rounds;
	StringSurvey *survey;
	StringCodes *codes; /* of the first round, if the survey's sample tells all */
	uint32_t *finished; /* a bit a row that is left: it belongs to a segment that was finished at once */
};

/* The workspace: these arrays, and after them what the rounds' sorts need. */
static void
take_pieces(Workspace *workspace, const DevSortStringsJob *job, StringPieces *pieces)
{
	SegmentRounds *rounds = &pieces->rounds;

	pieces->survey = workspace_take<StringSurvey>(workspace, 1);
	pieces->codes = workspace_take<StringCodes>(workspace, 1);
	rounds->depths = workspace_take<uint32_t>(workspace, job->n / 2 + 1);
	rounds->next_depths = workspace_take<uint32_t>(workspace, job->n / 2 + 1);
	pieces->finished = workspace_take<uint32_t>(workspace, segment_rounds_words(job->n));
	rounds->keys = workspace_take<uint64_t>(workspace, job->n);
	rounds->sorted_keys = workspace_take<uint64_t>(workspace, job->n);
	rounds->rows = workspace_take<uint32_t>(workspace, job->n);
	segment_rounds_take(workspace, job->n, rounds);
}

static void
measure(Workspace *workspace, const DevSortStringsJob *job)
{
	StringPieces unused;

	take_pieces(workspace, job, &unused);
	pair_sort_measure<uint64_t>(workspace, job->algorithm, job->n, true, 0);
}

DevSortStatus
devsort_strings_memory(const DevSortStringsJob *job, size_t *workspace_size)
{
	Workspace measured = workspace_measure();

	RETURN_IF_FAILED(check_shape(job));
	if (workspace_size == NULL)
		return status_make(DEVSORT_INVALID, "workspace_bytes is NULL");
	measure(&measured, job);
	*workspace_size = workspace_bytes(&measured);
	return status_ok();
}

/* What the strings of each segment have in common need not be sorted by.  Not in the first round. */
static DevSortStatus
skip_common(StringPieces *pieces, const StringText *text, uint32_t limit, cudaStream_t stream)
{
	SegmentRounds *rounds = &pieces->rounds;
	RoundRows input = segment_rounds_input(rounds);

	RETURN_IF_FAILED(string_skip_common(&input, text, rounds->segments, rounds->depths, rounds->next_depths,
										limit, stream));
	std::swap(rounds->depths, rounds->next_depths);
	return status_ok();
}

/* How the strings are read. */
struct StringReading
{
	StringText text;
	const StringFacts *facts;
	bool first_loaded;		 /* the first round is, by codes that the survey made */
	StringCodes first_codes; /* of the first round, if it is not loaded */
	StringCodes codes;		 /* for all values: of everything else */
};

/* One round: load, sort, settle, finish what is small; and how far the next one may skip. */
static DevSortStatus
sort_round(const DevSortStringsJob *job, StringPieces *pieces, StringReading *reading, uint32_t skip_limit,
		   const Workspace *workspace, cudaStream_t stream)
{
	const StringText *text = &reading->text;
	SegmentRounds *rounds = &pieces->rounds;
	RoundRows input = segment_rounds_input(rounds);
	bool is_first = rounds->round == 0;
	const StringCodes *codes = is_first ? &reading->first_codes : &reading->codes;
	SettleRule rule = {codes->lengths ? UINT64_C(0) : STRING_TAKEN_MASK, 1};
	uint64_t segments_before = rounds->segments;

	rounds->taken_mask = STRING_TAKEN_MASK;
	rounds->piece_bits = 64 - segment_rounds_bits(rounds);
	stage_begin(job->stages, "load", stream);
	if (!is_first || !reading->first_loaded)
		RETURN_IF_FAILED(string_load_coded(&input, text, codes, rounds->depths, reading->facts->prefix,
										   rounds->piece_bits, stream));

	stage_begin(job->stages, "sort", stream);
	RETURN_IF_FAILED(segment_rounds_sort(rounds, NULL, workspace, stream));
	/* While the device sorts. */
	if (is_first)
		reading->codes = string_codes_make(reading->facts->counts, reading->facts->ends, true);

	stage_begin(job->stages, "segments", stream);
	RETURN_IF_FAILED(segment_rounds_settle(rounds, rule, workspace, stream));
	if (rounds->count > 0)
		RETURN_IF_FAILED(string_finish(rounds, text, &reading->codes, pieces->finished, stream));
	if (rounds->count == 0 ||
		(!is_first && rounds->segments > segments_before + segments_before / SKIP_GROWTH))
		return status_ok();
	stage_begin(job->stages, "load", stream);
	return skip_common(pieces, text, skip_limit, stream);
}

/*
 * The survey, and rounds until all strings have found their places.  The first one is loaded before the host
 * knows what the survey's sample says, if that tells all.
 */
static DevSortStatus
sort_coded(const DevSortStringsJob *job, StringPieces *pieces, const StringText *text,
		   const Workspace *workspace, cudaStream_t stream)
{
	RoundRows input;
	ReadBack survey_read;
	StringFacts facts;
	StringReading reading = {};
	uint32_t skip_limit = SKIP_FIRST_LIMIT;

	stage_begin(job->stages, "load", stream);
	segment_rounds_begin(&pieces->rounds, job->n);
	input = segment_rounds_input(&pieces->rounds);
	RETURN_IF_FAILED(string_survey_begin(text, job->n, pieces->survey, pieces->codes, &survey_read, stream));
	RETURN_IF_FAILED(
		string_load_surveyed(&input, text, pieces->survey, pieces->codes, pieces->rounds.depths, stream));
	RETURN_IF_FAILED(
		string_survey_end(text, job->n, pieces->survey, &survey_read, &facts, &reading.first_loaded, stream));
	if (facts.all_equal)
		return row_numbers_fill(job->sorted_indexes, job->n, stream);

	if (facts.longest > STRING_LONGEST)
		return status_make(DEVSORT_INVALID, "a string has %s%u bytes; at most %u can be sorted",
						   facts.longest == UINT32_MAX ? "at least " : "", facts.longest, STRING_LONGEST);
	reading.text = *text;
	reading.facts = &facts;
	if (!reading.first_loaded)
	{
		reading.first_codes = string_codes_make(facts.counts, facts.ends, false);
		reading.first_codes.lengths = facts.one_character;
	}
	while (pieces->rounds.count > 0)
	{
		RETURN_IF_FAILED(sort_round(job, pieces, &reading, skip_limit, workspace, stream));
		if (skip_limit < SKIP_LAST_LIMIT)
			skip_limit *= 2;
	}
	return status_ok();
}

DevSortStatus
devsort_strings(const DevSortStringsJob *job, void *workspace_memory, size_t workspace_size,
				DevSortStream stream)
{
	Workspace measured = workspace_measure();
	Workspace workspace;
	StringPieces pieces = {};
	StringText text;

	RETURN_IF_FAILED(check_shape(job));
	if (job->rounds)
		*job->rounds = 0;
	if (job->n == 0)
		return status_ok();
	RETURN_IF_FAILED(check_pointers(job));
	measure(&measured, job);
	RETURN_IF_FAILED(workspace_check(workspace_memory, workspace_size, &measured, &workspace));

	take_pieces(&workspace, job, &pieces);
	pieces.rounds.order = job->sorted_indexes;
	pieces.rounds.algorithm = job->algorithm;
	pieces.rounds.seed = job->seed;
	text = {job->bytes, job->offsets};
	RETURN_IF_FAILED(sort_coded(job, &pieces, &text, &workspace, stream));
	stage_begin(job->stages, NULL, stream);
	if (job->rounds)
		*job->rounds = pieces.rounds.round;
	return status_ok();
}
