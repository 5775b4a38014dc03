/*
 * key/sort_key.h
 *		Normalized sort keys: bytes whose order is the SQL order.
 *
 * Every supported sort key, of one or more columns, becomes a byte string such that comparing two of them as
 * unsigned bytes (memcmp) gives exactly PostgreSQL's order; equal keys are equal for PostgreSQL too.
 *
 *	- All columns of fixed width: a *fixed key* of SortKey.width bytes, a multiple of 8, padded with zero
 *	  bytes at its end.
 *	- Otherwise: a *variable key*.  No key is a proper prefix of another but for trailing zero bytes; keys
 *	  compare as if they were continued by zero bytes for ever, and trailing zero bytes may be left out.
 *
 * Some text has keys that only guess at the order.  A sort of such keys (SortKey.verified) is verified by
 * comparisons (compare.h), and put right where they differ.
 */
#ifndef GPUSORT_KEY_SORT_KEY_H
#define GPUSORT_KEY_SORT_KEY_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/pg_locale.h"

#include "base/declined.h"

/* A fixed key is at most this many bytes wide; wider ones become variable keys. */
#define SORT_KEY_MAX_FIXED_WIDTH 32

typedef struct SortKeyColumn SortKeyColumn; /* one ORDER BY column; private */
typedef struct KeyRow KeyRow;				/* key_row.h */

/* A key being built, and what its building takes.  Its bytes stand until the next one is begun. */
typedef struct SortKeyBuilder
{
	uint8 *buffer; /* of a variable key */
	Size buffer_size;
	Size length;		   /* bytes of the key so far */
	const char *tail;	   /* the bytes of the string that the key ends with, where they were read; NULL: it
							* ends with none */
	Size tail_start;	   /* where these begin in the key */
	Size tail_end;		   /* and end, the terminator included */
	uint64 *places;		   /* where the columns stand that are to be verified, if SortKey.nplaces says so */
	MemoryContext scratch; /* for detoasted values; reset after each row */
	bool detoasted;		   /* is there anything in scratch? */
	bool without_images;   /* of keys that guess: for comparisons alone, and not for sorting */
	uint64 asked_icu;	   /* strings of which ICU was asked for the sort key, so far */
} SortKeyBuilder;

/* What becomes of rows and their keys: set by whoever begins the sort, before the first row. */
typedef struct SortKeyPolicy
{
	KeyRow *rows;		  /* what makes rows of their keys, NULL if that can't be */
	bool alone;			  /* are rows made so, and not kept?  variable: but for those that the key does not
						   * tell */
	TupleDesc index_rows; /* of rows that are index tuples (key_row.h), the tid behind the index's columns,
						   * all of which they hold; NULL: of rows that are MinimalTuples */
} SortKeyPolicy;

typedef struct SortKey
{
	/* The description, as the catalogs were when the key was made; it does not change. */
	int ncols;
	bool variable;		   /* a variable key? */
	int width;			   /* bytes of a fixed key, a multiple of 8; 0 if variable */
	AttrNumber last_attno; /* the highest column of the slot that the key reads */
	SortKeyColumn *cols;   /* ncols of them, with what encodes each one's values */
	bool verified;		   /* do the keys only guess at the order, so that it is to be verified? */
	int nplaces;		   /* then: columns whose places the key tells; 0: they need no telling */
	bool uses_icu;		   /* are there sort keys of ICU in it? */
	uint64 description;	   /* a hash of the columns (changes.c) */

	SortKeyBuilder builder;
	SortKeyPolicy policy;
} SortKey;

/*
 * Where 8 bytes of a variable key show that it says no more of the order behind them: keys that agree up to
 * there need not be looked at any further.
 */
typedef struct SortKeyEnds
{
	bool shown; /* by a zero byte; else nothing shows it */
	bool imaged;
	bool descending;
} SortKeyEnds;

/* One sort column as a Sort node or a path describes it. */
typedef struct SortColumnSpec
{
	AttrNumber attno; /* the column of the input */
	Oid type;		  /* exprType of that column; domains are allowed */
	Oid sortop;		  /* ordering operator: '<' or '>' of a btree opfamily */
	Oid collation;	  /* collation to sort by, or InvalidOid */
	bool nulls_first;
	bool not_null; /* no row has a NULL there */
} SortColumnSpec;

/* How text is ordered. */
typedef enum TextOrder
{
	TEXT_BYTEWISE,	   /* by its bytes */
	TEXT_ICU,		   /* by an ICU collation */
	TEXT_LIBC,		   /* by the C library */
	TEXT_LIBC_BYTEWISE /* by the C library, by bytes or all but */
} TextOrder;

