/*
 * exec/rows_wanted.c
 *		The number of a GpuSort's rows that the Limit above it wants.
 */
#include "postgres.h"

#include "exec/rows_wanted.h"

RowsWanted
rows_wanted_by(const LimitState *limit)
{
	RowsWanted wanted = {.rows = 0};

	if (limit == NULL || limit->noCount || limit->count <= 0 || limit->lstate == LIMIT_INITIAL)
		return wanted;
	wanted.rows = (uint64) limit->count + (uint64) limit->offset;
	wanted.with_ties = limit->limitOption == LIMIT_OPTION_WITH_TIES;
	return wanted;
}

bool
rows_wanted_suffice(const RowsWanted *were, const RowsWanted *are)
{
	if (were->first.n != 0 && (are->first.n == 0 || are->first.n > were->first.n))
		return false;
	if (were->rows == 0)
		return true;
	return are->rows != 0 && are->rows <= were->rows && (were->with_ties || !are->with_ties);
}
