/*
 * run.c
 *		Sorted runs in temporary files: writing them and reading them back.
 */
#include "postgres.h"

#include "pg_compat.h"
#include "run.h"

Run *
run_create(void)
{
	Run		   *run = palloc0(sizeof(Run));

	run->file = BufFileCreateTemp(false);
	return run;
}

static inline void
run_write(Run *run, const void *bytes, Size size)
{
	buffile_write(run->file, bytes, size);
	run->bytes += size;
}

void
run_write_fixed(Run *run, const void *key, int width, MinimalTuple row)
{
	run_write(run, key, width);
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
run_reader_open(RunReader *reader, Run *run, int key_width, Size buffer_size)
{
	if (BufFileSeek(run->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not rewind a sort's temporary file: %m")));
	memset(reader, 0, sizeof(*reader));
	reader->run = run;
	reader->key_width = key_width;
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

bool
run_reader_next(RunReader *reader)
{
	Size		row_offset;
	Size		record_size;
	const char *record;

	if (reader->start == reader->end && reader->unread == 0)
	{
		reader->key = NULL;
		return false;
	}
	if (reader->key_width > 0)
		row_offset = reader->key_width;
	else
		row_offset = (const char *) record_row(need(reader, RECORD_HEADER_SIZE)) - (reader->buffer + reader->start);
	record = need(reader, row_offset + sizeof(uint64));
	record_size = row_offset + row_stored_size((MinimalTuple) (record + row_offset));
	record = need(reader, record_size);

	reader->start += record_size;
	reader->row = (MinimalTuple) (record + row_offset);
	reader->key = reader->key_width > 0 ? record : record_key(record);
	reader->key_size = (const char *) reader->row - reader->key;
	reader->word = reader->key_size > 0 ? KEY_WORD_TO_HOST(*(const uint64 *) reader->key) : 0;
	return true;
}

void
run_reader_close(RunReader *reader)
{
	run_drop(reader->run);
	pfree(reader->buffer);
}
