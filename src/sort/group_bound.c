/*
 * sort/group_bound.c
 *		Which rows of a sort can still be among the first ones of their group.
 *
 * The table consists of buckets, and a bucket of a few entries, one for each group.  An entry is the n-th
 * lowest key of its group: a row that comes after it is dropped, and so one look at one place decides.  The
 * n - 1 lower keys are elsewhere, the lowest first, and are looked at when a row is kept.  An entry whose
 * group has fewer rows is open: it has the bytes of the group, and then only ones, above which no key is.
 *
 * A slot has the complement of a key's words, so that memory of zeros is a table of empty slots; rows of a
 * group whose bytes are all ones pass unseen.  Rows that were kept and that other rows pushed out of the n
 * can be cut out later.
 *
 * Variable keys: a slot has the first words of a key, zeros behind its end.  Of a longer key a slot has the
 * next value above what fits, so that the key is not above its slot; a key that is compared with a slot is
 * not below what fits of it.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/limits.h"
#include "key/sort_key.h"
#include "memory/alloc.h"
#include "sort/group_bound.h"

/* Words of a variable key that are compared. */
#define SLOT_WORDS_MAX 7

/* The most bytes of the table of one process. */
#ifndef BOUND_TIGHT
#define TABLE_MEMORY_MAX ((Size) 64 * 1024 * 1024)
#define TABLE_MEMORY_FIRST ((Size) 64 * 1024)
#else
#define TABLE_MEMORY_MAX ((Size) 16 * 1024)
#define TABLE_MEMORY_FIRST ((Size) 1024)
#endif

/* The table grows if a bucket has no room, and one entry of so many is taken. */
#define GROW_USED 3

/* If there is no room for a new group, it takes the place of another one for one row of so many. */
#define REPLACE_ROWS 8

#define CACHE_LINE 64

/* The filter is judged after so many rows. */
#ifndef BOUND_TIGHT
#define JUDGE_ROWS 16384
#else
#define JUDGE_ROWS 256
#endif

/*
 * It is switched off if one row of so many at most is dropped, when the table is full, or its patience is at
 * an end.
 */
#define WORTH_ROWS 8

/* A chunk is cut if one row of so many is likely not to be wanted. */
#define CUT_ROWS 3

struct GroupFilter
{
	GroupBound *bound;
	const SortKeyBuilder *builder; /* says where the group ends in a variable key; NULL: a fixed key */
	GroupRows kind;
	int n;
	int nwords;		 /* words of a slot */
	int entry_words; /* words of an entry: a slot, and for variable keys the hash behind it */
	int ways;		 /* entries in a bucket */
	bool cuts;		 /* are rows cut out that were kept? */

	void *memory;	/* the allocation of the table; NULL: the filter is switched off */
	uint64 *table;	/* entries */
	uint64 *others; /* n - 1 slots for each entry */
	uint64 nbuckets;
	uint64 used; /* number of entries that are taken */
	bool full;	 /* has it no room for more groups, and cannot grow? */

	/* The key that was asked about last. */
	uint64 key[SLOT_WORDS_MAX + 1]; /* its complement */
	int group_words;				/* words with bytes of the group */
	uint64 last_mask;				/* the bytes of the group in the last one of these */
	bool longer;					/* has the key more bytes than a slot? */
	uint64 hash;
	bool seen;	   /* is the key to be noted? */
	uint64 *entry; /* of its group; NULL: there is none */

	uint64 rows; /* number of rows that it was asked about */
	uint64 dropped;
	uint64 pushed_out;	  /* number of rows that other rows pushed out of an entry */
	uint64 cut;			  /* number of rows that were cut out */
	uint64 judge_at;	  /* judged when `rows` reaches this value */
	uint64 gained;		  /* dropped and pushed out when it was judged last */
	uint64 pushed_filled; /* pushed out when the last chunk was handed over */
	uint64 pushed_cut;	  /* pushed out when all chunks were cut the last time */
};

/* ---------------------------------------------------------------- beginning */

bool
group_bound_is_possible(const FirstOfGroups *first, const SortKey *key)
{
	return first->n > 0 && first->n <= GROUP_ROWS_MAX && first->columns > 0 && !key->verified;
}

Size
group_bound_memory(Size limit)
{
	return limit / GROUP_TABLE_SHARE;
}

void
group_bound_init(GroupBound *bound, const FirstOfGroups *first, Size memory, int processes, double patience,
				 bool cuts)
{
	memset(bound, 0, sizeof(*bound));
	bound->first = *first;
	bound->memory = Min(memory / processes, TABLE_MEMORY_MAX);
	bound->patience = patience / processes;
	bound->cuts = cuts;
	SpinLockInit(&bound->mutex);
}

