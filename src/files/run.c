/*
 * files/run.c
 *		Sorted runs in temporary files: writing them and reading them back.
 */
#include "postgres.h"

#include <fcntl.h>

#include "base/pg_compat.h"
#include "files/run.h"
#include "key/key_row.h"

/* Where a row's body begins: behind t_len, the padding, and the fields of RowHeader. */
#define ROW_BODY_OFFSET SizeofMinimalTupleHeader

StaticAssertDecl(MINIMAL_TUPLE_DATA_OFFSET + sizeof(RowHeader) == ROW_BODY_OFFSET,
				 "a row's header is between its length and its body");

/* Bytes that a number takes at most. */
#define NUMBER_SIZE_MAX 10

/* A head and a key's size. */
#define HEAD_SIZE_MAX (2 * NUMBER_SIZE_MAX + sizeof(RowHeader))

/* The size of a variable key, as a number, where there is a row instead. */
static const uint8 no_key = 0;

/* Bytes between the milestones of a run, as long as there are not too many. */
#ifndef MILESTONE_DISTANCE_MIN
#define MILESTONE_DISTANCE_MIN (16 * 1024)
#endif

/* A run has room for so many of them at first. */
#define RUN_MILESTONES_MIN 8

/* What a record has before its row's body, but for a variable key. */
#define FRONT_SIZE_MAX (HEAD_SIZE_MAX + KEY_MAX_WORDS * sizeof(uint64))

static void
name_file(const RunFile *file, char *name)
{
	snprintf(name, MAXPGPATH, "run.%d.%d", file->process, file->number);
}

static RunFile *
make_file(FileSet *set, int process, int number)
{
	RunFile *file = palloc0(sizeof(RunFile));

	*file = (RunFile){.set = set, .process = process, .number = number};
	return file;
}

RunFile *
run_file_create(FileSet *set, int process, int number)
{
	char name[MAXPGPATH];
	RunFile *file = make_file(set, process, number);

	name_file(file, name);
	file->file = set != NULL ? BufFileCreateFileSet(set, name) : BufFileCreateTemp(false);
	return file;
}

RunFile *
run_file_open(FileSet *set, int process, int number)
{
	char name[MAXPGPATH];
	RunFile *file = make_file(set, process, number);

	name_file(file, name);
	file->file = BufFileOpenFileSet(set, name, O_RDONLY, false);
	file->stays = true;
	return file;
}

void
run_file_export(RunFile *file)
{
	BufFileExportFileSet(file->file);
	file->stays = true;
}

static void
run_file_close(RunFile *file)
{
	char name[MAXPGPATH];

	BufFileClose(file->file);
	if (file->set != NULL && !file->stays)
	{
		name_file(file, name);
		BufFileDeleteFileSet(file->set, name, false);
	}
	pfree(file);
}

Run *
run_create(RunFile *file, const RunFormat *format)
{
	Run *run = palloc0(sizeof(Run));

	run->file = file;
	run->offset = file->bytes;
	run->format = *format;
	run->milestone_distance = MILESTONE_DISTANCE_MIN;
	run->next_milestone = file->set != NULL ? 0 : PG_UINT64_MAX;
	file->nruns++;
	return run;
}

void
run_drop(Run *run)
{
	if (--run->file->nruns == 0)
		run_file_close(run->file);
	if (run->milestones != NULL)
		pfree(run->milestones);
	pfree(run);
}

/* ---------------------------------------------------------------- milestones */

static void
variable_key_start(const void *key, Size size, KeyStart *start)
{
	memset(start, 0, sizeof(*start));
	memcpy(start->words, key, Min(size, sizeof(start->words)));
	for (int i = 0; i < KEY_MAX_WORDS; i++)
		start->words[i] = KEY_WORD_TO_HOST(start->words[i]);
}

/* Every other milestone is forgotten. */
static void
thin_milestones(Run *run)
{
	for (int i = 0; i < RUN_MILESTONES_MAX / 2; i++)
		run->milestones[i] = run->milestones[2 * i];
	run->nmilestones = RUN_MILESTONES_MAX / 2;
	run->milestone_distance *= 2;
}

static void
add_room_for_milestones(Run *run)
{
	bool is_first = run->milestones == NULL;

	run->room_for_milestones =
		is_first ? RUN_MILESTONES_MIN : Min(2 * run->room_for_milestones, RUN_MILESTONES_MAX);
	run->milestones = is_first ? palloc(sizeof(RunMilestone) * run->room_for_milestones)
							   : repalloc(run->milestones, sizeof(RunMilestone) * run->room_for_milestones);
}

