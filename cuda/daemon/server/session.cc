/*
 * session.cc
 *		One connection: a thread that reads a message, does what it says, and answers.
 *
 * A connection has one job at a time, its own or one that it joined to help to feed, and to fetch from when
 * it is sorted:
 *
 *	  greeting --HELLO--> ready --BEGIN--> feeding --PERFORM--> sorted
 *	                        |  \--JOIN---> joined                  |
 *	                        ^------------------END-----------------+
 *
 * BEGIN is allowed in the state sorted, too: another job takes the place of the one that is over, without
 * waiting for it.
 *
 * A message that isn't allowed in the state, or isn't one at all, is a protocol error and closes the
 * connection.  A job that fails is told of once; from then on its messages are dropped, for the client may
 * have sent some before it could know, until END, and the connection is ready again.
 *
 * Each message is done before the next is read, but for FETCH: as long as more of them are there to be read,
 * DEVICE_FETCHES are under way at a time.  Answers come in order all the same.  What a message says is
 * checked here; what is in a chunk is checked by the device layer, after copying it.
 *
 * However the connection ends, the destructor gives back what it holds.  The thread looks at the socket
 * between messages, and while it waits in the queue; a sort that is under way on the device can't be stopped,
 * and is at most a second.
 */
#include <algorithm>
#include <cerrno>
#include <new>

#include <poll.h>
#include <sys/random.h>

#include "daemon/protocol/chunk_layout.h"
#include "daemon/server/session.h"

/* More is no estimate: keeps sums of estimates far from overflowing. */
#define MOST_EXPECTED_BYTES (UINT64_C(1) << 48)

/* Jobs that are expected to fill no more chunks than this are small: they get a small slab. */
#define SMALL_JOB_CHUNKS 2

/* False: the client has closed the connection, or can't be understood and has been told. */
bool
Session::read_message(Message *message)
{
	std::string why;

	return wire.read(message, &why) || (!why.empty() && protocol_error(why));
}

/* The connection is at its end. */
bool
Session::protocol_error(const std::string &text)
{
	log_line("WARNING", "closing a connection: %s", text.c_str());
	(void) wire.send_error(GPUSORTD_PROTOCOL_ERROR, text.c_str());
	return false;
}

/* ---- the loop ---- */

void
Session::run()
{
	Message message;

	while (wait_for_message() && read_message(&message) && handle(message))
		;
}

/* As long as no message is there, answers fetches that are under way; then the job rests. */
bool
Session::wait_for_message()
{
	while (!fetches.empty() && !wire.can_read())
	{
		if (!finish_fetch())
			return false;
	}
	return !fetches.empty() || rest();
}

/* False: the connection is at its end. */
bool
Session::handle(const Message &message)
{
	try
	{
		return dispatch(message);
	}
	catch (const std::bad_alloc &)
	{
		if (job == nullptr)
			return false;
		return fail({GPUSORTD_NO_RESOURCES, "gpusortd is out of host memory"});
	}
}

bool
Session::dispatch(const Message &message)
{
	if (message.type != GPUSORTD_FETCH && !finish_fetches())
		return false;
	if (state == SessionState::failed && message.type != GPUSORTD_END)
		return message.type != GPUSORTD_HELLO || protocol_error("HELLO after the greeting");
	switch (message.type)
	{
		case GPUSORTD_HELLO:
			if (state == SessionState::greeting)
				return message.hello.flags == 0 ? hello() : protocol_error("unknown flags in HELLO");
			break;
		case GPUSORTD_BEGIN:
			if (state == SessionState::ready || state == SessionState::sorted)
				return begin(message.begin);
			break;
		case GPUSORTD_JOIN:
			if (state == SessionState::ready)
				return join(message.join);
			break;
		case GPUSORTD_SUBMIT:
			if (state == SessionState::feeding || state == SessionState::joined)
				return submit(message.submit);
			break;
		case GPUSORTD_RANKS:
			if (state == SessionState::feeding)
				return take_ranks(message.ranks);
			break;
		case GPUSORTD_PERFORM:
			if (state == SessionState::feeding)
				return perform();
			break;
		case GPUSORTD_FETCH:
			if (state == SessionState::sorted || state == SessionState::joined)
				return fetch(message.fetch);
			break;
		case GPUSORTD_END:
			if (state != SessionState::greeting && state != SessionState::ready)
				return end();
			break;
		default:
			break;
	}
	return protocol_error("message type " + std::to_string(message.type) + " is not allowed now");
}

