/*
 * device/cpu/return_windows.c
 *		Rows that several processes sorted are put in order by all of them for the first one, which reads
 *		them.
 *
 * Windows are taken in their order, and a buffer is free when the reader is through with the window that was
 * in it last.  While a window is being filled the reader fills others: so few helpers keep it as busy as
 * many.
 *
 * A helper that waits for long leaves: others may want the worker.  So does one whom the others can do
 * without: what a worker has mapped takes the kernel long to unmap, and is out of the way by the time that
 * the last row is read.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/condition_variable.h"

#include "base/limits.h"
#include "base/spin.h"
#include "base/stopwatch.h"
#include "base/wait_events.h"
#include "device/cpu/return_windows.h"

/*
 * Bytes of a buffer; sorts of fewer rows have smaller ones, so that all helpers have something to do.
 */
#ifndef WINDOW_SIZE_MAX
#define WINDOW_SIZE_MIN ((Size) 16 * 1024)
#define WINDOW_SIZE_MAX ((Size) 128 * 1024)
#endif
#define WINDOWS_PER_HELPER 8
#define BUFFERS_PER_HELPER 4
#define BUFFERS_MIN 2
#define BUFFERS_MAX 256

/* A helper waits for the reader so long. */
#define PATIENCE_MS 200

/*
 * A helper looks at what it does so often, and leaves if the others would do it beside their own, being busy
 * for no more than this part of the time.
 */
#define MEASURED_MS 2.0
#define BUSY_SHARE_MAX 0.75

typedef struct WindowBuffer
{
	char *rows;
	uint64 filled; /* the number of the window in it, from 1; 0: none yet */
	uint64 nrows;  /* of the window, its first ones: no more had room */
	Size bytes;	   /* that they take */
} WindowBuffer;

struct ReturnWindows
{
	uint64 nrows; /* of all windows */
	uint64 nwindows;
	uint64 window_rows; /* of each but the last */
	Size buffer_size;
	int nbuffers;
	int wake_every; /* windows that are read; it wakes a helper, which takes a system call */

	slock_t mutex; /* of all that follows, but for what is in buffers that are being filled */
	ConditionVariable filled;
	ConditionVariable freed;
	uint64 taken; /* windows that somebody has begun with */
	uint64 read;  /* windows that the reader is through with */
	int nhelping;
	uint64 next_leaves; /* when so many windows are read another helper may leave */
	bool dismissed;
	WindowBuffer buffers[BUFFERS_MAX];
};

/* ---------------------------------------------------------------- memory */

static Size
buffer_size(uint64 nrows, Size row_size, int helpers)
{
	Size size = nrows * row_size / ((Size) helpers * WINDOWS_PER_HELPER);

	return TYPEALIGN_DOWN(64, Min(Max(size, WINDOW_SIZE_MIN), WINDOW_SIZE_MAX));
}

Size
return_windows_size(uint64 nrows, Size row_size, int helpers, Size room)
{
	Size size;
	Size buffers;

	if (helpers < HELPERS_MIN || nrows < HELPED_ROWS_MIN || room < sizeof(ReturnWindows))
		return 0;
	size = buffer_size(nrows, row_size, helpers);
	buffers = Min((room - sizeof(ReturnWindows)) / size, Min(helpers * BUFFERS_PER_HELPER, BUFFERS_MAX));
	if (buffers < BUFFERS_MIN || row_size > size)
		return 0;
	return sizeof(ReturnWindows) + buffers * size;
}

