/*
 * regress/btree_writer/scan.c
 *		An index's tuples in order, by PostgreSQL's own scan and sort.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "miscadmin.h"

#include "scan.h"

typedef struct Sorting
{
	Tuplesortstate *sort;
	double tuples;
} Sorting;

static void
sort_tuple(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool is_alive, void *state)
{
	Sorting *sorting = state;

	tuplesort_putindextuplevalues(sorting->sort, index, tid, values, isnull);
	sorting->tuples++;
}

/* Violations of a unique index are not looked for. */
Tuplesortstate *
scan_and_sort(Relation heap, Relation index, IndexInfo *info, IndexBuildResult *result)
{
	Sorting sorting = {0};

	sorting.sort =
		tuplesort_begin_index_btree(heap, index, false, false, maintenance_work_mem, NULL, TUPLESORT_NONE);
	result->heap_tuples = table_index_build_scan(heap, index, info, true, false, sort_tuple, &sorting, NULL);
	result->index_tuples = sorting.tuples;
	tuplesort_performsort(sorting.sort);
	return sorting.sort;
}
