/*
 * device/cpu/return_windows.h
 *		Several processes put the rows that they sorted in order for the first process, which reads the rows.
 *
 * The rows are scattered over the memory that they were fed to.  The order is cut into windows with the same
 * number of rows.  Helpers copy the rows of a window behind each other into one of a few buffers, some
 * windows ahead of the first process.  The first process reads buffers from their beginning to their end.
 *
 * A window is free, taken by a helper or by the reader, filled, or read.  A mutex of ReturnWindows protects
 * the numbers of windows taken and read, of helpers, and of the window in each buffer.  Only the process that
 * fills a buffer uses its rows until the buffer is marked as filled.  Then only the reader uses them, until
 * it comes to the next window.  Helpers wait on the condition variable `freed`, the reader on `filled`.
 *
 * There is one reader, the leader; every other process that sorted may help.  If no process has filled a
 * window, the reader reads its rows from the sorted rows themselves.
 */
#ifndef GPUSORT_DEVICE_CPU_RETURN_WINDOWS_H
#define GPUSORT_DEVICE_CPU_RETURN_WINDOWS_H

#include "postgres.h"

#include "sort/sorted_rows.h"

typedef struct ReturnWindows ReturnWindows;

/*
 * Returns the bytes of shared memory that windows take, at most `room`.  row_size: bytes of a row with its
 * key, on average; helpers: processes that help the one reader.  0: windows do not pay, or there is too
 * little room.
 */
extern Size return_windows_size(uint64 nrows, Size row_size, int helpers, Size room);

/*
 * Makes windows in memory of this size, which has arbitrary contents, and the same address in all processes.
 */
extern ReturnWindows *return_windows_init(void *memory, Size size, uint64 nrows, Size row_size, int helpers);

/*
 * In a helper: fills windows, until none is left, or the reader wants no more or has read none for a while.
 * sorted: the rows, in this process.  Checks for interrupts.
 */
extern void return_windows_help(ReturnWindows *windows, SortedRows *sorted);

/* Makes helpers leave at once.  Windows that they have filled can still be read. */
extern void return_windows_dismiss(ReturnWindows *windows);

/* The reader's state; at first all zeros, except windows and sorted. */
typedef struct WindowReader
{
	ReturnWindows *windows; /* NULL: no process helps */
	SortedRows *sorted;		/* the rows, in this process */
	uint64 next_row;		/* the row to be read next */
	uint64 next_window;		/* the row that the next window begins with */
	const char *row;		/* where the next row of the buffer is */
	const char *end;		/* the end of the rows of the buffer */
	uint64 rows_in_buffer;	/* number of rows that are left in the buffer */
	uint64 rows_read;		/* number of rows read out of buffers so far */
} WindowReader;

/* For window_reader_next. */
extern void window_reader_open(WindowReader *reader);

/*
 * Hands all rows that are left in the buffer over to the caller: from *at on to *end, each at the next
 * multiple of 8 bytes.  They count as read.  Returns their number.
 */
extern uint64 window_reader_hand_over(WindowReader *reader, const char **at, const char **end);

/*
 * Rows are in another processor's cache, from which they come as slowly as from memory.  Therefore bytes of
 * the buffer are fetched this distance ahead, as many bytes as the current row has.
 */
#define WINDOW_PREFETCH_DISTANCE 1024
#define WINDOW_PREFETCH_LINE 64

static inline void
prefetch_window(const char *row, Size size)
{
	const char *ahead = row + WINDOW_PREFETCH_DISTANCE;

	for (Size offset = 0; offset < size; offset += WINDOW_PREFETCH_LINE)
		__builtin_prefetch(ahead + offset);
}

/*
 * Returns the row at this position, if the row before it was read last; valid until the next call.  NULL: the
 * caller must read the row from the sorted rows.  A caller that moves to other positions may read there, and
 * come back.  May put rows in order or wait for a helper, and then checks for interrupts.
 */
static inline MinimalTuple
window_reader_next(WindowReader *reader, uint64 row)
{
	MinimalTuple tuple;

	if (row != reader->next_row)
		return NULL;
	if (unlikely(row == reader->next_window))
		window_reader_open(reader);
	reader->next_row++;
	if (reader->rows_in_buffer == 0)
		return NULL;
	reader->rows_in_buffer--;
	reader->rows_read++;
	tuple = (MinimalTuple) reader->row;
	prefetch_window(reader->row, tuple->t_len);
	reader->row += MAXALIGN(tuple->t_len);
	return tuple;
}

#endif /* GPUSORT_DEVICE_CPU_RETURN_WINDOWS_H */