/* The record that is written next has this key. */
static void
note_milestone(Run *run, const KeyStart *key)
{
	RunMilestone *milestone;

	if (run->nmilestones == RUN_MILESTONES_MAX)
		thin_milestones(run);
	else if (run->nmilestones == run->room_for_milestones)
		add_room_for_milestones(run);
	milestone = &run->milestones[run->nmilestones++];
	/* Other processes get it as it is, with its padding. */
	memset(milestone, 0, sizeof(*milestone));
	milestone->key = *key;
	milestone->position.at = run->bytes;
	milestone->position.header = run->header;
	run->next_milestone = run->bytes + run->milestone_distance;
}

static pg_noinline void
note_fixed_milestone(Run *run, const uint64 *key)
{
	KeyStart start = {0};

	key_squeeze_expand_words(&run->format.squeeze, key, start.words);
	note_milestone(run, &start);
}

static pg_noinline void
note_variable_milestone(Run *run, const void *key, Size key_size)
{
	KeyStart start;

	variable_key_start(key, key_size, &start);
	note_milestone(run, &start);
}

/* ---------------------------------------------------------------- writing */

static inline void
run_write(Run *run, const void *bytes, Size size)
{
	buffile_write(run->file->file, bytes, size);
	run->file->bytes += size;
	run->bytes += size;
}

/* Stores a number at dst; returns what is behind it. */
static inline uint8 *
store_number(uint8 *dst, uint64 number)
{
	for (; number >= 0x80; number >>= 7)
		*dst++ = (uint8) number | 0x80;
	*dst++ = (uint8) number;
	return dst;
}

static inline RowHeader *
row_header(StoredRow row)
{
	return (RowHeader *) ((char *) row + MINIMAL_TUPLE_DATA_OFFSET);
}

/* Stores a row's head at dst; returns what is behind it. */
static inline uint8 *
store_head(Run *run, uint8 *dst, StoredRow row)
{
	const RowHeader *header = row_header(row);
	bool same = memcmp(&run->header, header, sizeof(RowHeader)) == 0;

	dst = store_number(dst, (uint64) (row->t_len - ROW_BODY_OFFSET) << 1 | (same ? 0 : 1));
	if (same)
		return dst;
	run->header = *header;
	memcpy(dst, header, sizeof(RowHeader));
	return dst + sizeof(RowHeader);
}

static inline void
write_body(Run *run, StoredRow row)
{
	run_write(run, (const char *) row + ROW_BODY_OFFSET, row->t_len - ROW_BODY_OFFSET);
	run->largest_row = Max(run->largest_row, row->t_len);
	run->rows++;
}

/* A row without its key. */
static inline void
write_row(Run *run, StoredRow row)
{
	uint8 front[FRONT_SIZE_MAX];
	const uint8 *end = store_head(run, front, row);

	run_write(run, front, end - front);
	write_body(run, row);
}

/* A variable key without its row. */
static inline void
write_key(Run *run, const void *key, Size key_size)
{
	uint8 size[NUMBER_SIZE_MAX];
	const uint8 *end = store_number(size, key_size);

	run_write(run, size, end - size);
	run_write(run, key, key_size);
	run->largest_key = Max(run->largest_key, key_size);
	run->rows++;
}

void
run_write_row(Run *run, StoredRow row)
{
	Assert(run->format.content == RUN_ROWS);
	write_row(run, row);
}

void
run_write_fixed(Run *run, const uint64 *key, StoredRow row)
{
	Size key_size = run->format.squeeze.nwords * sizeof(uint64);
	uint8 front[FRONT_SIZE_MAX];
	uint8 *end;

	if (unlikely(run_notes_next(run)))
		note_fixed_milestone(run, key);
	switch (run->format.content)
	{
		case RUN_ROWS:
			write_row(run, row);
			break;
		case RUN_KEYS:
			run_write(run, key, key_size);
			run->rows++;
			break;
		case RUN_KEYS_AND_ROWS:
			end = store_head(run, front, row);
			memcpy(end, key, key_size);
			run_write(run, front, end + key_size - front);
			write_body(run, row);
			break;
	}
}

