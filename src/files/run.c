/*
 * files/run.c
 *		Sorted runs in temporary files: writing them and reading them back.
 */
#include "postgres.h"

#include "base/pg_compat.h"
#include "files/run.h"

RunFile *
run_file_create(void)
{
	RunFile *file = palloc0(sizeof(RunFile));

	file->file = BufFileCreateTemp(false);
	return file;
}

Run *
run_create(RunFile *file, const KeySqueeze *squeeze)
{
	Run *run = palloc0(sizeof(Run));

	run->file = file;
	run->offset = file->bytes;
	run->variable = squeeze == NULL;
	if (squeeze != NULL)
		run->squeeze = *squeeze;
	file->nruns++;
	return run;
}

static inline void
run_write(Run *run, const void *bytes, Size size)
{
	buffile_write(run->file->file, bytes, size);
	run->file->bytes += size;
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
run_write_variable(Run *run, const uint8 *key, Size key_size, MinimalTuple row)
{
	static const char padding[sizeof(uint64)] = {0};
	uint64 header = key_size;

	run_write(run, &header, sizeof(header));
	run_write(run, key, key_size);
	run_write(run, padding, TYPEALIGN(8, key_size) - key_size);
	run_write(run, row, row_stored_size(row));
	run->rows++;
}

void
run_drop(Run *run)
{
	if (--run->file->nruns == 0)
	{
		BufFileClose(run->file->file);
		pfree(run->file);
	}
	pfree(run);
}

void
run_reader_open(RunReader *reader, Run *run, Size buffer_size)
{
	memset(reader, 0, sizeof(*reader));
	reader->run = run;
	reader->buffer_size = TYPEALIGN(8, buffer_size);
	reader->buffer = palloc(reader->buffer_size);
}

/* Moves what is left in the buffer to its start, in a larger one if so many bytes need it. */
static void
make_room(RunReader *reader, Size needed)
{
	Size held = reader->end - reader->start;

	if (needed > reader->buffer_size)
	{
		char *larger = MemoryContextAllocHuge(CurrentMemoryContext, needed);

		memcpy(larger, reader->buffer + reader->start, held);
		pfree(reader->buffer);
		reader->buffer = larger;
		reader->buffer_size = needed;
	}
	else
		memmove(reader->buffer, reader->buffer + reader->start, held);
	reader->start = 0;
	reader->end = held;
}

/*
 * Makes the buffer hold at least so many bytes from start on, and whole blocks of the file beyond that as far
 * as they fit.
 */
static void
fill_buffer(RunReader *reader, Size needed)
{
	uint64 from = reader->run->offset + reader->read;
	uint64 unread = reader->run->bytes - reader->read;
	Size wanted;
	Size whole_blocks;

	make_room(reader, needed);
	needed -= reader->end;
	wanted = Min(unread, reader->buffer_size - reader->end);
	whole_blocks = TYPEALIGN_DOWN(BLCKSZ, from + wanted) - from;
	if (wanted < unread && whole_blocks >= needed && whole_blocks < wanted)
		wanted = whole_blocks;

	if (wanted < needed || BufFileSeek(reader->run->file->file, 0, from, SEEK_SET) != 0 ||
		buffile_read(reader->run->file->file, reader->buffer + reader->end, wanted) != wanted)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not read a sort's temporary file: it ends too early")));
	reader->end += wanted;
	reader->read += wanted;
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
	Size offset;
	Size size;
	const char *record;

	if (reader->start == reader->end && reader->read == reader->run->bytes)
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
		reader->word =
			record_key_length(record) > 0 ? KEY_WORD_TO_HOST(*(const uint64 *) record_key(record)) : 0;
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
	pfree(reader->buffer);
}
