/*
 * base/wait_events.h
 *		Wait events of sorts, for pg_stat_activity.
 */
#ifndef GPUSORT_BASE_WAIT_EVENTS_H
#define GPUSORT_BASE_WAIT_EVENTS_H

#include "postgres.h"

typedef enum GpuSortWait
{
	GPUSORT_WAIT_CONNECT,	/* the service to answer a new connection */
	GPUSORT_WAIT_QUEUE,		/* device memory that other sorts use */
	GPUSORT_WAIT_BEGIN,		/* the device to prepare the sort */
	GPUSORT_WAIT_FEED,		/* a free chunk */
	GPUSORT_WAIT_SORT,		/* the device to sort */
	GPUSORT_WAIT_FETCH,		/* sorted rows from the device */
	GPUSORT_WAIT_PROCESSES, /* the other processes of the same sort */
	GPUSORT_WAIT_READER,	/* the leader to read the rows that were put in order for it */
	GPUSORT_WAITS
} GpuSortWait;

/*
 * Returns the number for WaitLatch, WaitEventSetWait or ConditionVariableSleep.  The first call for each kind
 * of wait may raise an error, so it must not be in a critical section.
 */
extern uint32 gpusort_wait_event(GpuSortWait wait);

#endif /* GPUSORT_BASE_WAIT_EVENTS_H */
