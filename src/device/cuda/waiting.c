/*
 * device/cuda/waiting.c
 *		Rows that wait until the GPU has room for them, in chunks: in host memory, and past that in temporary
 *		files.
 *
 * Who brings rows has a chunk for each part to fill.  As long as there is room in memory it is made there, in
 * that which processes share if there are several, and stays; past that it is a buffer, which is written to a
 * file when it is full and filled again.  Each process has a file for each part, so nobody waits for anybody;
 * and chunks are written as they are, for nothing in them says where they stand.
 *
 * The files are a FileSet's, which the first process has removed when its memory context is, after errors,
 * too.  They count for temp_file_limit where they are written, and in all statistics of temporary files.
 */
#include "postgres.h"

#include <fcntl.h>

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "base/stopwatch.h"
#include "device/cuda/waiting.h"
#include "files/shared_runs.h"
#include "memory/alloc.h"

/* ---------------------------------------------------------------- beginning */

void
waiting_create(WaitingShare *share, Size chunk_bytes, Size room)
{
	memset(share, 0, sizeof(*share));
	SpinLockInit(&share->mutex);
	file_set_init(&share->files);
	share->chunk_bytes = TYPEALIGN(8, chunk_bytes);
	share->room = room;
}

void
waiting_open(Waiting *waiting, WaitingShare *share, Arena *memory, const SortKey *key, int writer)
{
	memset(waiting, 0, sizeof(*waiting));
	waiting->share = share;
	waiting->memory = memory;
	waiting->key = key;
	waiting->writer = writer;
	waiting->context = CurrentMemoryContext;
}

/* ---------------------------------------------------------------- chunks in memory */

/* Takes room for a chunk of that size; false: there is none. */
static bool
take_room(WaitingShare *share, Size size)
{
	bool has_room;

	SpinLockAcquire(&share->mutex);
	has_room = share->room >= size;
	if (has_room)
	{
		share->room -= size;
		share->most_held += size;
	}
	SpinLockRelease(&share->mutex);
	return has_room;
}

void
waiting_limit_room(Waiting *waiting, Size most)
{
	WaitingShare *share = waiting->share;

	SpinLockAcquire(&share->mutex);
	share->room = Min(share->room, most > share->most_held ? most - share->most_held : 0);
	SpinLockRelease(&share->mutex);
}

/* Makes a chunk of memory behind it. */
static Chunk *
init_chunk(Waiting *waiting, void *memory, Size size)
{
	Chunk *chunk = memory;

	memset(chunk, 0, sizeof(*chunk));
	chunk->base = (char *) (chunk + 1);
	chunk->size = size;
	chunk->max_rows = PG_UINT64_MAX;
	chunk_set_layout(chunk, waiting->key);
	chunk_reset(chunk);
	return chunk;
}

/* A chunk that stays in memory; NULL: there is no room. */
static Chunk *
new_chunk_in_memory(Waiting *waiting)
{
	WaitingShare *share = waiting->share;
	Size size = sizeof(Chunk) + share->chunk_bytes;
	void *memory = take_room(share, size) ? arena_alloc(waiting->memory, size) : NULL;

	return memory != NULL ? init_chunk(waiting, memory, share->chunk_bytes) : NULL;
}

/* ---------------------------------------------------------------- chunks that are written */

static void
free_buffer(Waiting *waiting, int part)
{
	Chunk *buffer = waiting->parts[part].buffer;

	if (buffer == NULL)
		return;
	waiting->buffered -= buffer->size;
	huge_free(buffer);
	waiting->parts[part].buffer = NULL;
}

/* The part's buffer, empty, with room for so many bytes. */
static Chunk *
empty_buffer(Waiting *waiting, int part, Size at_least)
{
	Size size = TYPEALIGN(8, Max(at_least, waiting->share->chunk_bytes));
	Chunk *buffer = waiting->parts[part].buffer;

	if (buffer != NULL && buffer->size == size)
	{
		chunk_reset(buffer);
		return buffer;
	}
	free_buffer(waiting, part);
	buffer = init_chunk(waiting, huge_alloc(sizeof(Chunk) + size), size);
	waiting->parts[part].buffer = buffer;
	waiting->buffered += size;
	waiting->most_buffered = Max(waiting->most_buffered, waiting->buffered);
	return buffer;
}

static void
name_file(char *name, int writer, int part)
{
	snprintf(name, MAXPGPATH, "rows.%d.%d", writer, part);
}

static File
file_of_part(Waiting *waiting, int part)
{
	if (waiting->parts[part].file == 0)
	{
		char name[MAXPGPATH];

		name_file(name, waiting->writer, part);
		waiting->parts[part].file = FileSetCreate(&waiting->share->files, name);
		waiting->parts[part].end = 0;
		waiting->share->parts[part].has_file[waiting->writer] = true;
	}
	return waiting->parts[part].file;
}

