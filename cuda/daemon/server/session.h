/*
 * session.h
 *		One connection, as a class: its state, and a function a message.
 *
 * session.cc has the loop, and all that comes before rows do; session_job.cc feeding, sorting, returning,
 * ending.
 */
#ifndef GPUSORTD_SESSION_H
#define GPUSORTD_SESSION_H

#include <deque>

#include "daemon/server/service.h"
#include "daemon/server/wire.h"

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
	bool wait_for_message();
	bool hello();
	bool begin(const GpusortdBegin &wanted);
	bool wait_for_admission(bool *admitted);
	bool join(const GpusortdJoin &wanted);
	bool lend_segment(uint32_t chunks, SessionState next);
	bool submit(const GpusortdSubmit &filled);
	bool perform();
	bool fetch(const GpusortdFetch &wanted);
	bool finish_fetch();
	bool finish_fetches();
	bool end();
	void leave_job();

	Service *service;
	Wire wire;
	SessionState state = SessionState::greeting;
	std::shared_ptr<SharedJob> job;
	std::unique_ptr<Admission> waiting; /* in the queue */
	bool helper = false;
	uint32_t place_chunks = 0; /* helper: the gate counts so many chunks as lent to it */
	Segment segment;
	uint64_t rows = 0;	   /* of the result */
	uint64_t position = 0; /* of the next fetch */
	uint64_t fetch_us = 0;
	std::deque<GpusortdRows> fetches; /* under way, and what will be answered */
};

#endif /* GPUSORTD_SESSION_H */