/* Bytes of the group as a mask of a word in memory. */
static uint64
mask_of_bytes(Size bytes)
{
	uint64 mask = 0;

	memset(&mask, 0xFF, bytes);
	return mask;
}

static void
set_group_size(GroupFilter *filter, Size bytes)
{
	filter->group_words = (bytes + 7) / 8;
	filter->last_mask = mask_of_bytes(bytes - (filter->group_words - 1) * 8);
}

/* Bytes of an entry, and of what belongs to it elsewhere. */
static Size
entry_bytes(const GroupFilter *filter)
{
	return (filter->entry_words + (filter->n - 1) * filter->nwords) * sizeof(uint64);
}

static uint64
count_entries(const GroupFilter *filter)
{
	return filter->nbuckets * filter->ways;
}

/* Gives the filter an empty table of so many buckets. */
static void
make_table(GroupFilter *filter, uint64 nbuckets)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(filter));
	Size bytes = nbuckets * filter->ways * entry_bytes(filter);

	filter->nbuckets = nbuckets;
	filter->memory = huge_alloc(bytes + CACHE_LINE);
	filter->table = (uint64 *) TYPEALIGN(CACHE_LINE, filter->memory);
	filter->others = filter->table + count_entries(filter) * filter->entry_words;
	memset(filter->table, 0, bytes);
	filter->used = 0;
	MemoryContextSwitchTo(old);
}

GroupFilter *
group_filter_create(GroupBound *bound, SortKey *key)
{
	GroupFilter *filter = palloc0(sizeof(GroupFilter));

	filter->bound = bound;
	filter->kind = bound->first.kind;
	filter->n = bound->first.n;
	if (key->variable)
	{
		filter->builder = &key->builder;
		key->builder.group_columns = bound->first.columns;
		filter->nwords = SLOT_WORDS_MAX;
	}
	else
	{
		filter->nwords = key->width / sizeof(uint64);
		set_group_size(filter, sort_key_prefix_width(key, bound->first.columns));
	}
	filter->entry_words = filter->nwords + (key->variable ? 1 : 0);
	filter->ways = Max(3, CACHE_LINE / (int) (filter->entry_words * sizeof(uint64)));
	filter->cuts = bound->cuts && !key->variable;
	filter->judge_at = JUDGE_ROWS;
	make_table(filter, Max(1, Min(TABLE_MEMORY_FIRST, bound->memory) / (filter->ways * entry_bytes(filter))));
	return filter;
}

/* ---------------------------------------------------------------- slots */

/* The lower keys of the group of an entry. */
static inline uint64 *
others_of(const GroupFilter *filter, const uint64 *entry)
{
	return filter->others + (entry - filter->table) / filter->entry_words * (filter->n - 1) * filter->nwords;
}

static inline bool
slot_is_empty(const GroupFilter *filter, const uint64 *slot)
{
	for (int i = 0; i < filter->nwords; i++)
	{
		if (slot[i] != 0)
			return false;
	}
	return true;
}

/* Compares the keys of two slots; of complements the greater one is of the lower key. */
static inline int
compare_slots(const GroupFilter *filter, const uint64 *a, const uint64 *b)
{
	for (int i = 0; i < filter->nwords; i++)
	{
		if (a[i] != b[i])
			return KEY_WORD_TO_HOST(a[i]) > KEY_WORD_TO_HOST(b[i]) ? -1 : 1;
	}
	return 0;
}

/* Is this the slot of the group of the key that was asked about? */
static inline bool
slot_is_of_group(const GroupFilter *filter, const uint64 *slot)
{
	int last = filter->group_words - 1;

	for (int i = 0; i < last; i++)
	{
		if (slot[i] != filter->key[i])
			return false;
	}
	return ((slot[last] ^ filter->key[last]) & filter->last_mask) == 0;
}

static inline uint64
hash_group(const uint64 *key, int group_words, uint64 last_mask)
{
	uint64 hash = 0;

	for (int i = 0; i < group_words; i++)
	{
		hash =
			(hash ^ (i == group_words - 1 ? key[i] & last_mask : key[i])) * UINT64CONST(0x9E3779B97F4A7C15);
		hash ^= hash >> 32;
	}
	return hash;
}

static inline uint64 *
bucket_of(const GroupFilter *filter, uint64 hash)
{
	uint64 bucket = ((hash & 0xFFFFFFFF) * filter->nbuckets) >> 32;

	return filter->table + bucket * filter->ways * filter->entry_words;
}

/* ---------------------------------------------------------------- asking */

