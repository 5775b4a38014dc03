/*
 * device/sorter.h
 *		The device interface: what takes filled chunks and gives back rows in order.
 *
 * A sort goes through these calls, in this order:
 *
 *		sorter = device->begin(request)
 *		chunk = sorter_get_chunk(sorter, ...), filled by the caller, place_put(chunk), again and again
 *		device->sort(sorter)
 *		sorter_next(sorter, forward), sorter_rewind, sorter_mark, sorter_restore, in any order
 *		device->end(sorter)
 *
 * Several processes may feed one sort.  The first process, the leader, begins the sort, with
 * request->processes.share, and lets the workers join (exec/team.h).  The leader enters before it feeds.
 * Each process fills chunks, and calls finish_feed when it has read its part of the input.  A worker then
 * calls help or sort_together, or is done.  A process that finds no room writes runs of its own; no row goes
 * from one process to another.  A worker that comes too late gets NULL from join: nothing is left for it to
 * read.
 *
 * If only the first rows of the order are wanted, the feed leaves out rows that can't be among them, as
 * sorter->bound says (sort/bound.h).  The device may do the same.  Rows that come after those wanted may then
 * be missing.
 *
 * A sorter may have parts, the rows between two of its splitters each.  A chunk is then for rows of one part.
 *
 * All that a sorter holds belongs to a memory context below the one that was current in begin or join, and to
 * the current resource owner.  An error or a cancel releases all of it without a call to end.
 *
 * A device that can't go on, such as a GPU that is lost, raises no error: it sets sorter->failure.  After
 * that only end may be called.  The caller reads its input once more, for the cpu device, or raises an error
 * if it can't.  An error of PostgreSQL in a device, such as a temporary file for which there is no space, is
 * no failure of the device: it ends the statement.
 */
#ifndef GPUSORT_DEVICE_SORTER_H
#define GPUSORT_DEVICE_SORTER_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "storage/fileset.h"

#include "device/place.h"
#include "key/types.h"
#include "monitor/sort_stats.h"
#include "sort/chunk.h"

struct KeySample;
struct MergedRows;
struct SortBound;
struct SortKey;
struct SortSplitters;

typedef struct SortDevice SortDevice;
typedef struct Sorter Sorter;
typedef struct SortShare SortShare; /* participants.h */
typedef struct SortTeam SortTeam;	/* participants.h */

/* Every device's sorter begins with this. */
struct Sorter
{
	const SortDevice *device;

	/* The rows at hand: from at on, each at the next multiple of 8 bytes, those that are next, forwards. */
	const char *at;
	const char *at_end; /* there are none if it is not greater */

	const struct SortSplitters *splitters; /* between its parts; NULL: it has none */
	struct SortBound *bound;			   /* which of its rows are wanted; NULL: all */
	Place *places;						   /* where its rows are, the first one to be asked for room */
	SortShare *share;					   /* what other processes need to join; NULL: none can */
	int process;		 /* the number of this process among those that feed; -1: it does not, or no more */
	FileSet *files;		 /* where lone workers write runs (SortTeam); NULL: the sorter takes none of theirs */
	Size lone_memory;	 /* bytes that each lone worker may use */
	int nlone;			 /* lone workers; known when all workers have ended */
	uint64 lone_rows;	 /* rows in their runs; known then */
	const char *failure; /* why the sorter can't go on, a sentence; NULL: it can */
	SortFailureReason failure_reason;

	/*
	 * Where it reads (sorter.c).  The position is that of the row last returned, or at hand: -1 before the
	 * first one, nrows after the last one.  It means nothing where rows are merged.
	 */
	struct MergedRows *merged; /* rows of runs; NULL: none */
	bool read_once;			   /* the rows can't be read again, nor backwards, nor from a mark */
	int64 nrows;			   /* that this process can read */
	int64 position;
	int64 marked;
	int64 range_end; /* rows from there on are not to be read for now */
};

