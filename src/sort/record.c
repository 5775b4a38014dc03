/*
 * sort/record.c
 *		The keys of records: what a record has of them, and their order.
 */
#include "postgres.h"

#include "sort/record.h"

/* Fewer bytes of tail are kept with the head; the loads of words count on 8 at least. */
#define TAIL_MIN 16

/*
 * Has a record room for what is to be known of the key, where it is the row?  Keys end in no zeros: that of
 * an empty string may have no first byte.
 */
static inline bool
row_is_enough(Size key_size, Size tail_start, Size tail_offset)
{
#ifdef WORDS_BIGENDIAN
	return false; /* t_len has other bits of the word */
#else
	return tail_start == 1 && key_size >= tail_start && key_size <= RECORD_ROW_LENGTH_MAX &&
		   tail_offset <= RECORD_ROW_TAIL_MAX;
#endif
}

/* Is what a record saves without the tail worth it, and can it say where the tail is? */
static inline bool
tail_pays(Size key_size, Size tail_start, Size tail_offset)
{
	Size head = record_split_head(tail_start);

	return key_size >= head + TAIL_MIN && key_size <= PG_UINT32_MAX &&
		   head / sizeof(uint64) <= RECORD_HEAD_WORDS_MAX &&
		   head - tail_start + tail_offset <= RECORD_SHIFT_MAX;
}

void
record_key_share_row(RecordKey *key, Size tail_start, Size tail_offset)
{
	key->tail_start = tail_start;
	key->tail_offset = tail_offset;
	if (row_is_enough(key->size, tail_start, tail_offset))
		key->kind = RECORD_WITHOUT;
	else
		key->kind = tail_pays(key->size, tail_start, tail_offset) ? RECORD_WITH_HEAD : RECORD_WITH_KEY;
}

const char *
record_whole_key(const char *record, char *buffer)
{
	Size start = record_tail_start(record);

	if (!record_tail_is_in_row(record))
		return record_key(record);
	memcpy(buffer, record_key(record), start);
	memcpy(buffer + start, record_tail(record), record_key_length(record) - start);
	return buffer;
}

/* Compares keys that the records have whole. */
static int
compare_stored_keys(const char *a, const char *b)
{
	Size a_size = TYPEALIGN(8, record_key_length(a));
	Size b_size = TYPEALIGN(8, record_key_length(b));
	int order = memcmp(record_key(a), record_key(b), Min(a_size, b_size));

	if (order != 0)
		return order;
	return a_size < b_size ? -1 : a_size > b_size;
}

/* Compares the keys of two records, at least one of which has its tail in the row. */
static int
compare_split_keys(const char *a, const char *b)
{
	uint64 a_length = record_key_length(a);
	uint64 b_length = record_key_length(b);
	Size start = record_tail_start(a);

	if (record_tail_is_in_row(a) && record_tail_is_in_row(b) && start == record_tail_start(b))
	{
		int order = memcmp(record_key(a), record_key(b), start);

		if (order == 0)
			order = memcmp(record_tail(a), record_tail(b), Min(a_length, b_length) - start);
		return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
	}
	for (uint64 depth = 0; depth < a_length || depth < b_length; depth += sizeof(uint64))
	{
		uint64 a_word = record_key_word(a, depth);
		uint64 b_word = record_key_word(b, depth);

		if (a_word != b_word)
			return a_word < b_word ? -1 : 1;
	}
	return 0;
}

int
record_compare_keys(const char *a, const char *b)
{
	if (record_tail_is_in_row(a) || record_tail_is_in_row(b))
		return compare_split_keys(a, b);
	return compare_stored_keys(a, b);
}
