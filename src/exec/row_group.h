/*
 * exec/row_group.h
 *		Consecutive rows that are equal in some columns: partitions, peers.
 *
 * A group keeps the columns of its first row, and compares each further row with them.
 */
#ifndef GPUSORT_EXEC_ROW_GROUP_H
#define GPUSORT_EXEC_ROW_GROUP_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "plan/window_plan.h"

typedef struct GroupColumn
{
	int index; /* from 0 */
	int16 length;
	bool byval;
	Size size; /* size of the first row's value, if the value is not null and not passed by value */
} GroupColumn;

typedef struct RowGroup
{
	WindowColumns columns;
	GroupColumn *images;   /* the same columns */
	int last_attno;		   /* the highest attno of the columns; 0: there are no columns */
	bool trusts_images;	   /* are values of the same bytes equal? */
	bool keeps_memory;	   /* is any column passed by reference? */
	ExprState *equal;	   /* compares inner and outer slot by the operators; NULL: no columns */
	TupleTableSlot *first; /* a copy of the first row with only these columns */
	MemoryContext memory;  /* memory of the copies */
} RowGroup;

/* Makes a group without a row.  Raises an error if the user may not call the columns' operators. */
extern RowGroup *row_group_create(WindowColumns columns, TupleDesc rows, PlanState *node);

/* The row is the first of a new group. */
extern void row_group_begin(RowGroup *group, TupleTableSlot *row);

/*
 * Does the row belong to the group, which must have a first row?  Resets and uses the context's per-tuple
 * memory and its inner and outer slots; the row is the outer one.
 */
extern bool row_group_contains(RowGroup *group, TupleTableSlot *row, ExprContext *context);

#endif /* GPUSORT_EXEC_ROW_GROUP_H */
