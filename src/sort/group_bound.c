/*
 * sort/group_bound.c
 *		Which rows of a sort can still be among the first ones of their group.
 *
 * The table has the first words of a variable key.  Of a longer key it has the next value above what fits, so
 * that the key is not above it; a key that is compared is not below what fits of it.
 */
#include "postgres.h"

#include "key/coded.h"
#include "key/sort_key.h"
#include "sort/group_bound.h"
#include "sort/key_words.h"

/* The filter is judged after so many rows. */
#ifndef BOUND_TIGHT
#define JUDGE_ROWS 16384
#else
#define JUDGE_ROWS 256
#endif

/*
 * It is switched off if one row of so many at most is dropped, when its patience is at an end.
 */
#define WORTH_ROWS 8

/*
 * Rows are cut out if so many of CUT_ROWS are likely not to be wanted: sorting a row takes less than looking
 * for it several times, unless there is no room for it.
 */
#define CUT_ROWS 3
#define CUT_LIKELY 2
#define CUT_LIKELY_FOR_ROOM 1

struct GroupFilter
{
	GroupBound *bound;
	GroupTable *table;			   /* the bound's, for the keys that come now */
	const SortKeyBuilder *builder; /* says where the group ends in a variable key; NULL: a fixed key */
	bool drops_equal;			   /* may a row that equals the n-th one be dropped? */
	bool is_on;
	bool gains_little; /* then it is off */

	GroupKey key;				  /* the one that it was given last */
	uint64 copy[GROUP_KEY_WORDS]; /* its words, if it is variable */
	bool longer;				  /* has the key more bytes than are compared? */

	uint64 rows; /* number of rows that it was asked about */
	uint64 dropped;
	uint64 noted;	   /* number of keys that may have been added to the table */
	uint64 filled;	   /* number of keys that were added to groups with fewer than n */
	uint64 pushed_out; /* number of keys that other keys pushed out of the table */
	uint64 cut;		   /* number of rows that were cut out */
	uint64 judge_at;   /* judged when `rows` reaches this value */
	uint64 gained;	   /* dropped and pushed out when it was judged last */
	uint64 promised;   /* filled when it was judged last */
	uint64 pushed_cut; /* pushed out when chunks were cut the last time */
};

/* ---------------------------------------------------------------- beginning, end */

bool
group_bound_is_possible(const FirstOfGroups *first, bool verified)
{
	return first->n > 0 && first->n <= GROUP_ROWS_MAX && first->columns > 0 && !verified;
}

static bool
init_table(const GroupBound *bound, GroupTable *table, const SortKey *key, Arena *arena, Size memory)
{
	return group_table_init(table, key, bound->first.n, bound->first.kind == GROUP_DENSE_RANKS, arena,
							memory);
}

bool
group_bound_init(GroupBound *bound, const FirstOfGroups *first, const SortKey *key, Arena *arena, Size memory,
				 double patience, bool cuts)
{
	memset(bound, 0, sizeof(*bound));
	bound->first = *first;
	bound->patience = patience;
	bound->cuts = cuts;
	SpinLockInit(&bound->mutex);
	bound->has_plain = key->coding != NULL && !key->coding->plain->verified;
	if (bound->has_plain)
		memory /= 2;
	return init_table(bound, &bound->table, key, arena, memory) &&
		   (!bound->has_plain || init_table(bound, &bound->plain, key->coding->plain, arena, memory));
}

/* The keys that come from now on. */
static void
set_key(GroupFilter *filter, GroupTable *table, SortKey *key)
{
	filter->table = table;
	filter->builder = key->variable ? &key->builder : NULL;
	if (key->variable)
		key->builder.group_columns = filter->bound->first.columns;
	else
		group_key_set_group(&filter->key, sort_key_prefix_width(key, filter->bound->first.columns));
}

GroupFilter *
group_filter_create(GroupBound *bound, SortKey *key)
{
	GroupFilter *filter = palloc0(sizeof(GroupFilter));

	filter->bound = bound;
	filter->drops_equal = bound->first.kind == GROUP_ROW_NUMBERS;
	filter->is_on = true;
	filter->judge_at = JUDGE_ROWS;
	set_key(filter, &bound->table, key);
	return filter;
}

void
group_filter_end_coding(GroupFilter *filter, SortKey *plain)
{
	if (filter->bound->has_plain)
		set_key(filter, &filter->bound->plain, plain);
	else
		filter->is_on = false;
}

void
group_filter_end(GroupFilter *filter)
{
	GroupBound *bound = filter->bound;

	SpinLockAcquire(&bound->mutex);
	bound->dropped += filter->dropped + filter->cut;
	bound->nswitched_off += filter->gains_little;
	SpinLockRelease(&bound->mutex);
}

void
group_bound_get(GroupBound *bound, uint64 *dropped, uint64 *groups, Size *bytes, bool *switched_off)
{
	SpinLockAcquire(&bound->mutex);
	*dropped = bound->dropped;
	*switched_off = bound->nswitched_off > 0;
	SpinLockRelease(&bound->mutex);
	*groups = pg_atomic_read_u32(&bound->table.used);
	*bytes = group_table_bytes(&bound->table);
	if (!bound->has_plain)
		return;
	*groups += pg_atomic_read_u32(&bound->plain.used);
	*bytes += group_table_bytes(&bound->plain);
}

/* ---------------------------------------------------------------- what it gains */

