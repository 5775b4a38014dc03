/*
 * sort/group_table.h
 *		The n lowest keys of each group of rows so far, in memory that the processes of a sort share.
 *
 * A key is behind if n keys of its group are in the table that come before it.  The table has limited memory:
 * when it is full, a new group takes the place of another one at times.  A group that is not in the table has
 * no key that is behind, so any table is right.
 *
 * No process waits for another one.  A bucket has a version, which is odd while the bucket is written.  A
 * reader that sees another version afterwards takes the key for one that is not behind.  A key that comes
 * while another process writes the same bucket is not added.
 */
#ifndef GPUSORT_SORT_GROUP_TABLE_H
#define GPUSORT_SORT_GROUP_TABLE_H

#include "postgres.h"

#include "port/atomics.h"

#include "base/group_rows.h"
#include "key/types.h"
#include "memory/arena.h"

/* Words of a variable key that are compared. */
#define GROUP_KEY_WORDS 7

/* What became of a key. */
typedef enum GroupAdded
{
	GROUP_NOT_ADDED,
	GROUP_BEGUN,	 /* it is the first one of its group */
	GROUP_FILLED,	 /* its group had fewer than n keys */
	GROUP_PUSHED_OUT /* it has pushed another one out */
} GroupAdded;

/* A key as the table compares it. */
typedef struct GroupKey
{
	const uint64 *words; /* those of a variable key have zeros behind its end */
	int group_words;	 /* words with bytes of the group */
	uint64 last_mask;	 /* the bytes of the group in the last one of these */
	uint64 hash;		 /* of the group */
} GroupKey;

/* In memory of all processes of the sort. */
typedef struct GroupTable
{
	int n;			  /* keys of each group; at least 1 */
	bool different;	  /* is a key that is there already not added? */
	int nwords;		  /* words of a key */
	int entry_words;  /* words of an entry: a key, and for variable keys the hash behind it */
	int ways;		  /* entries in a bucket */
	int bucket_words; /* words of a bucket, whole cache lines: a GroupBucket, and the entries */
	int lower_words;  /* words of the lower keys of an entry, with the number of keys; 0: n is 1 */
	uint64 *buckets;
	uint64 *lower;
	uint32 most;			   /* buckets that there is memory for */
	pg_atomic_uint32 nbuckets; /* in use */

	char unused[PG_CACHE_LINE_SIZE];
	pg_atomic_uint32 used;	  /* entries that are in use since the table has grown */
	pg_atomic_uint32 growing; /* 1: a process makes buckets */
} GroupTable;

/*
 * Makes a table of at most `memory` bytes, for the n lowest keys of each group.  arena: NULL if the table is
 * of this process alone, in CurrentMemoryContext.  False: there is no memory.
 */
extern bool group_table_init(GroupTable *table, const SortKey *key, int n, bool different, Arena *arena,
							 Size memory);

/* Returns the bytes that the table uses. */
extern Size group_table_bytes(GroupTable *table);

/* Sets how many bytes of the key are the group. */
extern void group_key_set_group(GroupKey *key, Size bytes);

/* Computes the hash of the key's group. */
static inline void
group_key_hash(GroupKey *key)
{
	uint64 hash = 0;
	int last = key->group_words - 1;

	for (int i = 0; i <= last; i++)
	{
		hash = (hash ^ (i == last ? key->words[i] & key->last_mask : key->words[i])) *
			   UINT64CONST(0x9E3779B97F4A7C15);
		hash ^= hash >> 32;
	}
	key->hash = hash;
}

/* Fetches into the caches what the table knows of the group with this hash. */
extern void group_table_fetch(GroupTable *table, uint64 hash);

/* Are n keys of the group below the key?  or_equal: is it behind already if it equals the highest of them? */
extern bool group_table_is_behind(GroupTable *table, const GroupKey *key, bool or_equal);

/*
 * Adds the key if it is one of the n lowest of its group.  number: different ones for the keys that a process
 * adds.
 */
extern GroupAdded group_table_add(GroupTable *table, const GroupKey *key, uint64 number);

#endif /* GPUSORT_SORT_GROUP_TABLE_H */