ReturnWindows *
return_windows_init(void *memory, Size size, uint64 nrows, Size row_size, int helpers)
{
	ReturnWindows *windows = memory;

	memset(windows, 0, sizeof(ReturnWindows));
	windows->nrows = nrows;
	windows->buffer_size = buffer_size(nrows, row_size, helpers);
	windows->nbuffers = (size - sizeof(ReturnWindows)) / windows->buffer_size;
	windows->wake_every = Max(1, Min(BUFFERS_PER_HELPER, windows->nbuffers / BUFFERS_PER_HELPER));
	windows->window_rows = windows->buffer_size / row_size;
	windows->nwindows = (nrows + windows->window_rows - 1) / windows->window_rows;
	windows->next_leaves = windows->nbuffers;
	SpinLockInit(&windows->mutex);
	ConditionVariableInit(&windows->filled);
	ConditionVariableInit(&windows->freed);
	for (int i = 0; i < windows->nbuffers; i++)
		windows->buffers[i].rows = (char *) (windows + 1) + i * windows->buffer_size;
	return windows;
}

/* ---------------------------------------------------------------- windows */

static WindowBuffer *
buffer_of(ReturnWindows *windows, uint64 window)
{
	return &windows->buffers[window % windows->nbuffers];
}

static uint64
first_row(const ReturnWindows *windows, uint64 window)
{
	return Min(window * windows->window_rows, windows->nrows);
}

typedef enum Turn
{
	TURN_FILL,
	TURN_WAIT,
	TURN_LEAVE
} Turn;

/* Takes the next window, if there is one, and a buffer for it. */
static Turn
take_window(ReturnWindows *windows, uint64 *window)
{
	Turn turn = TURN_LEAVE;

	SpinLockAcquire(&windows->mutex);
	if (!windows->dismissed && windows->taken < windows->nwindows)
	{
		turn = windows->taken < windows->read + windows->nbuffers ? TURN_FILL : TURN_WAIT;
		if (turn == TURN_FILL)
			*window = windows->taken++;
	}
	SpinLockRelease(&windows->mutex);
	return turn;
}

