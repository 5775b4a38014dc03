/*
 * device/sorter.h
 *		The device interface: what takes filled chunks and gives back rows in order.
 *
 * A sort goes through these calls, in this order:
 *
 *		sorter = device->begin(request)
 *		chunk = device->get_chunk(sorter, ...), filled by the caller, device->put_chunk(sorter, ..., chunk), again and again
 *		device->work(sorter, SORT_WORK_SORT)
 *		sorter_next(sorter, forward), device->seek, in any order
 *		device->end(sorter)
 *
 * Several processes may feed one sort.  The first process, the leader, begins it, with request->shared, and
 * lets the workers join (exec/team.h).  The leader enters before it feeds.  Each process fills chunks and
 * calls finish_feed when its part of the input is over; a worker calls work after that, or is done.  A
 * process that finds no room writes runs of its own, and no row goes from one process to another: the leader
 * has all sorted when all workers are done.  A worker that is too late gets NULL from join, and has nothing
 * to read.
 *
 * If the first rows of the order alone are wanted, the process that feeds leaves out rows of which
 * sorter->bound says that they can't be among them (sort/bound.h), and the device may do so as well; rows
 * that come after those wanted may be missing then.
 *
 * A sorter may have parts, the rows between two of its splitters each: a chunk is then for rows of one part.
 * Everything else is asked of the whole.
 *
 * All that a sorter holds belongs to a memory context below the one that was current in begin or join, and to
 * the current resource owner; so an error or a cancel releases everything without a call to end.
 *
 * A device that can't go on, such as a GPU that is lost, raises no error: it sets sorter->failure, and from
 * then on only end may be called.  No row is lost by that, for the caller reads its input once more, for the
 * cpu device, or raises an error if it can't.  An error of PostgreSQL in a device, such as that of a
 * temporary file for which there is no space, is no failure of the device: it ends the statement.
 */
#ifndef GPUSORT_DEVICE_SORTER_H
#define GPUSORT_DEVICE_SORTER_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "storage/fileset.h"

#include "key/types.h"
#include "monitor/sort_stats.h"
#include "sort/bound.h"
#include "sort/chunk.h"
#include "sort/splitters.h"

typedef struct SortDevice SortDevice;
typedef struct Sorter Sorter;
typedef struct SortShare SortShare; /* participants.h */
typedef struct SortTeam SortTeam;	/* participants.h */

/* Every device's sorter begins with this. */
struct Sorter
{
	const SortDevice *device;
	const SortSplitters *splitters; /* between its parts; NULL: it has none */
	SortBound *bound;				/* which of its rows are wanted; NULL: all */
	SortShare *share;				/* what other processes need to join; NULL: they can't */
	FileSet *files;					/* for runs of lone workers (SortTeam); NULL: it takes none */
	Size lone_memory;				/* then: bytes for each of them */
	int nlone;						/* of them, when all workers have ended */
	uint64 lone_rows;				/* in their runs */
	uint64 together;				/* rows that each process can read, after SORT_WORK_SORT_TOGETHER */
	const char *failure;			/* why it can't go on, a sentence; NULL: it can */
	SortFailureReason failure_reason;

	/* The rows at hand: from at on, each at the next multiple of 8 bytes, those that are next, forwards. */
	const char *at;
	const char *at_end; /* there are none if it is not greater */
};

/* What is to be sorted. */
typedef struct SortRequest
{
	const SortKey *key;	 /* must live as long as the sorter */
	TupleDesc desc;		 /* of the rows; as long */
	bool complete_rows;	 /* do they hold all their sort columns? */
	Size memory_limit;	 /* bytes of host memory */
	Size process_memory; /* of these, that each process brings; 0: they are for all, however many come */
	bool random_access;	 /* will it be read backwards, again, or from a mark? */
	bool fed_once;		 /* can't the rows be had again, if the device fails? */
	bool shared;		 /* will other processes feed it too? */
	int processes;		 /* at most, this one included */
	FileSet *files; /* runs of these are all that is to become of the rows, for another process; else NULL */
	int process;	/* then: whose runs they are */
	bool read_jointly;	/* will all that feed it ask for SORT_WORK_SORT_TOGETHER? */
	bool helped;		/* will all that feed it ask for SORT_WORK_HELP? */
	uint64 rows_wanted; /* the first so many are; 0: all */
	bool with_ties;		/* and those equal to the last of them */
	double expected_rows;
	double expected_row_bytes; /* of one row, without its key */
	double expected_key_bytes; /* of one key */
	double cpu_ms;			   /* milliseconds that the cpu device is expected to take */
	const KeySample *sample;   /* of the keys, in order, to split the rows by; NULL: whole */
} SortRequest;

