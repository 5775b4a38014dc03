/*
 * exec/row_source.h
 *		A slot's row as a MinimalTuple: first measured, then written in place.
 *
 * ExecCopySlotMinimalTuple allocates memory for its copy.  A row in a table's page needs no allocation.  This
 * code copies the row once, to its final place.
 */
#ifndef GPUSORT_EXEC_ROW_SOURCE_H
#define GPUSORT_EXEC_ROW_SOURCE_H

#include "postgres.h"

#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"

/* The offset of infomask2 in a MinimalTuple; before it are t_len and padding. */
#define ROW_BODY_OFFSET offsetof(MinimalTupleData, t_infomask2)

typedef struct RowLayout RowLayout;

typedef struct RowSource
{
	/* Set once. */
	const Bitmapset *unused; /* columns (attnos) that may be left out; they are read as NULL */
	bool *isnull_copy;		 /* with unused columns: room for a flag for each column */
	RowLayout *layout;		 /* NULL: not all kept columns have fixed width */

	/* Of the current row. */
	TupleTableSlot *slot;
	const char *stored; /* the bytes of the row, from infomask2 on, in a slot or a page; or NULL */
	bool by_layout;		/* not stored: is the row written by the layout? */
	uint32 length;		/* t_len of the MinimalTuple */
	uint32 data_length; /* neither: total bytes of the columns */
	const bool *isnull; /* neither: is a column NULL or left out? */
	bool has_nulls;		/* neither: is any? */
} RowSource;

/*
 * Initializes a source for rows of this descriptor, from any kind of slot, in CurrentMemoryContext.  When a
 * row is built, unused columns are left out.
 */
extern void row_source_init(RowSource *source, TupleDesc desc, const Bitmapset *unused);

/* Returns the number of bytes that row_source_write will write, a multiple of 8. */
static inline Size
row_source_size(const RowSource *source)
{
	return TYPEALIGN(8, (Size) source->length);
}

/*
 * Are the bytes of this value a part of the stored row?  If so, sets their offset in the output of
 * row_source_write.
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

/* At most this number of bytes of a row is prefetched. */
#define ROW_AHEAD_BYTES 256

/*
 * Prefetches the row that a scan of the table most likely returns next.  A page is filled from its end, so
 * the next row is before this one.  A wrong guess does no harm.
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

/*
 * Opens a row whose bytes from infomask2 on are stored as in a MinimalTuple of this length that begins at
 * minimal_start.
 */
static inline void
row_source_open_stored(RowSource *source, const void *minimal_start, uint32 length)
{
	source->stored = (const char *) minimal_start + ROW_BODY_OFFSET;
	source->length = length;
}

/* Writes the row to dst, 8-byte aligned. */
extern void row_source_write(const RowSource *source, char *dst);

/*
 * Writes a row in a table's page in words.  Rows in pages are aligned to 8 bytes, so the bytes behind the
 * row, up to the next multiple of 8, are copied too.
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
