/*
 * merge.c
 *		Merging sorted runs by a loser tree.
 *
 * The tree's leaves are the runs; every inner node remembers the run that lost there, so that replacing the
 * winner's record costs one comparison a level.  Most comparisons are decided by the first 8 bytes of the
 * key, which the readers keep as an integer.
 */
#include "postgres.h"

#include "merge.h"

struct Merger
{
	int			nruns;
	bool		started;
	int			winner;			/* the run with the least record */
	int		   *losers;			/* losers[i], 1 <= i < nruns: who lost at inner node i */
	RunReader  *readers;
};

/* Does reader a's record come before b's?  Ties go to the earlier run; ended runs come last. */
static inline bool
comes_before(const RunReader *a, const RunReader *b)
{
	int			order;

	if (unlikely(a->key == NULL || b->key == NULL))
		return a->key != NULL || (b->key == NULL && a < b);
	if (likely(a->word != b->word))
		return a->word < b->word;
	order = memcmp(a->key, b->key, Min(a->key_size, b->key_size));
	if (order != 0)
		return order < 0;
	return a->key_size != b->key_size ? a->key_size < b->key_size : a < b;
}

/* Plays run's record up from its leaf to the root. */
static inline void
replay(Merger *merger, int run)
{
	int			winner = run;

	for (int node = (run + merger->nruns) / 2; node > 0; node /= 2)
	{
		int			rival = merger->losers[node];

		if (comes_before(&merger->readers[rival], &merger->readers[winner]))
		{
			merger->losers[node] = winner;
			winner = rival;
		}
	}
	merger->winner = winner;
}

/* The winner of the matches below an inner node, or the run of a leaf. */
static int
play(Merger *merger, int node)
{
	int			left;
	int			right;
	bool		left_wins;

	if (node >= merger->nruns)
		return node - merger->nruns;
	left = play(merger, 2 * node);
	right = play(merger, 2 * node + 1);
	left_wins = comes_before(&merger->readers[left], &merger->readers[right]);
	merger->losers[node] = left_wins ? right : left;
	return left_wins ? left : right;
}

Merger *
merger_begin(Run **runs, int nruns, int key_width, Size buffer_size)
{
	Merger	   *merger = palloc0(sizeof(Merger));

	merger->nruns = nruns;
	merger->losers = palloc0(sizeof(int) * nruns);
	merger->readers = palloc0(sizeof(RunReader) * nruns);
	for (int i = 0; i < nruns; i++)
		run_reader_open(&merger->readers[i], runs[i], key_width, buffer_size);
	return merger;
}

const RunReader *
merger_next(Merger *merger)
{
	if (likely(merger->started))
	{
		run_reader_next(&merger->readers[merger->winner]);
		replay(merger, merger->winner);
	}
	else
	{
		for (int i = 0; i < merger->nruns; i++)
			run_reader_next(&merger->readers[i]);
		merger->winner = play(merger, 1);
		merger->started = true;
	}
	return merger->readers[merger->winner].key != NULL ? &merger->readers[merger->winner] : NULL;
}

void
merger_end(Merger *merger)
{
	for (int i = 0; i < merger->nruns; i++)
		run_reader_close(&merger->readers[i]);
	pfree(merger->readers);
	pfree(merger->losers);
	pfree(merger);
}
