/*
 * files/run.h
 *		Sorted runs in temporary files: writing them and reading them back.
 *
 * A run is a part of a file.  It is a sequence of records without gaps.  Each record has three parts.
 *
 *		head	a number of 7 bits a byte, the low ones first, the eighth bit set in all bytes but the last:
 *				the bytes of the row's body, doubled, and 1 more if the fields of its header differ from the row before; then these, t_infomask2, t_infomask and t_hoff, 5 bytes
 *		key		fixed: the words of the squeezed key, host order; variable: its size, a number as above, and
 *				its bytes; nothing where the row holds its sort columns, and making the key again out of them
 *				is better than having it written and read
 *		body	what a MinimalTuple has after its header's fields: the map of NULLs, the columns
 *
 * If a key tells its whole row (key/key_row.h), the record is only the key: the words of a fixed key, or the
 * size of a variable key and its bytes.  If a variable key does not tell its row, the record is a size of 0,
 * then head and body.
 *
 * Each run has its own plan for squeezing keys, and the readers expand the keys.
 *
 * Several runs may share a file, because an open BufFile takes more than 8 kB of memory.  No run may be
 * written to a file while another run is read from it.  The files belong to the current resource owner: an
 * abort removes them.  temp_file_limit, log_temp_files and pg_stat_database treat them as the files of any
 * sort.
 *
 * Runs that several processes read are in files of a FileSet, which its owner removes.  shared_runs.h passes
 * the descriptions of these runs to other processes, including milestones at which reading can begin.
 */
#ifndef GPUSORT_FILES_RUN_H
#define GPUSORT_FILES_RUN_H

#include "postgres.h"

#include "access/htup_details.h"
#include "storage/buffile.h"
#include "storage/fileset.h"

#include "files/row_keys.h"
#include "key/types.h"
#include "sort/chunk.h"
#include "sort/key_squeeze.h"

/* A file, closed and removed with the last of its runs. */
typedef struct RunFile
{
	BufFile *file;
	uint64 bytes; /* written so far, by all runs */
	int nruns;

	/* For several processes. */ FileSet *set; /* NULL: only this process uses the file */
	int process; /* the process that writes the file; `number`: the file's number for that process */
	int number;
	bool stays; /* other processes read the file: it is closed, but not removed */
} RunFile;

typedef enum RunContent
{
	RUN_KEYS_AND_ROWS,
	RUN_ROWS, /* keys are made from the rows */
	RUN_KEYS  /* rows are restored from the keys; variable keys: also rows for which that is impossible */
} RunContent;

typedef struct RunFormat
{
	RunContent content;
	bool variable;		/* variable keys? */
	KeySqueeze squeeze; /* for fixed keys that are written */
} RunFormat;

/*
 * The fields that most rows of a run have in common: t_infomask2, t_infomask and t_hoff, as in the row.
 */
typedef struct RowHeader
{
	uint8 bytes[5];
} RowHeader;

/* The position of a record in its run. */
typedef struct RunPosition
{
	uint64 at;
	RowHeader header; /* the header of the record, or of the record before */
} RunPosition;

/* The beginning of a key, with zeros behind its end; for a fixed key the whole key.  Words in host order. */
typedef struct KeyStart
{
	uint64 words[KEY_MAX_WORDS];
} KeyStart;

/* A record at which reading can begin. */
typedef struct RunMilestone
{
	KeyStart key;
	RunPosition position;
} RunMilestone;

/* The maximum number of milestones of a run.  When it is reached, every second milestone is dropped. */
#define RUN_MILESTONES_MAX 128

typedef struct Run
{
	RunFile *file;
	uint64 offset; /* where it starts */
	RunFormat format;
	RowHeader header; /* the header of the last row */
	uint64 bytes;	  /* written so far */
	uint64 rows;
	Size largest_row; /* bytes of memory for any of its rows */
	Size largest_key; /* bytes of memory for any of its written variable keys */

	/* For files of several processes.  The first milestone is the first record. */
	RunMilestone *milestones;
	int nmilestones;
	int room_for_milestones;
	uint64 milestone_distance; /* bytes between milestones */
	uint64 next_milestone;	   /* the next milestone is noted at this offset */
} Run;

/*
 * Creates a file without runs, in CurrentMemoryContext. set: the files of several processes; the pair of
 * process and number must be unique there.  NULL: only this process uses the file.
 */
