/*
 * key/value_table.c
 *		Tables of the different values of sort columns: looking values up, adding them, more slots.
 *
 * Most look-ups miss the caches.  Therefore values may wait, and be looked up some values later, when slot
 * and entry were fetched (value_table_code_late).  Rows with values that wait are in chunks already, so these
 * values get codes even if the table is full: for them each process has a reserve.
 *
 * Slots are probed one after the other.  A process that makes more slots copies those that there are, and
 * then lets all see the new ones.  A value that another process adds meanwhile may be lost, and gets another
 * code when it comes again.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"
#include "key/numbers.h"
#include "key/value_table.h"
#include "memory/alloc.h"

/* Blocks are of so many bytes, or of a part of the limit. */
#define BLOCK_SIZE ((Size) 64 * 1024)
#define BLOCKS_PER_LIMIT 32

#define SLOTS_MIN 1024
#define ENTRIES_FIRST 1024

/* At first, slots take at most one byte in so many of the limit. */
#define SLOTS_PER_LIMIT 8

#define ADDRESS_BITS 48
#define ADDRESS_MASK ((UINT64CONST(1) << ADDRESS_BITS) - 1)

/* ---------------------------------------------------------------- memory */

/* Memory within the limit; NULL: there is none. */
static void *
take_memory(ValueTable *table, Size size)
{
	if (pg_atomic_add_fetch_u64(&table->bytes, size) > table->limit)
	{
		pg_atomic_fetch_sub_u64(&table->bytes, size);
		return NULL;
	}
	if (table->arena != NULL)
		return arena_alloc(table->arena, TYPEALIGN(8, size));
	return MemoryContextAllocHuge(table->context, size);
}

static ValueSlots *
make_slots(ValueTable *table, uint64 n)
{
	ValueSlots *slots = take_memory(table, offsetof(ValueSlots, slot) + n * sizeof(pg_atomic_uint64));

	if (slots == NULL)
		return NULL;
	memset(slots, 0, offsetof(ValueSlots, slot) + n * sizeof(pg_atomic_uint64));
	slots->mask = n - 1;
	return slots;
}

bool
value_table_init(ValueTable *table, Arena *arena, Size limit, double expected)
{
	uint64 nslots = SLOTS_MIN;
	ValueSlots *slots;

	memset(table, 0, sizeof(*table));
	table->arena = arena;
	table->limit = limit;
	table->context = CurrentMemoryContext;
	pg_atomic_init_u64(&table->bytes, 0);
	pg_atomic_init_u64(&table->blocks, 0);
	pg_atomic_init_u32(&table->ncodes, 0);
	pg_atomic_init_u32(&table->growing, 0);
	pg_atomic_init_u32(&table->full, 0);
	while (nslots < 2 * expected && 2 * nslots * sizeof(uint64) <= limit / SLOTS_PER_LIMIT)
		nslots *= 2;
	slots = make_slots(table, nslots);
	pg_atomic_init_u64(&table->slots, (uint64) (uintptr_t) slots);
	return slots != NULL;
}

/* ---------------------------------------------------------------- hashes */

static inline uint64
load_bytes(const char *bytes, int n)
{
	uint64 word = 0;

	memcpy(&word, bytes, n);
	return word;
}

static inline uint64
mix(uint64 a, uint64 b)
{
	uint64 product = a * b;

	return product ^ product >> 32;
}

#define MIX_1 UINT64CONST(0x9E3779B97F4A7C15)
#define MIX_2 UINT64CONST(0xD6E8FEB86659FD93)

/* Two words are mixed apart from each other, so that the processor need not wait for one product. */
static inline uint64
hash_value(const char *bytes, Size size)
{
	uint64 a = size * MIX_1;
	uint64 b = MIX_2;

	for (; size > 16; size -= 16, bytes += 16)
	{
		a = mix(a ^ load_bytes(bytes, 8), MIX_1);
		b = mix(b ^ load_bytes(bytes + 8, 8), MIX_2);
	}
	if (size > 8)
	{
		a ^= load_bytes(bytes, 8);
		b ^= load_bytes(bytes + size - 8, 8);
	}
	else if (size == 8)
		a ^= load_bytes(bytes, 8);
	else if (size >= 4)
	{
		a ^= load_bytes(bytes, 4);
		b ^= load_bytes(bytes + size - 4, 4);
	}
	else
		for (Size i = 0; i < size; i++)
			a ^= (uint64) (uint8) bytes[i] << (8 * i);
	return mix(mix(a, MIX_2) ^ (mix(b, MIX_1) >> 7 | b << 57), MIX_1);
}

