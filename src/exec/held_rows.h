/*
 * exec/held_rows.h
 *		A queue of rows that were read, but not returned yet.
 *
 * Readers look at rows of the queue, each in its own slot, forwards only.
 */
#ifndef GPUSORT_EXEC_HELD_ROWS_H
#define GPUSORT_EXEC_HELD_ROWS_H

#include "postgres.h"

#include "nodes/execnodes.h"

typedef struct HeldRows HeldRows;

/* Makes an empty queue for rows of this descriptor, with nreaders readers, in CurrentMemoryContext. */
extern HeldRows *held_rows_create(EState *estate, TupleDesc desc, int nreaders);

/* Copies the slot's row to the end of the queue. */
extern void held_rows_push(HeldRows *held, TupleTableSlot *row);

/* Drops the first row, whose slot must not be read any more. */
extern void held_rows_pop(HeldRows *held);

/* The number of rows in the queue. */
extern int64 held_rows_count(const HeldRows *held);

/*
 * Returns a slot with the row of this index, from 0, until the row is dropped or the reader reads another
 * one.  NULL: there is no such row.
 */
extern TupleTableSlot *held_rows_read(HeldRows *held, int reader, int64 index);

/* Drops all rows, and the temporary file if there is one. */
extern void held_rows_clear(HeldRows *held);

#endif /* GPUSORT_EXEC_HELD_ROWS_H */
