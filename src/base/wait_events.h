/*
 * base/wait_events.h
 *		What a sort waits for, as pg_stat_activity shows it.
 */
#ifndef GPUSORT_BASE_WAIT_EVENTS_H
#define GPUSORT_BASE_WAIT_EVENTS_H

#include "postgres.h"

typedef enum GpuSortWait
{
	GPUSORT_WAIT_CONNECT,	/* the service to answer a new connection */
	GPUSORT_WAIT_QUEUE,		/* device memory that other sorts have */
	GPUSORT_WAIT_BEGIN,		/* the device to make ready what the sort needs */
	GPUSORT_WAIT_FEED,		/* a chunk to be free */
	GPUSORT_WAIT_SORT,		/* the device to sort */
	GPUSORT_WAIT_FETCH,		/* sorted rows to come back */
	GPUSORT_WAIT_PROCESSES, /* the other processes of the same sort */
	GPUSORT_WAIT_READER,	/* the first of them to read what was put in order for it */
	GPUSORT_WAITS
} GpuSortWait;

/*
 * The number to give WaitLatch, WaitEventSetWait or ConditionVariableSleep.  The first call for each kind of
 * wait may raise an error and must not be made in a critical section.
 */
extern uint32 gpusort_wait_event(GpuSortWait wait);

#endif /* GPUSORT_BASE_WAIT_EVENTS_H */
