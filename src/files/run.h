/*
 * files/run.h
 *		Sorted runs in temporary files: writing them and reading them back.
 *
 * A run is a part of a file: records one after the other, all parts 8-byte aligned:
 *
 *		fixed key			the words of the squeezed key, host order; the row
 *		variable key		the record of sort/chunk.h: uint64 length, padded key; the row
 *
 * The keys of a run are squeezed by a plan of its own, so the readers expand them.
 *
 * Several runs may share a file, for an open BufFile takes more than 8 kB of memory; but no run may be
 * written to a file while another one is read from it.  The files belong to the current resource owner: an
 * abort removes them, and temp_file_limit, log_temp_files and pg_stat_database see them like those of any
 * sort.
 */
#ifndef GPUSORT_FILES_RUN_H
#define GPUSORT_FILES_RUN_H

#include "postgres.h"

#include "storage/buffile.h"

#include "sort/chunk.h"
#include "sort/key_squeeze.h"

/* A file, closed and removed with the last of its runs. */
typedef struct RunFile
{
	BufFile *file;
	uint64 bytes; /* written so far, by all runs */
	int nruns;
} RunFile;

typedef struct Run
{
	RunFile *file;
	uint64 offset;		/* where it starts */
	bool variable;		/* variable keys? */
	KeySqueeze squeeze; /* fixed keys */
	uint64 bytes;		/* written so far */
	uint64 rows;
} Run;

/* A new file without runs, in CurrentMemoryContext. */
extern RunFile *run_file_create(void);

/*
 * A new run at the file's end, in CurrentMemoryContext, to be written before the next one there. squeeze: how
 * its fixed keys are squeezed; NULL: variable keys.
 */
extern Run *run_create(RunFile *file, const KeySqueeze *squeeze);

/* Adds a row with its key: squeeze.nwords words of a fixed key. */
extern void run_write_fixed(Run *run, const uint64 *key, MinimalTuple row);

/* Adds a record with a variable key. */
extern void run_write_record(Run *run, const char *record);

/* The same of a key and a row that stand apart. */
extern void run_write_variable(Run *run, const uint8 *key, Size key_size, MinimalTuple row);

/* Removes the run, and the file with its last one. */
extern void run_drop(Run *run);

/* Reads a run from its start. */
typedef struct RunReader
{
	Run *run;
	char *buffer;
	Size buffer_size;
	Size start;	 /* the next record stands here in the buffer */
	Size end;	 /* the buffer is filled so far */
	uint64 read; /* bytes of the run that have come into the buffer */

	/* The current record. */
	bool ended;	 /* there is none */
	uint64 word; /* the first 8 bytes of the key, host order; all ones if ended */
	MinimalTuple row;
	const char *record;		   /* variable keys */
	uint64 key[KEY_MAX_WORDS]; /* fixed keys: the full key, host order */
} RunReader;

/* Bytes of memory that a reader takes besides its buffer. */
#define RUN_READER_OVERHEAD (sizeof(RunReader) + sizeof(Run))

/* Positions the reader before the first record.  Its buffer grows where a record is larger. */
extern void run_reader_open(RunReader *reader, Run *run, Size buffer_size);

/* Goes to the next record; the one before is gone.  Stays at the end. */
extern void run_reader_next(RunReader *reader);

/* Orders the current records of two readers whose first 8 bytes of key agree; neither has ended. */
extern int run_reader_compare_rest(const RunReader *a, const RunReader *b);

/* Frees the buffer; the run stays. */
extern void run_reader_close(RunReader *reader);

#endif /* GPUSORT_FILES_RUN_H */
