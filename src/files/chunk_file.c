/*
 * files/chunk_file.c
 *		Chunks in temporary files, as they are.
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "files/chunk_file.h"

static off_t
write_bytes(File file, const char *bytes, Size size, off_t at)
{
	while (size > 0)
	{
		int written =
			FileWrite(file, unconstify(char *, bytes), Min(size, MaxAllocSize), at, WAIT_EVENT_BUFFILE_WRITE);

		if (written <= 0)
			ereport(ERROR, (errcode_for_file_access(),
							errmsg("could not write to file \"%s\": %m", FilePathName(file))));
		bytes += written;
		size -= written;
		at += written;
	}
	return at;
}

static off_t
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
	return at;
}

void
chunk_file_write(File file, off_t at, const Chunk *chunk)
{
	at = write_bytes(file, (const char *) chunk, sizeof(Chunk), at);
	at = write_bytes(file, chunk->base, chunk->front, at);
	(void) write_bytes(file, chunk->base + chunk->back, chunk->size - chunk->back, at);
}

void
chunk_file_read_description(File file, off_t at, Chunk *chunk)
{
	(void) read_bytes(file, (char *) chunk, sizeof(Chunk), at);
}

void
chunk_file_read(File file, off_t at, const Chunk *chunk, char *entries, char *rows)
{
	at = read_bytes(file, entries, chunk->front, at + sizeof(Chunk));
	(void) read_bytes(file, rows, chunk->size - chunk->back, at);
}
