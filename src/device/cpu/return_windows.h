/*
 * device/cpu/return_windows.h
 *		Rows that several processes sorted are put in order by all of them for the first one, which reads
 *		them.
 *
 * The rows stand all over the memory that they were fed to.  The order is cut into windows of as many rows
 * each; helpers copy the rows of a window behind each other into one of a few slots, some windows ahead of
 * the first process, which reads slots from their beginning to their end.
 *
 * A window is nobody's, taken by a helper or by the reader, filled, or read.  A mutex of ReturnWindows' own
 * keeps the numbers of windows taken and read, of helpers, and of the window in each slot; the rows in a slot
 * are its filler's until the slot is marked as filled, then the reader's until it comes to the next window.
 * Helpers wait on the condition variable freed, the reader on filled.
 *
 * There is one reader, the leader; every other process that sorted may help.  A window that nobody has filled
 * the reader reads from the sorted rows themselves.
 */
#ifndef GPUSORT_DEVICE_CPU_RETURN_WINDOWS_H
#define GPUSORT_DEVICE_CPU_RETURN_WINDOWS_H

#include "postgres.h"

#include "sort/sorted_rows.h"

typedef struct ReturnWindows ReturnWindows;

/*
 * Bytes of shared memory that windows take, at most room, for rows that take so many bytes on average with
 * their keys, one reader and so many helpers.  0: it does not pay, or there is too little room.
 */
extern Size return_windows_size(uint64 nrows, Size row_size, int helpers, Size room);

/* In memory of that size, which holds anything and of which all have the same address. */
extern ReturnWindows *return_windows_init(void *memory, Size size, uint64 nrows, Size row_size, int helpers);

/*
 * In a helper: fills windows, until none is left, or the reader wants no more or has not come on for a while.
 * sorted: the rows, in this process.  Checks for interrupts.
 */
extern void return_windows_help(ReturnWindows *windows, SortedRows *sorted);

/* Helpers are to go, at once.  Windows that they have filled can still be read. */
extern void return_windows_dismiss(ReturnWindows *windows);

/* What the reader knows; at first all zeros but for windows and sorted. */
typedef struct WindowReader
{
	ReturnWindows *windows; /* NULL: nobody helps */
	SortedRows *sorted;		/* the rows, in this process */
	uint64 next_row;		/* the row to be read next */
	uint64 next_window;		/* the row that the next window begins with */
	const char *row;		/* where the next row of the slot is */
	const char *end;		/* of its rows */
	uint64 rows_in_slot;	/* that are left there */
	uint64 rows_read;		/* out of slots, so far */
} WindowReader;

/* For window_reader_next. */
extern void window_reader_open(WindowReader *reader);

/*
 * Who reads takes all rows that are left in the slot, which count as read: from *at on to *end, each at the
 * next multiple of 8 bytes.  Returns how many they are.
 */
extern uint64 window_reader_hand_over(WindowReader *reader, const char **at, const char **end);

/*
 * Rows are in another processor's cache, from which they come as slowly as from memory: so many bytes of the
 * slot, as many as this row has, are fetched so far ahead.
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
 * The row at this position, if the one before it is that which was read last; good until the next call.
 * NULL: it is to be read from the sorted rows, which whoever goes to and fro may do, and come back.  May put
 * rows in order or wait for a helper, and then checks for interrupts.
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
	if (reader->rows_in_slot == 0)
		return NULL;
	reader->rows_in_slot--;
	reader->rows_read++;
	tuple = (MinimalTuple) reader->row;
	prefetch_window(reader->row, tuple->t_len);
	reader->row += MAXALIGN(tuple->t_len);
	return tuple;
}

#endif /* GPUSORT_DEVICE_CPU_RETURN_WINDOWS_H */
