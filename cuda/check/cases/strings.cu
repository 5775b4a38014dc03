/*
 * strings.cu
 *		One sort of strings, from making them to the proof that the result is right.
 */
#include "check/cases/strings.h"
#include "strings/finish.h"

#define LONG_STRING 100000
#define LONG_TWIN 20000
#define TWINS 5
#define RARE_BYTE 20000
#define LATE_BYTE 40
#define GROUP_PREFIX 50

/* Of which random number each choice about string i is made. */
enum
{
	CHOICE_LENGTH = 1,
	CHOICE_SOURCE,
	CHOICE_BYTES = 16
};

static const char *const kind_names[NSTRINGS_KINDS] = {
	"binary letters",  "all bytes",		   "zeros and ones",
	"many equal",	   "shared prefixes",  "prefixes of one another",
	"one long string", "all empty",		   "all equal",
	"zero bytes",	   "long twins",	   "rare bytes",
	"late bytes",	   "groups of limits",
};

const char *
strings_kind_name(int kind)
{
	return kind_names[kind];
}

/* The first and some later strings of a case may be long twins. */
static bool
is_twin(const StringsCase *strings, uint64_t i)
{
	return strings->kind == STRINGS_LONG_TWINS && i % (strings->n / TWINS + 1) == 0;
}

/* Byte `at` of the source-th random string. */
static uint8_t
make_byte(const StringsCase *strings, uint64_t source, uint64_t at)
{
	static const uint8_t rare[] = {0, 'a', 'c', 'e', 255};
	uint64_t random = distribution_random(strings->seed, source, CHOICE_BYTES + at / 8) >> (at % 8 * 8);

	switch (strings->kind)
	{
		case STRINGS_RARE_BYTES:
			random = distribution_random(strings->seed, source, CHOICE_BYTES + at);
			return random % RARE_BYTE == 0 ? rare[(random >> 32) % sizeof(rare)]
										   : (uint8_t) ('b' + (random >> 40 & 2));
		case STRINGS_LATE_BYTES:
			return (uint8_t) ('a' + (at < LATE_BYTE ? 0 : random & 3));
		case STRINGS_BINARY_LETTERS:
		case STRINGS_PREFIXES:
		case STRINGS_ONE_LONG:
			return (uint8_t) ('a' + (random & 1));
		case STRINGS_ZEROS_AND_ONES:
			return (uint8_t) (random & 1);
		case STRINGS_ZERO_BYTES:
			return 0;
		default:
			return (uint8_t) random;
	}
}

static uint64_t
make_length(const StringsCase *strings, uint64_t i, uint64_t source)
{
	uint64_t limit = (uint64_t) strings->longest + 1;

	if (is_twin(strings, i))
		return LONG_TWIN + (uint64_t) (i > strings->n / 2);
	switch (strings->kind)
	{
		case STRINGS_ALL_EMPTY:
			return 0;
		case STRINGS_ALL_EQUAL:
			return strings->longest;
		case STRINGS_ONE_LONG:
			if (i == strings->n / 2)
				return LONG_STRING;
			return distribution_random(strings->seed, i, CHOICE_LENGTH) % limit;
		case STRINGS_GROUPS:
			return GROUP_PREFIX + distribution_random(strings->seed, i, CHOICE_LENGTH) % 4;
		case STRINGS_MANY_EQUAL:
			return distribution_random(strings->seed, source, CHOICE_LENGTH) % limit;
		default:
			return distribution_random(strings->seed, i, CHOICE_LENGTH) % limit;
	}
}

/* The group of string i, where groups have the limits' sizes in turn. */
static uint64_t
group_of(uint64_t i)
{
	static const int sizes[] = {1,
								2,
								31,
								FINISH_TINY,
								33,
								FINISH_LARGEST - 1,
								FINISH_LARGEST,
								FINISH_LARGEST + 1,
								FINISH_LARGEST_OF_FEW - 1,
								FINISH_LARGEST_OF_FEW,
								FINISH_LARGEST_OF_FEW + 1,
								FINISH_THREADS + 1};
	const uint64_t nsizes = sizeof(sizes) / sizeof(*sizes);
	uint64_t all = 0;
	uint64_t group = 0;

	for (int size : sizes)
		all += size;
	group = i / all * nsizes;
	i %= all;
	for (int size : sizes)
	{
		if (i < (uint64_t) size)
			break;
		i -= size;
		group++;
	}
	return group;
}

/* Which random string the bytes are of. */
static uint64_t
make_source(const StringsCase *strings, uint64_t i)
{
	if (is_twin(strings, i))
		return 0;
	switch (strings->kind)
	{
		case STRINGS_MANY_EQUAL:
		case STRINGS_SHARED_PREFIX:
			return distribution_random(strings->seed, i, CHOICE_SOURCE) % 50;
		case STRINGS_GROUPS:
			return group_of(i);
		case STRINGS_PREFIXES:
		case STRINGS_ALL_EQUAL:
			return 0;
		default:
			return i;
	}
}

