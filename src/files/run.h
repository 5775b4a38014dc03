/*
 * files/run.h
 *		Sorted runs in temporary files: writing them and reading them back.
 *
 * A run is a part of a file: records one after the other, nothing between them, each in three parts.
 *
 *		head	a number of 7 bits a byte, the low ones first, the eighth bit set in all bytes but the last:
 *				the bytes of the row's body, doubled, and 1 more if the fields of its header are not those of
 *				the row before; then these, t_infomask2, t_infomask and t_hoff, 5 bytes
 *		key		fixed: the words of the squeezed key, host order; variable: its size, a number as above, and
 *				its bytes; nothing where the row holds its sort columns, and making the key again out of them
 *				is better than having it written and read
 *		body	what a MinimalTuple has after its header's fields: the map of NULLs, the columns
 *
 * Of rows that their keys say all of (key/key_row.h) there are the keys alone: the words of a fixed one, or
 * the size of a variable one and its bytes.  Of a row that its variable key does not tell there is a size of
 * 0, then head and body.
 *
 * The keys of a run are squeezed by a plan of its own, so the readers expand them.
 *
 * Several runs may share a file, for an open BufFile takes more than 8 kB of memory; but no run may be
 * written to a file while another one is read from it.  The files belong to the current resource owner: an
 * abort removes them, and temp_file_limit, log_temp_files and pg_stat_database see them like those of any
 * sort.
 *
 * Runs that several processes read are in files of a FileSet, which its owner removes; what others need to
 * know of them, places at which they can begin to read among it, is passed on by shared_runs.h.
 */
#ifndef GPUSORT_FILES_RUN_H
#define GPUSORT_FILES_RUN_H

#include "postgres.h"

#include "access/htup_details.h"
#include "storage/buffile.h"
#include "storage/fileset.h"

#include "files/row_keys.h"
#include "key/key_row.h"
#include "sort/chunk.h"
#include "sort/key_squeeze.h"

/* A file, closed and removed with the last of its runs. */
typedef struct RunFile
{
	BufFile *file;
	uint64 bytes; /* written so far, by all runs */
	int nruns;

	/* For several processes. */
	FileSet *set; /* NULL: for this one alone */
	int process;  /* whose it is, and the number that it has there */
	int number;
	bool stays; /* others read it: closed, but not removed */
} RunFile;

typedef enum RunContent
{
	RUN_KEYS_AND_ROWS,
	RUN_ROWS, /* which keys are made of */
	RUN_KEYS  /* which rows are made of; variable: and rows of which that can't be */
} RunContent;

typedef struct RunFormat
{
	RunContent content;
	bool variable;		/* variable keys? */
	KeySqueeze squeeze; /* of fixed keys that are written */
} RunFormat;

/*
 * What the rows of a run have in common most of the time: t_infomask2, t_infomask and t_hoff, as in the row.
 */
typedef struct RowHeader
{
	uint8 bytes[5];
} RowHeader;

/* Where a record stands in its run. */
typedef struct RunPosition
{
	uint64 at;
	RowHeader header; /* its own, or that of the one before */
} RunPosition;

/* The beginning of a key, zeros behind its end; of a fixed one all of it.  Words in host order. */
typedef struct KeyStart
{
	uint64 words[KEY_MAX_WORDS];
} KeyStart;

/* A record at which reading can begin. */
typedef struct RunPlace
{
	KeyStart key;
	RunPosition position;
} RunPlace;

/* A run notes so many at most; half of them, once they were that many. */
#define RUN_PLACES_MAX 128

typedef struct Run
{
	RunFile *file;
	uint64 offset; /* where it starts */
	RunFormat format;
	RowHeader header; /* of the row written last */
	uint64 bytes;	  /* written so far */
	uint64 rows;
	Size largest_row; /* bytes of memory for any of its rows */
	Size largest_key; /* and for any of its variable keys that are written */

	/* Of files for several processes; the first place is the first record. */
	RunPlace *places;
	int nplaces;
	int room_for_places;
	uint64 place_distance; /* bytes between them */
	uint64 next_place;	   /* the next one is noted there */
} Run;