static void
write_to_part(File file, const char *bytes, Size size, off_t *at)
{
	while (size > 0)
	{
		int written = FileWrite(file, unconstify(char *, bytes), Min(size, MaxAllocSize), *at,
								WAIT_EVENT_BUFFILE_WRITE);

		if (written <= 0)
			ereport(ERROR, (errcode_for_file_access(),
							errmsg("could not write to file \"%s\": %m", FilePathName(file))));
		bytes += written;
		size -= written;
		*at += written;
	}
}

/* Writes a chunk: its description, its entries, its rows. */
static void
write_chunk(Waiting *waiting, int part, const Chunk *chunk)
{
	Stopwatch watch = stopwatch_start();
	File file = file_of_part(waiting, part);
	off_t *end = &waiting->parts[part].end;

	CHECK_FOR_INTERRUPTS();
	write_to_part(file, (const char *) chunk, sizeof(Chunk), end);
	write_to_part(file, chunk->base, chunk->front, end);
	write_to_part(file, chunk->base + chunk->back, chunk->size - chunk->back, end);
	waiting->write_ms += stopwatch_ms(watch);
}

/* ---------------------------------------------------------------- bringing rows */

Chunk *
waiting_get_chunk(Waiting *waiting, int part, Size at_least)
{
	MemoryContext old = MemoryContextSwitchTo(waiting->context);
	Chunk *chunk = NULL;

	if (at_least <= waiting->share->chunk_bytes)
		chunk = new_chunk_in_memory(waiting);
	if (chunk == NULL)
		chunk = empty_buffer(waiting, part, at_least);
	MemoryContextSwitchTo(old);
	return chunk;
}

/* Counts what is in a chunk; one that stays in memory joins those that wait. */
static void
note_chunk(Waiting *waiting, int part, Chunk *chunk, bool stays)
{
	WaitingPart *waits = &waiting->share->parts[part];

	SpinLockAcquire(&waiting->share->mutex);
	waits->rows += chunk->nrows;
	waits->key_bytes += chunk->front;
	waits->row_bytes += chunk->size - chunk->back;
	if (stays)
	{
		chunk->next = waits->chunks;
		waits->chunks = chunk;
	}
	else
		waits->file_bytes += sizeof(Chunk) + chunk_bytes(chunk);
	SpinLockRelease(&waiting->share->mutex);
}

void
waiting_put_chunk(Waiting *waiting, int part, Chunk *chunk)
{
	bool stays = chunk != waiting->parts[part].buffer;

	if (chunk->nrows > 0 && !stays)
		write_chunk(waiting, part, chunk);
	note_chunk(waiting, part, chunk, stays);
}

void
waiting_add_copy(Waiting *waiting, int part, const Chunk *chunk)
{
	Chunk *copy = waiting_get_chunk(waiting, part, chunk_bytes(chunk));

	chunk_copy(copy, chunk);
	waiting_put_chunk(waiting, part, copy);
}

void
waiting_finish(Waiting *waiting)
{
	for (int part = 0; part < lengthof(waiting->parts); part++)
	{
		free_buffer(waiting, part);
		if (waiting->parts[part].file != 0)
			FileClose(waiting->parts[part].file);
		waiting->parts[part].file = 0;
	}
}

/*
 * ---------------------------------------------------------------- putting rows to a card, or the cpu device
 */

/* A chunk on its way there: in memory, or in a file behind its description. */
typedef struct WaitingChunk
{
	const Chunk *chunk; /* its base says nothing if it is in a file */
	File file;			/* 0: it is in memory */
	off_t at;			/* there its entries begin */
} WaitingChunk;

typedef struct Sending
{
	Waiting *waiting;
	CudaCard *card; /* to which they go; NULL: to the cpu device */
	Sorter *cpu;
	bool with_others;
	bool is_full;  /* there is no more room, so what was taken is to wait again */
	Chunk *filled; /* the one being filled, or NULL */
} Sending;

static bool
has_failed(const Sending *sending)
{
	return sending->card != NULL && sending->card->failure != NULL;
}

static void
read_bytes(File file, char *bytes, Size size, off_t at)
{
	while (size > 0)
	{
		int got = FileRead(file, bytes, Min(size, MaxAllocSize), at, WAIT_EVENT_BUFFILE_READ);

		if (got <= 0)
			ereport(ERROR, (errcode_for_file_access(),
							got < 0 ? errmsg("could not read file \"%s\": %m", FilePathName(file))
									: errmsg("temporary file \"%s\" is shorter than what was written to it",
											 FilePathName(file))));
		bytes += got;
		size -= got;
		at += got;
	}
}