/* The strings' bytes begin some bytes into the buffer if the seed is odd: offsets[0] need not be 0. */
static void
make_strings(StringsRunner *runner)
{
	const StringsCase *strings = &runner->strings;

	runner->bytes.assign(strings->seed % 2 * 5, 0xEE);
	runner->offsets.clear();
	runner->offsets.push_back(runner->bytes.size());
	for (uint64_t i = 0; i < strings->n; i++)
	{
		uint64_t source = make_source(strings, i);
		uint64_t length = make_length(strings, i, source);

		for (uint64_t at = 0; at < length; at++)
		{
			bool own = (strings->kind == STRINGS_SHARED_PREFIX && at + 3 >= length) ||
					   (strings->kind == STRINGS_GROUPS && at >= GROUP_PREFIX);

			runner->bytes.push_back(make_byte(strings, own ? strings->n + i : source, at));
		}
		runner->offsets.push_back(runner->bytes.size());
	}
}

static bool
open_buffers(StringsRunner *runner, Why *why)
{
	DevSortStringsJob *job = &runner->job;
	size_t misalignment = runner->strings.misalignment;
	size_t readable = (misalignment + runner->bytes.size() + 7) / 8 * 8;
	void *any = (void *) 4096;

	job->bytes = (const uint8_t *) any;
	job->offsets = (const uint64_t *) any;
	job->sorted_indexes = (uint32_t *) any;
	if (!why_status(why, devsort_strings_memory(job, &runner->workspace_bytes), "devsort_strings_memory"))
		return false;
	guarded_reset(&runner->guarded, runner->strings.seed);
	guarded_add(&runner->guarded, readable);
	guarded_add(&runner->guarded, runner->offsets.size() * sizeof(uint64_t));
	guarded_add(&runner->guarded, runner->strings.n * sizeof(uint32_t));
	guarded_add(&runner->guarded, runner->workspace_bytes);
	if (!guarded_open(&runner->guarded, why))
		return false;
	job->bytes = (const uint8_t *) guarded_piece(&runner->guarded, 0) + misalignment;
	job->offsets = (const uint64_t *) guarded_piece(&runner->guarded, 1);
	job->sorted_indexes = (uint32_t *) guarded_piece(&runner->guarded, 2);
	runner->workspace = guarded_piece(&runner->guarded, 3);
	return true;
}

bool
strings_prepare(StringsRunner *runner, const StringsCase *strings, Why *why)
{
	DevSortStringsJob job = {};

	job.algorithm = strings->algorithm;
	job.n = strings->n;
	job.seed = strings->seed;
	job.rounds = &runner->rounds;
	runner->strings = *strings;
	runner->job = job;
	runner->rounds = -1;
	make_strings(runner);
	if (!open_buffers(runner, why))
		return false;
	/* The pattern is written by the stream, the copies do not wait for it by themselves. */
	return why_cuda(why, cudaStreamSynchronize(runner->guarded.stream), "filling with garbage") &&
		   why_cuda(why,
					cudaMemcpy((void *) runner->job.bytes, runner->bytes.data(), runner->bytes.size(),
							   cudaMemcpyHostToDevice),
					"copying the strings") &&
		   why_cuda(why,
					cudaMemcpy((void *) runner->job.offsets, runner->offsets.data(),
							   runner->offsets.size() * sizeof(uint64_t), cudaMemcpyHostToDevice),
					"copying the offsets");
}

DevSortStatus
strings_sort(StringsRunner *runner)
{
	return devsort_strings(&runner->job, runner->workspace, runner->workspace_bytes, runner->guarded.stream);
}

bool
strings_prove(StringsRunner *runner, Why *why)
{
	uint64_t n = runner->strings.n;
	StringsResult result;

	runner->sorted_indexes.resize(n);
	if (!guarded_intact(&runner->guarded, why))
		return false;
	if (n > 0 && !why_cuda(why,
						   cudaMemcpy(runner->sorted_indexes.data(), runner->job.sorted_indexes,
									  n * sizeof(uint32_t), cudaMemcpyDeviceToHost),
						   "copying the sorted indexes"))
		return false;
	if (runner->rounds < 0)
		return why_say(why, "the number of rounds was not told");
	result.n = n;
	result.bytes = runner->bytes.data();
	result.offsets = runner->offsets.data();
	result.sorted_indexes = runner->sorted_indexes.data();
	return oracle_check_strings(&result, why);
}

bool
strings_run(StringsRunner *runner, const StringsCase *strings, Why *why)
{
	return strings_prepare(runner, strings, why) &&
		   why_status(why, strings_sort(runner), "devsort_strings") && strings_prove(runner, why);
}

void
strings_check(Check *check, StringsRunner *runner, const StringsCase *strings)
{
	Why why = {};
	bool passed = strings_run(runner, strings, &why);

	check_case(check, passed, &why, "%s, %s, n %llu, longest %d, misaligned by %d, rounds %d, seed %llu",
			   algorithm_name(strings->algorithm), kind_names[strings->kind], (unsigned long long) strings->n,
			   strings->longest, strings->misalignment, runner->rounds, (unsigned long long) strings->seed);
}
