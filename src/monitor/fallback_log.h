/*
 * monitor/fallback_log.h
 *		Messages about fallbacks, for the server's log.
 */
#ifndef GPUSORT_MONITOR_FALLBACK_LOG_H
#define GPUSORT_MONITOR_FALLBACK_LOG_H

#include "postgres.h"

#include "base/declined.h"
#include "monitor/sort_stats.h"

/*
 * The device could not complete a sort, and the cpu device does it now. failure: the reason, a sentence
 * fragment.
 */
extern void fallback_log_device(const char *device, SortFailureReason reason, const char *failure);

/* PostgreSQL builds the index; why_not: the reason. */
extern void fallback_log_build(const char *index, const Declined *why_not);

#endif /* GPUSORT_MONITOR_FALLBACK_LOG_H */
