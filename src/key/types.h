/*
 * key/types.h
 *		Sort columns and sort keys as data, for everyone who names them.  There are no functions here.
 */
#ifndef GPUSORT_KEY_TYPES_H
#define GPUSORT_KEY_TYPES_H

#include "postgres.h"

#include "access/htup.h"
#include "access/itup.h"
#include "access/tupdesc.h"

/*
 * A row as a sort keeps it: a MinimalTuple, or an IndexRow, whose t_len has the same place.
 * SortKeyPolicy.index_rows says which.
 */
typedef MinimalTuple StoredRow;

/*
 * An index tuple as a row.  Code for MinimalTuples can handle it, because such code reads only t_len and
 * copies the bytes behind the header.  t_len counts all bytes.
 */
typedef struct IndexRow
{
	uint32 t_len;
	char unused[12]; /* zeros */
	IndexTupleData tuple;
} IndexRow;

#define INDEX_ROW_HEADER offsetof(IndexRow, tuple)

/* A fixed key is at most this many bytes wide; wider ones become variable keys. */
#define SORT_KEY_MAX_FIXED_WIDTH 32

/* One sort column as a Sort node or a path describes it. */
typedef struct SortColumnSpec
{
	AttrNumber attno; /* the column of the input */
	Oid type;		  /* exprType of that column; domains are allowed */
	TupleDesc row;	  /* of type record: the columns that all values have, if that is known; else NULL */
	Oid sortop;		  /* ordering operator: '<' or '>' of a btree opfamily */
	Oid collation;	  /* collation to sort by, or InvalidOid */
	bool nulls_first;
	bool not_null; /* no row has a NULL in the column */
} SortColumnSpec;

typedef struct SortKeyColumn SortKeyColumn; /* one ORDER BY column; private: column.h */
typedef struct KeyRow KeyRow;				/* private: key_row_layout.h */
typedef struct SortKeyCoding SortKeyCoding; /* coded.h */
typedef struct ValueTable ValueTable;		/* value_table.h */

/*
 * A key that is being built, and the state of the encoders.  Its bytes are valid until the next key is begun.
 */
typedef struct SortKeyBuilder
{
	uint8 *buffer; /* the bytes of a variable key */
	Size buffer_size;
	Size length; /* bytes of the key so far */
	/* the source of the string with which the key ends; NULL: the key does not end with a string */
	const char *tail;
	Size tail_start;	   /* begin of that string in the key */
	Size tail_end;		   /* end of that string, including the terminator */
	int group_columns;	   /* the end of this number of columns is noted; 0: no end is noted */
	Size group_end;		   /* their end in the key, before trailing zero bytes are dropped */
	uint64 *places;		   /* places of the columns to be verified, if SortKey.nplaces is not 0 */
	MemoryContext scratch; /* for detoasted values; reset after each row */
	bool detoasted;		   /* is scratch in use? */
	bool without_images;   /* keys that guess: make them only for comparisons, not for sorting */
	uint64 asked_icu;	   /* number of strings for which ICU was called */
} SortKeyBuilder;

/* How rows and their keys are kept.  The process that begins the sort sets it before the first row. */
typedef struct SortKeyPolicy
{
	KeyRow *rows; /* restores rows from their keys; NULL: that is impossible */
	/* are rows only restored, and not kept? variable keys: except rows that the key does not tell */
	bool alone;
	/*
	 * the descriptor of rows that are index tuples (IndexRow), which have all columns of the index and then
	 * the tid; NULL: rows are MinimalTuples
	 */
	TupleDesc index_rows;
} SortKeyPolicy;

typedef struct SortKey
{
	/* The description by the catalogs at the time when the key was made; it does not change. */
	int ncols;
	bool variable;		   /* a variable key? */
	int width;			   /* bytes of a fixed key, a multiple of 8; 0: a variable key */
	AttrNumber last_attno; /* the highest column of the slot that the key reads */
	SortKeyColumn *cols;   /* ncols columns, with the encoders of their values */
	bool verified;		   /* do the keys only guess the order, so that it must be verified? */
	int nplaces;		   /* then: number of columns whose places the key has; 0: the key needs no places */
	bool uses_icu;		   /* does the key contain sort keys of ICU? */
	uint64 description;	   /* a hash of the columns (changes.c) */

	SortKeyCoding *coding; /* the codes that the key has in the place of values; NULL: it has none */

	SortKeyBuilder builder;
	SortKeyPolicy policy;
} SortKey;

/*
 * How 8 bytes of a variable key show that no byte behind them affects the order.  If keys agree up to there,
 * they need not be read any further.
 */
typedef struct SortKeyEnds
{
	bool shown; /* is the end shown, by a zero byte? */
	bool imaged;
	bool descending;
} SortKeyEnds;

#endif /* GPUSORT_KEY_TYPES_H */
