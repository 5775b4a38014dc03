/*
 * plan.h
 *		What the parts of the row gather share: checking a job.
 */
#ifndef DEVSORT_ROW_PLAN_H
#define DEVSORT_ROW_PLAN_H

#include "base/status.h"

/* Is n allowed, and is every array there that n rows need? */
DevSortStatus rows_check_pointers(const DevSortRowsJob *job);

#endif /* DEVSORT_ROW_PLAN_H */