/* ---------------------------------------------------------------- looking up */

static inline const ValueEntry *
slot_entry(uint64 slot)
{
	return (const ValueEntry *) (uintptr_t) (slot & ADDRESS_MASK);
}

/* Words of 8 bytes; both have the same size. */
static inline bool
same_bytes(const char *a, const char *b, Size size)
{
	if (size >= 8)
	{
		for (; size > 8; size -= 8, a += 8, b += 8)
		{
			if (load_bytes(a, 8) != load_bytes(b, 8))
				return false;
		}
		return load_bytes(a + size - 8, 8) == load_bytes(b + size - 8, 8);
	}
	return memcmp(a, b, size) == 0;
}

/* Finds the value's entry; NULL: there is none, and *slot is the free slot that it may take. */
static inline const ValueEntry *
find(ValueSlots *slots, uint64 hash, const char *bytes, Size size, pg_atomic_uint64 **slot)
{
	for (uint64 i = hash;; i++)
	{
		pg_atomic_uint64 *place = &slots->slot[i & slots->mask];
		uint64 word = pg_atomic_read_u64(place);

		if (word == 0)
		{
			*slot = place;
			return NULL;
		}
		if (word >> ADDRESS_BITS == hash >> ADDRESS_BITS)
		{
			const ValueEntry *entry = slot_entry(word);

			if (VARSIZE_4B(&entry->header) == size + VARHDRSZ && same_bytes(entry->bytes, bytes, size))
				return entry;
		}
	}
}

/* ---------------------------------------------------------------- adding */

/* Makes twice as many slots, if no other process is at it.  False: there is no memory for them. */
static pg_noinline bool
grow(ValueTable *table, ValueSlots *slots)
{
	uint32 nobody = 0;
	ValueSlots *larger;

	if (!pg_atomic_compare_exchange_u32(&table->growing, &nobody, 1))
		return true;
	if (pg_atomic_read_u64(&table->slots) != (uint64) (uintptr_t) slots)
	{
		pg_atomic_write_u32(&table->growing, 0);
		return true;
	}
	larger = make_slots(table, 2 * (slots->mask + 1));
	for (uint64 i = 0; larger != NULL && i <= slots->mask; i++)
	{
		uint64 word = pg_atomic_read_u64(&slots->slot[i]);
		const ValueEntry *entry = slot_entry(word);
		uint64 to;

		if (word == 0)
			continue;
		to = hash_value(entry->bytes, VARSIZE_4B(&entry->header) - VARHDRSZ);
		while (pg_atomic_read_u64(&larger->slot[to & larger->mask]) != 0)
			to++;
		pg_atomic_write_u64(&larger->slot[to & larger->mask], word);
	}
	pg_write_barrier();
	if (larger != NULL)
		pg_atomic_write_u64(&table->slots, (uint64) (uintptr_t) larger);
	pg_atomic_write_u32(&table->growing, 0);
	return larger != NULL;
}

/*
 * More than half of the slots are used.  Has the table more of them, or enough while another process makes
 * them?  False: the table is full.
 */
static bool
make_room(ValueTable *table, ValueSlots *slots)
{
	do
	{
		if (!grow(table, slots))
		{
			pg_atomic_write_u32(&table->full, 1);
			return false;
		}
		if ((uint64) (uintptr_t) slots != pg_atomic_read_u64(&table->slots) ||
			value_table_codes(table) < slots->mask / 4 * 3)
			return true;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(10);
	} while (true);
}

static inline Size
entry_size(Size size)
{
	return TYPEALIGN(8, offsetof(ValueEntry, bytes) + size);
}

