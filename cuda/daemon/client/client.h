/*
 * client.h
 *		The client's side of gpusortd's protocol, for a backend and for tests.  C11, without PostgreSQL.
 *
 * A sort goes through these calls, in this order:
 *
 *		gpusortd_connect
 *		gpusortd_begin, or gpusortd_ask, gpusortd_wait_in_queue and gpusortd_receive_job; or gpusortd_join
 *		chunk = gpusortd_take_chunk, filled by the caller, gpusortd_submit_chunk, again and again
 *		gpusortd_perform		(who joined: gpusortd_flush)
 *		gpusortd_fetch, in any direction, again and again
 *		gpusortd_begin again, for another job in the place of this one, or
 *		gpusortd_end			and gpusortd_begin again, or
 *		gpusortd_close
 *
 * Wherever the client must wait, it calls the caller's wait function, which waits for the socket together
 * with whatever else matters to the caller, and may leave by a non-local exit: gpusortd_close is then all
 * that is needed, at any time.
 *
 * All functions but gpusortd_close return false, or -1, on failure; client->code and client->message say why.
 * After a failure the job is over and gpusortd_end makes the connection ready for another one, unless the
 * code is GPUSORTD_DISCONNECTED or GPUSORTD_PROTOCOL_ERROR, after which there is only gpusortd_close.
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
	GPUSORTD_CHUNK_TAKEN, /* the caller's: being filled, or holding the window that gpusortd_fetch returned */
	GPUSORTD_CHUNK_SUBMITTED,
	GPUSORTD_CHUNK_REFUSED, /* what is in it was not taken, as the device's memory is full */
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
	 * the caller's: gpusortd_begin and gpusortd_ask fail with GPUSORTD_MEMORY_FULL where the job would have
	 * to wait
	 */
	bool never_queue;
	bool further; /* the caller's: whatever it wants to know again */

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

	bool streaming; /* fetches are under way, or a window is there */
	bool backward;
	int fetching;		 /* chunks in this state */
	GpusortdRows window; /* the last one returned */

	int passed_fd;	/* came with the last message; -1: none */
	bool lost_file; /* one came, and could not be received */
} GpusortdClient;

/* Makes *client, connects and greets; wait may be NULL: plain poll. */
bool gpusortd_connect(GpusortdClient *client, const char *socket_path, GpusortdWait wait, void *wait_arg);

/*
 * Begins a job; waits in the queue, if there is one, unless never_queue is set.  After gpusortd_perform: the
 * next job has the memory of the last one, and doesn't wait.
 */
bool gpusortd_begin(GpusortdClient *client, const GpusortdBegin *begin);

/*
 * The same in three steps, for who waits for other jobs in another way than for the device: asks for a job,
 * and learns whether it is queued; waits as long as it is; waits until the device is ready for it.
 */
bool gpusortd_ask(GpusortdClient *client, const GpusortdBegin *begin);
bool gpusortd_wait_in_queue(GpusortdClient *client);
bool gpusortd_receive_job(GpusortdClient *client);

/* Helps to feed the job of another connection, whose client->job says which one. */
bool gpusortd_join(GpusortdClient *client, uint64_t job, uint64_t token);

/*
 * The number of a chunk to fill, at gpusortd_chunk(); waits until there is one.  Once a chunk was refused: -1
 * with the code GPUSORTD_MEMORY_FULL, though the job goes on.  gpusortd_flush then waits for the chunks under
 * way; what is in those with state GPUSORTD_CHUNK_REFUSED is the caller's to keep elsewhere; once it has said
 * so by gpusortd_forget_refused, all others can be performed.
 */
int gpusortd_take_chunk(GpusortdClient *client);

/* Gives a chunk to gpusortd.  front and back as in src/sort/chunk.h. */
bool gpusortd_submit_chunk(GpusortdClient *client, int chunk, uint64_t rows, uint64_t front, uint64_t back);

/* Waits until gpusortd has looked at all chunks that were submitted. */
bool gpusortd_flush(GpusortdClient *client);

/* The caller has what is in the chunks that were refused. */
void gpusortd_forget_refused(GpusortdClient *client);

/*
 * Sorts what was taken; fills in client->sorted.  GPUSORTD_MEMORY_FULL, and nothing done, if a chunk was
 * refused.
 */
bool gpusortd_perform(GpusortdClient *client);

/*
 * The next window in this direction, or the one from, or before, the row at `position`, if that isn't
 * GPUSORTD_NEXT.  The rows are at gpusortd_chunk(client, window->chunk) until the next call.  A window of 0
 * rows: there are no more.  Windows that follow in the same direction are asked for ahead.
 */
bool gpusortd_fetch(GpusortdClient *client, bool backward, uint64_t position, GpusortdRows *window);

/* Ends the job, at any time after gpusortd_begin or gpusortd_join, whether they succeeded or not. */
bool gpusortd_end(GpusortdClient *client);

/*
 * Closes the connection and unmaps the chunks.  At any time; what gpusortd held for the job it gives back by
 * itself.
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