/* Copies the chunk's entries and rows, each to its place. */
static void
copy_out(const WaitingChunk *from, char *entries, char *rows)
{
	const Chunk *chunk = from->chunk;
	Size row_bytes = chunk->size - chunk->back;

	if (from->file == 0)
	{
		memcpy(entries, chunk->base, chunk->front);
		memcpy(rows, chunk->base + chunk->back, row_bytes);
		return;
	}
	read_bytes(from->file, entries, chunk->front, from->at);
	read_bytes(from->file, rows, row_bytes, from->at + chunk->front);
}

static Chunk *
get_empty(Sending *sending, Size bytes)
{
	if (sending->card == NULL)
		return sort_device_cpu.get_chunk(sending->cpu, 0, bytes);
	return sending->with_others ? cuda_try_chunk(sending->card, bytes) : cuda_get_chunk(sending->card, bytes);
}

static void
put_filled(Sending *sending)
{
	if (sending->filled != NULL && sending->card == NULL)
		sort_device_cpu.put_chunk(sending->cpu, 0, sending->filled);
	else if (sending->filled != NULL && !has_failed(sending))
		cuda_put_chunk(sending->card, sending->filled);
	sending->filled = NULL;
}

/*
 * A chunk to fill with room for so many bytes; NULL: the card has failed, or has no room.  For what is longer
 * than others are it may have none, and yet not be full.
 */
static Chunk *
chunk_with_room(Sending *sending, Size bytes)
{
	if (sending->filled != NULL && chunk_has_room(sending->filled, bytes))
		return sending->filled;
	put_filled(sending);
	if (has_failed(sending) || sending->is_full)
		return NULL;
	sending->filled = get_empty(sending, bytes);
	sending->is_full = sending->filled == NULL && bytes <= sending->waiting->share->chunk_bytes;
	return sending->filled;
}

/* The chunk with its rows, in memory, where it is not; freed by free_read. */
static Chunk
read_chunk(const Sending *sending, const WaitingChunk *from)
{
	Chunk chunk = *from->chunk;

	if (from->file != 0)
	{
		chunk.base = MemoryContextAllocHuge(sending->waiting->context, chunk.size);
		copy_out(from, chunk.base, chunk.base + chunk.back);
	}
	return chunk;
}

static void
free_read(const WaitingChunk *from, const Chunk *chunk)
{
	if (from->file != 0)
		pfree(chunk->base);
}

static void
let_wait_again(Sending *sending, const WaitingChunk *from)
{
	Chunk chunk = read_chunk(sending, from);

	waiting_add_copy(sending->waiting, WAITING_AGAIN, &chunk);
	free_read(from, &chunk);
}

/* All rows at once, where chunks have room for as many rows as they have bytes for. */
static void
send_whole(Sending *sending, const WaitingChunk *from)
{
	Size row_bytes = from->chunk->size - from->chunk->back;
	Chunk *to = chunk_with_room(sending, from->chunk->front + row_bytes);

	if (to != NULL)
	{
		copy_out(from, to->base + to->front, to->base + to->back - row_bytes);
		chunk_adopt_copy(to, from->chunk);
	}
	else if (!has_failed(sending))
		let_wait_again(sending, from);
}

static void
send_rows(Sending *sending, const WaitingChunk *from)
{
	Chunk chunk = read_chunk(sending, from);

	for (uint64 i = 0; i < chunk.nrows; i++)
	{
		Chunk *to = chunk_with_room(sending, chunk_row_bytes(&chunk, i));

		if (to == NULL)
			break;
		chunk_append_copy(to, &chunk, i);
	}
	free_read(from, &chunk);
}

static void
send_chunk(Sending *sending, const WaitingChunk *from)
{
	CHECK_FOR_INTERRUPTS();
	if (sending->card != NULL)
		send_whole(sending, from);
	else
		send_rows(sending, from);
}

/* Is this process to take no more? Then the file is left to others from there on. */
static bool
leave_file(const Sending *sending, int part, int writer, off_t at)
{
	WaitingShare *share = sending->waiting->share;
	bool leaves;

	SpinLockAcquire(&share->mutex);
	leaves = sending->with_others && share->dismissed;
	if (leaves)
		share->parts[part].left[writer] = at;
	SpinLockRelease(&share->mutex);
	return leaves;
}

