/*
 * key/coded.h
 *		Keys that have codes in the place of values of variable width.
 *
 * While rows come, a coded key has a number for each value of a coded column: its code in a table of values
 * (value_table.h).  All columns have fixed width then, and the key is a fixed key.  Codes have no order.
 * Once the different values are sorted, the code of each value is replaced by its rank (sort/value_ranks.h),
 * and the keys have PostgreSQL's order.  Values that are equal have one rank.
 *
 * The key without codes is the *plain key*, a variable key.  A coded key with ranks can be expanded to the
 * plain key of the same row, by the keys of the values.
 *
 * Coding ends if values are nearly all different, or if a table is full.  The rows so far then get plain
 * keys.
 */
#ifndef GPUSORT_KEY_CODED_H
#define GPUSORT_KEY_CODED_H

#include "postgres.h"

#include "key/types.h"
#include "key/value_table.h"

/* The most coded columns of a key. */
#define CODED_COLUMNS_MAX 6

/* The tables of a sort's coded columns, in memory of all processes of the sort. */
typedef struct SortKeyTables
{
	uint32 columns;			/* the coded columns, as bits; the lowest bit is the first column */
	double rows;			/* rows that all processes are expected to feed */
	double values;			/* expected number of different values of a column; 0: not known */
	double times;			/* coding ends if values come less often on average, about */
	pg_atomic_uint32 ended; /* 1: keys have no codes any more */
	pg_atomic_uint32 full;	/* 1: that is because a table had no room */
	int n;
	ValueTable tables[CODED_COLUMNS_MAX];
} SortKeyTables;

/* A coded column. */
typedef struct CodedColumn
{
	SortKey *key; /* the plain key of the column alone */
	int column;	  /* its number in the sort key */
	Size offset;  /* of the code in the coded key */
	Size marker;  /* of its marker */
	uint8 value_marker;
	bool *full;		 /* set if the table has no room for a value */
	uint64 *lookups; /* counts values that were looked up */
	ValueReader reader;
} CodedColumn;

struct SortKeyCoding
{
	SortKey *plain; /* the key without codes */
	SortKeyTables *tables;
	bool full;		  /* was there no room for a value? */
	uint64 lookups;	  /* number of values that were looked up */
	uint64 judge_at;  /* judged when `lookups` reaches this value */
	uint64 judged;	  /* lookups when it was judged last */
	uint64 added;	  /* values that were added by then */
	bool plain_tells; /* does the plain key tell each row that the coded key tells? */
	int ncoded;
	CodedColumn coded[CODED_COLUMNS_MAX];
};

/*
 * Returns the width of a key of these columns in which those of `wanted`, as bits, that can be coded are
 * coded (*coded, as bits).  0: none can be, or the coded key would be no fixed key.
 */
extern int sort_key_coded_width(int ncols, const SortKeyColumn *cols, uint32 wanted, uint32 *coded);

/*
 * Returns those of these columns that can be coded, as bits.  0: none, or the coded key would be no fixed
 * key, or the plain key is one.
 */
extern uint32 sort_key_codable(const SortKey *plain, uint32 columns);

/* Are all of these columns before the column with this number? */
static inline bool
sort_key_codes_are_within(uint32 columns, int end)
{
	return end >= 32 || columns >> end == 0;
}

/* Returns the columns that compare as bytes, as bits: without codes they cost less than others. */
extern uint32 sort_key_bytewise(const SortKey *plain);

/*
 * Makes tables for these columns, which can be coded, of at most `limit` bytes together.  expected: number of
 * different values of each; arena: NULL if they are of this process alone.  NULL: there is no memory.
 */
extern SortKeyTables *sort_key_tables_create(uint32 columns, Arena *arena, Size limit, double expected,
											 double rows);

/*
 * Makes a coded key of the plain key, in CurrentMemoryContext, with these tables.  Both must outlive it.
 */
extern SortKey *sort_key_create_coded(SortKey *plain, SortKeyTables *tables);

/*
 * Codes may be written into keys some rows later, when what the look-ups need is in the caches.  Then each
 * key is to be placed where it stays, and all are to be settled before another process sees them.
 */
extern void sort_key_allow_late_codes(SortKeyCoding *coding);
extern void sort_key_place_codes(SortKeyCoding *coding, uint8 *key);
extern void sort_key_settle_codes(SortKeyCoding *coding);

/* Returns the code of a value that is not NULL; 0 if it comes late. */
extern uint32 sort_key_code(CodedColumn *coded, Datum value);

/* Should coding end, by the values that this process has looked up?  To be called after each key. */
static inline bool
sort_key_coding_fails(const SortKeyCoding *coding)
{
	return coding->full || coding->lookups >= coding->judge_at ||
		   pg_atomic_read_u32(&coding->tables->ended) != 0;
}

/* Then: does it end?  Otherwise it is judged again later. */
extern bool sort_key_coding_ends(SortKeyCoding *coding);

/* Has it ended? */
static inline bool
sort_key_tables_ended(SortKeyTables *tables)
{
	return pg_atomic_read_u32(&tables->ended) != 0;
}

/* Is that because a table had no room, and not because few values repeat? */
static inline bool
sort_key_tables_full(SortKeyTables *tables)
{
	return pg_atomic_read_u32(&tables->full) != 0;
}

/* Returns the bytes and the values of all tables. */
extern Size sort_key_tables_bytes(SortKeyTables *tables);
extern uint64 sort_key_tables_values(SortKeyTables *tables);

/* Are two values of the only column equal only if their bytes are? */
extern bool sort_key_bytes_tell(const SortKey *column);

/*
 * Encode a value of a table, or NULL, by the key of the column alone.  All bytes; valid until the next call.
 */
extern const uint8 *sort_key_encode_value(CodedColumn *coded, const ValueEntry *entry, Size *size);
extern const uint8 *sort_key_encode_null(CodedColumn *coded, Size *size);

/* The bytes of a value in a plain key, with the marker: the first `stored` ones of size, then zeros. */
typedef struct ValueKey
{
	const uint8 *bytes;
	Size size;
	Size stored;
} ValueKey;

/* Returns the key of the value that a coded column of a key has: by its rank, or by its code. */
typedef ValueKey (*FindValueKey)(void *arg, int coded, uint32 number);

/*
 * Returns the plain key of a coded key, *size bytes, valid until the next call.  expander: a twin of the
 * plain key, because a key that the plain key has made may still be needed.
 */
extern const uint8 *sort_key_expand(SortKey *expander, const SortKeyCoding *coding, const uint8 *bytes,
									FindValueKey find, void *arg, Size *size);

#endif /* GPUSORT_KEY_CODED_H */
