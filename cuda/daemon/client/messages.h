/*
 * messages.h
 *		What the files of the client share: sending messages, receiving them, telling of a failure.
 *
 * gpusortd answers in the order in which it was asked.  So the client may ask ahead, and
 * gpusortd_receive_expected, which waits for a message of a certain type, takes note of the CHUNK_FREEs that
 * come before it.
 *
 * Functions that return a bool return false on failure, and client->code and client->message say why.
 */
#ifndef GPUSORTD_CLIENT_MESSAGES_H
#define GPUSORTD_CLIENT_MESSAGES_H

#include "daemon/client/client.h"

/* The longest message from gpusortd. */
typedef union GpusortdAnswer
{
	GpusortdWelcome welcome;
	GpusortdQueued queued;
	GpusortdAdmitted admitted;
	GpusortdJob job;
	GpusortdChunkFree chunk_free;
	GpusortdSorted sorted;
	GpusortdRows rows;
	GpusortdEnded ended;
	GpusortdError error;
} GpusortdAnswer;

/* Notes a failure; false, always. */
bool gpusortd_fail(GpusortdClient *client, GpusortdCode code, const char *message);

/* The same for an answer that was not to be expected. */
bool gpusortd_fail_unasked(GpusortdClient *client);

/* The same for a call of the system, with errno's reason. */
bool gpusortd_fail_system(GpusortdClient *client, const char *doing);

/* The wait function of who has none. */
bool gpusortd_wait_with_poll(void *arg, int fd, bool for_writing);

/* body: the struct of that type. */
bool gpusortd_send_message(GpusortdClient *client, GpusortdType type, const void *body);

/* The next message, whatever it is. */
bool gpusortd_receive_message(GpusortdClient *client, GpusortdType *type, GpusortdAnswer *body);

/* The next answer; CHUNK_FREE is noted, an ERROR is a failure. */
bool gpusortd_receive_answer(GpusortdClient *client, GpusortdType *type, GpusortdAnswer *body);

/* Receives answers up to one of this type, before which only CHUNK_FREE may come. */
bool gpusortd_receive_expected(GpusortdClient *client, GpusortdType expected, GpusortdAnswer *body);

/* Receives, and forgets, the windows that were asked for ahead. */
bool gpusortd_drop_windows(GpusortdClient *client);

/* The number of a chunk that is of no use now; -1: there is none. */
int gpusortd_find_idle_chunk(const GpusortdClient *client);

#endif /* GPUSORTD_CLIENT_MESSAGES_H */