extern RunFile *run_file_create(FileSet *set, int process, int number);

/* In another process: opens an exported file for reading. */
extern RunFile *run_file_open(FileSet *set, int process, int number);

/* Ends writing to the file: other processes may open it. */
extern void run_file_export(RunFile *file);

/*
 * Creates a run at the file's end, in CurrentMemoryContext.  It must be written before the next run of the
 * file.
 */
extern Run *run_create(RunFile *file, const RunFormat *format);

/* Adds a row and its key of squeeze.nwords words.  The run's content decides which of the two is written. */
extern void run_write_fixed(Run *run, const uint64 *key, StoredRow row);

/* Adds a row with a variable key.  In a run of keys row is NULL if the key tells the whole row. */
extern void run_write_variable(Run *run, const void *key, Size key_size, StoredRow row);

/* Will a milestone be noted at the next record? */
static inline bool
run_notes_next(const Run *run)
{
	return run->bytes >= run->next_milestone;
}

/* Adds a row to a run of rows, at which no milestone is noted. */
extern void run_write_row(Run *run, StoredRow row);

/* Removes the run.  With the last run it removes the file, unless other processes read the file. */
extern void run_drop(Run *run);

/* Reads a run from its start. */
typedef struct RunReader
{
	Run *run;
	RowKeys *row_keys; /* makes keys that are not written */
	char *buffer;
	Size buffer_size;
	Size start;	 /* offset of the next record in the buffer */
	Size end;	 /* end of the data in the buffer */
	uint64 read; /* bytes of the run that were read into the buffer */

	/* The current record. */
	bool ended;						 /* the run has ended; there is no current record */
	uint64 at;						 /* offset of the record in the run */
	uint64 word;					 /* the first 8 bytes of the key, host order; all ones if ended */
	bool has_row;					 /* does the record have its row? */
	StoredRow row;					 /* room for the run's largest row */
	uint64 fixed_key[KEY_MAX_WORDS]; /* the full key, host order */
	char *key;						 /* variable */
	Size key_size;
	Size key_room;
} RunReader;

/*
 * Returns the bytes of memory of a reader of the run in addition to its buffer, without keys that are not
 * written.
 */
extern Size run_reader_overhead(const Run *run);

/* The same for a run of small rows. */
#define RUN_READER_OVERHEAD (sizeof(RunReader) + sizeof(Run))

/*
 * Positions the reader before the first record.  The buffer grows if a record is larger.  row_keys: for a run
 * of rows, or of variable keys.
 */
extern void run_reader_open(RunReader *reader, Run *run, Size buffer_size, RowKeys *row_keys);

/* Goes to the next record; the record before is no longer valid.  At the end the reader stays there. */
extern void run_reader_next(RunReader *reader);

/*
 * run_reader_tell: returns the position of the current record, or of the end.  run_reader_seek: goes to the
 * position before that record.
 */
extern void run_reader_tell(const RunReader *reader, RunPosition *position);
extern void run_reader_seek(RunReader *reader, const RunPosition *position);

/* Orders the current records of two readers whose first 8 bytes of key agree; neither has ended. */
extern int run_reader_compare_rest(const RunReader *a, const RunReader *b);

/* Returns the beginning of the current record's key; there must be a current record. */
extern void run_reader_key_start(const RunReader *reader, KeyStart *start);

/* Orders beginnings of keys: less than, equal to or more than 0. */
static inline int
key_start_compare(const KeyStart *a, const KeyStart *b)
{
	return compare_host_words(a->words, b->words, KEY_MAX_WORDS);
}

/* Is the current record before this beginning of a key?  There must be a current record. */
static inline bool
run_reader_is_before(const RunReader *reader, const KeyStart *start)
{
	KeyStart own;

	if (likely(reader->word != start->words[0]))
		return reader->word < start->words[0];
	run_reader_key_start(reader, &own);
	return key_start_compare(&own, start) < 0;
}

/*
 * Returns the row of the current record, valid until the next call.  key_row restores it if the run has only
 * keys.
 */
extern StoredRow run_reader_row(const RunReader *reader, KeyRow *key_row);

/* Frees the memory of the reader; the run stays. */
extern void run_reader_close(RunReader *reader);

#endif /* GPUSORT_FILES_RUN_H */