/* Loads the key; false: the filter cannot look at it. */
static bool
load_variable(GroupFilter *filter, const uint8 *key, Size size)
{
	Size group = filter->builder->group_end;
	Size most = filter->nwords * sizeof(uint64);
	Size looked_at = Min(size, most);

	if (group == 0 || group > most)
		return false;
	memcpy(filter->key, key, looked_at);
	memset((char *) filter->key + looked_at, 0, most - looked_at);
	for (int i = 0; i < filter->nwords; i++)
		filter->key[i] = ~filter->key[i];
	filter->longer = size > most;
	set_group_size(filter, group);
	return true;
}

static inline bool
load_key(GroupFilter *filter, const uint8 *key, Size size)
{
	if (filter->builder != NULL)
		return load_variable(filter, key, size);
	for (int i = 0; i < filter->nwords; i++)
		filter->key[i] = ~((const uint64 *) key)[i];
	return true;
}

/* The entry of the group of the key that was loaded; NULL: there is none. */
static inline uint64 *
find_entry(const GroupFilter *filter)
{
	uint64 *entry = bucket_of(filter, filter->hash);

	for (int i = 0; i < filter->ways; i++, entry += filter->entry_words)
	{
		if (slot_is_of_group(filter, entry))
			return entry;
	}
	return NULL;
}

/* Is it a group whose rows pass, because it cannot be told from an empty slot? */
static inline bool
is_all_ones(const GroupFilter *filter)
{
	int last = filter->group_words - 1;

	for (int i = 0; i < last; i++)
	{
		if (filter->key[i] != 0)
			return false;
	}
	return (filter->key[last] & filter->last_mask) == 0;
}

/* Has the group of the key that was loaded fewer than n keys in this entry? */
static inline bool
entry_is_open(const GroupFilter *filter, const uint64 *entry)
{
	int last = filter->group_words - 1;

	if (filter->n == 1 || (entry[last] & ~filter->last_mask) != 0)
		return false;
	for (int i = last + 1; i < filter->nwords; i++)
	{
		if (entry[i] != 0)
			return false;
	}
	return true;
}

/* Is the n-th key of the entry below the key that was loaded (or equal to it)? */
static inline bool
entry_is_below(const GroupFilter *filter, const uint64 *entry, bool or_equal)
{
	int order;

	if (entry_is_open(filter, entry))
		return false;
	order = compare_slots(filter, entry, filter->key);
	return order < 0 || (order == 0 && or_equal);
}

void
group_filter_fetch(const GroupFilter *filter, const uint64 *key)
{
	uint64 complement[KEY_MAX_WORDS];

	if (filter->memory == NULL)
		return;
	for (int i = 0; i < filter->group_words; i++)
		complement[i] = ~key[i];
	__builtin_prefetch(bucket_of(filter, hash_group(complement, filter->group_words, filter->last_mask)));
}

static void judge(GroupFilter *filter);

bool
group_filter_drops(GroupFilter *filter, const uint8 *key, Size size)
{
	filter->seen = false;
	if (filter->memory == NULL)
		return false;
	if (unlikely(++filter->rows >= filter->judge_at))
		judge(filter);
	if (filter->memory == NULL || !load_key(filter, key, size) || is_all_ones(filter))
		return false;
	filter->seen = true;
	filter->hash = hash_group(filter->key, filter->group_words, filter->last_mask);
	filter->entry = find_entry(filter);
	if (filter->entry == NULL || !entry_is_below(filter, filter->entry, filter->kind == GROUP_ROW_NUMBERS))
		return false;
	filter->dropped++;
	return true;
}

/* ---------------------------------------------------------------- noting */

/* An empty entry of the bucket for this hash; NULL: there is none. */
static uint64 *
find_empty(GroupFilter *filter, uint64 hash)
{
	uint64 *entry = bucket_of(filter, hash);

	for (int i = 0; i < filter->ways; i++, entry += filter->entry_words)
	{
		if (slot_is_empty(filter, entry))
		{
			filter->used++;
			return entry;
		}
	}
	return NULL;
}

/* Makes room for more groups, if the table may grow. */
static bool
grow(GroupFilter *filter)
{
	GroupFilter old = *filter;
	Size others = (filter->n - 1) * filter->nwords * sizeof(uint64);

	/* for a while there are both tables */
	filter->full = count_entries(filter) * entry_bytes(filter) * 3 > filter->bound->memory;
	if (filter->full || filter->used * GROW_USED < count_entries(filter))
		return false;
	make_table(filter, old.nbuckets * 2);
	for (const uint64 *from = old.table; from < old.others; from += filter->entry_words)
	{
		uint64 hash = filter->builder != NULL ? from[filter->nwords]
											  : hash_group(from, filter->group_words, filter->last_mask);
		uint64 *to = slot_is_empty(filter, from) ? NULL : find_empty(filter, hash);

		if (to == NULL)
			continue;
		memcpy(to, from, filter->entry_words * sizeof(uint64));
		memcpy(others_of(filter, to), others_of(&old, from), others);
	}
	huge_free(old.memory);
	return true;
}