/* What a device makes of rows: bits. */
typedef enum SortDeviceProperty
{
	SORT_KEEPS_SORT_COLUMNS = 1, /* rows must keep their sort columns, though nothing looks at them later */
	SORT_READS_TAILS = 2,		 /* tails of keys may be left to the rows that have them (sort/chunk.h) */
	SORT_KEEPS_ROWS = 4			 /* rows are kept though they can be made of their keys */
} SortDeviceProperty;

/* What is to be done with rows that were fed. */
typedef enum SortWork
{
	/* Sorts, unless that is done, and goes before the first row.  No chunk may be outstanding. */
	SORT_WORK_SORT,

	/*
	 * After finish_feed, in every process that fed, before the first one sorts, if the request said so: are
	 * the rows sorted, so that each of them can read all of them?  Then it can by next, in ranges; `together`
	 * says how many.  May sort, and wait for others.
	 */
	SORT_WORK_SORT_TOGETHER,

	/*
	 * After finish_feed, if the request said so.  In the first process, which must have fed too: will others
	 * help it to read, once it has sorted?  In another one: helps, until nothing is left to be done or the
	 * first one wants no more.
	 */
	SORT_WORK_HELP,

	/* In the first process, at any time: those who help are to go at once. */
	SORT_WORK_DISMISS
} SortWork;

/* Where reading goes on. */
typedef enum SortSeek
{
	/* Before the first row.  False: the rows can't be read again, nor backwards, nor from a mark. */
	SORT_SEEK_FIRST,

	/* Where it is, which is remembered; at the position that was remembered. */
	SORT_SET_MARK,
	SORT_SEEK_MARK,

	/*
	 * For a process that reads together with others: at the first row of a range; then behind its last one.
	 */
	SORT_SEEK_RANGE,
	SORT_PASS_RANGE_END
} SortSeek;

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
	Sorter *(*join)(SortTeam *team, SortShare *share, const SortKey *key, TupleDesc complete_rows);

	/*
	 * The first process takes part in feeding from now on, as the others do once they have joined; with it
	 * there are so many at most.  False: it is too late, and nothing is left to be fed.
	 */
	bool (*enter)(Sorter *sorter, int processes);

	/*
	 * An empty chunk for rows of this part, 0 where there are none, with room for at least one of so many
	 * bytes, entry and all.  NULL: the sorter has failed.
	 */
	Chunk *(*get_chunk)(Sorter *sorter, int part, Size at_least);

	/* Takes back a chunk that get_chunk gave for this part, filled. */
	void (*put_chunk)(Sorter *sorter, int part, Chunk *chunk);

	/*
	 * This process's part of the input is over, and no chunk is outstanding.  May wait for others and sort
	 * together with them.
	 */
	void (*finish_feed)(Sorter *sorter);

	/* Does what SortWork says.  False: it is not done; the sorter may have failed. */
	bool (*work)(Sorter *sorter, SortWork work);

	/*
	 * The next row in this direction, or NULL at the end, or if the sorter has failed; the row is good until
	 * the next call.  Called by sorter_next alone, when no rows are at hand.  Those behind the row may be at
	 * hand then, if the request had no random_access: for the device they count as returned.
	 */
	StoredRow (*next)(Sorter *sorter, bool forward);

	/*
	 * Only for SORT_SEEK_RANGE: a range is one of nranges of the order that have about the same number of
	 * rows.
	 */
	bool (*seek)(Sorter *sorter, SortSeek where, int range, int nranges);

	void (*get_stats)(const Sorter *sorter, SorterStats *stats);

	/* Releases everything.  Never called after an error. */
	void (*end)(Sorter *sorter);
};

/* To be called before begin or join: are keys to be kept alone by this device? */
static inline void
sort_device_set_layout(const SortDevice *device, SortKey *key)
{
	key->policy.alone = key->policy.rows != NULL && !(device->properties & SORT_KEEPS_ROWS);
}

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

/* Sorts in the backend's own memory, past its limit in temporary files; always there. */
extern const SortDevice sort_device_cpu;

/* Sorts on GPUs, in a service of its own process; not always there. */
extern const SortDevice sort_device_cuda;

/*
 * Into how many parts the rows have to be cut that a GPU has room for each; 1: it has for all, or they can't.
 */
extern int sort_turns_on_gpu(const SortRequest *request);

#endif /* GPUSORT_DEVICE_SORTER_H */