extern TextOrder sort_key_text_order(Oid collation);

/*
 * Can this column be encoded exactly, or so that its order can be verified?  Then *verified says so.  If not,
 * *why_not says why, as "type jsonb has no exact sort key".
 */
extern bool sort_key_supported_if_verified(const SortColumnSpec *column, bool *verified, Declined *why_not);

/*
 * The same by an order that holds between any two values, as an index needs it: comparisons of the ICU
 * collations whose order is verified may contradict each other.
 */
extern bool sort_key_supported_for_index(const SortColumnSpec *column, Declined *why_not);

/* What the keys of some columns are expected to be. */
typedef struct SortKeyEstimate
{
	double bytes;		   /* of a row's key, on average */
	bool is_fixed;		   /* is it a fixed key? */
	bool verified;		   /* does it only guess at the order? */
	bool *column_verified; /* does the column's part of it?  palloc'd */
} SortKeyEstimate;

/*
 * Of columns whose values have so many bytes on average.  False: a column can't be encoded (*why_not), and
 * the estimate is of a key that PostgreSQL's own comparison verifies.
 */
extern bool sort_key_estimate(int ncols, const SortColumnSpec *columns, const double *widths,
							  SortKeyEstimate *estimate, Declined *why_not);

/*
 * Does this process know already how the strings of this collation, of ICU, are encoded the quick way?
 * Raises PostgreSQL's own error if it can't be opened.
 */
extern bool sort_key_knows_collation(Oid collation);

/* Once it is set what is made of the key's rows. */
extern SortKeyEnds sort_key_ends(const SortKey *key);

/* Does a key end in these 8 bytes, as an integer that orders as they do?  first: they are its first ones. */
extern bool sort_key_word_ends(SortKeyEnds ends, uint64 word, bool first);

/*
 * Makes an encoder in CurrentMemoryContext, of the columns as the catalogs have them now; all it owns goes
 * with that context.  Every column must have been supported when the plan was made.  It may raise errors of
 * opening a collation.
 */
extern SortKey *sort_key_create(int ncols, const SortColumnSpec *columns);

/*
 * Would an encoder of these columns that is made now be the same?  What it knows of the values of enums does
 * not count.
 */
extern bool sort_key_is_current(const SortKey *key, const SortColumnSpec *columns);

/* The last one, by its oid, of the values of enums that are known; InvalidOid: there are none. */
extern Oid sort_key_newest_value(const SortKey *key);

/*
 * A number that encoders have in common, in whatever process, if they make the same keys of the same rows.
 * Values of enums that were added after the newest one don't count: they move no others.
 */
extern uint64 sort_key_fingerprint(const SortKey *key, Oid newest);

/*
 * Another encoder of the same keys in CurrentMemoryContext, which must not outlive the first one: to be used
 * while what the first one returned is still needed.
 */
extern SortKey *sort_key_create_twin(const SortKey *key);

/*
 * Which columns of the key have no marker, the first one's bit being the lowest.  And the same for the
 * columns of another process's key of the same rows: it must be as this one.
 */
extern uint32 sort_key_unmarked(const SortKey *key);
extern void sort_key_set_unmarked(int ncols, SortColumnSpec *columns, uint32 unmarked);

/*
 * Encodes the slot's row into key->width bytes at dst (8-byte aligned).  Of all types enums alone can raise
 * an error: if their values are renumbered meanwhile.  So does a NULL in a column that was said to have none.
 * Among variable keys those of composite types can: if the type is altered meanwhile.
 */
extern void sort_key_encode_fixed(SortKey *key, TupleTableSlot *slot, uint8 *dst);

/*
 * The same of a row as it stands in a table's page; false: its columns have to be taken apart first, by a
 * slot, and nothing at dst counts.
 */
extern bool sort_key_encode_stored(SortKey *key, TupleDesc desc, HeapTupleHeader row, uint8 *dst);

/*
 * Encodes the slot's row; returns the key, *len bytes long, trailing zero bytes dropped unless rows are made
 * of keys.  The result is valid until the next call, and belongs to the SortKey.
 */
extern const uint8 *sort_key_encode_variable(SortKey *key, TupleTableSlot *slot, Size *len);

/* The same of a row as it stands in a table's page; NULL: its columns have to be taken apart first. */
extern const uint8 *sort_key_encode_variable_stored(SortKey *key, TupleDesc desc, HeapTupleHeader row,
													Size *len);

#endif /* GPUSORT_KEY_SORT_KEY_H */
