/*
 * stages.cu
 *		Times of the library's stages: an event where each begins.
 */
#include <cstdlib>
#include <cstring>

#include "gpu/harness/bench.h"

static void
begin_stage(void *arg, const char *stage, DevSortStream stream)
{
	StageTimes *times = (StageTimes *) arg;

	if (times->nevents == STAGES_MAX_EVENTS)
		return;
	if (cudaEventRecord(times->events[times->nevents], stream) != cudaSuccess)
		return;
	times->event_stages[times->nevents++] = stage;
}

DevSortStatus
stage_times_create(StageTimes **result)
{
	StageTimes *times = (StageTimes *) calloc(1, sizeof(StageTimes));

	*result = times;
	if (times == NULL)
		return status_make(DEVSORT_INVALID, "out of host memory");
	times->stages.begin = begin_stage;
	times->stages.arg = times;
	for (int i = 0; i < STAGES_MAX_EVENTS; i++)
		CHECK_CUDA(cudaEventCreate(&times->events[i]), "creating the stages' events");
	return status_ok();
}

void
stage_times_destroy(StageTimes *times)
{
	if (times == NULL)
		return;
	for (int i = 0; i < STAGES_MAX_EVENTS && times->events[i]; i++)
		cudaEventDestroy(times->events[i]);
	free(times);
}

void
stage_times_reset(StageTimes *times)
{
	times->nevents = 0;
	times->nnames = 0;
}

static void
add_time(StageTimes *times, const char *name, double ms)
{
	int i = 0;

	while (i < times->nnames && strcmp(times->names[i], name) != 0)
		i++;
	if (i == STAGES_MAX_NAMES)
		return;
	if (i == times->nnames)
	{
		times->names[i] = name;
		times->ms[i] = 0;
		times->nnames++;
	}
	times->ms[i] += ms;
}

DevSortStatus
stage_times_collect(StageTimes *times)
{
	if (times->nevents == STAGES_MAX_EVENTS)
		return status_make(DEVSORT_INVALID, "the job had more than %d stages", STAGES_MAX_EVENTS);
	for (int i = 0; i + 1 < times->nevents; i++)
	{
		float ms;

		if (times->event_stages[i] == NULL)
			continue;
		CHECK_CUDA(cudaEventElapsedTime(&ms, times->events[i], times->events[i + 1]),
				   "reading a stage's time");
		add_time(times, times->event_stages[i], ms);
	}
	return status_ok();
}
