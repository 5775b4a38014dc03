/*
 * exec/row_layout.h
 *		Where the columns of a row stand, if all that are kept are of fixed width.
 *
 * Such rows, without NULLs, all look the same: they are put together by copying a header and storing each
 * column at its place, in a fraction of the time that a row of any kind takes.
 */
#ifndef GPUSORT_EXEC_ROW_LAYOUT_H
#define GPUSORT_EXEC_ROW_LAYOUT_H

#include "postgres.h"

#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"

typedef struct RowLayout
{
	int natts;	   /* of the rows it is for */
	bool usable;   /* are all columns that are kept of fixed width? */
	uint32 length; /* t_len */
	int ncolumns;  /* that are kept */
	struct RowLayoutColumn *columns;
	bool has_gaps;		  /* are there bytes between columns, for their alignment? */
	uint32 header_length; /* a multiple of 8 */
	char *header;		  /* the row up to its first column */
} RowLayout;

/*
 * A layout for rows of this kind but for the unused columns (attnos), which are NULL; in
 * CurrentMemoryContext.
 */
extern RowLayout *row_layout_create(TupleDesc desc, const Bitmapset *unused);

/* Is none of the columns that are kept NULL? */
extern bool row_layout_fits(const RowLayout *layout, const TupleTableSlot *slot);

/* Writes the slot's row, layout->length bytes, of which none keeps what stood there before. */
extern void row_layout_write(const RowLayout *layout, const TupleTableSlot *slot, char *dst);

#endif /* GPUSORT_EXEC_ROW_LAYOUT_H */
