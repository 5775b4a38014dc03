/*
 * session.cc
 *		One connection: a thread that reads a message, does what it says, and answers.
 *
 * A connection has one job at a time, its own or one that it joined to help to feed:
 *
 *	  greeting --HELLO--> ready --BEGIN--> feeding --PERFORM--> sorted
 *	                        |  \--JOIN---> helping                 |
 *	                        ^------------------END-----------------+
 *
 * A message that isn't allowed in the state, or isn't one at all, is a protocol error and closes the connection.  A job
 * that fails is told of once; from then on its messages are dropped, for the client may have sent some before it
 * could know, until END, and the connection is ready again.
 *
 * As each message is done before the next is read, every chunk belongs to the client whenever one is read.  What a message
 * says is checked here; what is in a chunk is checked by the device layer, after copying it.
 *
 * However the connection ends, the destructor gives back what it holds.  The thread looks at the socket between
 * messages, and while it waits in the queue; a sort that is under way on the device can't be stopped, and is at most a second.
 */
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

#include <poll.h>
#include <sys/random.h>

#include "chunk_layout.h"
#include "service.h"
#include "wire.h"

/* More is no estimate: keeps sums of estimates far from overflowing. */
#define MOST_EXPECTED_BYTES (UINT64_C(1) << 48)
#define MOST_ROWS UINT64_C(0xFFFF0000)

enum class SessionState
{
	greeting,
	ready,
	feeding,
	helping,
	sorted,
	failed
};

class Session
{
public:
	Session(Service *its_service, int fd) : service(its_service), wire(fd)
	{
	}

	~Session()
	{
		leave_job();
	}

	void run();

private:
	bool read_message(Message *message);
	bool protocol_error(const std::string &text);

	bool handle(const Message &message);
	bool dispatch(const Message &message);
	bool fail(const Outcome &outcome);
	bool hello();
	bool begin(const GpusortdBegin &wanted);
	bool wait_for_admission(bool *admitted);
	bool join(const GpusortdJoin &wanted);
	bool lend_segment(SessionState next);
	bool submit(const GpusortdSubmit &filled);
	bool perform();
	bool fetch(const GpusortdFetch &wanted);
	bool end();
	void leave_job();

	Service    *service;
	Wire		wire;
	SessionState state = SessionState::greeting;
	std::shared_ptr<SharedJob> job;
	bool		helper = false;
	bool		has_place = false;	/* helper: a segment was taken from the gate */
	Segment		segment;
	uint64_t	position = 0;	/* of the next fetch */
};

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
	(void) wire.send_error(GPUSORTD_PROTOCOL_ERROR, text);
	return false;
}

/* ---- the loop ---- */