/*
 * An entry for the group of the key that was asked about; NULL: others keep theirs.  If each new group took
 * one, groups that come in turn would find none of theirs; if none did, those that come no more would stay.
 */
static uint64 *
claim_entry(GroupFilter *filter)
{
	uint64 *entry = find_empty(filter, filter->hash);

	if (entry == NULL && grow(filter))
		entry = find_empty(filter, filter->hash);
	if (entry != NULL || filter->rows % REPLACE_ROWS != 0)
		return entry;
	entry =
		bucket_of(filter, filter->hash) + filter->rows / REPLACE_ROWS % filter->ways * filter->entry_words;
	memset(others_of(filter, entry), 0, (filter->n - 1) * filter->nwords * sizeof(uint64));
	return entry;
}

/* Has the key be the next value above what fits into a slot; false: that would be of another group. */
static bool
round_up(GroupFilter *filter)
{
	Size group = filter->builder->group_end;
	uint8 *bytes = (uint8 *) filter->key;

	/* it is a complement, so the lowest bit that is set is the one to take off */
	for (Size i = filter->nwords * sizeof(uint64); i-- > group;)
	{
		if (bytes[i]-- != 0)
			return true;
	}
	return false;
}

/* Begins an entry: open, unless one key is all that it has. */
static void
begin_entry(GroupFilter *filter, uint64 *entry)
{
	int last = filter->group_words - 1;

	memcpy(entry, filter->key, filter->nwords * sizeof(uint64));
	if (filter->builder != NULL)
		entry[filter->nwords] = filter->hash;
	if (filter->n == 1)
		return;
	entry[last] &= filter->last_mask;
	memset(entry + last + 1, 0, (filter->nwords - last - 1) * sizeof(uint64));
}

/* Is the key among those of its group already? */
static bool
has_key(const GroupFilter *filter, const uint64 *entry)
{
	const uint64 *others = others_of(filter, entry);

	for (int i = 0; i < filter->n - 1; i++)
	{
		if (compare_slots(filter, others + i * filter->nwords, filter->key) == 0)
			return true;
	}
	return compare_slots(filter, entry, filter->key) == 0;
}

/*
 * Puts the key among the n - 1 lowest ones; the highest of them, or the key itself if it is higher, is then
 * in `rest`.  False: none was left over.
 */
static bool
insert_lower(GroupFilter *filter, uint64 *entry, uint64 *rest)
{
	Size slot_bytes = filter->nwords * sizeof(uint64);
	uint64 *slots = others_of(filter, entry);
	uint64 *slot = slots + (filter->n - 1) * filter->nwords;
	bool left_over = filter->n == 1 || !slot_is_empty(filter, slot - filter->nwords);

	memcpy(rest, filter->key, slot_bytes);
	for (; slot > slots; slot -= filter->nwords)
	{
		uint64 *before = slot - filter->nwords;

		if (!slot_is_empty(filter, before) && compare_slots(filter, before, filter->key) <= 0)
			break;
		if (slot == slots + (filter->n - 1) * filter->nwords)
			memcpy(rest, before, slot_bytes);
		else
			memcpy(slot, before, slot_bytes);
	}
	if (slot < slots + (filter->n - 1) * filter->nwords)
		memcpy(slot, filter->key, slot_bytes);
	return left_over;
}

/* Puts the key among those of its group, if it is one of the n lowest. */
static void
insert_key(GroupFilter *filter, uint64 *entry)
{
	uint64 rest[SLOT_WORDS_MAX];

	if ((filter->kind == GROUP_DENSE_RANKS && has_key(filter, entry)) || !insert_lower(filter, entry, rest))
		return;
	if (!entry_is_open(filter, entry))
	{
		if (compare_slots(filter, entry, rest) <= 0)
			return;
		filter->pushed_out++;
	}
	memcpy(entry, rest, filter->nwords * sizeof(uint64));
}

void
group_filter_note(GroupFilter *filter)
{
	if (!filter->seen)
		return;
	filter->seen = false;
	if (unlikely(filter->builder != NULL && filter->longer) && !round_up(filter))
		return;
	if (filter->entry == NULL)
	{
		filter->entry = claim_entry(filter);
		if (filter->entry == NULL)
			return;
		begin_entry(filter, filter->entry);
	}
	insert_key(filter, filter->entry);
}

