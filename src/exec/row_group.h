/*
 * exec/row_group.h
 *		Rows that come one after the other and are equal in some columns: partitions, peers.
 *
 * Of a group its first row's columns are kept, and each row that comes is compared with them.
 */
#ifndef GPUSORT_EXEC_ROW_GROUP_H
#define GPUSORT_EXEC_ROW_GROUP_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "plan/rank_plan.h"

typedef struct GroupColumn
{
	int index; /* from 0 */
	int16 length;
	bool byval;
	Size size; /* of the first row's value, if it is neither null nor passed by value */
} GroupColumn;

typedef struct RowGroup
{
	RankColumns columns;
	GroupColumn *images;   /* the same columns */
	int last_attno;		   /* the highest of them; 0: there are none */
	bool trusts_images;	   /* are values of the same bytes equal? */
	bool keeps_memory;	   /* any of them by reference? */
	ExprState *equal;	   /* of inner and outer slot, by the operators; NULL: no columns */
	TupleTableSlot *first; /* a row that has these columns alone, copied */
	MemoryContext memory;  /* of those copies */
} RowGroup;

/* A group without a row.  Raises an error if the user may not call the columns' operators. */
extern RowGroup *row_group_create(RankColumns columns, TupleDesc rows, PlanState *node);

/* The row is the first of a new group. */
extern void row_group_begin(RowGroup *group, TupleTableSlot *row);

/*
 * Is the row one of the group, which has a first one?  Uses the context's memory for a tuple, which is free
 * then, and its inner and outer slots; the row is the outer one.
 */
extern bool row_group_contains(RowGroup *group, TupleTableSlot *row, ExprContext *context);

#endif /* GPUSORT_EXEC_ROW_GROUP_H */