void
Session::run()
{
	Message		message;

	while (read_message(&message) && handle(message))
		;
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
	if (state == SessionState::failed && message.type != GPUSORTD_END)
		return message.type != GPUSORTD_HELLO || protocol_error("HELLO after the greeting");
	switch (message.type)
	{
		case GPUSORTD_HELLO:
			if (state == SessionState::greeting)
				return message.hello.flags == 0 ? hello() : protocol_error("unknown flags in HELLO");
			break;
		case GPUSORTD_BEGIN:
			if (state == SessionState::ready)
				return begin(message.begin);
			break;
		case GPUSORTD_JOIN:
			if (state == SessionState::ready)
				return join(message.join);
			break;
		case GPUSORTD_SUBMIT:
			if (state == SessionState::feeding || state == SessionState::helping)
				return submit(message.submit);
			break;
		case GPUSORTD_PERFORM:
			if (state == SessionState::feeding)
				return perform();
			break;
		case GPUSORTD_FETCH:
			if (state == SessionState::sorted)
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
 * Tells the client of a failure.  The job is over, and lets go of the device's memory now; but it goes on without a
 * helper that could not begin to help.
 */
bool
Session::fail(const Outcome &outcome)
{
	bool		sent;

	if (job != nullptr && !(helper && state == SessionState::ready))
	{
		std::lock_guard<std::mutex> lock(job->mutex);

		if (job->failure.ok())
			job->failure = outcome;
		job->device_job.reset();
	}
	state = SessionState::failed;
	sent = wire.send_error(outcome.code, outcome.message);
	if (outcome.code == GPUSORTD_DEVICE_LOST)
	{
		log_line("FATAL", "the device failed: %s", outcome.message.c_str());
		service->stop(3);
	}
	return sent;
}

bool
Session::hello()
{
	GpusortdWelcome welcome = {};

	welcome.host_memory = service->settings.host_memory;
	welcome.chunk_bytes = service->segments->chunk_bytes;
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
		wanted.payload <= GPUSORTD_WORDS_RIDE && wanted.reserved == 0;
}

bool
Session::begin(const GpusortdBegin &wanted)
{
	JobSize		expected;
	bool		admitted = false;
	Outcome		outcome;

	if (!begin_is_valid(wanted))
		return fail({GPUSORTD_INVALID, "BEGIN asks for a sort that there is not"});
	job = std::make_shared<SharedJob>();
	job->shape = {wanted.key_bytes, (GpusortdAlgorithm) wanted.algorithm, wanted.payload == GPUSORTD_WORDS_RIDE,
				  service->segments->chunk_bytes};
	expected.rows = std::min(wanted.expected_rows, MOST_ROWS);
	expected.key_bytes = std::min(wanted.expected_key_bytes, MOST_EXPECTED_BYTES);
	expected.row_bytes = std::min(wanted.expected_row_bytes, MOST_EXPECTED_BYTES);
	job->admission = service->gate->enter(service->layer->memory_needed(job->shape, expected));
	if (job->admission == nullptr)
		return fail({GPUSORTD_NO_RESOURCES, "gpusortd has too many files open"});
	if (!wait_for_admission(&admitted))
		return false;
	if (!admitted)
		return true;
	outcome = service->layer->begin(job->admission->device(), job->shape, &job->device_job);
	if (!outcome.ok())
		return fail(outcome);
	if (getrandom(&job->token, sizeof(job->token), 0) != (ssize_t) sizeof(job->token))
		return fail({GPUSORTD_NO_RESOURCES, "no random numbers"});
	service->publish(job);
	return lend_segment(SessionState::feeding);
}

/* Waits in the queue, and for the client's END.  False: the connection is at its end. */
bool
Session::wait_for_admission(bool *admitted)
{
	Message		message;

	*admitted = job->admission->admitted();
	if (*admitted)
		return true;
	if (!wire.send(GPUSORTD_QUEUED, GpusortdQueued{job->admission->before()}))
		return false;
	for (;;)
	{
		struct pollfd fds[2] = {{wire.fd, POLLIN, 0}, {job->admission->event_fd(), POLLIN, 0}};

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return false;
		if (fds[0].revents != 0)
			break;
		if (fds[1].revents != 0)
		{
			*admitted = true;
			return true;
		}
	}
	if (!read_message(&message))
		return false;
	return message.type == GPUSORTD_END ? end() : protocol_error("only END is allowed in the queue");
}

bool
Session::join(const GpusortdJoin &wanted)
{
	helper = true;
	job = service->find(wanted.job, wanted.token);
	if (job == nullptr)
		return fail({GPUSORTD_JOB_OVER, "the job to join does not exist, or is over"});
	has_place = service->gate->take_segment();
	if (!has_place)
		return fail({GPUSORTD_STAGING_FULL, "all chunk memory is in use"});
	return lend_segment(SessionState::helping);
}

/* A segment for this connection; then the client may begin to fill chunks. */
bool
Session::lend_segment(SessionState next)
{
	Outcome		outcome = service->segments->take(&segment);
	GpusortdJob lent = {};

	if (!outcome.ok())
		return fail(outcome);
	{
		std::lock_guard<std::mutex> lock(job->mutex);

		lent.job = job->id;
		lent.token = job->token;
		lent.chunks = service->segments->chunks;
		lent.chunk_bytes = service->segments->chunk_bytes;
		if (job->admission != nullptr)
		{
			lent.device = job->admission->device();
			lent.promised_bytes = job->admission->promised();
		}
	}
	state = next;
	return wire.send(GPUSORTD_JOB, lent, segment.fd);
}

/* ---- feeding ---- */

/* What SUBMIT says of a chunk; that it is true is for the device layer to find out. */
static bool
submit_is_valid(const GpusortdSubmit &filled, const JobShape &shape, uint32_t chunks)
{
	uint64_t	entry_bytes = chunk_entry_bytes(shape.key_bytes);

	return filled.chunk < chunks && filled.reserved == 0 && filled.rows <= shape.chunk_bytes / entry_bytes &&
		filled.front == filled.rows * entry_bytes && filled.front <= filled.back && filled.back <= shape.chunk_bytes &&
		filled.back % 8 == 0;
}

/* What the job may be once it has this chunk: how long its keys and rows are, its region says only together. */
static JobSize
size_with_chunk(JobSize size, const JobShape &shape, const GpusortdSubmit &filled)
{
	uint64_t	region = shape.chunk_bytes - filled.back;

	size.rows += filled.rows;
	size.key_bytes += shape.key_bytes > 0 ? filled.rows * shape.key_bytes : region;
	size.row_bytes += shape.words ? filled.rows * sizeof(uint64_t) : region;
	return size;
}

bool
Session::submit(const GpusortdSubmit &filled)
{
	GpusortdChunkFree freed = {filled.chunk, GPUSORTD_OK};
	Outcome		outcome;

	if (!submit_is_valid(filled, job->shape, service->segments->chunks))
		return fail({GPUSORTD_INVALID, "SUBMIT describes no chunk"});
	{
		std::lock_guard<std::mutex> lock(job->mutex);

		if (job->device_job == nullptr || job->sorted)
			outcome = job->failure.ok() ? Outcome{GPUSORTD_JOB_OVER, "the job takes no more chunks"} : job->failure;
		else if (filled.rows > 0)
		{
			JobSize		size = size_with_chunk(job->device_job->size(), job->shape, filled);

			if (size.rows > MOST_ROWS || !job->admission->promise(service->layer->memory_needed(job->shape, size)))
				freed.refused = GPUSORTD_MEMORY_FULL;
			else
				outcome = job->device_job->submit({segment.base + filled.chunk * job->shape.chunk_bytes, filled.rows,
												   filled.front, filled.back}, job->admission->promised());
		}
	}
	if (outcome.code == GPUSORTD_MEMORY_FULL)
		freed.refused = GPUSORTD_MEMORY_FULL;
	else if (!outcome.ok())
		return fail(outcome);
	return wire.send(GPUSORTD_CHUNK_FREE, freed);
}

/* ---- sorting, returning ---- */

bool
Session::perform()
{
	GpusortdSorted sorted = {};
	Outcome		outcome;

	{
		std::lock_guard<std::mutex> lock(job->mutex);

		if (job->device_job == nullptr)
			outcome = job->failure;
		else
			outcome = job->device_job->perform(job->admission->promised(), &sorted);
		job->sorted = true;
	}
	if (!outcome.ok())
		return fail(outcome);
	position = 0;
	state = SessionState::sorted;
	return wire.send(GPUSORTD_SORTED, sorted);
}

bool
Session::fetch(const GpusortdFetch &wanted)
{
	auto		start = std::chrono::steady_clock::now();
	uint64_t	from = wanted.position == GPUSORTD_NEXT ? position : wanted.position;
	Window		window = {};
	Outcome		outcome;

	{
		std::lock_guard<std::mutex> lock(job->mutex);

		if (job->device_job == nullptr)
			outcome = job->failure;
		else if (wanted.chunk >= service->segments->chunks || wanted.backward > 1 || from > job->device_job->size().rows)
			outcome = {GPUSORTD_INVALID, "FETCH asks for rows that there are not"};
		else
			outcome = job->device_job->fetch(from, wanted.backward, segment.base + wanted.chunk * job->shape.chunk_bytes,
											 job->shape.chunk_bytes, &window);
		job->fetch_us += std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
	}
	if (!outcome.ok())
		return fail(outcome);
	position = wanted.backward ? window.first : window.first + window.rows;
	return wire.send(GPUSORTD_ROWS, GpusortdRows{wanted.chunk, 0, window.first, window.rows, window.bytes});
}

/* ---- ending ---- */

bool
Session::end()
{
	GpusortdEnded ended = {job != nullptr && !helper ? job->fetch_us : 0};

	leave_job();
	state = SessionState::ready;
	return wire.send(GPUSORTD_ENDED, ended);
}

/*
 * Gives back all that the connection holds of its job.  The segment goes before the place at the gate that stands for
 * it; the device's memory before what was promised of it.
 */
void
Session::leave_job()
{
	if (segment.base != nullptr)
		service->segments->give_back(segment);
	segment = {};
	if (has_place)
		service->gate->release_segment();
	has_place = false;
	if (job != nullptr && !helper)
	{
		service->withdraw(job);

		std::lock_guard<std::mutex> lock(job->mutex);

		job->device_job.reset();
		job->admission.reset();
	}
	job.reset();
	helper = false;
}

void
session_run(Service *service, int fd)
{
	Session(service, fd).run();
}
