/*
 * squeeze.cu
 *		Planning which bits of wide keys to take.
 */
#include "fixed/squeeze.h"

/* Runs alternate with gaps. */
#define MAX_RUNS_BEFORE_MERGING (SQUEEZE_MAX_WORDS * 32)

/* Lists the runs of a word's varying bits, the most significant first; returns how many there are then. */
static int
list_runs(SqueezeRun *run, int runs, int word, uint64_t varying)
{
	int bit = 63;

	while (bit >= 0)
	{
		int top = bit;

		while (bit >= 0 && (varying >> bit & 1))
			bit--;
		if (top > bit)
		{
			run[runs].word = (uint8_t) word;
			run[runs].shift = (uint8_t) (bit + 1);
			run[runs].length = (uint8_t) (top - bit);
			runs++;
		}
		else
			bit--;
	}
	return runs;
}

/* The bits between a run and the next one; past any gap if they are of different words. */
static int
gap_after(const SqueezeRun *run)
{
	return run[0].word == run[1].word ? run[0].shift - (run[1].shift + run[1].length) : 65;
}

/* Makes two runs with the narrowest gap one, with the gap. */
static int
merge_narrowest(SqueezeRun *run, int runs)
{
	int narrowest = 0;

	for (int i = 1; i < runs - 1; i++)
	{
		if (gap_after(&run[i]) < gap_after(&run[narrowest]))
			narrowest = i;
	}
	run[narrowest].length =
		(uint8_t) (run[narrowest].shift + run[narrowest].length - run[narrowest + 1].shift);
	run[narrowest].shift = run[narrowest + 1].shift;
	for (int i = narrowest + 1; i < runs - 1; i++)
		run[i] = run[i + 1];
	return runs - 1;
}

SqueezePlan
squeeze_plan(const uint64_t *varying, int words)
{
	SqueezeRun run[MAX_RUNS_BEFORE_MERGING];
	SqueezePlan plan = {};
	int runs = 0;

	for (int word = 0; word < words; word++)
		runs = list_runs(run, runs, word, varying[word]);

	/* There are more runs than words, so some word has two. */
	while (runs > SQUEEZE_MAX_RUNS)
		runs = merge_narrowest(run, runs);

	plan.runs = runs;
	for (int i = 0; i < runs; i++)
	{
		plan.run[i] = run[i];
		plan.bits += run[i].length;
	}
	return plan;
}

SqueezePlan
squeeze_slice(const SqueezePlan *plan, int from, int count)
{
	SqueezePlan slice = {};
	int at = 0;

	for (int i = 0; i < plan->runs; i++)
	{
		const SqueezeRun *run = &plan->run[i];
		int first = from > at ? from - at : 0;
		int end = from + count < at + run->length ? from + count - at : run->length;

		if (first < end)
		{
			SqueezeRun *part = &slice.run[slice.runs++];

			part->word = run->word;
			part->shift = (uint8_t) (run->shift + run->length - end);
			part->length = (uint8_t) (end - first);
			slice.bits += part->length;
		}
		at += run->length;
	}
	return slice;
}
