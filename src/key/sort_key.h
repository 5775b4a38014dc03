/*
 * key/sort_key.h
 *		Normalized sort keys: bytes whose order is the SQL order.
 *
 * Every supported sort key, of one or more columns, becomes a byte string.  Comparing two byte strings as
 * unsigned bytes (memcmp) gives exactly PostgreSQL's order.  Equal keys are equal for PostgreSQL too.
 *
 *	- All columns of fixed width: a *fixed key* of SortKey.width bytes, a multiple of 8, padded with zero
 *	  bytes at its end.
 *	- Otherwise: a *variable key*.  Apart from trailing zero bytes, no key is a proper prefix of another.
 *	  Keys compare as if zero bytes followed without end, and trailing zero bytes may be left out.
 *
 * Some text has keys that only guess the order.  A sort of such keys (SortKey.verified) is verified by
 * comparisons (compare.h), and corrected where the comparisons differ.
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
	 * the descriptor of rows that are index tuples (key_row.h), which have all columns of the index and then
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

/* One sort column as a Sort node or a path describes it. */
typedef struct SortColumnSpec
{
	AttrNumber attno; /* the column of the input */
	Oid type;		  /* exprType of that column; domains are allowed */
	Oid sortop;		  /* ordering operator: '<' or '>' of a btree opfamily */
	Oid collation;	  /* collation to sort by, or InvalidOid */
	bool nulls_first;
	bool not_null; /* no row has a NULL in the column */
} SortColumnSpec;

/* The order of text. */
typedef enum TextOrder
{
	TEXT_BYTEWISE,	   /* by its bytes */
	TEXT_ICU,		   /* by an ICU collation */
	TEXT_LIBC,		   /* by the C library */
	TEXT_LIBC_BYTEWISE /* by the C library, by bytes or nearly so */
} TextOrder;

extern TextOrder sort_key_text_order(Oid collation);

/*
 * Can this column be encoded?  *verified: the key only guesses the order, which must be verified.  If the
 * column cannot be encoded, *why_not says why, as "type jsonb has no exact sort key".
 */
extern bool sort_key_supported_if_verified(const SortColumnSpec *column, bool *verified, Declined *why_not);

/*
 * Can this column be encoded for an index?  An index needs an order that holds between any two values.
 * Comparisons of the ICU collations whose order is verified may contradict each other.
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
 * Fills the estimate of keys; widths: the average bytes of the columns' values.  False: a column cannot be
 * encoded (*why_not), and the estimate is for a key that PostgreSQL's own comparison verifies.
 */
extern bool sort_key_estimate(int ncols, const SortColumnSpec *columns, const double *widths,
							  SortKeyEstimate *estimate, Declined *why_not);

/*
 * Does this process already have the table for encoding strings of this ICU collation quickly?  Raises
 * PostgreSQL's own error if the collation cannot be opened.
 */
extern bool sort_key_knows_collation(Oid collation);

/* Returns how keys show their end.  Call it when the policy is set. */
extern SortKeyEnds sort_key_ends(const SortKey *key);

/*
 * Does a key end in these 8 bytes? word: the bytes as an integer with the same order. first: are these the
 * first bytes of the key?
 */
extern bool sort_key_word_ends(SortKeyEnds ends, uint64 word, bool first);

/*
 * Makes an encoder in CurrentMemoryContext, for the columns by the present catalogs.  All its memory is in
 * that context.  Every column must have been supported when the plan was made.  It may raise errors when it
 * opens a collation.
 */
extern SortKey *sort_key_create(int ncols, const SortColumnSpec *columns);

/*
 * Would an encoder of these columns that is made now be the same?  Known values of enums do not count.
 */
extern bool sort_key_is_current(const SortKey *key, const SortColumnSpec *columns);

/* Returns the highest OID of the known enum values; InvalidOid: there are none. */
extern Oid sort_key_newest_value(const SortKey *key);

/*
 * Returns a hash that is the same for all encoders, in all processes, that make the same keys from the same
 * rows.  Enum values that were added after `newest` do not count, because they move no other values.
 */
extern uint64 sort_key_fingerprint(const SortKey *key, Oid newest);

/*
 * Makes another encoder of the same keys in CurrentMemoryContext, which must not outlive the first one.  Use
 * it while the result of the first one is still needed.
 */
extern SortKey *sort_key_create_twin(const SortKey *key);

/*
 * sort_key_unmarked: returns the columns of the key without a marker as bits; the lowest bit is the first
 * column.  sort_key_set_unmarked: sets the same for the columns of another process's key of the same rows,
 * which must agree.
 */
extern uint32 sort_key_unmarked(const SortKey *key);
extern void sort_key_set_unmarked(int ncols, SortColumnSpec *columns, uint32 unmarked);

/*
 * Encodes the slot's row into key->width bytes at dst (8-byte aligned).  Raises an error if the values of an
 * enum were renumbered meanwhile, and for a NULL in a column that must have none.  Variable keys also raise
 * an error if a composite type was altered meanwhile.
 */
extern void sort_key_encode_fixed(SortKey *key, TupleTableSlot *slot, uint8 *dst);

/*
 * Encodes a row in a table's page.  False: a slot must deform the row first, and the bytes at dst are not
 * valid.
 */
extern bool sort_key_encode_stored(SortKey *key, TupleDesc desc, HeapTupleHeader row, uint8 *dst);

/*
 * Encodes the slot's row and returns the key, *len bytes long.  Trailing zero bytes are dropped unless rows
 * are restored from keys.  The result is valid until the next call, and belongs to the SortKey.
 */
extern const uint8 *sort_key_encode_variable(SortKey *key, TupleTableSlot *slot, Size *len);

/* Encodes a row in a table's page.  NULL: a slot must deform the row first. */
extern const uint8 *sort_key_encode_variable_stored(SortKey *key, TupleDesc desc, HeapTupleHeader row,
													Size *len);

#endif /* GPUSORT_KEY_SORT_KEY_H */
