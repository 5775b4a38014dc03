/*
 * key/value_table.c
 *		Tables of the different values of sort columns: looking values up, adding them, more slots.
 *
 * Slots are probed one after the other.  A process that makes more slots copies those that there are, and
 * then lets all see the new ones.  A value that another process adds meanwhile may be lost, and gets another
 * code when it comes again.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"
#include "key/value_table.h"
#include "memory/alloc.h"

/* Blocks are of so many bytes, or of a part of the limit. */
#define BLOCK_SIZE ((Size) 64 * 1024)
#define BLOCKS_PER_LIMIT 32

#define SLOTS_MIN 1024

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

/* Finds the value's code, or the free slot, in *slot, that it may take. */
static inline uint32
find(ValueSlots *slots, uint64 hash, const char *bytes, Size size, pg_atomic_uint64 **slot)
{
	for (uint64 i = hash;; i++)
	{
		pg_atomic_uint64 *place = &slots->slot[i & slots->mask];
		uint64 word = pg_atomic_read_u64(place);

		if (word == 0)
		{
			*slot = place;
			return VALUE_NONE;
		}
		if (word >> ADDRESS_BITS == hash >> ADDRESS_BITS)
		{
			const ValueEntry *entry = slot_entry(word);

			if (VARSIZE_4B(&entry->header) == size + VARHDRSZ && same_bytes(entry->bytes, bytes, size))
				return entry->code;
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

/* Gives this process a block with room for so many bytes; false: there is no memory. */
static bool
make_block(ValueReader *reader, Size at_least)
{
	ValueTable *table = reader->table;
	Size size = Max(TYPEALIGN(8, Min(BLOCK_SIZE, table->limit / BLOCKS_PER_LIMIT)), at_least);
	ValueBlock *block = take_memory(table, offsetof(ValueBlock, entries) + size);
	uint64 before;

	if (block == NULL)
		return false;
	block->size = size;
	pg_atomic_init_u64(&block->used, 0);
	before = pg_atomic_read_u64(&table->blocks);
	do
		block->next = (ValueBlock *) (uintptr_t) before;
	while (!pg_atomic_compare_exchange_u64(&table->blocks, &before, (uint64) (uintptr_t) block));
	reader->block = block;
	return true;
}

/* Writes an entry that no process sees yet; NULL: there is no memory. */
static ValueEntry *
write_entry(ValueReader *reader, const char *bytes, Size size, Size entry_size)
{
	ValueEntry *entry;

	if (size > MaxAllocSize - VARHDRSZ)
		return NULL;
	if ((reader->block == NULL ||
		 reader->block->size - pg_atomic_read_u64(&reader->block->used) < entry_size) &&
		!make_block(reader, entry_size))
		return NULL;
	entry = (ValueEntry *) (reader->block->entries + pg_atomic_read_u64(&reader->block->used));
	SET_VARSIZE(&entry->header, size + VARHDRSZ);
	memcpy(entry->bytes, bytes, size);
	return entry;
}

/* Adds a value that is not there.  The slot is free, unless another process was faster. */
static pg_noinline uint32
add(ValueReader *reader, pg_atomic_uint64 *slot, uint64 hash, const char *bytes, Size size)
{
	ValueTable *table = reader->table;
	Size entry_size = TYPEALIGN(8, offsetof(ValueEntry, bytes) + size);
	ValueEntry *entry;
	uint64 free_slot = 0;

	if (pg_atomic_read_u32(&table->full) != 0 || value_table_codes(table) >= VALUE_NONE / 2)
		return VALUE_NONE;
	entry = write_entry(reader, bytes, size, entry_size);
	if (entry == NULL)
	{
		pg_atomic_write_u32(&table->full, 1);
		return VALUE_NONE;
	}
	entry->code = pg_atomic_fetch_add_u32(&table->ncodes, 1);
	pg_write_barrier();
	pg_atomic_write_u64(&reader->block->used, pg_atomic_read_u64(&reader->block->used) + entry_size);
	pg_write_barrier();
	(void) pg_atomic_compare_exchange_u64(slot, &free_slot,
										  (uint64) (uintptr_t) entry | hash >> ADDRESS_BITS << ADDRESS_BITS);
	reader->added++;
	return entry->code;
}

/* The value's hash, which may be known. */
static inline uint64
known_hash(ValueReader *reader, const char *bytes, Size size)
{
	for (int i = 0; i < VALUES_AHEAD; i++)
	{
		if (reader->ahead[i].bytes == bytes)
		{
			reader->ahead[i].bytes = NULL;
			return reader->ahead[i].hash;
		}
	}
	return hash_value(bytes, size);
}

void
value_table_look_ahead(ValueReader *reader, const char *bytes, Size size)
{
	const ValueSlots *slots = (const ValueSlots *) (uintptr_t) pg_atomic_read_u64(&reader->table->slots);
	uint32 last = (reader->nahead - 1) % VALUES_AHEAD;
	uint32 now = reader->nahead++ % VALUES_AHEAD;
	uint64 hash = hash_value(bytes, size);

	reader->ahead[now].bytes = bytes;
	reader->ahead[now].hash = hash;
	__builtin_prefetch(&slots->slot[hash & slots->mask]);
	if (reader->ahead[last].bytes != NULL)
	{
		uint64 word =
			pg_atomic_read_u64((pg_atomic_uint64 *) &slots->slot[reader->ahead[last].hash & slots->mask]);

		__builtin_prefetch(slot_entry(word));
		__builtin_prefetch((const char *) slot_entry(word) + PG_CACHE_LINE_SIZE / 2);
	}
}

uint32
value_table_code(ValueReader *reader, const char *bytes, Size size)
{
	ValueTable *table = reader->table;
	ValueSlots *slots = (ValueSlots *) (uintptr_t) pg_atomic_read_u64(&table->slots);
	uint64 hash = known_hash(reader, bytes, size);
	pg_atomic_uint64 *slot = NULL;
	uint32 code = find(slots, hash, bytes, size, &slot);

	if (likely(code != VALUE_NONE))
		return code;
	if (value_table_codes(table) > slots->mask / 2 && !make_room(table, slots))
		return VALUE_NONE;
	if ((uint64) (uintptr_t) slots != pg_atomic_read_u64(&table->slots))
		return value_table_code(reader, bytes, size);
	return add(reader, slot, hash, bytes, size);
}

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
			at += TYPEALIGN(8, offsetof(ValueEntry, bytes) + VARSIZE_4B(&entry->header) - VARHDRSZ);
			CHECK_FOR_INTERRUPTS();
		}
	}
}
