/*
 * wire.h
 *		Messages on a socket, as gpusortd reads and sends them.
 */
#ifndef GPUSORTD_WIRE_H
#define GPUSORTD_WIRE_H

#include <cstddef>
#include <string>

#include "daemon/protocol/protocol.h"

/* A message as it was read. */
struct Message
{
	GpusortdType type;
	union
	{
		GpusortdHello hello;
		GpusortdBegin begin;
		GpusortdJoin join;
		GpusortdSubmit submit;
		GpusortdRanks ranks;
		GpusortdPerform perform;
		GpusortdFetch fetch;
		GpusortdEnd end;
	};
};

class Wire
{
public:
	explicit Wire(int socket_fd) : fd(socket_fd)
	{
	}

	/* False: the client is gone; or *why says what is wrong with its message. */
	bool read(Message *message, std::string *why);

	/* Is there something to be read, or the end, now or within some milliseconds? */
	bool can_read(int within_ms = 0) const;

	/* Sends a message, maybe with a file; false: the client is gone. */
	template <typename Body>
	bool send(GpusortdType type, const Body &body, int passed_fd = -1)
	{
		return send_body(type, &body, sizeof(body), passed_fd);
	}

	/* Cut off where it is longer than a message.  Takes no memory: it may be for want of that. */
	bool send_error(GpusortdCode code, const char *text);

	const int fd; /* whose owner closes it */

private:
	bool read_bytes(void *to, size_t bytes);
	bool send_body(GpusortdType type, const void *body, size_t bytes, int passed_fd);
};

#endif /* GPUSORTD_WIRE_H */
