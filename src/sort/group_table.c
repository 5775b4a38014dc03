/*
 * sort/group_table.c
 *		The n lowest keys of each group of rows so far.
 *
 * The table consists of buckets, and a bucket of a few entries, one for each group.  An entry is the n-th
 * lowest key of its group: a key above it is behind, and so one look at one place decides.  The n - 1 lower
 * keys are elsewhere, the lowest first, and are looked at when a key is added.  An entry whose group has
 * fewer keys is open: it has the bytes of the group, and then only ones, above which no key is.
 *
 * A table that grows has its groups in other buckets from then on.  A group is copied to its new bucket when
 * its next key is added, unless new groups have taken its place in the old one.
 */
#include "postgres.h"

#include "sort/group_table.h"
#include "sort/key_words.h"

/* The table grows if a bucket has no room, and one entry of so many is in use. */
#define GROW_USED 3

/* If there is no room for a new group, it takes the place of another one for one key of so many. */
#define REPLACE_KEYS 8

#define CACHE_LINE 64
#define CACHE_LINE_WORDS (CACHE_LINE / sizeof(uint64))

/* The bytes of a table that has not grown. */
#ifndef BOUND_TIGHT
#define TABLE_MEMORY_FIRST ((Size) 64 * 1024)
#else
#define TABLE_MEMORY_FIRST ((Size) 1024)
#endif

/* The first word of a bucket. */
typedef struct GroupBucket
{
	pg_atomic_uint32 version; /* odd: a process writes */
	uint32 taken;			  /* number of entries, from the first one on */
} GroupBucket;

/* A group's place while its bucket is written. */
typedef struct GroupPlace
{
	GroupBucket *bucket;
	uint64 number; /* of the bucket */
	uint64 *entry;
	uint64 *lower; /* the number of keys, at most n, and the lower keys */
	bool is_new;
} GroupPlace;

/* ---------------------------------------------------------------- beginning */

/* Bytes of a bucket, and of what belongs to it elsewhere. */
static Size
bucket_bytes(const GroupTable *table)
{
	return (table->bucket_words + table->ways * table->lower_words) * sizeof(uint64);
}

/* Makes buckets usable that are empty; false: there is no memory. */
static bool
make_buckets(GroupTable *table, uint32 from, uint32 n)
{
	uint64 *buckets = table->buckets + (Size) from * table->bucket_words;
	Size bytes = (Size) n * table->bucket_words * sizeof(uint64);
	uint64 *lower = table->lower + (Size) from * table->ways * table->lower_words;
	Size lower_bytes = (Size) n * table->ways * table->lower_words * sizeof(uint64);

	if (!arena_populate(buckets, bytes) || (lower_bytes > 0 && !arena_populate(lower, lower_bytes)))
		return false;
	memset(buckets, 0, bytes);
	return true;
}

/* Words of the lower keys of a group, with their number: they begin a cache line, or share one. */
static int
lower_words(int n, int nwords)
{
	int words = 1 + (n - 1) * nwords;

	if (words >= (int) CACHE_LINE_WORDS)
		return TYPEALIGN(CACHE_LINE_WORDS, words);
	return words > 4 ? CACHE_LINE_WORDS : words > 2 ? 4 : 2;
}

bool
group_table_init(GroupTable *table, const SortKey *key, int n, bool different, Arena *arena, Size memory)
{
	void *allocated = arena_reserve(arena, memory);
	uint32 first;
	int doublings = 0;

	if (allocated == NULL)
		return false;
	table->n = n;
	table->different = different;
	table->nwords = key->variable ? GROUP_KEY_WORDS : key->width / sizeof(uint64);
	table->entry_words = table->nwords + (key->variable ? 1 : 0);
	table->bucket_words = TYPEALIGN(CACHE_LINE_WORDS, 1 + 3 * table->entry_words);
	table->ways = (table->bucket_words - 1) / table->entry_words;
	table->lower_words = n > 1 ? lower_words(n, table->nwords) : 0;
	table->buckets = (uint64 *) TYPEALIGN(CACHE_LINE, allocated);
	first = Min((memory - CACHE_LINE) / bucket_bytes(table), PG_INT32_MAX);
	for (; first / 2 * bucket_bytes(table) >= TABLE_MEMORY_FIRST; first /= 2)
		doublings++;
	table->most = first << doublings;
	table->lower = table->buckets + (Size) table->most * table->bucket_words;
	pg_atomic_init_u32(&table->nbuckets, first);
	pg_atomic_init_u32(&table->used, 0);
	pg_atomic_init_u32(&table->growing, 0);
	return first > 0 && make_buckets(table, 0, first);
}

Size
group_table_bytes(GroupTable *table)
{
	return pg_atomic_read_u32(&table->nbuckets) * bucket_bytes(table);
}

void
group_key_set_group(GroupKey *key, Size bytes)
{
	key->group_words = (bytes + sizeof(uint64) - 1) / sizeof(uint64);
	key->last_mask = 0;
	memset(&key->last_mask, 0xFF, bytes - (key->group_words - 1) * sizeof(uint64));
}

/* ---------------------------------------------------------------- finding */

