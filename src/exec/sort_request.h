/*
 * exec/sort_request.h
 *		What the requests of all nodes that sort have in common.
 */
#ifndef GPUSORT_EXEC_SORT_REQUEST_H
#define GPUSORT_EXEC_SORT_REQUEST_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "device/sorter.h"
#include "exec/group_above.h"
#include "key/types.h"

/*
 * Begins the request of a node, for this number of processes: the rows of its input, the memory that the
 * processes have together, and the values that the plan expects.  All other fields are 0.
 */
extern void sort_request_init(SortRequest *request, const CustomScanState *node, const SortKey *key,
							  int processes);

/*
 * Do the rows that this device gets hold all of these sort columns?  unused: the columns of the input that no
 * node reads later.
 */
extern bool sort_request_rows_are_complete(const SortDevice *device, int ncolumns,
										   const SortColumnSpec *columns, const Bitmapset *unused);

/*
 * Returns the columns that can get codes, of those that the node's plan or the settings name; 0 if there is
 * little memory, or if a LIMIT compares the order of keys while the rows come.
 */
extern uint32 sort_request_codable(const SortRequest *request, const CustomScanState *node);

/*
 * Sets what is wanted of each group, if keys say it while the rows come, and the columns that get codes, of
 * those that can: the order within groups is known then if no column behind the groups' has codes or guesses.
 */
extern void sort_request_set_first(SortRequest *request, const FirstOfGroups *first, uint32 coded);

/* After that, sets how many rows are expected to be kept, as the node's plan says. */
extern void sort_request_expect_first(SortRequest *request, const CustomScanState *node,
									  const GroupAbove *above);

#endif /* GPUSORT_EXEC_SORT_REQUEST_H */
