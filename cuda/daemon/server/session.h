/*
 * session.h
 *		One connection, as a class: its state, and a function a message.
 *
 * session.cc has the loop, and all that comes before rows do; session_job.cc feeding, sorting, returning,
 * ending; session_rest.cc what becomes of a job while its client is busy elsewhere.
 */
#ifndef GPUSORTD_SESSION_H
#define GPUSORTD_SESSION_H

#include <deque>

#include "daemon/protocol/rank_layout.h"
#include "daemon/server/service.h"
#include "daemon/server/wire.h"

enum class SessionState
{
	greeting,
	ready,
	feeding,
	joined,
	sorted,
	failed
};

/* A fetch that is under way. */
struct Fetch
{
	GpusortdRows answer;
	uint64_t ticket;
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
	bool start_job(const JobSize &expected, const JobShape &shape, std::unique_ptr<Admission> place);
	std::unique_ptr<Admission> place_of_last_job();
	bool refuse(bool *admitted);
	bool wait_for_admission(bool *admitted);
	bool join(const GpusortdJoin &wanted);
	bool lend_slab(uint32_t chunks, SessionState next);
	bool send_slab(SessionState next);
	bool submit(const GpusortdSubmit &filled);
	bool take_ranks(const GpusortdRanks &ranks);
	bool perform();
	bool fetch(const GpusortdFetch &wanted);
	bool finish_fetch();
	bool finish_fetches();
	void drop_fetches();
	bool end();
	void leave_job();

	bool rest();
	bool give_back(const Holding &wanted);

	Service *service;
	Wire wire;
	SessionState state = SessionState::greeting;
	std::shared_ptr<SharedJob> job;
	std::unique_ptr<Admission> waiting; /* in the queue */
	bool joiner = false;
	uint32_t place_chunks = 0; /* joiner: number of chunks that the gate counts as lent to it */
	Slab slab;
	IdleShare idle_share;  /* for the slab, once it is retired */
	RankSequence ranks;	   /* that came for the job */
	uint64_t position = 0; /* of the next fetch */
	uint64_t fetch_us = 0;
	std::deque<Fetch> fetches; /* under way */
};

#endif /* GPUSORTD_SESSION_H */