static inline uint64
bucket_number(GroupTable *table, uint64 hash)
{
	return ((hash & 0xFFFFFFFF) * pg_atomic_read_u32(&table->nbuckets)) >> 32;
}

static inline GroupBucket *
bucket_at(const GroupTable *table, uint64 number)
{
	return (GroupBucket *) (table->buckets + number * table->bucket_words);
}

static inline uint64 *
first_entry(GroupBucket *bucket)
{
	return (uint64 *) (bucket + 1);
}

/* The lower keys of an entry of this bucket. */
static inline uint64 *
lower_of(const GroupTable *table, uint64 number, const uint64 *entry)
{
	int way = (int) (entry - first_entry(bucket_at(table, number))) / table->entry_words;

	return table->lower + (number * table->ways + way) * table->lower_words;
}

/* Is this the entry of the key's group? */
static inline bool
is_of_group(const uint64 *entry, const GroupKey *key)
{
	int last = key->group_words - 1;

	for (int i = 0; i < last; i++)
	{
		if (entry[i] != key->words[i])
			return false;
	}
	return ((entry[last] ^ key->words[last]) & key->last_mask) == 0;
}

/* The entry of the key's group in this bucket; NULL: there is none. */
static inline uint64 *
find_entry(const GroupTable *table, GroupBucket *bucket, const GroupKey *key)
{
	uint64 *entry = first_entry(bucket);

	for (uint64 *end = entry + bucket->taken * table->entry_words; entry < end; entry += table->entry_words)
	{
		if (is_of_group(entry, key))
			return entry;
	}
	return NULL;
}

void
group_table_fetch(GroupTable *table, uint64 hash)
{
	__builtin_prefetch(bucket_at(table, bucket_number(table, hash)));
}

bool
group_table_is_behind(GroupTable *table, const GroupKey *key, bool or_equal)
{
	uint64 number = bucket_number(table, key->hash);
	GroupBucket *bucket = bucket_at(table, number);
	uint32 version = pg_atomic_read_u32(&bucket->version);
	const uint64 *entry;
	int order;

	pg_read_barrier();
	entry = find_entry(table, bucket, key);
	if (entry == NULL)
		return false;
	order = compare_key_words(entry, key->words, table->nwords);
	if (order >= 0 && table->n > 1)
	{
		const uint64 *lower = lower_of(table, number, entry);

		__builtin_prefetch(lower, 1);
		/* the key may be all ones, and so equal an open entry */
		or_equal = or_equal && order == 0 && *lower == table->n;
	}
	pg_read_barrier();
	return order < 0 + or_equal && version % 2 == 0 && pg_atomic_read_u32(&bucket->version) == version;
}

/* ---------------------------------------------------------------- growing */

/* Grows, if there is memory and the buckets are not only filled badly.  A group had no room. */
static void
grow(GroupTable *table)
{
	uint32 nobody = 0;
	uint32 n;

	if (!pg_atomic_compare_exchange_u32(&table->growing, &nobody, 1))
		return;
	n = pg_atomic_read_u32(&table->nbuckets);
	if (n < table->most && pg_atomic_read_u32(&table->used) > (uint64) n * table->ways / GROW_USED)
	{
		if (make_buckets(table, n, n))
		{
			pg_atomic_write_u32(&table->used, 0);
			pg_write_barrier();
			pg_atomic_write_u32(&table->nbuckets, n * 2);
		}
		else
			table->most = n;
	}
	pg_write_barrier();
	pg_atomic_write_u32(&table->growing, 0);
}

/* ---------------------------------------------------------------- adding */

/* Was this entry left in the bucket when the table grew? */
static bool
is_left(GroupTable *table, const GroupPlace *place, const uint64 *entry, const GroupKey *key)
{
	GroupKey left = {.words = entry, .group_words = key->group_words, .last_mask = key->last_mask};

	if (table->entry_words > table->nwords)
		left.hash = entry[table->nwords];
	else
		group_key_hash(&left);
	return bucket_number(table, left.hash) != place->number;
}

/* An entry for a new group; NULL: the others keep theirs. */
static uint64 *
claim_entry(GroupTable *table, GroupPlace *place, const GroupKey *key, uint64 number, bool *crowded)
{
	uint64 *first = first_entry(place->bucket);
	int way = 0;

	while (way < place->bucket->taken && !is_left(table, place, first + way * table->entry_words, key))
		way++;
	*crowded = way == table->ways;
	if (!*crowded)
	{
		place->bucket->taken = Max(place->bucket->taken, way + 1);
		pg_atomic_fetch_add_u32(&table->used, 1);
	}
	/*
	 * If each new group took one, groups that come in turn would find none of theirs; if none did, those that
	 * come no more would stay.
	 */
	else if (number % REPLACE_KEYS == 0)
		way = number / REPLACE_KEYS % table->ways;
	else
		return NULL;
	return first + way * table->entry_words;
}

