/*
 * plan/spread.c
 *		How many GPUs a sort is spread over: as many as are expected to make it clearly faster, for others may
 *		have a use for them.
 */
#include "postgres.h"

#include "base/guc.h"
#include "base/limits.h"
#include "plan/spread.h"
#include "service/state.h"

/* On several GPUs a sort must take at most this part of the time that it takes on fewer. */
#define SPREAD_SHARE 0.9

static double
ms_on(SortShape *shape, int cards)
{
	shape->cards = cards;
	return sort_time_total(shape, predict_gpusort(shape));
}

/* The most that the settings allow. */
static int
most_cards(void)
{
	int devices = gpu_service_devices();

	return Min(guc_cards(devices), devices);
}

void
spread_over_cards(SortShape *shape)
{
	int most = shape->on_gpu ? most_cards() : 1;
	int best = 1;
	double best_ms;

	shape->cards = 1;
	if (most <= 1 || shape->wanted >= 0 || shape->keys[0].largest > GPU_LARGEST_PART)
		return;
	if (gpusort_cards > 0)
	{
		shape->cards = most;
		return;
	}
	best_ms = ms_on(shape, 1);
	for (int cards = 2; cards <= most; cards++)
	{
		double ms = ms_on(shape, cards);

		if (ms >= SPREAD_SHARE * best_ms)
			continue;
		best = cards;
		best_ms = ms;
	}
	shape->cards = best;
}

const char *
spread_why_not(int cards, double wanted, double largest)
{
	if (cards > 1 || gpu_service_devices() <= 1)
		return NULL;
	if (gpusort_cards == 1)
		return "on one GPU: gpusort.cards is 1";
	if (gpusort_max_cards == 1)
		return "on one GPU: gpusort.max_cards is 1";
	if (wanted >= 0)
		return "on one GPU: a LIMIT wants some of the rows";
	if (largest >= 1)
		return "on one GPU: the statistics have no values of its first column";
	if (largest > GPU_LARGEST_PART)
		return psprintf("on one GPU: one value of its first column has %.0f %% of the rows", 100 * largest);
	return "on one GPU: several are not expected to be clearly faster";
}
