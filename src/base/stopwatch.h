/*
 * base/stopwatch.h
 *		Elapsed milliseconds.
 */
#ifndef GPUSORT_BASE_STOPWATCH_H
#define GPUSORT_BASE_STOPWATCH_H

#include "postgres.h"

#include "portability/instr_time.h"

typedef struct Stopwatch
{
	instr_time start;
} Stopwatch;

static inline Stopwatch
stopwatch_start(void)
{
	Stopwatch watch;

	INSTR_TIME_SET_CURRENT(watch.start);
	return watch;
}

static inline double
stopwatch_ms(Stopwatch watch)
{
	instr_time now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, watch.start);
	return INSTR_TIME_GET_MILLISEC(now);
}

#endif /* GPUSORT_BASE_STOPWATCH_H */