/* Begins an open entry. */
static void
begin_entry(const GroupTable *table, const GroupPlace *place, const GroupKey *key)
{
	int last = key->group_words - 1;

	memcpy(place->entry, key->words, table->nwords * sizeof(uint64));
	if (table->entry_words > table->nwords)
		place->entry[table->nwords] = key->hash;
	if (table->n == 1)
		return;
	*place->lower = 0;
	place->entry[last] |= ~key->last_mask;
	memset(place->entry + last + 1, 0xFF, (table->nwords - last - 1) * sizeof(uint64));
}

/* Copies what the table has of the group in the bucket that it had before the table grew; false: nothing. */
static bool
take_over(GroupTable *table, GroupPlace *place, const GroupKey *key)
{
	uint64 number = place->number / 2;
	GroupBucket *bucket = bucket_at(table, number);
	uint32 version = pg_atomic_read_u32(&bucket->version);
	const uint64 *entry;

	pg_read_barrier();
	entry = find_entry(table, bucket, key);
	if (entry == NULL || version % 2 != 0)
		return false;
	memcpy(place->entry, entry, table->entry_words * sizeof(uint64));
	memcpy(place->lower, lower_of(table, number, entry), table->lower_words * sizeof(uint64));
	pg_read_barrier();
	return pg_atomic_read_u32(&bucket->version) == version;
}

/* Is the key among those of its group already? */
static bool
has_key(const GroupTable *table, const GroupPlace *place, const GroupKey *key)
{
	int lower = table->n > 1 ? Min(*place->lower, table->n - 1) : 0;

	for (int i = 0; i < lower; i++)
	{
		if (compare_key_words(place->lower + 1 + i * table->nwords, key->words, table->nwords) == 0)
			return true;
	}
	return compare_key_words(place->entry, key->words, table->nwords) == 0;
}

/*
 * Puts the key among the n - 1 lowest ones.  Returns the highest of them, or the key itself if it is higher,
 * in `rest`; false: none was left over.
 */
static bool
insert_lower(const GroupTable *table, uint64 *lower, const GroupKey *key, uint64 *rest)
{
	int nwords = table->nwords;
	Size bytes = nwords * sizeof(uint64);
	int nlower = Min(*lower, table->n - 1);
	bool has_room = nlower < table->n - 1;
	uint64 *slots = lower + 1;
	int at = nlower;

	while (at > 0 && compare_key_words(slots + (at - 1) * nwords, key->words, nwords) > 0)
		at--;
	if (!has_room)
		memcpy(rest, at == nlower ? key->words : slots + (nlower - 1) * nwords, bytes);
	if (has_room || at < nlower)
	{
		memmove(slots + (at + 1) * nwords, slots + at * nwords,
				((has_room ? nlower : nlower - 1) - at) * bytes);
		memcpy(slots + at * nwords, key->words, bytes);
	}
	return !has_room;
}

/* Puts the key among those of its group, if it is one of the n lowest. */
static GroupAdded
put_key(const GroupTable *table, const GroupPlace *place, const GroupKey *key)
{
	bool is_full = table->n == 1 || *place->lower == table->n;
	uint64 rest[GROUP_KEY_WORDS];
	const uint64 *highest = table->n == 1 ? key->words : rest;
	bool left_over;

	if (table->different && has_key(table, place, key))
		return GROUP_NOT_ADDED;
	left_over = table->n == 1 || insert_lower(table, place->lower, key, rest);
	if (!is_full)
		(*place->lower)++;
	if (!left_over)
		return GROUP_FILLED;
	if (is_full && compare_key_words(place->entry, highest, table->nwords) <= 0)
		return GROUP_NOT_ADDED;
	memcpy(place->entry, highest, table->nwords * sizeof(uint64));
	return is_full ? GROUP_PUSHED_OUT : GROUP_FILLED;
}

/* Finds the group's place in its bucket, which this process writes, or a place for it; false: none. */
static bool
find_place(GroupTable *table, GroupPlace *place, const GroupKey *key, uint64 number, bool *crowded)
{
	bool is_claimed;

	place->entry = find_entry(table, place->bucket, key);
	is_claimed = place->entry == NULL;
	if (is_claimed)
		place->entry = claim_entry(table, place, key, number, crowded);
	if (place->entry == NULL)
		return false;
	place->lower = lower_of(table, place->number, place->entry);
	place->is_new = is_claimed && !take_over(table, place, key);
	if (place->is_new)
		begin_entry(table, place, key);
	return true;
}

GroupAdded
group_table_add(GroupTable *table, const GroupKey *key, uint64 number)
{
	GroupPlace place = {.number = bucket_number(table, key->hash)};
	bool crowded = false;
	GroupAdded added = GROUP_NOT_ADDED;
	uint32 version;

	place.bucket = bucket_at(table, place.number);
	version = pg_atomic_read_u32(&place.bucket->version);
	if (version % 2 != 0 || !pg_atomic_compare_exchange_u32(&place.bucket->version, &version, version + 1))
		return GROUP_NOT_ADDED;
	if (find_place(table, &place, key, number, &crowded))
		added = put_key(table, &place, key);
	pg_write_barrier();
	pg_atomic_write_u32(&place.bucket->version, version + 2);
	if (unlikely(crowded))
		grow(table);
	return added != GROUP_NOT_ADDED && place.is_new ? GROUP_BEGUN : added;
}
