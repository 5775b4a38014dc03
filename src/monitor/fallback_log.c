/*
 * monitor/fallback_log.c
 *		What was to be sorted in one way and is sorted in another one, for the server's log.
 *
 * With gpusort.log_fallbacks it is a LOG message, which the statement stands below; else one at DEBUG1, for
 * those who look for such messages.
 */
#include "postgres.h"

#include "base/guc.h"
#include "monitor/fallback_log.h"

/* What to look at, or to set. */
static const char *const hints[] = {
	[SORT_FAILURE_NO_SERVICE] = "gpusort_devices() says why the device is not available.",
	[SORT_FAILURE_DISCONNECTED] = "The server's log has the messages of gpusortd.",
	[SORT_FAILURE_DEVICE_LOST] = "The server's log has the messages of gpusortd.",
	[SORT_FAILURE_MEMORY] =
		"gpusort.max_sort_device_memory limits the device memory of each sort, and gpusort.queue_timeout limits the time that other sorts wait for it.",
	[SORT_FAILURE_LIMIT] = "gpusort.max_device_sorts limits the sorts of a session, including open cursors.",
	[SORT_FAILURE_PROTOCOL] = "The library and gpusortd must have the same version."};

StaticAssertDecl(lengthof(hints) == SORT_FAILURE_REASONS, "every failure has a hint");

static int
level(bool is_wanted)
{
	return gpusort_log_fallbacks && is_wanted ? LOG : DEBUG1;
}

void
fallback_log_device(const char *device, SortFailureReason reason, const char *failure)
{
	ereport(level(true), (errmsg("the sort on device \"%s\" falls back to device \"cpu\"", device),
						  errdetail("Reason: %s.", failure), errhint("%s", hints[reason])));
}

/* That gpusort is off, and that small tables are left alone, is no news. */
void
fallback_log_build(const char *index, const Declined *why_not)
{
	bool is_wanted = why_not->reason != DECLINED_MODE_OFF && why_not->reason != DECLINED_FEW_ROWS;

	ereport(level(is_wanted), (errmsg("index \"%s\" is built by PostgreSQL without gpusort", index),
							   errdetail("Reason: %s.", why_not->words)));
}
