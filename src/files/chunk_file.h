/*
 * files/chunk_file.h
 *		Chunks in temporary files, as they are: a description, the entries, the rows.
 *
 * A file that can't be written or read is PostgreSQL's error and ends the statement.
 */
#ifndef GPUSORT_FILES_CHUNK_FILE_H
#define GPUSORT_FILES_CHUNK_FILE_H

#include "postgres.h"

#include "storage/fd.h"

#include "sort/chunk.h"

/* Bytes of a chunk in a file. */
static inline Size
chunk_file_size(const Chunk *chunk)
{
	return sizeof(Chunk) + chunk_bytes(chunk);
}

extern void chunk_file_write(File file, off_t at, const Chunk *chunk);

/* The description of the chunk that begins there; its base says nothing. */
extern void chunk_file_read_description(File file, off_t at, Chunk *chunk);

/* Then its entries and its rows, each to its place. */
extern void chunk_file_read(File file, off_t at, const Chunk *chunk, char *entries, char *rows);

#endif /* GPUSORT_FILES_CHUNK_FILE_H */
