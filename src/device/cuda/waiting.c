/*
 * device/cuda/waiting.c
 *		Rows that wait until the GPU has room for them, in chunks: in host memory, and past that in temporary
 *		files.
 *
 * A process that brings rows has a chunk for each part to fill.  As long as there is room in memory, shared
 * memory if there are several processes, the chunk is made there and stays (the place `held`).  Past that it
 * is a buffer, which is written to a file when it is full, and filled again (`filed`).  Each process has a
 * file for each part, so that no process waits for another.
 *
 * The files are a FileSet's, which the first process has removed when its memory context is, after errors,
 * too.  They count for temp_file_limit where they are written, and in all statistics of temporary files.
 */
#include "postgres.h"

#include <fcntl.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/stopwatch.h"
#include "device/cuda/waiting.h"
#include "files/chunk_file.h"
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

/* Makes a chunk of so many bytes, in memory of this arena; NULL: there is none left. */
static Chunk *
make_chunk(Place *place, int part, Arena *arena, Size size)
{
	Waiting *waiting = (Waiting *) place->owner;
	MemoryContext old = MemoryContextSwitchTo(waiting->context);
	Chunk *chunk = arena_alloc(arena, sizeof(Chunk) + size);

	MemoryContextSwitchTo(old);
	if (chunk == NULL)
		return NULL;
	memset(chunk, 0, sizeof(*chunk));
	chunk->place = place;
	chunk->part = part;
	chunk->base = (char *) (chunk + 1);
	chunk->size = size;
	chunk->max_rows = PG_UINT64_MAX;
	chunk_set_layout(chunk, waiting->key);
	chunk_reset(chunk);
	return chunk;
}

/* As which part do rows wait that are fed or sent? */
static int
waits_as(const Waiting *waiting, int part)
{
	return waiting->is_fed ? WAITING_AGAIN : part;
}

static Chunk *
take_in_memory(Place *place, int part, Size at_least)
{
	Waiting *waiting = (Waiting *) place->owner;
	WaitingShare *share = waiting->share;

	if (at_least > share->chunk_bytes || !take_room(share, sizeof(Chunk) + share->chunk_bytes))
		return NULL;
	return make_chunk(place, waits_as(waiting, part), waiting->memory, share->chunk_bytes);
}

/* Counts what is in a chunk.  The caller holds the lock. */
static WaitingPart *
count_chunk(WaitingShare *share, const Chunk *chunk)
{
	WaitingPart *waits = &share->parts[chunk->part];

	waits->rows += chunk->nrows;
	waits->key_bytes += chunk->front;
	waits->row_bytes += chunk->size - chunk->back;
	return waits;
}