/* ---------------------------------------------------------------- rows that are not wanted any more */

/* Fixed keys so many rows ahead of the one that is looked at have their groups fetched into the caches. */
#define CUT_AHEAD 16

typedef struct CutContext
{
	GroupFilter *filter;
	Size ahead;		 /* bytes from a key to the one so many rows ahead */
	const char *end; /* of the chunk's keys */
} CutContext;

/* Does the row with this key, which was kept, stay?  It may be in the last slot itself. */
static bool
stays(const uint8 *key, Size size, void *arg)
{
	const CutContext *context = arg;
	GroupFilter *filter = context->filter;
	uint64 *entry;

	if ((const char *) key + context->ahead < context->end)
		group_filter_fetch(filter, (const uint64 *) (key + context->ahead));
	(void) load_key(filter, key, size);
	if (is_all_ones(filter))
		return true;
	filter->hash = hash_group(filter->key, filter->group_words, filter->last_mask);
	entry = find_entry(filter);
	return entry == NULL || !entry_is_below(filter, entry, false);
}

void
group_filter_cut(GroupFilter *filter, Chunk *chunk)
{
	CutContext context = {filter, CUT_AHEAD * chunk->entry_size, chunk->base + chunk->front};
	uint64 key[KEY_MAX_WORDS];
	uint64 hash = filter->hash;

	/* the row that was asked about last may be about to get room in this chunk */
	memcpy(key, filter->key, sizeof(key));
	filter->cut += chunk_keep_only(chunk, stays, &context);
	memcpy(filter->key, key, sizeof(key));
	filter->hash = hash;
}

/*
 * Are there likely enough rows to cut out?  Where cutting does not pay by itself, the rows that are left
 * after many were dropped are few.
 */
static bool
is_worth_cutting(const GroupFilter *filter, uint64 pushed_out, uint64 rows)
{
	bool cuts = filter->cuts || filter->dropped > filter->pushed_out;

	/* nobody has noted where the groups end in the variable keys of a chunk */
	return filter->memory != NULL && filter->builder == NULL && cuts && pushed_out * CUT_ROWS >= rows;
}

bool
group_filter_cut_filled(GroupFilter *filter, Chunk *chunk)
{
	bool cuts = is_worth_cutting(filter, filter->pushed_out - filter->pushed_filled, chunk->nrows);

	filter->pushed_filled = filter->pushed_out;
	if (cuts)
	{
		uint64 before = filter->cut;

		group_filter_cut(filter, chunk);
		filter->pushed_cut = Min(filter->pushed_out, filter->pushed_cut + filter->cut - before);
	}
	return cuts;
}

bool
group_filter_may_cut(GroupFilter *filter, uint64 rows)
{
	bool may_cut = filter != NULL && is_worth_cutting(filter, filter->pushed_out - filter->pushed_cut, rows);

	if (may_cut)
		filter->pushed_cut = filter->pushed_out;
	return may_cut;
}

/* ---------------------------------------------------------------- what it gains */

/* Switches the filter off, if what it costs is more than what it gains. */
static void
judge(GroupFilter *filter)
{
	uint64 gained = filter->dropped + (filter->cuts ? filter->pushed_out : 0);
	bool has_had_time = filter->full || filter->rows >= filter->bound->patience;

	if (has_had_time && (gained - filter->gained) * WORTH_ROWS < JUDGE_ROWS)
	{
		huge_free(filter->memory);
		filter->memory = NULL;
	}
	filter->gained = gained;
	filter->judge_at = filter->rows + JUDGE_ROWS;
}

bool
group_filter_is_on(const GroupFilter *filter)
{
	return filter->memory != NULL;
}

uint64
group_filter_dropped(const GroupFilter *filter)
{
	return filter->dropped;
}

void
group_filter_end(GroupFilter *filter)
{
	GroupBound *bound = filter->bound;

	SpinLockAcquire(&bound->mutex);
	bound->dropped += filter->dropped + filter->cut;
	bound->groups = Max(bound->groups, filter->used);
	bound->nswitched_off += filter->memory == NULL;
	SpinLockRelease(&bound->mutex);
}

void
group_bound_get(GroupBound *bound, uint64 *dropped, uint64 *groups, bool *switched_off)
{
	SpinLockAcquire(&bound->mutex);
	*dropped = bound->dropped;
	*groups = bound->groups;
	*switched_off = bound->nswitched_off > 0;
	SpinLockRelease(&bound->mutex);
}
