/*
 * read_back.h
 *		Reading a few bytes back from the device: for the host to wait for them alone.
 *
 * A copy to ordinary host memory holds its caller up until all that is queued before it is done.  These bytes
 * go to a page that is locked, so that more can be queued behind them, and the host waits for an event.
 * Pages and events are kept, for all threads, until the process ends: making them takes longer than a small
 * sort.
 */
#ifndef DEVSORT_READ_BACK_H
#define DEVSORT_READ_BACK_H

#include "base/status.h"

/* What can be read at a time. */
#define READ_BACK_BYTES 4096

struct ReadBackPage
{
	int device; /* of the event */
	void *bytes;
	cudaEvent_t arrived;
};

/*
 * One reading, begun at most once at a time.  Should it not come to its end, after a failure, it waits for
 * the bytes in its destructor.
 */
struct ReadBack
{
	ReadBackPage page = {};
	bool taken = false;
	bool queued = false;

	ReadBack() = default;
	ReadBack(const ReadBack &) = delete;
	ReadBack &operator=(const ReadBack &) = delete;
	~ReadBack();
};

/* Queues the copy of `bytes` bytes of device memory; `doing` as for status_from_cuda. */
DevSortStatus read_back_begin(ReadBack *read, const void *from, size_t bytes, const char *doing,
							  cudaStream_t stream);

/* Waits for the bytes, and copies them to `to`. */
DevSortStatus read_back_end(ReadBack *read, void *to, size_t bytes, const char *doing);

#endif /* DEVSORT_READ_BACK_H */