/* Switches the filter off, if what it costs is more than what it gains. */
static void
judge(GroupFilter *filter)
{
	uint64 gained = filter->dropped + (filter->bound->cuts ? filter->pushed_out : 0);
	uint64 judged = JUDGE_ROWS - (filter->filled - filter->promised);

	if (filter->rows >= filter->bound->patience && (gained - filter->gained) * WORTH_ROWS < judged)
	{
		filter->gains_little = true;
		filter->is_on = false;
	}
	filter->gained = gained;
	filter->promised = filter->filled;
	filter->judge_at = filter->rows + JUDGE_ROWS;
}

bool
group_filter_is_on(const GroupFilter *filter)
{
	return filter->is_on;
}

uint64
group_filter_dropped(const GroupFilter *filter)
{
	return filter->dropped;
}

/* ---------------------------------------------------------------- keys */

static bool
load_variable(GroupFilter *filter, const uint8 *bytes, Size size)
{
	GroupKey *key = &filter->key;
	Size group = filter->builder->group_end;
	Size compared = Min(size, sizeof(filter->copy));

	if (group == 0 || group > sizeof(filter->copy))
		return false;
	memcpy(filter->copy, bytes, compared);
	memset((char *) filter->copy + compared, 0, sizeof(filter->copy) - compared);
	key->words = filter->copy;
	filter->longer = size > sizeof(filter->copy);
	group_key_set_group(key, group);
	group_key_hash(key);
	return true;
}

static inline void
load_fixed(GroupKey *key, const uint64 *words)
{
	key->words = words;
	group_key_hash(key);
}

/* Has the key be the next value above what is compared; false: that would be of another group. */
static bool
round_up(GroupFilter *filter)
{
	uint8 *bytes = (uint8 *) filter->copy;

	for (Size i = sizeof(filter->copy); i-- > filter->builder->group_end;)
	{
		if (++bytes[i] != 0)
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- rows that come */

/* Loads the key; false: the table cannot have it. */
static inline bool
load_key(GroupFilter *filter, const uint8 *key, Size size)
{
	if (filter->builder != NULL)
		return load_variable(filter, key, size);
	load_fixed(&filter->key, (const uint64 *) key);
	return true;
}

static inline void
count_row(GroupFilter *filter)
{
	if (unlikely(++filter->rows >= filter->judge_at))
		judge(filter);
}

/* May a row with this key be dropped? */
static inline bool
drops(GroupFilter *filter, const GroupKey *key)
{
	if (!group_table_is_behind(filter->table, key, filter->drops_equal))
		return false;
	filter->dropped++;
	return true;
}

bool
group_filter_drops(GroupFilter *filter, const uint8 *key, Size size)
{
	if (!filter->is_on)
		return false;
	count_row(filter);
	return load_key(filter, key, size) && drops(filter, &filter->key);
}

int
group_filter_drops_of(GroupFilter *filter, const uint64 (*keys)[KEY_MAX_WORDS], int n, bool *dropped)
{
	GroupKey loaded[GROUP_BATCH_ROWS];
	int ndropped = 0;

	for (int i = 0; i < n; i++)
	{
		loaded[i] = filter->key;
		load_fixed(&loaded[i], keys[i]);
		group_table_fetch(filter->table, loaded[i].hash);
	}
	for (int i = 0; i < n; i++)
	{
		count_row(filter);
		dropped[i] = drops(filter, &loaded[i]);
		ndropped += dropped[i];
	}
	return ndropped;
}

void
group_filter_note(GroupFilter *filter, const uint8 *key, Size size)
{
	GroupAdded added;

	if (!filter->is_on || !load_key(filter, key, size) || (unlikely(filter->longer) && !round_up(filter)))
		return;
	added = group_table_add(filter->table, &filter->key, ++filter->noted);
	filter->filled += added == GROUP_FILLED;
	filter->pushed_out += added == GROUP_PUSHED_OUT;
}

/* ---------------------------------------------------------------- rows that are not wanted any more */

/* A chunk that is cut. */
typedef struct Cut
{
	GroupFilter *filter;
	Size ahead;		   /* bytes from a key to the one that is fetched meanwhile */
	const uint8 *last; /* key behind which none is fetched */
} Cut;

/* Does the row with this key, which was kept, stay?  It may be in the table itself. */
static bool
stays(const uint8 *key, Size size, void *arg)
{
	const Cut *cut = arg;
	GroupKey *loaded = &cut->filter->key;

	if (key <= cut->last)
	{
		load_fixed(loaded, (const uint64 *) (key + cut->ahead));
		group_table_fetch(cut->filter->table, loaded->hash);
	}
	load_fixed(loaded, (const uint64 *) key);
	return !group_table_is_behind(cut->filter->table, loaded, false);
}

void
group_filter_cut(GroupFilter *filter, Chunk *chunk)
{
	Cut cut = {.filter = filter, .ahead = GROUP_BATCH_ROWS * chunk->entry_size};

	/* coding may have ended in another process, whose chunks have other keys */
	if (chunk->key_width == 0)
		return;
	cut.last = (const uint8 *) chunk->base + chunk->front - chunk->entry_size - cut.ahead;
	filter->cut += chunk_keep_only(chunk, stays, &cut);
}

bool
group_filter_may_cut(GroupFilter *filter, uint64 rows, bool for_room)
{
	/* nobody has noted where the groups end in the variable keys of a chunk */
	if (filter == NULL || !filter->bound->cuts || !filter->is_on || filter->builder != NULL ||
		(filter->pushed_out - filter->pushed_cut) * CUT_ROWS <
			rows * (for_room ? CUT_LIKELY_FOR_ROOM : CUT_LIKELY))
		return false;
	filter->pushed_cut = filter->pushed_out;
	return true;
}
