/*
 * run.c
 *		Sorted runs in temporary files: writing them and reading them back.
 */
#include "postgres.h"

#include "pg_compat.h"
#include "run.h"

Run *
run_create(const KeySqueeze *squeeze)
{
	Run		   *run = palloc0(sizeof(Run));

	run->file = BufFileCreateTemp(false);
	run->variable = squeeze == NULL;
	if (squeeze != NULL)
		run->squeeze = *squeeze;
	return run;
}

static inline void
run_write(Run *run, const void *bytes, Size size)
{
	buffile_write(run->file, bytes, size);
	run->bytes += size;
}

void
run_write_fixed(Run *run, const uint64 *key, MinimalTuple row)
{
	run_write(run, key, run->squeeze.nwords * sizeof(uint64));
	run_write(run, row, row_stored_size(row));
	run->rows++;
}

void
run_write_record(Run *run, const char *record)
{
	MinimalTuple row = record_row(record);

	run_write(run, record, (const char *) row - record + row_stored_size(row));
	run->rows++;
}

void
run_drop(Run *run)
{
	BufFileClose(run->file);
	pfree(run);
}

void
run_reader_open(RunReader *reader, Run *run, Size buffer_size)
{
	if (BufFileSeek(run->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not rewind a sort's temporary file: %m")));
	memset(reader, 0, sizeof(*reader));
	reader->run = run;
	reader->unread = run->bytes;
	reader->buffer_size = TYPEALIGN(8, buffer_size);
	reader->buffer = palloc(reader->buffer_size);
}

/* Makes the buffer hold at least so many bytes from start on, and as many more as fit. */
static void
fill_buffer(RunReader *reader, Size needed)
{
	Size		held = reader->end - reader->start;
	Size		wanted;

	if (needed > reader->buffer_size)
	{
		char	   *larger = MemoryContextAllocHuge(CurrentMemoryContext, needed);

		memcpy(larger, reader->buffer + reader->start, held);
		pfree(reader->buffer);
		reader->buffer = larger;
		reader->buffer_size = needed;
	}
	else
		memmove(reader->buffer, reader->buffer + reader->start, held);
	reader->start = 0;
	reader->end = held;

	wanted = Min(reader->unread, reader->buffer_size - held);
	if (wanted < needed - held || buffile_read(reader->run->file, reader->buffer + held, wanted) != wanted)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not read a sort's temporary file: it ends too early")));
	reader->end += wanted;
	reader->unread -= wanted;
}

static inline const char *
need(RunReader *reader, Size bytes)
{
	if (unlikely(reader->end - reader->start < bytes))
		fill_buffer(reader, bytes);
	return reader->buffer + reader->start;
}

/* Bytes of the record at the reader's start that precede its row. */
static inline Size
row_offset(RunReader *reader)
{
	const char *record;

	if (!reader->run->variable)
		return reader->run->squeeze.nwords * sizeof(uint64);
	record = need(reader, RECORD_HEADER_SIZE);
	return (const char *) record_row(record) - record;
}

void
run_reader_next(RunReader *reader)
{
	Size		offset;
	Size		size;
	const char *record;

	if (reader->start == reader->end && reader->unread == 0)
	{
		reader->ended = true;
		reader->word = ~UINT64CONST(0);
		return;
	}
	offset = row_offset(reader);
	record = need(reader, offset + sizeof(uint64));
	size = offset + row_stored_size((MinimalTuple) (record + offset));
	record = need(reader, size);

	reader->start += size;
	reader->row = (MinimalTuple) (record + offset);
	if (reader->run->variable)
	{
		reader->record = record;
		reader->word = record_key_length(record) > 0 ? KEY_WORD_TO_HOST(*(const uint64 *) record_key(record)) : 0;
	}
	else
	{
		key_squeeze_expand_words(&reader->run->squeeze, (const uint64 *) record, reader->key);
		reader->word = reader->key[0];
	}
}

int
run_reader_compare_rest(const RunReader *a, const RunReader *b)
{
	if (a->run->variable)
		return record_compare_keys(a->record, b->record);
	for (int w = 1; w < a->run->squeeze.full_words; w++)
	{
		if (a->key[w] != b->key[w])
			return a->key[w] < b->key[w] ? -1 : 1;
	}
	return 0;
}

void
run_reader_close(RunReader *reader)
{
	run_drop(reader->run);
	pfree(reader->buffer);
}