/*
 * A new file without runs, in CurrentMemoryContext.  set: the files of several processes, of which it is that
 * of this process and number, which no other one has; NULL: it is for this process alone.
 */
extern RunFile *run_file_create(FileSet *set, int process, int number);

/* In another process, when it has been exported: to be read. */
extern RunFile *run_file_open(FileSet *set, int process, int number);

/* Nothing is written to it any more: others may open it. */
extern void run_file_export(RunFile *file);

/* A new run at the file's end, in CurrentMemoryContext, to be written before the next one there. */
extern Run *run_create(RunFile *file, const RunFormat *format);

/* Adds a row and its key, squeeze.nwords words; of the two counts what the run is to hold. */
extern void run_write_fixed(Run *run, const uint64 *key, MinimalTuple row);

/* The same with a variable key; row: NULL in a run of keys, if that says all of it. */
extern void run_write_variable(Run *run, const void *key, Size key_size, MinimalTuple row);

/* Adds a row to a run of rows. */
extern void run_write_row(Run *run, MinimalTuple row);

/* Removes the run, and the file with its last one unless others read that. */
extern void run_drop(Run *run);

/* Reads a run from its start. */
typedef struct RunReader
{
	Run *run;
	RowKeys *row_keys; /* makes keys that are not written */
	char *buffer;
	Size buffer_size;
	Size start;	 /* the next record stands here in the buffer */
	Size end;	 /* the buffer is filled so far */
	uint64 read; /* bytes of the run that have come into the buffer */

	/* The current record. */
	bool ended;						 /* there is none */
	uint64 at;						 /* where it begins in the run */
	uint64 word;					 /* the first 8 bytes of the key, host order; all ones if ended */
	bool has_row;					 /* does it hold its row? */
	MinimalTuple row;				 /* room for the run's largest one */
	uint64 fixed_key[KEY_MAX_WORDS]; /* the full key, host order */
	char *key;						 /* variable */
	Size key_size;
	Size key_room;
} RunReader;

/* Bytes of memory that a reader of the run takes besides its buffer, but for keys that are not written. */
extern Size run_reader_overhead(const Run *run);

/* The same of a run of small rows. */
#define RUN_READER_OVERHEAD (sizeof(RunReader) + sizeof(Run))

/*
 * Positions the reader before the first record.  Its buffer grows where a record is larger.  row_keys: for a
 * run of rows, or of variable keys.
 */
extern void run_reader_open(RunReader *reader, Run *run, Size buffer_size, RowKeys *row_keys);

/* Goes to the next record; the one before is gone.  Stays at the end. */
extern void run_reader_next(RunReader *reader);

/* Tells where the current record stands, or the end; goes there, to before that record. */
extern void run_reader_tell(const RunReader *reader, RunPosition *place);
extern void run_reader_seek(RunReader *reader, const RunPosition *place);

/* Orders the current records of two readers whose first 8 bytes of key agree; neither has ended. */
extern int run_reader_compare_rest(const RunReader *a, const RunReader *b);

/* The beginning of the current record's key; there must be one. */
extern void run_reader_key_start(const RunReader *reader, KeyStart *start);

/* Orders beginnings of keys: less than, equal to or more than 0. */
static inline int
key_start_compare(const KeyStart *a, const KeyStart *b)
{
	return compare_host_words(a->words, b->words, KEY_MAX_WORDS);
}

/* Does the current record, which there must be, come before this beginning of a key? */
static inline bool
run_reader_is_before(const RunReader *reader, const KeyStart *start)
{
	KeyStart own;

	if (likely(reader->word != start->words[0]))
		return reader->word < start->words[0];
	run_reader_key_start(reader, &own);
	return key_start_compare(&own, start) < 0;
}

/* The row of the current record, good until the next call; key_row makes it if the run has keys alone. */
extern MinimalTuple run_reader_row(const RunReader *reader, KeyRow *key_row);

/* Frees what the reader has; the run stays. */
extern void run_reader_close(RunReader *reader);

#endif /* GPUSORT_FILES_RUN_H */