/* Makes a block with room for so many bytes; false: there is no memory. */
static bool
make_block(ValueTable *table, Size size, ValueBlock **block)
{
	ValueBlock *made = take_memory(table, offsetof(ValueBlock, entries) + size);
	uint64 before;

	if (made == NULL)
		return false;
	made->size = size;
	pg_atomic_init_u64(&made->used, 0);
	before = pg_atomic_read_u64(&table->blocks);
	do
		made->next = (ValueBlock *) (uintptr_t) before;
	while (!pg_atomic_compare_exchange_u64(&table->blocks, &before, (uint64) (uintptr_t) made));
	*block = made;
	return true;
}

static inline bool
block_has_room(ValueBlock *block, Size size)
{
	return block != NULL && block->size - pg_atomic_read_u64(&block->used) >= size;
}

/* A block with room for an entry of that size; NULL: there is no memory. */
static ValueBlock *
block_for(ValueReader *reader, Size size, bool is_late)
{
	ValueTable *table = reader->table;

	if (block_has_room(reader->block, size) ||
		make_block(table, Max(TYPEALIGN(8, Min(BLOCK_SIZE, table->limit / BLOCKS_PER_LIMIT)), size),
				   &reader->block))
		return reader->block;
	pg_atomic_write_u32(&table->full, 1);
	return is_late && block_has_room(reader->reserve, size) ? reader->reserve : NULL;
}

static void
make_room_for_entries(ValueReader *reader, uint32 code)
{
	while (reader->nentries <= code)
		reader->nentries *= 2;
	reader->entries = repalloc_huge(reader->entries, sizeof(ValueEntry *) * (Size) reader->nentries);
}

void
value_table_note_entries(ValueReader *reader)
{
	reader->nentries = ENTRIES_FIRST;
	reader->entries = palloc(sizeof(ValueEntry *) * reader->nentries);
}

/* The process has met a value; returns its code. */
static inline uint32
note(ValueReader *reader, const ValueEntry *entry)
{
	if (reader->entries == NULL)
		return entry->code;
	if (unlikely(entry->code >= reader->nentries))
		make_room_for_entries(reader, entry->code);
	reader->entries[entry->code] = entry;
	return entry->code;
}

/* Adds a value that is not there.  The slot is free, unless another process was faster. */
static pg_noinline uint32
add(ValueReader *reader, pg_atomic_uint64 *slot, uint64 hash, const char *bytes, Size size, bool is_late)
{
	ValueTable *table = reader->table;
	ValueBlock *block;
	ValueEntry *entry;
	uint64 free_slot = 0;
	uint64 used;

	if (value_table_codes(table) >= VALUE_NONE / 2)
		pg_atomic_write_u32(&table->full, 1);
	if ((pg_atomic_read_u32(&table->full) != 0 && !is_late) || size > MaxAllocSize - VARHDRSZ)
		return VALUE_NONE;
	block = block_for(reader, entry_size(size), is_late);
	if (block == NULL)
		return VALUE_NONE;
	used = pg_atomic_read_u64(&block->used);
	entry = (ValueEntry *) (block->entries + used);
	SET_VARSIZE(&entry->header, size + VARHDRSZ);
	memcpy(entry->bytes, bytes, size);
	entry->code = pg_atomic_fetch_add_u32(&table->ncodes, 1);
	pg_write_barrier();
	pg_atomic_write_u64(&block->used, used + entry_size(size));
	pg_write_barrier();
	(void) pg_atomic_compare_exchange_u64(slot, &free_slot,
										  (uint64) (uintptr_t) entry | hash >> ADDRESS_BITS << ADDRESS_BITS);
	reader->added++;
	return note(reader, entry);
}