void
run_write_variable(Run *run, const void *key, Size key_size, StoredRow row)
{
	uint8 front[FRONT_SIZE_MAX];
	uint8 *end;

	if (unlikely(run_notes_next(run)))
		note_variable_milestone(run, key, key_size);
	if (run->format.content == RUN_KEYS && row == NULL)
	{
		write_key(run, key, key_size);
		return;
	}
	if (run->format.content == RUN_KEYS)
		run_write(run, &no_key, sizeof(no_key));
	if (run->format.content != RUN_KEYS_AND_ROWS)
	{
		write_row(run, row);
		return;
	}
	end = store_number(store_head(run, front, row), key_size);
	run_write(run, front, end - front);
	run_write(run, key, key_size);
	run->largest_key = Max(run->largest_key, key_size);
	write_body(run, row);
}

/* ---------------------------------------------------------------- reading */

Size
run_reader_overhead(const Run *run)
{
	return RUN_READER_OVERHEAD + MAXALIGN(run->largest_row) + MAXALIGN(run->largest_key);
}

void
run_reader_open(RunReader *reader, Run *run, Size buffer_size, RowKeys *row_keys)
{
	Assert(row_keys != NULL || run->format.content == RUN_KEYS_AND_ROWS ||
		   (run->format.content == RUN_KEYS && !run->format.variable));
	memset(reader, 0, sizeof(*reader));
	reader->run = run;
	reader->row_keys = row_keys;
	reader->buffer_size = buffer_size;
	reader->buffer = palloc(reader->buffer_size);
	reader->row = MemoryContextAllocHuge(CurrentMemoryContext, Max(run->largest_row, ROW_BODY_OFFSET));
	memset(reader->row, 0, ROW_BODY_OFFSET);
	reader->key_room = MAXALIGN(Max(run->largest_key, sizeof(uint64)));
	if (run->format.variable)
		reader->key = MemoryContextAllocHuge(CurrentMemoryContext, reader->key_room);
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
						errmsg("could not read a temporary file of the sort: unexpected end of file")));
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

/* Reads a number at *src, which moves behind it. */
static inline uint64
read_number(const uint8 **src)
{
	const uint8 *byte = *src;
	uint64 number = *byte & 0x7f;

	for (int shift = 7; *byte++ & 0x80; shift += 7)
		number |= (uint64) (*byte & 0x7f) << shift;
	*src = byte;
	return number;
}

/* What a record says of its parts. */
typedef struct RecordParts
{
	Size front; /* bytes before the key, if that is variable, else before the body */
	Size key;	/* bytes of a variable key that is written */
	Size body;
} RecordParts;

/* Reads a squeezed key, and returns what is behind it. */
static inline const uint8 *
read_fixed_key(RunReader *reader, const uint8 *src)
{
	const KeySqueeze *squeeze = &reader->run->format.squeeze;
	uint64 squeezed[KEY_MAX_WORDS];

	memcpy(squeezed, src, squeeze->nwords * sizeof(uint64));
	key_squeeze_expand_words(squeeze, squeezed, reader->fixed_key);
	return src + squeeze->nwords * sizeof(uint64);
}

/* Reads what stands before the row's body, but for a variable key. */
static inline void
read_front(RunReader *reader, const uint8 *front, RecordParts *parts)
{
	const RunFormat *format = &reader->run->format;
	const uint8 *at = front;
	uint64 number = read_number(&at);

	parts->body = number >> 1;
	parts->key = 0;
	if (number & 1)
	{
		memcpy(row_header(reader->row), at, sizeof(RowHeader));
		at += sizeof(RowHeader);
	}
	if (format->content == RUN_KEYS_AND_ROWS)
	{
		if (format->variable)
			parts->key = read_number(&at);
		else
			at = read_fixed_key(reader, at);
	}
	parts->front = at - front;
}

/* The current record has this variable key. */
static inline void
keep_key(RunReader *reader, const void *key, Size size)
{
	if (unlikely(size > reader->key_room))
	{
		reader->key_room = Max(MAXALIGN(size), 2 * reader->key_room);
		reader->key = repalloc_huge(reader->key, reader->key_room);
	}
	if (size < sizeof(uint64))
		memset(reader->key, 0, sizeof(uint64));
	memcpy(reader->key, key, size);
	reader->key_size = size;
}

/* Makes the key of the reader's row. */
static inline void
make_key(RunReader *reader)
{
	const uint8 *key;
	Size size;

	if (!reader->run->format.variable)
	{
		row_keys_fixed(reader->row_keys, reader->row, reader->fixed_key);
		return;
	}
	key = row_keys_variable(reader->row_keys, reader->row, &size);
	keep_key(reader, key, size);
}

