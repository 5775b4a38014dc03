/*
 * device/sorter.h
 *		The device interface: a device takes filled chunks and returns rows in order.
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
 * calls help or sort_together, or is done.  A process that finds no room writes runs of its own.  No row goes
 * from one process to another.  join returns NULL to a worker that comes too late: nothing is left for it to
 * read.
 *
 * If only the first rows of the order are wanted, the feed leaves out rows that cannot be among them, as
 * sorter->bound says (sort/bound.h).  The device may also leave them out.  Rows that come after the wanted
 * ones may then be missing.
 *
 * A sorter may have parts.  A part is the rows between two of its splitters.  A chunk is then for rows of one
 * part.
 *
 * All that a sorter holds belongs to a memory context below the context that was current in begin or join,
 * and to the current resource owner.  An error or a cancel releases all of it without a call to end.
 *
 * A device that cannot go on, for example because a GPU is lost, raises no error: it sets sorter->failure.
 * After that only end may be called.  The caller reads its input once more, for the cpu device, or raises an
 * error if it cannot.  An error of PostgreSQL in a device is no failure of the device: it ends the statement.
 * An example is a temporary file for which there is no space.
 */
#ifndef GPUSORT_DEVICE_SORTER_H
#define GPUSORT_DEVICE_SORTER_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "storage/fileset.h"

#include "base/devices.h"
#include "device/place.h"
#include "key/types.h"
#include "monitor/sort_stats.h"
#include "sort/chunk.h"
#include "sort/group_bound.h"

struct ChunkPool;
struct GroupBound;
struct ValueBound;
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

	/*
	 * The rows at hand, from `at` on, each at the next multiple of 8 bytes.  They are the next rows forwards.
	 */
	const char *at;
	const char *at_end; /* there are no rows at hand if it is not greater than `at` */

	const struct SortSplitters *splitters; /* the splitters between its parts; NULL: it has no parts */
	struct SortBound *bound;			   /* says which of its rows are wanted; NULL: all */
	struct ValueBound *values;			   /* says which are wanted by their first column; NULL: all */
	struct GroupBound *groups;			   /* says which rows of each group are wanted; NULL: all */
	GroupFilter *group_filter;			   /* this process's filter of groups, while it feeds; NULL: none */
	Place *places;						   /* where its rows are; the first place that is asked for room */
	/* the key with codes in the place of values, until coding ends; NULL: rows have the request's key */
	struct SortKey *coded;
	SortShare *share; /* what other processes need to join; NULL: no process can join */
	/* the number of this process among the processes that feed; -1: it does not feed, or no longer */
	int process;
	/* where lone workers write runs (SortTeam); NULL: the sorter takes no runs of lone workers */
	FileSet *files;
	Size lone_memory;	 /* bytes that each lone worker may use */
	int nlone;			 /* number of lone workers; known when all workers have ended */
	uint64 lone_rows;	 /* rows in their runs; known when all workers have ended */
	const char *failure; /* why the sorter cannot go on, a sentence; NULL: it can */
	SortFailureReason failure_reason;

	/*
	 * The position at which it reads (sorter.c): that of the row returned last, or at hand; -1 before the
	 * first row, nrows after the last row.  If rows are merged, the position has no meaning.
	 */
	struct MergedRows *merged; /* rows of runs; NULL: none */
	bool read_once;			   /* the rows cannot be read again, backwards, or from a mark */
	int64 nrows;			   /* number of rows that this process can read */
	int64 position;
	int64 marked;
	int64 range_end; /* rows from this position on are not to be read for now */
};

/* Describes a sort: its rows, memory and processes. */
typedef struct SortRequest
{
	const struct SortKey *key; /* must live as long as the sorter */

	struct
	{
		TupleDesc desc;			/* must live as long as the sorter */
		bool complete;			/* do the rows hold all their sort columns? */
		bool random_access;		/* will the rows be read backwards, again, or from a mark? */
		bool fed_once;			/* if the device fails, the caller cannot read its input a second time */
		bool few_read;			/* will only a few rows be read, at positions? */
		uint64 wanted;			/* number of rows that are wanted, from the first one on; 0: all */
		bool with_ties;			/* rows that equal the last wanted one are wanted, too */
		uint64 wanted_by_value; /* the same number, if keys guess and the first column is coded; 0: all */
		FirstOfGroups first;	/* what is wanted of each group of rows */
		uint32 coded;			/* columns whose values may get codes (key/coded.h), as bits */
	} rows;

	/* Host memory, in bytes. */
	struct
	{
		Size limit;
		/* the part of the limit that each process brings; 0: the limit is for any number of processes */
		Size of_each;
		Size groups; /* for what is known of groups; not in the limit (sort_request_set_filters_aside) */
		Size values; /* for tables of values; also set aside */
	} memory;

	struct
	{
		int n;			   /* the most processes, this one included */
		bool share;		   /* other processes will also feed the sorter */
		bool read_jointly; /* all processes that feed it will call sort_together */
		bool help;		   /* all processes that feed it will call help */
	} processes;

	/* Estimates of the planner, which a card needs before the rows come. */
	struct
	{
		double rows;
		double kept;	  /* those of them that are not dropped because of their groups */
		bool few_dropped; /* do statistics say that a filter of groups would not pay? */
		double row_bytes; /* bytes of one row, without its key */
		double key_bytes; /* bytes of one key */
		double values;	  /* different values of a coded column */
		/* codes do not pay if values come less often on average, and `values` is a guess; 0: neither */
		double times;
		double cpu_ms; /* milliseconds that the cpu device is expected to take */
		/* a sample of the keys, in order, to split the rows by; NULL: the rows are not split */
		const struct KeySample *sample;
	} expected;
} SortRequest;

