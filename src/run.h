/*
 * run.h
 *		Sorted runs in temporary files: writing them and reading them back.
 *
 * A run is a BufFile of records one after the other, all parts 8-byte aligned:
 *
 *		fixed key (width W)		W bytes of key, the row
 *		variable key			the record of chunk.h: uint64 length, padded key, the row
 *
 * The files belong to the current resource owner: an abort removes them, and temp_file_limit, log_temp_files and
 * pg_stat_database see them like those of any sort.
 */
#ifndef GPUSORT_RUN_H
#define GPUSORT_RUN_H

#include "postgres.h"

#include "storage/buffile.h"

#include "chunk.h"

typedef struct Run
{
	BufFile    *file;
	uint64		bytes;			/* written so far */
	uint64		rows;
} Run;

/* A new run in CurrentMemoryContext, to be written. */
extern Run *run_create(void);

/* Adds a row with its key: width bytes of a fixed key. */
extern void run_write_fixed(Run *run, const void *key, int width, MinimalTuple row);

/* Adds a record with a variable key. */
extern void run_write_record(Run *run, const char *record);

/* Removes the run and its file. */
extern void run_drop(Run *run);

/* Reads a run once, from its start. */
typedef struct RunReader
{
	Run		   *run;
	int			key_width;		/* of a fixed key; 0: variable keys */
	char	   *buffer;
	Size		buffer_size;
	Size		start;			/* the next record stands here in the buffer */
	Size		end;			/* the buffer is filled so far */
	uint64		unread;			/* bytes of the file not in the buffer yet */

	/* the current record; key is NULL at the end of the run */
	const char *key;
	Size		key_size;		/* a multiple of 8 */
	uint64		word;			/* the first 8 bytes of the key, host order */
	MinimalTuple row;
} RunReader;

/* Bytes of memory that a reader takes besides its buffer. */
#define RUN_READER_OVERHEAD (sizeof(RunReader) + BLCKSZ + 256)

/* Positions the reader before the first record.  Its buffer grows where a record is larger. */
extern void run_reader_open(RunReader *reader, Run *run, int key_width, Size buffer_size);

/* Goes to the next record; the one before is gone.  False at the end. */
extern bool run_reader_next(RunReader *reader);

/* Drops the run and the buffer. */
extern void run_reader_close(RunReader *reader);

#endif							/* GPUSORT_RUN_H */