/* is_late: a full table has room for it nevertheless. */
static inline uint32
find_or_add(ValueReader *reader, const char *bytes, Size size, uint64 hash, bool is_late)
{
	ValueTable *table = reader->table;

	for (;;)
	{
		ValueSlots *slots = (ValueSlots *) (uintptr_t) pg_atomic_read_u64(&table->slots);
		pg_atomic_uint64 *slot = NULL;
		const ValueEntry *entry = find(slots, hash, bytes, size, &slot);

		if (likely(entry != NULL))
			return note(reader, entry);
		if (value_table_codes(table) > slots->mask / 2 && !make_room(table, slots) && !is_late)
			return VALUE_NONE;
		if ((uint64) (uintptr_t) slots == pg_atomic_read_u64(&table->slots))
			return add(reader, slot, hash, bytes, size, is_late);
	}
}

uint32
value_table_code(ValueReader *reader, const char *bytes, Size size)
{
	return find_or_add(reader, bytes, size, hash_value(bytes, size), false);
}

/* ---------------------------------------------------------------- values that wait */

bool
value_table_allow_late(ValueReader *reader)
{
	ValueBlock *block = NULL;

	if (!make_block(reader->table, VALUES_LATE * entry_size(VALUE_LATE_MAX), &block))
		return false;
	reader->reserve = block;
	return true;
}

static inline LateValue *
late_value(ValueReader *reader, uint32 number)
{
	return &reader->late[number % VALUES_LATE];
}

/* Gives its code to the value that has waited longest. */
static inline bool
find_late(ValueReader *reader)
{
	LateValue *late = late_value(reader, reader->nfound++);

	if (late->place != NULL)
		sort_key_store32(late->place, find_or_add(reader, late->bytes, late->size, late->hash, true));
	return pg_atomic_read_u32(&reader->table->full) == 0;
}

/* Fetches the entry that the value's slot has. */
static inline void
fetch_entry(const ValueSlots *slots, const LateValue *late)
{
	uint64 word = pg_atomic_read_u64((pg_atomic_uint64 *) &slots->slot[late->hash & slots->mask]);

	__builtin_prefetch(slot_entry(word));
	__builtin_prefetch((const char *) slot_entry(word) + PG_CACHE_LINE_SIZE / 2);
}

/* A value whose row came to nothing has no place. */
static inline bool
has_no_place(ValueReader *reader)
{
	return reader->nfound != reader->nlate && late_value(reader, reader->nlate - 1)->place == NULL;
}

bool
value_table_code_late(ValueReader *reader, const char *bytes, Size size)
{
	const ValueSlots *slots = (const ValueSlots *) (uintptr_t) pg_atomic_read_u64(&reader->table->slots);
	LateValue *late;
	bool has_room = true;

	if (unlikely(has_no_place(reader)))
		reader->nlate--;
	if (reader->nlate - reader->nfound == VALUES_LATE)
		has_room = find_late(reader);
	late = late_value(reader, reader->nlate++);
	late->place = NULL;
	late->size = size;
	late->hash = hash_value(bytes, size);
	memcpy(late->bytes, bytes, size);
	__builtin_prefetch(&slots->slot[late->hash & slots->mask]);
	if (reader->nlate - reader->nfound > VALUES_LATE / 2)
		fetch_entry(slots, late_value(reader, reader->nlate - 1 - VALUES_LATE / 2));
	return has_room;
}

bool
value_table_settle(ValueReader *reader)
{
	bool has_room = true;

	while (reader->nfound != reader->nlate && late_value(reader, reader->nfound)->place != NULL)
		has_room = find_late(reader) && has_room;
	return has_room;
}

/* ---------------------------------------------------------------- all of them */

void
value_table_visit(ValueTable *table, void (*visit)(const ValueEntry *entry, void *arg), void *arg)
{
	const ValueBlock *block = (const ValueBlock *) (uintptr_t) pg_atomic_read_u64(&table->blocks);

	for (; block != NULL; block = block->next)
	{
		Size used = pg_atomic_read_u64((pg_atomic_uint64 *) &block->used);

		pg_read_barrier();
		for (Size at = 0; at < used;)
		{
			const ValueEntry *entry = (const ValueEntry *) (block->entries + at);

			visit(entry, arg);
			at += entry_size(VARSIZE_4B(&entry->header) - VARHDRSZ);
			CHECK_FOR_INTERRUPTS();
		}
	}
}