static void
put_in_memory(Chunk *chunk)
{
	WaitingShare *share = ((Waiting *) chunk->place->owner)->share;
	WaitingPart *waits;

	SpinLockAcquire(&share->mutex);
	waits = count_chunk(share, chunk);
	chunk->next = waits->chunks;
	waits->chunks = chunk;
	SpinLockRelease(&share->mutex);
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

/* Makes the buffer of a part, of another size than before. */
static Chunk *
replace_buffer(Place *place, int part, Size size)
{
	Waiting *waiting = (Waiting *) place->owner;
	Chunk *buffer;

	free_buffer(waiting, part);
	buffer = make_chunk(place, part, NULL, size);
	waiting->parts[part].buffer = buffer;
	waiting->buffered += size;
	waiting->most_buffered = Max(waiting->most_buffered, waiting->buffered);
	return buffer;
}

/* The part's buffer, empty: there is one at a time. */
static Chunk *
take_buffer(Place *place, int part, Size at_least)
{
	Waiting *waiting = (Waiting *) place->owner;
	int waits = waits_as(waiting, part);
	Size size = TYPEALIGN(8, Max(at_least, waiting->share->chunk_bytes));
	Chunk *buffer = waiting->parts[waits].buffer;

	if (buffer == NULL || buffer->size != size)
		return replace_buffer(place, waits, size);
	chunk_reset(buffer);
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
put_to_file(Chunk *chunk)
{
	Waiting *waiting = (Waiting *) chunk->place->owner;
	Stopwatch watch = stopwatch_start();
	File file;

	if (chunk->nrows == 0)
		return;
	CHECK_FOR_INTERRUPTS();
	file = file_of_part(waiting, chunk->part);
	chunk_file_write(file, waiting->parts[chunk->part].end, chunk);
	waiting->parts[chunk->part].end += chunk_file_size(chunk);
	waiting->write_ms += stopwatch_ms(watch);
	SpinLockAcquire(&waiting->share->mutex);
	count_chunk(waiting->share, chunk)->file_bytes += chunk_file_size(chunk);
	SpinLockRelease(&waiting->share->mutex);
}

/* ---------------------------------------------------------------- one process's way to them */

void
waiting_open(Waiting *waiting, WaitingShare *share, Arena *memory, const SortKey *key, int writer)
{
	memset(waiting, 0, sizeof(*waiting));
	waiting->held = (Place){waiting, &waiting->filed, take_in_memory, put_in_memory};
	waiting->filed = (Place){waiting, NULL, take_buffer, put_to_file};
	waiting->share = share;
	waiting->memory = memory;
	waiting->key = key;
	waiting->writer = writer;
	waiting->context = CurrentMemoryContext;
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

void
waiting_end_feed(Waiting *waiting)
{
	waiting_finish(waiting);
	waiting->is_fed = true;
}

/* ---------------------------------------------------------------- sending */

typedef struct Sending
{
	WaitingShare *share;
	Sorter *to;
	const CudaCard *beside; /* the same, if other processes send as well; else NULL */
	Chunk *filled;			/* the one being filled, or NULL */
} Sending;

static void
put_filled(Sending *sending)
{
	if (sending->filled != NULL && sending->to->failure == NULL)
		place_put(sending->filled);
	sending->filled = NULL;
}

/* A chunk to fill with room for so many bytes; NULL: the sorter has failed. */
static Chunk *
chunk_with_room(Sending *sending, Size bytes)
{
	if (sending->filled != NULL && chunk_has_room(sending->filled, bytes))
		return sending->filled;
	put_filled(sending);
	sending->filled = sorter_get_chunk(sending->to, 0, bytes);
	return sending->filled;
}

/*
 * All rows of a chunk at once, also where the chunk to fill is full at fewer rows, for that is about memory
 * and not about bytes.  file: it is in this file, from there on; 0: in memory.
 */
static void
send_chunk(Sending *sending, const Chunk *chunk, File file, off_t at)
{
	Size row_bytes = chunk->size - chunk->back;
	Chunk *to;

	CHECK_FOR_INTERRUPTS();
	to = chunk_with_room(sending, chunk->front + row_bytes);
	if (to == NULL)
		return;
	if (file == 0)
	{
		chunk_copy(to, chunk);
		return;
	}
	chunk_file_read(file, at, chunk, to->base + to->front, to->base + to->back - row_bytes);
	chunk_adopt_copy(to, chunk);
}

/* Is this process to take no more?  The caller holds the lock. */
static bool
is_over(const Sending *sending)
{
	if (sending->to->failure != NULL)
		return true;
	return sending->beside != NULL && (sending->share->dismissed || sending->beside->stage >= CUDA_LEFT);
}

/* Is this process to take no more of a file?  Then the file is left to others from there on. */
static bool
leave_file(const Sending *sending, int part, int writer, off_t at)
{
	WaitingShare *share = sending->share;
	bool leaves;

	SpinLockAcquire(&share->mutex);
	leaves = is_over(sending);
	if (leaves)
		share->parts[part].left[writer] = at;
	SpinLockRelease(&share->mutex);
	return leaves;
}

static void
send_file(Sending *sending, int part, int writer, off_t from)
{
	char name[MAXPGPATH];
	Chunk chunk;
	File file;
	off_t size;

	name_file(name, writer, part);
	file = FileSetOpen(&sending->share->files, name, O_RDONLY);
	if (file <= 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open temporary file \"%s\": %m", name)));
	size = FileSize(file);
	for (off_t at = from; at < size; at += chunk_file_size(&chunk))
	{
		if (at > from && leave_file(sending, part, writer, at))
			break;
		chunk_file_read_description(file, at, &chunk);
		send_chunk(sending, &chunk, file, at);
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
	WaitingShare *share = sending->share;
	bool taken;

	SpinLockAcquire(&share->mutex);
	taken = !is_over(sending) && take_next(&share->parts[part], chunk, writer, from);
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

	while (take(sending, part, &chunk, &writer, &from))
	{
		if (chunk != NULL)
			send_chunk(sending, chunk, 0, 0);
		else
			send_file(sending, part, writer, from);
	}
	put_filled(sending);
	return sending->to->failure == NULL;
}

bool
waiting_send(Waiting *waiting, int part, Sorter *to)
{
	return send_part(&(Sending){.share = waiting->share, .to = to}, part);
}

bool
waiting_send_beside(Waiting *waiting, int part, CudaCard *to)
{
	return send_part(&(Sending){.share = waiting->share, .to = &to->base, .beside = to}, part);
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