static inline uint64
first_word(const RunReader *reader)
{
	return reader->run->format.variable ? KEY_WORD_TO_HOST(*(const uint64 *) reader->key)
										: reader->fixed_key[0];
}

static void
read_key(RunReader *reader)
{
	Size size = reader->run->format.squeeze.nwords * sizeof(uint64);

	(void) read_fixed_key(reader, (const uint8 *) need(reader, size));
	reader->start += size;
	reader->has_row = false;
}

/* left: so many bytes of the run are still to be read. */
static void
read_row(RunReader *reader, Size left)
{
	RecordParts parts;
	const char *record;

	read_front(reader, (const uint8 *) need(reader, Min(left, FRONT_SIZE_MAX)), &parts);
	record = need(reader, parts.front + parts.key + parts.body);
	reader->row->t_len = ROW_BODY_OFFSET + parts.body;
	memcpy((char *) reader->row + ROW_BODY_OFFSET, record + parts.front + parts.key, parts.body);
	if (reader->run->format.content != RUN_KEYS_AND_ROWS)
		make_key(reader);
	else if (reader->run->format.variable)
		keep_key(reader, record + parts.front, parts.key);
	reader->start += parts.front + parts.key + parts.body;
	reader->has_row = true;
}

/* A variable key, or a row that it does not tell. */
static void
read_key_or_row(RunReader *reader, Size left)
{
	const uint8 *front = (const uint8 *) need(reader, Min(left, NUMBER_SIZE_MAX));
	const uint8 *at = front;
	Size size = read_number(&at);
	Size front_size = at - front;

	if (unlikely(size == 0))
	{
		reader->start += front_size;
		read_row(reader, left - front_size);
		return;
	}
	keep_key(reader, need(reader, front_size + size) + front_size, size);
	reader->start += front_size + size;
	reader->has_row = false;
}

void
run_reader_next(RunReader *reader)
{
	Size left = reader->end - reader->start + (reader->run->bytes - reader->read);

	reader->at = reader->run->bytes - left;
	if (left == 0)
	{
		reader->ended = true;
		reader->word = ~UINT64CONST(0);
		return;
	}
	if (reader->run->format.content != RUN_KEYS)
		read_row(reader, left);
	else if (reader->run->format.variable)
		read_key_or_row(reader, left);
	else
		read_key(reader);
	reader->word = first_word(reader);
}

void
run_reader_tell(const RunReader *reader, RunPosition *position)
{
	position->at = reader->at;
	position->header = *row_header(reader->row);
}

void
run_reader_seek(RunReader *reader, const RunPosition *position)
{
	reader->read = position->at;
	reader->start = reader->end = 0;
	reader->ended = false;
	*row_header(reader->row) = position->header;
}

int
run_reader_compare_rest(const RunReader *a, const RunReader *b)
{
	int order;

	if (a->run->format.variable)
	{
		order = memcmp(a->key, b->key, Min(a->key_size, b->key_size));
		if (order != 0)
			return order;
		/* keys end in no zero byte */
		return a->key_size == b->key_size ? 0 : a->key_size < b->key_size ? -1 : 1;
	}
	return compare_host_words(a->fixed_key + 1, b->fixed_key + 1, a->run->format.squeeze.full_words - 1);
}

void
run_reader_key_start(const RunReader *reader, KeyStart *start)
{
	if (reader->run->format.variable)
		variable_key_start(reader->key, reader->key_size, start);
	else
	{
		memset(start, 0, sizeof(*start));
		memcpy(start->words, reader->fixed_key, reader->run->format.squeeze.full_words * sizeof(uint64));
	}
}

StoredRow
run_reader_row(const RunReader *reader, KeyRow *key_row)
{
	uint64 key[KEY_MAX_WORDS];

	if (reader->has_row)
		return reader->row;
	if (reader->run->format.variable)
		return key_row_make_variable(key_row, (const uint8 *) reader->key, reader->key_size);
	for (int i = 0; i < reader->run->format.squeeze.full_words; i++)
		key[i] = KEY_WORD_TO_HOST(reader->fixed_key[i]);
	return key_row_make(key_row, (const uint8 *) key);
}

void
run_reader_close(RunReader *reader)
{
	pfree(reader->buffer);
	pfree(reader->row);
	if (reader->key != NULL)
		pfree(reader->key);
}
