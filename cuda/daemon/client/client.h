/*
 * client.h
 *		The client's side of gpusortd's protocol, for a backend and for tests.  C11, without PostgreSQL.
 *
 * A sort goes through these calls, in this order:
 *
 *		gpusortd_connect
 *		gpusortd_begin, or gpusortd_ask, gpusortd_wait_in_queue and gpusortd_receive_job; or gpusortd_join
 *		chunk = gpusortd_take_chunk, filled by the caller, gpusortd_submit_chunk, again and again
 *		gpusortd_take_chunk and gpusortd_submit_ranks, if the keys have codes
 *		gpusortd_perform		(who joined: gpusortd_flush)
 *		gpusortd_fetch, in any direction, again and again
 *		gpusortd_begin again, for another job in the place of this one, or
 *		gpusortd_end			and gpusortd_begin again, or
 *		gpusortd_close
 *
 * When the client must wait, it calls the caller's wait function.  That function waits for the socket, and
 * for other events of the caller.  It may leave by a non-local exit; then only gpusortd_close is needed, at
 * any time.
 *
 * All functions but gpusortd_close return false, or -1, on failure; client->code and client->message say why.
 * After a failure the job is over, and gpusortd_end makes the connection ready for another job.  After
 * GPUSORTD_DISCONNECTED and GPUSORTD_PROTOCOL_ERROR only gpusortd_close may be called.
 */
#ifndef GPUSORTD_CLIENT_H
#define GPUSORTD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/protocol/protocol.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Waits until fd can be read, or written; false: give up. */
typedef bool (*GpusortdWait)(void *arg, int fd, bool for_writing);

typedef enum GpusortdChunkState
{
	GPUSORTD_CHUNK_IDLE = 0,
	/* belongs to the caller: it is being filled, or has the window that gpusortd_fetch returned */
	GPUSORTD_CHUNK_TAKEN,
	GPUSORTD_CHUNK_SUBMITTED,
	GPUSORTD_CHUNK_REFUSED, /* gpusortd did not take its rows, because the device's memory is full */
	GPUSORTD_CHUNK_FETCHING
} GpusortdChunkState;

typedef struct GpusortdClient
{
	int fd; /* -1: closed */
	GpusortdWait wait;
	void *wait_arg;
	GpusortdCode code; /* of the last failure */
	char message[256];
	/*
	 * set by the caller: gpusortd_begin and gpusortd_ask fail with GPUSORTD_MEMORY_FULL if the job would have
	 * to wait
	 */
	bool never_queue;
	bool further; /* for the caller's own use */

	GpusortdWelcome welcome;
	bool in_job;
	bool queued; /* after gpusortd_ask: other jobs come first */
	GpusortdJob job;
	GpusortdSorted sorted; /* after gpusortd_perform */
	GpusortdEnded ended;   /* after gpusortd_end */

	char *memory; /* the chunks, job.chunk_bytes each */
	size_t memory_bytes;
	GpusortdChunkState chunk[GPUSORTD_MAX_CHUNKS];
	int submitted; /* chunks in this state */
	int refused;

	bool streaming; /* fetches are under way, or a window was received */
	bool backward;
	int fetching;		 /* chunks in this state */
	GpusortdRows window; /* the last one returned */

	int passed_fd;	/* descriptor that came with the last message; -1: none */
	bool lost_file; /* a descriptor came and could not be received */
} GpusortdClient;

/* Makes *client, connects and greets; wait may be NULL: plain poll. */
bool gpusortd_connect(GpusortdClient *client, const char *socket_path, GpusortdWait wait, void *wait_arg);

/*
 * Begins a job.  Waits in the queue, if there is one, unless never_queue is set.  After gpusortd_perform the
 * next job takes over the memory of the last one, and does not wait.
 */
bool gpusortd_begin(GpusortdClient *client, const GpusortdBegin *begin);

/*
 * Begin a job in three steps, for callers that wait for other jobs in another way than for the device.
 * gpusortd_ask requests a job and learns whether it is queued.  gpusortd_wait_in_queue waits while it is
 * queued.  gpusortd_receive_job waits until the device is ready for it.
 */
bool gpusortd_ask(GpusortdClient *client, const GpusortdBegin *begin);
bool gpusortd_wait_in_queue(GpusortdClient *client);
bool gpusortd_receive_job(GpusortdClient *client);

/* Helps to feed the job of another connection. job and token are from that connection's client->job. */
bool gpusortd_join(GpusortdClient *client, uint64_t job, uint64_t token);

/*
 * Returns the number of a chunk to fill, at gpusortd_chunk(); waits until there is one.  After a chunk was
 * refused it returns -1 with the code GPUSORTD_MEMORY_FULL, and the job goes on.  The caller then calls
 * gpusortd_flush to wait for the chunks under way, and keeps the rows of chunks with the state
 * GPUSORTD_CHUNK_REFUSED elsewhere.  After gpusortd_forget_refused the other chunks can be performed.
 */
int gpusortd_take_chunk(GpusortdClient *client);

/* Gives a chunk to gpusortd.  front and back as in src/sort/chunk.h. */
bool gpusortd_submit_chunk(GpusortdClient *client, int chunk, uint64_t rows, uint64_t front, uint64_t back);

/*
 * Gives a chunk with ranks to gpusortd: `codes` of them, 4 bytes each, for the codes from `first` on that
 * stand at `offset` of each key.  After all other chunks, by the connection that began the job.
 */
bool gpusortd_submit_ranks(GpusortdClient *client, int chunk, uint32_t offset, uint64_t first,
						   uint64_t codes);

/* Waits until gpusortd has answered for all submitted chunks. */
bool gpusortd_flush(GpusortdClient *client);

/* The caller has kept the rows of the refused chunks. */
void gpusortd_forget_refused(GpusortdClient *client);

/*
 * Sorts the rows that were taken, and fills in client->sorted.  If a chunk was refused, it fails with
 * GPUSORTD_MEMORY_FULL and does nothing.
 */
bool gpusortd_perform(GpusortdClient *client);

/*
 * Fetches the next window in this direction.  If `position` is not GPUSORTD_NEXT, it fetches the window from,
 * or before, the row at `position`.  The rows are at gpusortd_chunk(client, window->chunk) until the next
 * call.  A window of 0 rows is the end.  Further windows in the same direction are requested ahead, unless
 * the row is at another place than the next one.
 */
bool gpusortd_fetch(GpusortdClient *client, bool backward, uint64_t position, GpusortdRows *window);

/* Ends the job, at any time after gpusortd_begin or gpusortd_join, also if these failed. */
bool gpusortd_end(GpusortdClient *client);

/*
 * Closes the connection and unmaps the chunks, at any time. gpusortd frees the memory of the job by itself.
 */
void gpusortd_close(GpusortdClient *client);

static inline char *
gpusortd_chunk(const GpusortdClient *client, int chunk)
{
	return client->memory + (size_t) chunk * client->job.chunk_bytes;
}

#ifdef __cplusplus
}
#endif

#endif /* GPUSORTD_CLIENT_H */
