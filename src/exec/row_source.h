/*
 * exec/row_source.h
 *		A slot's row as a MinimalTuple, measured first and written in place after.
 *
 * The copy that ExecCopySlotMinimalTuple makes costs an allocation and, for a row that is in a table's page,
 * nothing else that is needed; this one copies the row once, to where it stays.
 */
#ifndef GPUSORT_EXEC_ROW_SOURCE_H
#define GPUSORT_EXEC_ROW_SOURCE_H

#include "postgres.h"

#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"

/* Where a MinimalTuple's infomask2 stands; all before it is t_len and padding. */
#define ROW_BODY_OFFSET offsetof(MinimalTupleData, t_infomask2)

typedef struct RowLayout RowLayout;

typedef struct RowSource
{
	/* Set once. */
	const Bitmapset *unused; /* columns (attnos) that may be left out, to be read as NULL */
	bool *isnull_copy;		 /* with unused columns: room for a flag each column */
	RowLayout *layout;		 /* NULL: not all columns that are kept are of fixed width */

	/* Of the current row. */
	TupleTableSlot *slot;
	const char *stored; /* the row from its infomask on as a slot or a page holds it, or NULL */
	bool by_layout;		/* not stored: to be written by the layout? */
	uint32 length;		/* t_len of the MinimalTuple */
	uint32 data_length; /* neither: bytes of the columns */
	const bool *isnull; /* neither: is a column NULL or left out? */
	bool has_nulls;		/* neither: is any? */
} RowSource;

/*
 * For rows of this kind, whichever slots they come in, with the unused columns left out where they are put
 * together; in CurrentMemoryContext.
 */
extern void row_source_init(RowSource *source, TupleDesc desc, const Bitmapset *unused);

/* Bytes that row_source_write will write, a multiple of 8. */
static inline Size
row_source_size(const RowSource *source)
{
	return TYPEALIGN(8, (Size) source->length);
}

/*
 * Are these bytes, of a value of the row, bytes of the row as it is stored?  Then sets where they will be in
 * what row_source_write writes.
 */
static inline bool
row_source_holds(const RowSource *source, const char *bytes, Size *offset)
{
	if (source->stored == NULL || bytes < source->stored ||
		bytes >= source->stored + source->length - ROW_BODY_OFFSET)
		return false;
	*offset = bytes - source->stored + ROW_BODY_OFFSET;
	return true;
}

/* So much of a row is fetched ahead. */
#define ROW_AHEAD_BYTES 256

/*
 * Has the processor fetch the row that a scan of the table most likely returns next: rows are put into a page
 * from its end on, so it lies before this one.  A guess that is wrong does no harm.
 */
static inline void
row_source_fetch_ahead(const TupleTableSlot *slot)
{
	const HeapTupleData *tuple;
	uint32 length;

	if (!TTS_IS_BUFFERTUPLE(slot))
		return;
	tuple = ((const HeapTupleTableSlot *) slot)->tuple;
	length = MAXALIGN(tuple->t_len);
	for (uint32 ahead = 0; ahead < length && ahead < ROW_AHEAD_BYTES; ahead += PG_CACHE_LINE_SIZE / 2)
		__builtin_prefetch((const char *) tuple->t_data - length + ahead);
}

/*
 * Finds the slot's row and its length.  The slot must hold a row and must not change before row_source_write.
 */
extern void row_source_open(RowSource *source, TupleTableSlot *slot);

/* The same of a row that would be a MinimalTuple of this length if there were one here. */
static inline void
row_source_open_stored(RowSource *source, const void *minimal_start, uint32 length)
{
	source->stored = (const char *) minimal_start + ROW_BODY_OFFSET;
	source->length = length;
}

/* Writes the row to dst, 8-byte aligned. */
extern void row_source_write(const RowSource *source, char *dst);

/*
 * The same of a row in a table's page, where rows are aligned to 8 bytes, too: with what stands behind it up
 * to there.
 */
static inline void
row_source_write_words(const RowSource *source, char *dst)
{
	const char *from = source->stored - ROW_BODY_OFFSET;

	for (uint32 i = 0; i < source->length; i += sizeof(uint64))
		memcpy(dst + i, from + i, sizeof(uint64));
	((MinimalTuple) dst)->t_len = source->length;
}

#endif /* GPUSORT_EXEC_ROW_SOURCE_H */