/* Copies the window's rows into its buffer, as many as there is room for. */
static void
fill(ReturnWindows *windows, uint64 window, SortedRows *sorted)
{
	WindowBuffer *buffer = buffer_of(windows, window);
	uint64 first = first_row(windows, window);
	uint64 end = first_row(windows, window + 1);
	char *to = buffer->rows;
	uint64 i;

	for (i = first; i < end; i++)
	{
		MinimalTuple row;

		if (i % INTERRUPTS_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		sorted_rows_prefetch(sorted, i, 1);
		row = sorted_rows_row(sorted, i);
		if (MAXALIGN(row->t_len) > windows->buffer_size - (to - buffer->rows))
			break;
		memcpy(to, row, row->t_len);
		to += MAXALIGN(row->t_len);
	}
	SpinLockAcquire(&windows->mutex);
	buffer->nrows = i - first;
	buffer->bytes = to - buffer->rows;
	buffer->filled = window + 1;
	SpinLockRelease(&windows->mutex);
	ConditionVariableBroadcast(&windows->filled);
}

/* ---------------------------------------------------------------- helpers */

/* What a helper has done since it began to measure. */
typedef struct HelperShare
{
	Stopwatch since;
	double asleep_ms;
} HelperShare;

static void
begin_share(HelperShare *share)
{
	share->since = stopwatch_start();
	share->asleep_ms = 0;
}

/*
 * Is a helper superfluous that has been busy for that share of the time?  One at a time is, and the next one
 * when the others have had time to take its share over.
 */
static bool
is_superfluous(ReturnWindows *windows, double busy)
{
	bool leaves;

	SpinLockAcquire(&windows->mutex);
	leaves = windows->nhelping > HELPERS_MIN && windows->read >= windows->next_leaves &&
			 busy * windows->nhelping / (windows->nhelping - 1) < BUSY_SHARE_MAX;
	if (leaves)
		windows->next_leaves = windows->read + windows->nbuffers;
	SpinLockRelease(&windows->mutex);
	return leaves;
}

/* Waits for a free buffer; false: this helper is not wanted any more. */
static bool
wait_for_buffer(ReturnWindows *windows, HelperShare *share)
{
	Stopwatch watch = stopwatch_start();
	double measured_ms;
	double busy;

	if (ConditionVariableTimedSleep(&windows->freed, PATIENCE_MS, gpusort_wait_event(GPUSORT_WAIT_READER)))
		return false;
	share->asleep_ms += stopwatch_ms(watch);
	measured_ms = stopwatch_ms(share->since);
	if (measured_ms < MEASURED_MS)
		return true;
	busy = 1 - share->asleep_ms / measured_ms;
	begin_share(share);
	return !is_superfluous(windows, busy);
}

static void
count_helpers(ReturnWindows *windows, int more)
{
	SpinLockAcquire(&windows->mutex);
	windows->nhelping += more;
	SpinLockRelease(&windows->mutex);
}

void
return_windows_help(ReturnWindows *windows, SortedRows *sorted)
{
	uint64 window;
	Turn turn;
	HelperShare share;

	count_helpers(windows, 1);
	begin_share(&share);
	while ((turn = take_window(windows, &window)) != TURN_LEAVE)
	{
		if (turn == TURN_FILL)
		{
			ConditionVariableCancelSleep();
			fill(windows, window, sorted);
		}
		else if (!wait_for_buffer(windows, &share))
			break;
	}
	count_helpers(windows, -1);
	ConditionVariableCancelSleep();
}

void
return_windows_dismiss(ReturnWindows *windows)
{
	SpinLockAcquire(&windows->mutex);
	windows->dismissed = true;
	SpinLockRelease(&windows->mutex);
	ConditionVariableBroadcast(&windows->freed);
}

/* ---------------------------------------------------------------- the reader */

/*
 * The reader comes to a window: how many of its rows are in the buffer?  -1: somebody is just filling it.  A
 * window that nobody has taken is the reader's.
 */
static int64
come_to(ReturnWindows *windows, uint64 window)
{
	const WindowBuffer *buffer = buffer_of(windows, window);
	uint64 filled;
	int64 rows = 0;

	SpinLockAcquire(&windows->mutex);
	filled = buffer->filled;
	windows->read = window;
	if (windows->taken <= window)
		windows->taken = window + 1;
	else if (filled == window + 1)
		rows = buffer->nrows;
	else if (!windows->dismissed)
		rows = -1;
	SpinLockRelease(&windows->mutex);
	if (filled > window + 1)
		elog(ERROR, "window " UINT64_FORMAT " of sorted rows is gone before it was read", window);
	return rows;
}

/* The window is being filled by somebody else. */
static void
wait_for_window(ReturnWindows *windows, SortedRows *sorted)
{
	uint64 ahead;

	if (take_window(windows, &ahead) == TURN_FILL)
		fill(windows, ahead, sorted);
	else
		ConditionVariableSleep(&windows->filled, gpusort_wait_event(GPUSORT_WAIT_PROCESSES));
}

void
window_reader_open(WindowReader *reader)
{
	ReturnWindows *windows = reader->windows;
	uint64 window = reader->next_row / windows->window_rows;
	int64 rows = come_to(windows, window);

	if (window % windows->wake_every == 0)
		ConditionVariableSignal(&windows->freed);
	while (rows < 0)
	{
		wait_for_window(windows, reader->sorted);
		rows = come_to(windows, window);
	}
	ConditionVariableCancelSleep();
	reader->next_window = first_row(windows, window + 1);
	reader->row = buffer_of(windows, window)->rows;
	reader->rows_in_buffer = rows;
	reader->end = reader->row + (rows > 0 ? buffer_of(windows, window)->bytes : 0);
}

uint64
window_reader_hand_over(WindowReader *reader, const char **at, const char **end)
{
	uint64 rows = reader->rows_in_buffer;

	*at = reader->row;
	*end = reader->end;
	reader->next_row += rows;
	reader->rows_read += rows;
	reader->rows_in_buffer = 0;
	return rows;
}
