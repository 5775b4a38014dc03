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

/* Values that are fetched into the caches before they are looked up; a power of 2. */
#define VALUES_AHEAD 4

/* What one process needs to look values up in a table. */
typedef struct ValueReader
{
	ValueTable *table;
	ValueBlock *block;		/* the one that this process fills; NULL: none yet */
	const ValueEntry *last; /* the entry of the value that was looked up last and had or got a code */
	uint64 added;			/* number of values that this process has added */
	struct
	{
		const char *bytes;
		uint64 hash;
	} ahead[VALUES_AHEAD]; /* values that come soon, and their hashes */
	uint32 nahead;
} ValueReader;

/*
 * Makes a table of at most `limit` bytes.  expected: number of different values.  arena: NULL if the table is
 * of this process alone, in CurrentMemoryContext.  False: there is no memory.
 */
extern bool value_table_init(ValueTable *table, Arena *arena, Size limit, double expected);

/* Returns the code of a value; VALUE_NONE: the table has no room for it. */
extern uint32 value_table_code(ValueReader *reader, const char *bytes, Size size);

/*
 * A value that will be looked up soon, while its bytes stay where they are: fetches the value's slot into the
 * caches, and the entry of the value before it.
 */
extern void value_table_look_ahead(ValueReader *reader, const char *bytes, Size size);

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
