/*
 * session_rest.cc
 *		A connection whose client wants nothing: an open cursor, an input that is slow to come.
 *
 * What it holds, others may need more.  So its thread, which has nothing else to do, tells the gate what the
 * job could do without, and gives that back when it is asked to.  A sorted result goes to host memory and is
 * fetched from there, a job that is being fed keeps what it has taken and no more, and the chunks are kept by
 * the connection, but give up their place in the pool.  Its client notices nothing of it.
 *
 * A client that has been away for long is not waited for to be asked: where less than half is left, it goes.
 */
#include <chrono>

#include <poll.h>

#include "daemon/server/session.h"

/* So long a client must have been away before its job rests. */
#define REST_MILLISECONDS 100

/* And so long, until it leaves without being asked. */
#define LONG_REST_MILLISECONDS 1000

/*
 * Until there is a message.  A job of which this connection is no leader is left to the one that is; and a
 * connection without a job has nothing to give back.  False: the connection is at its end.
 */
bool
Session::rest()
{
	const std::chrono::milliseconds unused_for(REST_MILLISECONDS);
	bool long_enough = false;

	if (job == nullptr || joiner || job->place() == nullptr || wire.can_read(REST_MILLISECONDS))
		return true;

	Admission *place = job->place();

	while (!wire.can_read())
	{
		struct pollfd fds[2] = {{wire.fd, POLLIN, 0}, {place->event_fd(), POLLIN, 0}};
		Holding spare;
		int events;

		spare.bytes = job->spare(unused_for, service->idle_memory);
		if (slab.base != nullptr && !slab.retired &&
			service->idle_memory.has_room(slab.chunks * service->slabs->chunk_bytes))
			spare.chunks = slab.chunks;
		place->rest(spare);
		events = poll(fds, 2, LONG_REST_MILLISECONDS);
		long_enough |= events == 0;
		if (fds[0].revents == 0 && !give_back(place->wanted(long_enough)))
			return false;
	}
	place->wake();
	return true;
}

/* False: the connection is at its end. */
bool
Session::give_back(const Holding &wanted)
{
	Admission *place = job->place();
	Outcome outcome;

	if (wanted.chunks > 0 &&
		idle_share.take(&service->idle_memory, slab.chunks * service->slabs->chunk_bytes))
	{
		service->slabs->retire(&slab);
		place->leave_chunks();
	}
	if (wanted.bytes > 0)
		outcome = job->give_back(std::chrono::milliseconds(REST_MILLISECONDS), &service->idle_memory,
								 [this] { return wire.can_read(); });
	place->wake();
	return outcome.ok() || fail(outcome);
}