static void
send_file(Sending *sending, int part, int writer, off_t from)
{
	char name[MAXPGPATH];
	File file;
	off_t size;

	name_file(name, writer, part);
	file = FileSetOpen(&sending->waiting->share->files, name, O_RDONLY);
	if (file <= 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open temporary file \"%s\": %m", name)));
	size = FileSize(file);
	for (off_t at = from; at < size && !has_failed(sending);)
	{
		Chunk chunk;

		if (at > from && leave_file(sending, part, writer, at))
			break;
		read_bytes(file, (char *) &chunk, sizeof(chunk), at);
		at += sizeof(chunk);
		send_chunk(sending, &(WaitingChunk){&chunk, file, at});
		at += chunk_bytes(&chunk);
	}
	FileClose(file);
}

/*
 * A file that nobody has taken, or of which something is left, by its writer; WAITING_WRITERS: there is none.
 */
static int
next_file(const WaitingPart *waits)
{
	int writer = 0;

	while (writer < WAITING_WRITERS && waits->left[writer] < 0)
		writer++;
	return writer;
}

bool
waiting_has_more(const Waiting *waiting, int part)
{
	const WaitingPart *waits = &waiting->share->parts[part];
	bool has_more;

	SpinLockAcquire(&waiting->share->mutex);
	has_more = waits->next_chunk != NULL || next_file(waits) < WAITING_WRITERS;
	SpinLockRelease(&waiting->share->mutex);
	return has_more;
}

void
waiting_dismiss(Waiting *waiting)
{
	SpinLockAcquire(&waiting->share->mutex);
	waiting->share->dismissed = true;
	SpinLockRelease(&waiting->share->mutex);
}

/* Takes a chunk in memory, or a file of a writer's from some byte on; false: nothing is left. */
static bool
take_next(WaitingPart *waits, Chunk **chunk, int *writer, off_t *from)
{
	*chunk = waits->next_chunk;
	if (*chunk != NULL)
	{
		waits->next_chunk = (*chunk)->next;
		return true;
	}
	*writer = next_file(waits);
	if (*writer == WAITING_WRITERS)
		return false;
	*from = waits->left[*writer];
	waits->left[*writer] = -1;
	return true;
}

/* The same; false also if this process is to take no more. */
static bool
take(const Sending *sending, int part, Chunk **chunk, int *writer, off_t *from)
{
	WaitingShare *share = sending->waiting->share;
	bool taken;

	SpinLockAcquire(&share->mutex);
	taken =
		!(sending->with_others && share->dismissed) && take_next(&share->parts[part], chunk, writer, from);
	SpinLockRelease(&share->mutex);
	return taken;
}

void
waiting_rewind(Waiting *waiting, int part)
{
	WaitingPart *waits = &waiting->share->parts[part];

	waits->next_chunk = waits->chunks;
	for (int writer = 0; writer < WAITING_WRITERS; writer++)
		waits->left[writer] = waits->has_file[writer] ? 0 : -1;
}

static bool
send_part(Sending *sending, int part)
{
	Chunk *chunk;
	int writer;
	off_t from;

	while (!has_failed(sending) && !sending->is_full && take(sending, part, &chunk, &writer, &from))
	{
		if (chunk != NULL)
			send_chunk(sending, &(WaitingChunk){chunk, 0, 0});
		else
			send_file(sending, part, writer, from);
	}
	put_filled(sending);
	return !has_failed(sending);
}

bool
waiting_send(Waiting *waiting, int part, CudaCard *to)
{
	return send_part(&(Sending){.waiting = waiting, .card = to}, part);
}

bool
waiting_send_beside(Waiting *waiting, int part, CudaCard *to)
{
	return send_part(&(Sending){.waiting = waiting, .card = to, .with_others = true}, part);
}

void
waiting_send_to_cpu(Waiting *waiting, int part, Sorter *to)
{
	waiting_rewind(waiting, part);
	(void) send_part(&(Sending){.waiting = waiting, .cpu = to}, part);
}

/* ---------------------------------------------------------------- the end */

/* What is shared goes with all of the shared memory, or stays for the session's next sort. */
static void
free_chunks(Waiting *waiting, WaitingPart *part)
{
	while (waiting->memory == NULL && part->chunks != NULL)
	{
		Chunk *chunk = part->chunks;

		part->chunks = chunk->next;
		huge_free(chunk);
	}
	part->chunks = NULL;
}

void
waiting_drop(Waiting *waiting, int part)
{
	WaitingPart *waits = &waiting->share->parts[part];

	free_chunks(waiting, waits);
	for (int writer = 0; writer < WAITING_WRITERS; writer++)
	{
		char name[MAXPGPATH];

		if (!waits->has_file[writer])
			continue;
		name_file(name, writer, part);
		FileSetDelete(&waiting->share->files, name, false);
		waits->has_file[writer] = false;
	}
}
