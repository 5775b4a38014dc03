/*
 * key/value_table.h
 *		Tables of the different values of sort columns: a number, the code, for each value.
 *
 * All processes that feed a sort share its tables, so a code means the same value in all of them.  A value
 * that is there is found without a lock.  Two processes that add a value at the same time, or while the table
 * grows, may give it two codes.  That is right: codes become ranks, and equal values have one rank.
 *
 * A table takes at most its limit of memory.  When it is full, values that are not there have no code.  Then
 * the sort goes on without codes (coded.h).
 *
 * An entry is complete before `used` of its block counts it, and it is counted before a slot has its address.
 * Therefore the entry of every code that a process has met is in a block, up to the `used` that it reads.
 */
#ifndef GPUSORT_KEY_VALUE_TABLE_H
#define GPUSORT_KEY_VALUE_TABLE_H

#include "postgres.h"

#include "port/atomics.h"

#include "key/types.h"
#include "memory/arena.h"

/* The code of a value for which the table has no room. */
#define VALUE_NONE PG_UINT32_MAX

/* A value: its bytes, with a length word as of a varlena before them. */
typedef struct ValueEntry
{
	uint32 code;
	uint32 header;
	char bytes[FLEXIBLE_ARRAY_MEMBER];
} ValueEntry;

/* Entries of one process, one after the other, each at a multiple of 8 bytes. */
typedef struct ValueBlock
{
	struct ValueBlock *next;
	Size size;			   /* bytes of entries that there is room for */
	pg_atomic_uint64 used; /* bytes of complete entries */
	char entries[FLEXIBLE_ARRAY_MEMBER];
} ValueBlock;

/* Addresses of entries, with bits of their values' hashes in the upper 16 bits; 0: free. */
typedef struct ValueSlots
{
	uint64 mask;
	pg_atomic_uint64 slot[FLEXIBLE_ARRAY_MEMBER];
} ValueSlots;

struct ValueTable
{
	Arena *arena; /* NULL: memory of this process */
	Size limit;
	MemoryContext context;	  /* then: of the memory */
	pg_atomic_uint64 bytes;	  /* bytes of memory that it has taken */
	pg_atomic_uint64 slots;	  /* the address of the ValueSlots */
	pg_atomic_uint64 blocks;  /* the address of the newest block */
	pg_atomic_uint32 ncodes;  /* codes that were given out */
	pg_atomic_uint32 growing; /* 1: a process makes slots */
	pg_atomic_uint32 full;	  /* 1: it takes no more values */
};

/*
 * Values that wait until what looks them up is in the caches; a power of 2.  Longer values than this do not
 * wait.
 */
#define VALUES_LATE 8
#define VALUE_LATE_MAX 208

/* A value that waits, and the place for its code; NULL: not known yet. */
typedef struct LateValue
{
	uint8 *place;
	uint64 hash;
	uint32 size;
	char bytes[VALUE_LATE_MAX];
} LateValue;

/* What one process needs to look values up in a table. */
typedef struct ValueReader
{
	ValueTable *table;
	ValueBlock *block;	 /* the one that this process fills; NULL: none yet */
	ValueBlock *reserve; /* has room for the values that wait when the table is full; NULL: no value waits */
	uint64 added;		 /* number of values that this process has added */
	uint32 nlate;		 /* number of values that have waited, or wait still */
	uint32 nfound;		 /* of these do not wait any more */
	LateValue late[VALUES_LATE];
} ValueReader;

/*
 * Makes a table of at most `limit` bytes.  expected: number of different values.  arena: NULL if the table is
 * of this process alone, in CurrentMemoryContext.  False: there is no memory.
 */
extern bool value_table_init(ValueTable *table, Arena *arena, Size limit, double expected);

/* Returns the code of a value; VALUE_NONE: the table has no room for it. */
extern uint32 value_table_code(ValueReader *reader, const char *bytes, Size size);

/* Lets values wait in this process.  False: there is no memory. */
extern bool value_table_allow_late(ValueReader *reader);

/*
 * Lets a value wait, of at most VALUE_LATE_MAX bytes, while its slot is fetched into the caches, and then its
 * entry.  The value that has waited longest gets its code.  False: the table is full.
 */
extern bool value_table_code_late(ValueReader *reader, const char *bytes, Size size);

/* If the value that came last has no place, its code is to be written there. */
static inline void
value_table_place(ValueReader *reader, uint8 *place)
{
	LateValue *last = &reader->late[(reader->nlate - 1) % VALUES_LATE];

	if (reader->nfound != reader->nlate && last->place == NULL)
		last->place = place;
}

/*
 * Gives their codes to all values that wait and have a place.  False: as above; they have codes all the same.
 */
extern bool value_table_settle(ValueReader *reader);

/* Returns the number of codes so far. */
static inline uint32
value_table_codes(ValueTable *table)
{
	return pg_atomic_read_u32(&table->ncodes);
}

/* Returns the bytes of memory that the table has taken. */
static inline Size
value_table_bytes(ValueTable *table)
{
	return pg_atomic_read_u64(&table->bytes);
}

/* Calls the function for each entry that is complete now. */
extern void value_table_visit(ValueTable *table, void (*visit)(const ValueEntry *entry, void *arg),
							  void *arg);

#endif /* GPUSORT_KEY_VALUE_TABLE_H */
