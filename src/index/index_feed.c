/*
 * index/index_feed.c
 *		The values of a heap tuple into a build's sort: the callback of a scan of the heap.
 *
 * A slot brings both to the chunks: the values that the key is encoded from, and the row, an index tuple,
 * that is made of them first, unless it can be made of its key.
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"
#include "index/index_feed.h"
#include "index/index_key.h"
#include "key/key_row.h"

/* A slot that has all its columns, the last one being the tid, and a row. */
static TupleTableSlot *
create_slot(IndexFeed *feed)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(index_key_row_desc(feed->index), &TTSOpsMinimalTuple);
	int natts = slot->tts_tupleDescriptor->natts;

	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = natts;
	slot->tts_values[natts - 1] = PointerGetDatum(&feed->tid);
	slot->tts_isnull[natts - 1] = false;
	((MinimalTupleTableSlot *) slot)->mintuple = (MinimalTuple) feed->row;
	return slot;
}

IndexFeed *
index_feed_create(Relation index, SortKey *key, Sorter *sorter)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort index feed", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	IndexFeed *feed = palloc0(sizeof(IndexFeed));

	feed->index = index;
	feed->sorter = sorter;
	feed->context = context;
	feed->row = palloc0(INDEX_ROW_HEADER + INDEX_SIZE_MASK + 1);
	feed->slot = create_slot(feed);
	feed->rows = sort_feed_begin(sorter, key, feed->slot->tts_tupleDescriptor, NULL);
	MemoryContextSwitchTo(old);
	return feed;
}

/* Is there a value that PostgreSQL would not take into an index tuple as it is? */
static inline bool
has_large_value(const TupleTableSlot *slot, TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		if (slot->tts_isnull[i] || TupleDescAttr(desc, i)->attlen != -1)
			continue;
		if (VARATT_IS_EXTERNAL(DatumGetPointer(slot->tts_values[i])) ||
			VARSIZE_ANY(DatumGetPointer(slot->tts_values[i])) > TOAST_INDEX_TARGET)
			return true;
	}
	return false;
}

/*
 * As index_form_tuple() does it, which also fetches and compresses large values, and knows what is too much.
 */
static void
form_large_row(IndexFeed *feed)
{
	IndexTuple tuple =
		index_form_tuple(RelationGetDescr(feed->index), feed->slot->tts_values, feed->slot->tts_isnull);

	feed->row->t_len = INDEX_ROW_HEADER + IndexTupleSize(tuple);
	memcpy(&feed->row->tuple, tuple, IndexTupleSize(tuple));
	pfree(tuple);
}

/* Makes the row of the slot's columns, in place. */
static void
form_row(IndexFeed *feed)
{
	TupleDesc desc = RelationGetDescr(feed->index);
	TupleTableSlot *slot = feed->slot;
	IndexTuple tuple = &feed->row->tuple;
	bool has_nulls = memchr(slot->tts_isnull, 1, desc->natts) != NULL;
	Size offset = IndexInfoFindDataOffset(has_nulls ? INDEX_NULL_MASK : 0);
	Size data_size = heap_compute_data_size(desc, slot->tts_values, slot->tts_isnull);
	Size size = MAXALIGN(offset + data_size);
	uint16 infomask = 0;

	if (unlikely(size > INDEX_SIZE_MASK || has_large_value(slot, desc)))
		form_large_row(feed);
	else
	{
		memset(tuple, 0, size);
		heap_fill_tuple(desc, slot->tts_values, slot->tts_isnull, (char *) tuple + offset, data_size,
						&infomask, has_nulls ? (void *) (tuple + 1) : NULL);
		tuple->t_info = size | (has_nulls ? INDEX_NULL_MASK : 0) |
						((infomask & HEAP_HASVARWIDTH) != 0 ? INDEX_VAR_MASK : 0);
		feed->row->t_len = INDEX_ROW_HEADER + size;
	}
	tuple->t_tid = feed->tid;
}

/*
 * Puts the slot's row, which is made first unless the key says all of it; false: that has to be done again.
 */
static inline bool
put(IndexFeed *feed)
{
	const SortKey *key = sort_feed_key(feed->rows);
	bool has_row = !key->policy.alone || !key_row_tells(key->policy.rows, feed->slot);

	if (has_row && key->policy.alone && !key->variable)
	{
		/* either all keys have codes, and tell their rows, or none has */
		sort_feed_end_coding(feed->rows);
		return false;
	}
	if (has_row)
		form_row(feed);
	return sort_feed_put(feed->rows, feed->slot, has_row) || sort_feed_key(feed->rows) == key;
}

void
index_feed_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool is_alive, void *state)
{
	IndexFeed *feed = state;
	TupleTableSlot *slot = feed->slot;
	int natts = slot->tts_tupleDescriptor->natts - 1;

	memcpy(slot->tts_values, values, sizeof(Datum) * natts);
	memcpy(slot->tts_isnull, isnull, sizeof(bool) * natts);
	feed->tid = tid_mark(*tid, is_alive);
	if (unlikely(feed->sorter->failure != NULL))
		return;
	if (unlikely(!put(feed)))
		(void) put(feed);
	feed->fed++;
}

uint64
index_feed_end(IndexFeed *feed)
{
	uint64 fed = feed->fed;

	sort_feed_end(feed->rows);
	MemoryContextDelete(feed->context);
	return fed;
}