/*
 * Tells the client of a failure.  The job is over, and lets go of the device's memory now; but it goes on
 * without a joiner that could not begin to help, or came too late to.
 */
bool
Session::fail(const Outcome &outcome)
{
	bool sent;

	if (job != nullptr && !(joiner && (state == SessionState::ready || outcome.code == GPUSORTD_JOB_OVER)))
		job->fail(outcome);
	drop_fetches();
	state = SessionState::failed;
	sent = wire.send_error(outcome.code, outcome.message.c_str());
	if (outcome.code == GPUSORTD_DEVICE_LOST)
	{
		log_line("FATAL", "the device failed: %s", outcome.message.c_str());
		service->stop(GPUSORTD_EXIT_DEVICE_LOST);
	}
	return sent;
}

bool
Session::hello()
{
	GpusortdWelcome welcome = {};

	welcome.host_memory = service->settings.host_memory;
	welcome.chunk_bytes = service->slabs->chunk_bytes;
	welcome.idle_bytes = service->idle_memory.bytes();
	for (const GateDevice &device : service->gate->describe())
	{
		GpusortdDevice *to = &welcome.device[welcome.devices++];

		device.description.name.copy(to->name, sizeof(to->name) - 1);
		to->number = device.description.number;
		to->jobs = device.jobs;
		to->memory_bytes = device.description.memory_bytes;
		to->limit_bytes = device.limit;
		to->free_bytes = device.limit - device.promised;
	}
	state = SessionState::ready;
	return wire.send(GPUSORTD_WELCOME, welcome);
}

/* ---- beginning ---- */

static bool
begin_is_valid(const GpusortdBegin &wanted)
{
	return wanted.key_bytes % 8 == 0 && wanted.key_bytes <= 32 && wanted.algorithm <= GPUSORTD_RADIX &&
		   wanted.reserved == 0;
}

/* What BEGIN estimates, within reason. */
static JobSize
expected_size(const GpusortdBegin &wanted)
{
	JobSize size;

	size.rows = std::min(wanted.expected_rows, DEVICE_MOST_ROWS);
	size.key_bytes = std::min(wanted.expected_key_bytes, MOST_EXPECTED_BYTES);
	size.row_bytes = std::min(wanted.expected_row_bytes, MOST_EXPECTED_BYTES);
	return size;
}

/* The chunks that a job of that size gets; of unknown size: many. */
static uint32_t
choose_chunks(const Service &service, const JobSize &size, uint32_t key_bytes)
{
	uint64_t bytes = size.rows * chunk_entry_bytes(key_bytes) + size.key_bytes + size.row_bytes;

	return bytes > 0 && bytes <= SMALL_JOB_CHUNKS * service.settings.chunk_bytes ? service.small_slab()
																				 : service.large_slab();
}

/* A job of its own; or another one in the place of that which is sorted. */
bool
Session::begin(const GpusortdBegin &wanted)
{
	JobSize expected = expected_size(wanted);
	JobShape shape = {wanted.key_bytes, (GpusortdAlgorithm) wanted.algorithm, service->slabs->chunk_bytes};
	uint64_t least;
	std::unique_ptr<Admission> place;
	bool admitted = false;

	if (!begin_is_valid(wanted))
		return fail({GPUSORTD_INVALID, "BEGIN requests an unknown sort"});
	least = service->layer->memory_needed(shape, {});
	if (wanted.most_bytes > 0 && wanted.most_bytes < least)
		return fail({GPUSORTD_MEMORY_FULL,
					 "the limit of the sort is less than the device memory that it needs to begin"});
	place = place_of_last_job();
	if (place != nullptr)
	{
		place->limit_to(wanted.most_bytes);
		return start_job(expected, shape, std::move(place));
	}
	waiting = service->gate->enter(service->layer->memory_needed(shape, expected), least, wanted.most_bytes,
								   choose_chunks(*service, expected, wanted.key_bytes));
	if (waiting == nullptr)
		return fail({GPUSORTD_NO_RESOURCES, "gpusortd has too many files open"});
	if (!wait_for_admission(&admitted))
		return false;
	return !admitted || start_job(expected, shape, std::move(waiting));
}