/* How a device handles rows: bits. */
typedef enum SortDeviceProperty
{
	/* rows must keep their sort columns, even if nothing reads these columns later */
	SORT_KEEPS_SORT_COLUMNS = 1,
	SORT_READS_TAILS = 2, /* tails of keys may be left in the rows that have them (sort/chunk.h) */
	SORT_KEEPS_ROWS = 4	  /* rows are kept even if they can be made of their keys */
} SortDeviceProperty;

/* No function is NULL: a function that has nothing to do returns false, or does nothing. */
struct SortDevice
{
	DeviceKind kind;
	int properties; /* SortDeviceProperty */

	/*
	 * Returns the number of parts into which the rows must be cut, so that the device has room for each part.
	 * 1: it has room for all rows, or they cannot be cut.
	 */
	int (*count_parts)(const SortRequest *request);

	/* Makes a sorter; it may have failed already. */
	Sorter *(*begin)(const SortRequest *request);

	/*
	 * Called by another process: makes a sorter to feed; NULL: nothing is left to be fed.  share: NULL if it
	 * cannot be mapped here.  complete_rows: descriptor of rows that hold all their sort columns; NULL: they
	 * do not.  All arguments must outlive the sorter.
	 */
	Sorter *(*join)(SortTeam *team, SortShare *share, const struct SortKey *key, TupleDesc complete_rows);

	/*
	 * Makes the first process take part in feeding from now on; the other processes do so when they join.
	 * processes: the most processes that feed, with the first one.  False: it is too late, and nothing is
	 * left to be fed.
	 */
	bool (*enter)(Sorter *sorter, int processes);

	/*
	 * Called by a process that feeds and has put its chunk, if Sorter.coded is set: ends coding.  Gives the
	 * caller each chunk with codes that the sort has in memory, to feed its rows again, and then makes it
	 * empty.  Sorter.coded is NULL afterwards.
	 */
	void (*end_coding)(Sorter *sorter, void (*feed_again)(Chunk *chunk, void *arg), void *arg);

	/*
	 * Ends this process's part of the input; no chunk is outstanding.  May wait for other processes and sort
	 * together with them.
	 */
	void (*finish_feed)(Sorter *sorter);

	/*
	 * Sorts, if the rows are not sorted yet, and goes before the first row.  No chunk may be outstanding.
	 * False: the sorter has failed.
	 */
	bool (*sort)(Sorter *sorter);

	/*
	 * Called by every process that fed, after finish_feed and before the first process sorts, if the request
	 * said so.  Are the rows sorted, so that each process can read all of them by ranges?  If so, `nrows` is
	 * their number.  May sort, and wait for other processes.  The sorter may have failed.
	 */
	bool (*sort_together)(Sorter *sorter);

	/*
	 * Called after finish_feed, if the request said so.  In the first process, which must also have fed: will
	 * other processes help it to read, once it has sorted?  In another process: helps until nothing is left
	 * to be done, or the first process dismisses it, and returns false.
	 */
	bool (*help)(Sorter *sorter);

	/* Called by the first process, at any time: the processes that help must leave at once. */
	void (*dismiss)(Sorter *sorter);

	/*
	 * Returns the next row in this direction; NULL: at the end, or the sorter has failed.  The row is valid
	 * until the next call.  Only sorter_next calls this function, when no rows are at hand.  If the request
	 * had no random_access, the rows behind the returned one may then be at hand.  The device counts them as
	 * returned.
	 */
	StoredRow (*next)(Sorter *sorter, bool forward);

	/*
	 * Returns the number of different keys of the rows from position `first` to before `end`; -1: it must be
	 * found out by reading them.  Only sorter_count_keys calls this function.
	 */
	int64 (*count_keys)(Sorter *sorter, int64 first, int64 end);

	/*
	 * Called by a process that reads together with others.  seek_range: the next row is the first one of a
	 * range.  The order has nranges ranges with about the same number of rows.  pass_range_end, at the end of
	 * the range: the rows behind it are next.
	 */
	void (*seek_range)(Sorter *sorter, int range, int nranges);
	void (*pass_range_end)(Sorter *sorter);