/* What is to be sorted. */
typedef struct SortRequest
{
	const struct SortKey *key; /* must live as long as the sorter */

	struct
	{
		TupleDesc desc;		/* must live as long as the sorter */
		bool complete;		/* do they hold all their sort columns? */
		bool random_access; /* will they be read backwards, again, or from a mark? */
		bool fed_once;		/* the caller can't read its input a second time, if the device fails */
		uint64 wanted;		/* number of rows that are wanted, from the first one on; 0: all */
		bool with_ties;		/* rows that equal the last wanted one are wanted, too */
	} rows;

	/* Host memory, in bytes. */
	struct
	{
		Size limit;
		Size of_each; /* of the limit, what each process brings; 0: the limit is for all, however many come */
	} memory;

	struct
	{
		int n;			   /* at most, this one included */
		bool share;		   /* others than this one will feed the sorter, too */
		bool read_jointly; /* all that feed it will call sort_together */
		bool help;		   /* all that feed it will call help */
	} processes;

	/* What a card wants to know before the rows come, by the planner's estimates. */
	struct
	{
		double rows;
		double row_bytes; /* of one row, without its key */
		double key_bytes; /* of one key */
		double cpu_ms;	  /* milliseconds that the cpu device is expected to take */
		/* of the keys, in order, to split the rows by; NULL: they are not split */
		const struct KeySample *sample;
	} expected;
} SortRequest;

/* What a device makes of rows: bits. */
typedef enum SortDeviceProperty
{
	SORT_KEEPS_SORT_COLUMNS = 1, /* rows must keep their sort columns, though nothing looks at them later */
	SORT_READS_TAILS = 2,		 /* tails of keys may be left to the rows that have them (sort/chunk.h) */
	SORT_KEEPS_ROWS = 4			 /* rows are kept though they can be made of their keys */
} SortDeviceProperty;

/* No function is NULL: a device that has nothing to do for a call says so, or does nothing. */
struct SortDevice
{
	const char *name;
	int properties; /* SortDeviceProperty */

	/* A sorter; it may have failed already. */
	Sorter *(*begin)(const SortRequest *request);

	/*
	 * In another process: a sorter to feed; NULL: nothing is left to be fed.  share: NULL if it can't be
	 * mapped here.  complete_rows: of rows that hold all their sort columns, NULL: they don't.  All that is
	 * given must outlive the sorter.
	 */
	Sorter *(*join)(SortTeam *team, SortShare *share, const struct SortKey *key, TupleDesc complete_rows);

	/*
	 * The first process takes part in feeding from now on, as the others do once they have joined; with it
	 * there are so many at most.  False: it is too late, and nothing is left to be fed.
	 */
	bool (*enter)(Sorter *sorter, int processes);

	/*
	 * This process's part of the input is over, and no chunk is outstanding.  May wait for others and sort
	 * together with them.
	 */
	void (*finish_feed)(Sorter *sorter);

	/*
	 * Sorts, unless that is done, and goes before the first row.  No chunk may be outstanding.  False: the
	 * sorter has failed.
	 */
	bool (*sort)(Sorter *sorter);

	/*
	 * After finish_feed, in every process that fed, before the first one sorts, if the request said so: are
	 * the rows sorted, so that each process can read all of them by ranges?  `nrows` is their number then.
	 * May sort, and wait for other processes.  The sorter may have failed.
	 */
	bool (*sort_together)(Sorter *sorter);

	/*
	 * After finish_feed, if the request said so.  In the first process, which must have fed too: will others
	 * help it to read, once it has sorted?  In another process: helps until nothing is left to be done, or
	 * the first process dismisses it, and returns false.
	 */
	bool (*help)(Sorter *sorter);

	/* In the first process, at any time: the processes that help are to go at once. */
	void (*dismiss)(Sorter *sorter);

	/*
	 * The next row in this direction, or NULL at the end, or if the sorter has failed; the row is good until
	 * the next call.  Called by sorter_next alone, when no rows are at hand.  Those behind the row may be at
	 * hand then, if the request had no random_access: for the device they count as returned.
	 */
	StoredRow (*next)(Sorter *sorter, bool forward);

	/*
	 * In a process that reads together with others.  The next row is the first one of a range, which is one
	 * of nranges of the order that have about the same number of rows; then, at the end of the range, the
	 * rows behind it are next.
	 */
	void (*seek_range)(Sorter *sorter, int range, int nranges);
	void (*pass_range_end)(Sorter *sorter);