/* The last job is over.  Its place, if it still has one on the device. */
std::unique_ptr<Admission>
Session::place_of_last_job()
{
	std::unique_ptr<Admission> place;

	if (job == nullptr || job->place()->bytes() == 0)
	{
		leave_job();
		return nullptr;
	}
	service->withdraw(job);
	place = job->end();
	fetch_us = 0;
	return place;
}

bool
Session::start_job(const JobSize &expected, const JobShape &shape, std::unique_ptr<Admission> place)
{
	uint32_t chunks = place->chunks_lent();
	Outcome outcome;

	ranks = {};
	job = std::make_shared<SharedJob>();
	job->shape = shape;
	outcome = job->begin(service->layer.get(), expected, std::move(place));
	if (!outcome.ok())
		return fail(outcome);
	if (getrandom(&job->token, sizeof(job->token), 0) != (ssize_t) sizeof(job->token))
		return fail({GPUSORTD_NO_RESOURCES, "no random numbers"});
	service->publish(job);
	return slab.base != nullptr ? send_slab(SessionState::feeding) : lend_slab(chunks, SessionState::feeding);
}

/* There is nobody to wait for.  The place in the queue is gone, and the connection is ready for END. */
bool
Session::refuse(bool *admitted)
{
	*admitted = false;
	waiting.reset();
	return fail({GPUSORTD_MEMORY_FULL, "idle sorts use the device's memory"});
}

/* Waits in the queue, and for the client's END.  False: the connection is at its end. */
bool
Session::wait_for_admission(bool *admitted)
{
	Message message;

	*admitted = true;
	if (!waiting->waits())
		return !waiting->refused() || refuse(admitted);
	if (!wire.send(GPUSORTD_QUEUED, GpusortdQueued{waiting->before()}))
		return false;
	for (;;)
	{
		struct pollfd fds[2] = {{wire.fd, POLLIN, 0}, {waiting->event_fd(), POLLIN, 0}};

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return false;
		if (fds[0].revents != 0)
			break;
		if (fds[1].revents != 0)
			return waiting->refused() ? refuse(admitted) : wire.send(GPUSORTD_ADMITTED, GpusortdAdmitted{});
	}
	/* Whatever it says, it is out of the queue; nobody waits for the rest of what it sends. */
	*admitted = false;
	waiting.reset();
	if (!read_message(&message))
		return false;
	return message.type == GPUSORTD_END ? end() : protocol_error("only END is allowed in the queue");
}

bool
Session::join(const GpusortdJoin &wanted)
{
	joiner = true;
	job = service->find(wanted.job, wanted.token);
	if (job == nullptr)
		return fail({GPUSORTD_JOB_OVER, "the job to join does not exist, or is over"});
	if (!service->gate->take_chunks(service->small_slab()))
		return fail({GPUSORTD_STAGING_FULL, "all chunk memory is in use"});
	place_chunks = service->small_slab();
	return lend_slab(place_chunks, SessionState::joined);
}

/* A slab for this connection; then the client may begin to fill chunks. */
bool
Session::lend_slab(uint32_t chunks, SessionState next)
{
	Outcome outcome = service->slabs->take(chunks, &slab);

	return outcome.ok() ? send_slab(next) : fail(outcome);
}

bool
Session::send_slab(SessionState next)
{
	GpusortdJob lent = {};

	job->describe(&lent);
	lent.chunks = slab.chunks;
	lent.chunk_bytes = service->slabs->chunk_bytes;
	state = next;
	return wire.send(GPUSORTD_JOB, lent, slab.fd);
}

/* Out of memory where a job can't be told: the connection is at its end, and no other one. */
void
session_run(Service *service, int fd)
{
	try
	{
		Session(service, fd).run();
	}
	catch (const std::exception &error)
	{
		log_line("WARNING", "closing a connection: %s", error.what());
	}
}