	void (*get_stats)(const Sorter *sorter, SorterStats *stats);

	/* Releases everything.  Never called after an error. */
	void (*end)(Sorter *sorter);
};

/* Decides if this device keeps keys alone.  To be called before begin or join. */
extern void sort_device_set_layout(const SortDevice *device, struct SortKey *key);

/* Bytes ahead by which rows at hand are fetched into the caches, because they come from other memory. */
#define SORTER_ROWS_AHEAD 1024

/* Takes the first of the rows at hand; NULL: there is none. */
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

/* Returns the next row, as device->next does. */
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

/*
 * Are there likely enough rows in these chunks that a filter of groups can cut out?  for_room: to make room.
 */
extern bool sorter_may_cut(const Sorter *sorter, const struct ChunkPool *chunks, bool for_room);

/* Adds what a bound of groups has dropped. */
static inline void
sorter_get_groups(const Sorter *sorter, SorterStats *stats)
{
	Size table;

	if (sorter->groups == NULL)
		return;
	stats->rows_of_group = sorter->groups->first.n;
	group_bound_get(sorter->groups, &stats->rows_dropped, &stats->groups, &table, &stats->groups_off);
	stats->peak_memory += table;
}

/* Moves the rows at hand from a part to the whole. */
static inline void
sorter_take_rows_at_hand(Sorter *sorter, Sorter *part)
{
	sorter->at = part->at;
	sorter->at_end = part->at_end;
	sorter_forget_rows_at_hand(part);
}

/* Notes that the device cannot go on.  message: as long-lived as the sorter. */
static inline void
sorter_fail(Sorter *sorter, SortFailureReason reason, const char *message)
{
	if (sorter->failure == NULL)
	{
		sorter->failure = message;
		sorter->failure_reason = reason;
	}
}

/* Prepares reading from the first row: of nrows rows that have a position, or of rows that are merged. */
extern void sorter_begin_reading(Sorter *sorter, uint64 nrows);
extern void sorter_read_merged(Sorter *sorter, struct MergedRows *merged, bool random_access);

/* Goes before the first row.  False: the rows cannot be read again. */
extern bool sorter_rewind(Sorter *sorter);

/*
 * sorter_rows: the number of rows, if each has a position, from 0; otherwise -1.  sorter_seek: the next row
 * is the one at this position.  The sorter must have returned a row.
 */
extern int64 sorter_rows(const Sorter *sorter);
extern void sorter_seek(Sorter *sorter, int64 position);

/*
 * Calls the device's count_keys.  The rows must have positions; where the sorter reads has no meaning then.
 */
extern int64 sorter_count_keys(Sorter *sorter, int64 first, int64 end);

/* Remembers the position; goes to it again. */
extern void sorter_mark(Sorter *sorter);
extern void sorter_restore(Sorter *sorter);

/* For a device that cannot do a thing, has nothing to do, or has room for all rows. */
extern int64 sorter_cannot_count(Sorter *sorter, int64 first, int64 end);
extern bool sorter_can_not(Sorter *sorter);
extern void sorter_does_nothing(Sorter *sorter);
extern int sorter_has_one_part(const SortRequest *request);
extern void sorter_never_coded(Sorter *sorter, void (*feed_again)(Chunk *chunk, void *arg), void *arg);

/* seek_range and pass_range_end of SortDevice, for rows that have a position. */
extern void sorter_seek_range(Sorter *sorter, int range, int nranges);
extern void sorter_pass_range_end(Sorter *sorter);

/*
 * Returns a chunk for rows of this part, with room for at least one row.  part: 0 if there are no parts;
 * at_least: bytes of this row, with its entry.  NULL: the sorter has failed.  The filled chunk is put back by
 * place_put.
 */
static inline Chunk *
sorter_get_chunk(Sorter *sorter, int part, Size at_least)
{
	Chunk *chunk = sorter->failure == NULL ? places_take(sorter->places, part, at_least) : NULL;

	return sorter->failure == NULL ? chunk : NULL;
}

/* Sorts in the backend's own memory, and beyond its limit in temporary files; always available. */
extern const SortDevice sort_device_cpu;

/*
 * Makes a sorter of the cpu device which makes runs of all its rows, for another process, when its feed is
 * finished.  coded: the key that its rows have, with codes in the place of values; NULL: rows have `key`.
 * files, number: the files that hold the runs, and the number of the runs there (files/shared_runs.h);
 * complete_rows: as in SortDevice.join; memory: bytes.
 */
extern Sorter *sort_cpu_begin_runs(const struct SortKey *key, struct SortKey *coded, TupleDesc complete_rows,
								   Size memory, FileSet *files, int number);

/* Sorts on GPUs, in a service that is a process of its own; not always available. */
extern const SortDevice sort_device_cuda;

/* The devices by their kinds. */
extern const SortDevice *const sort_devices[DEVICES];

#endif /* GPUSORT_DEVICE_SORTER_H */
