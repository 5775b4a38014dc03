/*
 * files/merge.c
 *		Merging sorted runs by a loser tree.
 *
 * The tree's leaves are the runs; every inner node remembers the run that lost there, so that replacing the
 * winner's record costs one comparison a level.  The nodes hold the first 8 bytes of the keys, which decide
 * most comparisons without a branch to be mispredicted and without a look at the runs.
 *
 * A run that wins twice may go on winning, as all do where the rows were in order before they were sorted.
 * What its keys must begin below for that is then known, and costs one comparison a record.
 */
#include "postgres.h"

#include "files/merge.h"

typedef struct Contender
{
	uint64 word; /* of the run's current record */
	uint64 run;
} Contender;

struct Merger
{
	int nruns;
	bool positioned;  /* do the readers stand on their first records? */
	bool started;	  /* then: is the winner known? */
	Contender winner; /* the least record */
	/* the winner's run wins again with a key that begins below it; it only grows; 0: the words say nothing */
	uint64 bound;
	Contender *losers; /* losers[i], 1 <= i < nruns: who lost at inner node i */
	RunReader *readers;
	SortKeyComparer *exact;	   /* of keys that only guess at the order; else NULL */
	SortKeyComparer *comparer; /* the same, or NULL: it goes by the keys */
	bool guesses;			   /* does it at first? */
};

/*
 * Of two records that agree in their first 8 bytes, or of any two if keys are compared by a comparer, does
 * a's come first?  Ties go to the earlier run, ended runs come last.
 */
static pg_noinline bool
comes_first_by_rest(const Merger *merger, const Contender *a, const Contender *b)
{
	const RunReader *reader_a = &merger->readers[a->run];
	const RunReader *reader_b = &merger->readers[b->run];
	int order;

	if (reader_a->ended || reader_b->ended)
		return !reader_a->ended;
	order = merger->comparer == NULL
				? run_reader_compare_rest(reader_a, reader_b)
				: sort_key_compare(merger->comparer, (const uint8 *) reader_a->key, reader_a->key_size,
								   (const uint8 *) reader_b->key, reader_b->key_size);
	return order != 0 ? order < 0 : a->run < b->run;
}

static inline bool
comes_first(const Merger *merger, const Contender *a, const Contender *b)
{
	if (unlikely(a->word == b->word || merger->comparer != NULL))
		return comes_first_by_rest(merger, a, b);
	return a->word < b->word;
}

static Contender
contender(const Merger *merger, int run)
{
	return (Contender){.word = merger->readers[run].word, .run = run};
}

/* Plays run's record up from its leaf to the root. */
static inline void
replay(Merger *merger, int run)
{
	Contender winner = contender(merger, run);

	for (int node = (run + merger->nruns) / 2; node > 0; node /= 2)
	{
		Contender rival = merger->losers[node];
		bool rival_wins = comes_first(merger, &rival, &winner);

		merger->losers[node].word = rival_wins ? winner.word : rival.word;
		merger->losers[node].run = rival_wins ? winner.run : rival.run;
		winner.word = rival_wins ? rival.word : winner.word;
		winner.run = rival_wins ? rival.run : winner.run;
	}
	merger->winner = winner;
}

/* The least of those that lost against this run, which has won. */
static uint64
least_loser(const Merger *merger, int run)
{
	uint64 least = ~UINT64CONST(0);

	for (int node = (run + merger->nruns) / 2; node > 0; node /= 2)
		least = Min(least, merger->losers[node].word);
	return least;
}

/* The winner's run goes on to its next record. */
static inline void
advance_winner(Merger *merger)
{
	int run = merger->winner.run;
	RunReader *reader = &merger->readers[run];

	run_reader_next(reader);
	if (reader->word < merger->bound)
		return;
	replay(merger, run);
	if (merger->winner.run == run && merger->comparer == NULL && !merger->guesses)
		merger->bound = least_loser(merger, run);
}

/* Plays the matches below an inner node and returns the winner; for a leaf, its run. */
static Contender
play(Merger *merger, int node)
{
	Contender left;
	Contender right;
	bool left_wins;

	if (node >= merger->nruns)
		return contender(merger, node - merger->nruns);
	left = play(merger, 2 * node);
	right = play(merger, 2 * node + 1);
	left_wins = comes_first(merger, &left, &right);
	merger->losers[node] = left_wins ? right : left;
	return left_wins ? left : right;
}

Merger *
merger_begin(Run **runs, int nruns, Size buffer_size, RowKeys *row_keys, SortKeyComparer *comparer,
			 bool guess)
{
	Merger *merger = palloc0(sizeof(Merger));

	merger->nruns = nruns;
	merger->exact = comparer;
	merger->comparer = guess ? NULL : comparer;
	merger->guesses = guess;
	merger->losers = palloc0(sizeof(Contender) * nruns);
	merger->readers = palloc0(sizeof(RunReader) * nruns);
	for (int i = 0; i < nruns; i++)
		run_reader_open(&merger->readers[i], runs[i], buffer_size, row_keys);
	return merger;
}

const RunReader *
merger_next(Merger *merger)
{
	const RunReader *reader;

	if (likely(merger->started))
		advance_winner(merger);
	else
	{
		for (int i = 0; i < merger->nruns && !merger->positioned; i++)
			run_reader_next(&merger->readers[i]);
		merger->winner = play(merger, 1);
		merger->bound = 0;
		merger->started = true;
	}
	reader = &merger->readers[merger->winner.run];
	return reader->ended ? NULL : reader;
}

/* ---------------------------------------------------------------- of keys that guess */

bool
merger_has_before(const Merger *merger, const uint8 *key, Size key_size)
{
	for (int i = 0; i < merger->nruns; i++)
	{
		const RunReader *reader = &merger->readers[i];

		if (!reader->ended &&
			sort_key_compare(merger->exact, (const uint8 *) reader->key, reader->key_size, key, key_size) < 0)
			return true;
	}
	return false;
}

const RunReader *
merger_choose_again(Merger *merger, bool guess)
{
	const RunReader *reader;

	merger->comparer = guess ? NULL : merger->exact;
	merger->winner = play(merger, 1);
	reader = &merger->readers[merger->winner.run];
	return reader->ended ? NULL : reader;
}

/* ---------------------------------------------------------------- positions */

int
merger_runs(const Merger *merger)
{
	return merger->nruns;
}

int64
merger_rows(const Merger *merger)
{
	int64 rows = 0;

	for (int i = 0; i < merger->nruns; i++)
		rows += merger->readers[i].run->rows;
	return rows;
}

void
merger_tell(const Merger *merger, RunPosition *positions)
{
	for (int i = 0; i < merger->nruns; i++)
		run_reader_tell(&merger->readers[i], &positions[i]);
}

void
merger_seek(Merger *merger, const RunPosition *positions)
{
	for (int i = 0; i < merger->nruns; i++)
		run_reader_seek(&merger->readers[i], &positions[i]);
	merger->positioned = merger->started = false;
}

void
merger_skip(Merger *merger, const KeyStart *first)
{
	for (int i = 0; i < merger->nruns; i++)
	{
		RunReader *reader = &merger->readers[i];

		do
			run_reader_next(reader);
		while (!reader->ended && run_reader_is_before(reader, first));
	}
	merger->positioned = true;
}

void
merger_end(Merger *merger)
{
	for (int i = 0; i < merger->nruns; i++)
	{
		run_reader_close(&merger->readers[i]);
		run_drop(merger->readers[i].run);
	}
	pfree(merger->readers);
	pfree(merger->losers);
	pfree(merger);
}
