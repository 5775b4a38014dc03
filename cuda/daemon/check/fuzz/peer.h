/*
 * peer.h
 *		A client of gpusortd as a case plays it, and what it knows of its job.
 *
 * It sends what the case says, reads what gpusortd answers, and holds it against the protocol: whole messages
 * of gpusortd, answers in order, of chunks that were given away.  Of a job whose chunks were all as they have
 * to be it knows the result: each row that was taken, in the order of the keys.
 */
#ifndef DAEMON_CHECK_FUZZ_PEER_H
#define DAEMON_CHECK_FUZZ_PEER_H

#include <deque>
#include <memory>
#include <string>

#include "daemon/protocol/protocol.h"

/* What is left of a case's bytes; zeros follow. */
struct Input
{
	const uint8_t *at;
	const uint8_t *end;

	uint8_t byte()
	{
		return at < end ? *at++ : 0;
	}

	uint64_t number(int bytes)
	{
		uint64_t number = 0;

		for (int i = 0; i < bytes; i++)
			number |= (uint64_t) byte() << (i * 8);
		return number;
	}
};

/* A job, as all know it that feed it. */
struct KnownJob
{
	uint64_t id = 0;
	uint64_t token = 0;
	uint32_t key_bytes = 0;
	bool spoiled = false; /* somebody may have sent it anything */
	uint64_t rows = 0;	  /* that were taken */
	uint64_t sum = 0;	  /* of their keys */
};

class Peer
{
public:
	explicit Peer(int socket_fd, uint32_t most_of_chunks) : fd(socket_fd), most_chunks(most_of_chunks)
	{
	}

	~Peer();
	Peer(const Peer &) = delete;
	Peer &operator=(const Peer &) = delete;

	/* Sends a message of this type, whose fields the next bytes say; another peer's job may be joined. */
	void send(GpusortdType type, Input *input, const Peer &other, bool fill);

	/* The same with some bytes changed, or cut off; and bytes that are no message. */
	void send_spoiled(GpusortdType type, Input *input, const Peer &other);
	void send_bytes(Input *input);

	/* Writes to its chunk memory, regardless of the present owner. */
	void scribble(Input *input);

	void end_sending();

	/* What has been answered; false: something that gpusortd must not say, and *fault says what. */
	bool read_answers(std::string *fault);

private:
	struct Asked
	{
		GpusortdType type;
		uint32_t chunk;
		uint64_t rows;
		uint64_t sum;
	};

	std::string body_of(GpusortdType type, Input *input, const Peer &other, bool fill);
	std::string begin(Input *input);
	std::string submit(Input *input, bool fill);
	std::string ranks(Input *input);
	std::string fetch(Input *input);
	void fill_chunk(uint32_t chunk, uint64_t rows, uint64_t seed, Asked *asked);
	bool is_given(uint32_t chunk) const;
	void spoil_job();
	void write(const std::string &bytes);

	bool read_bytes();
	bool take(const GpusortdHeader &header, const char *body, std::string *fault);
	bool take_job(const GpusortdJob &told, std::string *fault);
	bool take_chunk(const GpusortdChunkFree &freed, std::string *fault);
	bool take_sorted(const GpusortdSorted &sorted, std::string *fault);
	bool take_rows(const GpusortdRows &rows, std::string *fault);
	bool check_window(const GpusortdRows &rows, std::string *fault);
	bool answer_to(GpusortdType type, uint32_t chunk, Asked *asked);
	void forget_job();

	int fd;
	uint32_t most_chunks;
	std::string answers;	/* bytes that are no whole message yet */
	std::deque<int> passed; /* files that came along, one for each JOB to come */
	std::shared_ptr<KnownJob> job;
	uint32_t wanted_key_bytes = 8;		  /* of the last BEGIN */
	std::shared_ptr<KnownJob> wanted_job; /* of the last JOIN; NULL: none, it was BEGIN */
	GpusortdJob lent = {};				  /* this connection's chunks */
	uint8_t *memory = nullptr;
	uint64_t memory_bytes = 0;
	std::deque<Asked> asked; /* and not answered yet */
	bool changing = false;	 /* another job, or none, was asked for, and not answered yet */
	bool in_order = true;	 /* nothing was sent but messages that are known */
	uint64_t ranked = 0;	 /* codes of the last column that got ranks */
	uint64_t sorted_rows = 0;
	uint64_t seen = 0; /* rows of a pass over the result, from the first one */
	uint64_t seen_sum = 0;
	uint64_t last_key = 0;
};

#endif /* DAEMON_CHECK_FUZZ_PEER_H */
