/*
 * exec/gpusort_state.c
 *		The statistics of a GpuSort, which its node notes and EXPLAIN prints.
 */
#include "postgres.h"

#include "exec/gpusort_state.h"

void
gpusort_state_get_stats(const GpuSortState *state, SorterStats *stats)
{
	SorterStats past = state->past;

	*stats = past;
	if (!state->performed)
		return;
	state->sorter->device->get_stats(state->sorter, stats);
	stats->coding_ended |= state->coding_ended;
	stats->values_full |= state->values_full;
	stats->bytes_in += past.bytes_in;
	stats->bytes_out += past.bytes_out;
	stats->queue_ms += past.queue_ms;
	stats->transfer_ms += past.transfer_ms;
	stats->sort_ms += past.sort_ms;
	stats->spill_ms += past.spill_ms;
	stats->merge_ms += past.merge_ms;
	stats->gather_ms += past.gather_ms;
}