	void (*get_stats)(const Sorter *sorter, SorterStats *stats);

	/* Releases everything.  Never called after an error. */
	void (*end)(Sorter *sorter);
};

/* To be called before begin or join: are keys to be kept alone by this device? */
extern void sort_device_set_layout(const SortDevice *device, struct SortKey *key);

/* Rows at hand are fetched into the caches so many bytes ahead: they come from elsewhere. */
#define SORTER_ROWS_AHEAD 1024

/* The first of the rows at hand; NULL: there is none. */
static pg_attribute_always_inline StoredRow
sorter_row_at_hand(Sorter *sorter)
{
	StoredRow row = (StoredRow) sorter->at;

	if (unlikely(sorter->at >= sorter->at_end))
		return NULL;
	__builtin_prefetch(sorter->at + SORTER_ROWS_AHEAD);
	sorter->at += row_stored_size(row);
	return row;
}

/* The next row, as device->next says. */
static pg_attribute_always_inline StoredRow
sorter_next(Sorter *sorter, bool forward)
{
	StoredRow row = sorter_row_at_hand(sorter);

	return likely(row != NULL) ? row : sorter->device->next(sorter, forward);
}

static inline void
sorter_forget_rows_at_hand(Sorter *sorter)
{
	sorter->at = sorter->at_end = NULL;
}

/* What a part has at hand the whole has. */
static inline void
sorter_take_rows_at_hand(Sorter *sorter, Sorter *part)
{
	sorter->at = part->at;
	sorter->at_end = part->at_end;
	sorter_forget_rows_at_hand(part);
}

/* The device can't go on. message: as long-lived as the sorter. */
static inline void
sorter_fail(Sorter *sorter, SortFailureReason reason, const char *message)
{
	if (sorter->failure == NULL)
	{
		sorter->failure = message;
		sorter->failure_reason = reason;
	}
}

/* Nothing of its rows was read, of which there are so many; or they are merged. */
extern void sorter_begin_reading(Sorter *sorter, uint64 nrows);
extern void sorter_read_merged(Sorter *sorter, struct MergedRows *merged, bool random_access);

/* Goes before the first row.  False: the rows can't be read again. */
extern bool sorter_rewind(Sorter *sorter);

/* Remembers where it is; goes there again. */
extern void sorter_mark(Sorter *sorter);
extern void sorter_restore(Sorter *sorter);

/* For a device that can't do a thing, or has nothing to do. */
extern bool sorter_can_not(Sorter *sorter);
extern void sorter_does_nothing(Sorter *sorter);

/* What SortDevice says, where rows have a position. */
extern void sorter_seek_range(Sorter *sorter, int range, int nranges);
extern void sorter_pass_range_end(Sorter *sorter);

/*
 * A chunk for rows of this part, 0 where there are no parts, with room for at least one row of so many bytes,
 * entry and all.  NULL: the sorter has failed.  Filled, it is put back by place_put.
 */
static inline Chunk *
sorter_get_chunk(Sorter *sorter, int part, Size at_least)
{
	Chunk *chunk = sorter->failure == NULL ? places_take(sorter->places, part, at_least) : NULL;

	return sorter->failure == NULL ? chunk : NULL;
}

/* Sorts in the backend's own memory, past its limit in temporary files; always there. */
extern const SortDevice sort_device_cpu;

/*
 * A sorter of that device which makes runs of all its rows, for another process, when its feed is finished:
 * of these files, under this number (files/shared_runs.h).  complete_rows: as in SortDevice.join; memory:
 * bytes.
 */
extern Sorter *sort_cpu_begin_runs(const struct SortKey *key, TupleDesc complete_rows, Size memory,
								   FileSet *files, int number);

/* Sorts on GPUs, in a service of its own process; not always there. */
extern const SortDevice sort_device_cuda;

/*
 * Into how many parts the rows have to be cut that a GPU has room for each; 1: it has for all, or they can't.
 */
extern int sort_turns_on_gpu(const SortRequest *request);

#endif /* GPUSORT_DEVICE_SORTER_H */
