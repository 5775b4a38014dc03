/*
 * peer.cc
 *		What a client says in a case, and what it may be answered; peer.h says how.
 */
#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/check/fuzz/peer.h"

#define ROW_BYTES 24

Peer::~Peer()
{
	forget_job();
	for (int file : passed)
		close(file);
	close(fd);
}

/* ---- jobs ---- */

/* A job whose client has said anything that may have changed its rows is known no more. */
void
Peer::spoil_job()
{
	if (job != nullptr)
		job->spoiled = true;
	in_order = false;
}

void
Peer::forget_job()
{
	if (memory != nullptr)
		munmap(memory, memory_bytes);
	memory = nullptr;
	job.reset();
	asked.clear();
	sorted_rows = seen = ranked = 0;
}

bool
Peer::is_given(uint32_t chunk) const
{
	return std::any_of(asked.begin(), asked.end(), [chunk](const Asked &one) { return one.chunk == chunk; });
}

static uint64_t
mix(uint64_t number)
{
	number = (number ^ number >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	return number ^ number >> 31;
}

/* Rows with keys out of a few, or of many; each row tells its key. */
void
Peer::fill_chunk(uint32_t chunk, uint64_t rows, uint64_t seed, Asked *told)
{
	uint64_t chunk_bytes = lent.chunk_bytes;
	uint64_t key_bytes = job->key_bytes > 0 ? job->key_bytes : 8;
	uint8_t *base = memory + chunk * chunk_bytes;
	uint64_t back = chunk_bytes;

	for (uint64_t i = 0; i < rows; i++)
	{
		uint64_t key = mix(seed + i) & (seed % 2 == 0 ? UINT64_MAX : 7);
		uint64_t stored = __builtin_bswap64(key);
		uint64_t row[3] = {ROW_BYTES, key, seed};
		uint8_t *entry = base + i * (key_bytes + 8);
		uint64_t record[2] = {8, stored};

		for (uint64_t at = 0; at < key_bytes; at += 8)
			memcpy(entry + at, &stored, 8);
		back -= ROW_BYTES;
		memcpy(base + back, row, ROW_BYTES);
		if (job->key_bytes == 0)
			memcpy(base + (back -= sizeof(record)), record, sizeof(record));
		memcpy(entry + key_bytes, &back, 8);
		told->sum += mix(key);
	}
	told->rows = rows;
}

/* ---- messages ---- */

void
Peer::write(const std::string &bytes)
{
	(void) !::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

template <typename Body>
static std::string
bytes_of(const Body &body)
{
	return std::string((const char *) &body, sizeof(body));
}

std::string
Peer::begin(Input *input)
{
	uint8_t form = input->byte();
	uint64_t rows = input->byte();
	GpusortdBegin begin = {};

	begin.key_bytes = form % 5 * 8;
	begin.algorithm = form / 5 % 4;
	begin.reserved = form / 20 % 12 == 11;
	begin.expected_rows = rows * 16;
	begin.expected_row_bytes = form >= 180 ? rows << 22 : rows * 16 * ROW_BYTES;
	begin.most_bytes = form >= 120 && form < 180 ? input->number(2) << 12 : 0;
	wanted_key_bytes = begin.key_bytes;
	wanted_job.reset();
	return bytes_of(begin);
}

/* A chunk's rows, or what is in it by now, which spoils the job. */
std::string
Peer::submit(Input *input, bool fill)
{
	uint8_t form = input->byte();
	uint64_t seed = input->byte();
	uint32_t chunks = job != nullptr ? std::max(lent.chunks, 1U) : 1;
	uint64_t entry_bytes = (job != nullptr && job->key_bytes > 0 ? job->key_bytes : 8) + 8;
	uint64_t record_bytes = job == nullptr ? 0 : job->key_bytes > 0 ? ROW_BYTES : 16 + ROW_BYTES;
	uint64_t chunk_bytes = job != nullptr ? lent.chunk_bytes : 4096;
	Asked told = {GPUSORTD_SUBMIT, form % chunks, 0, 0};
	uint64_t rows = std::min<uint64_t>(form / chunks, chunk_bytes / (entry_bytes + record_bytes));
	GpusortdSubmit submit = {told.chunk, 0, rows, rows * entry_bytes, chunk_bytes - rows * record_bytes};

	if (!fill || memory == nullptr || changing || is_given(told.chunk))
		spoil_job();
	if (fill && memory != nullptr)
		fill_chunk(told.chunk, rows, seed, &told);
	asked.push_back(told);
	return bytes_of(submit);
}

/*
 * Ranks of the codes in the lower half of each key's first word: small keys are codes, and keep their order.
 * Or of any codes anywhere, which spoils the job.
 */
std::string
Peer::ranks(Input *input)
{
	uint8_t form = input->byte();
	uint32_t chunks = job != nullptr ? std::max(lent.chunks, 1U) : 1;
	uint64_t most = job != nullptr ? lent.chunk_bytes / sizeof(uint32_t) : 1;
	Asked told = {GPUSORTD_SUBMIT, form % chunks, 0, 0};
	GpusortdRanks ranks = {told.chunk, 4, form & 0x10 ? ranked : 0, form & 0x20 ? most : 8};

	if (form & 0x80)
	{
		ranks.offset = input->byte() % 36;
		ranks.first = input->number(2);
		ranks.codes = input->number(2);
	}
	if ((form & 0x80) || memory == nullptr || changing || is_given(told.chunk))
		spoil_job();
	else
	{
		for (uint64_t i = 0; i < ranks.codes; i++)
			((uint32_t *) (memory + told.chunk * lent.chunk_bytes))[i] = (uint32_t) (ranks.first + i) * 3;
	}
	/* A second table would rank ranks. */
	if (ranks.first == 0 && ranked > 0)
		spoil_job();
	ranked = ranks.first + ranks.codes;
	asked.push_back(told);
	return bytes_of(ranks);
}

std::string
Peer::fetch(Input *input)
{
	uint8_t form = input->byte();
	uint32_t chunks = job != nullptr ? std::max(lent.chunks, 1U) : 1;
	GpusortdFetch fetch = {form % chunks, (uint32_t) (form >> 6 & 1), GPUSORTD_NEXT};

	if (form >= 0x80)
		fetch.position = input->number(2);
	if (changing)
		spoil_job();
	asked.push_back({GPUSORTD_FETCH, fetch.chunk, 0, 0});
	return bytes_of(fetch);
}

std::string
Peer::body_of(GpusortdType type, Input *input, const Peer &other, bool fill)
{
	changing |= type == GPUSORTD_BEGIN || type == GPUSORTD_JOIN || type == GPUSORTD_END;
	switch (type)
	{
		case GPUSORTD_HELLO:
			return bytes_of(GpusortdHello{0});
		case GPUSORTD_BEGIN:
			return begin(input);
		case GPUSORTD_JOIN:
			wanted_job = other.job;
			return bytes_of(wanted_job != nullptr ? GpusortdJoin{wanted_job->id, wanted_job->token}
												  : GpusortdJoin{input->byte(), 0});
		case GPUSORTD_SUBMIT:
			return submit(input, fill);
		case GPUSORTD_RANKS:
			return ranks(input);
		case GPUSORTD_PERFORM:
			return bytes_of(GpusortdPerform{0});
		case GPUSORTD_FETCH:
			return fetch(input);
		default:
			return bytes_of(GpusortdEnd{0});
	}
}

static std::string
message_of(GpusortdType type, const std::string &body)
{
	GpusortdHeader header = {GPUSORTD_MAGIC, GPUSORTD_VERSION, (uint16_t) type, (uint32_t) body.size(), 0};

	return bytes_of(header) + body;
}

void
Peer::send(GpusortdType type, Input *input, const Peer &other, bool fill)
{
	write(message_of(type, body_of(type, input, other, fill)));
}

void
Peer::send_spoiled(GpusortdType type, Input *input, const Peer &other)
{
	uint8_t form = input->byte();
	std::string message = message_of(type, body_of(type, input, other, true));

	spoil_job();
	for (int changes = form % 4; changes > 0; changes--)
	{
		size_t at = input->byte() % message.size();
		uint8_t value = input->byte();

		message[at] = (char) (form & 0x10 ? message[at] + (int8_t) value : value);
	}
	if (form & 0x20)
		message.resize(input->byte() % message.size());
	write(message);
}

void
Peer::send_bytes(Input *input)
{
	std::string bytes;

	spoil_job();
	for (int left = input->byte() % 64; left > 0; left--)
		bytes += (char) input->byte();
	write(bytes);
}

void
Peer::scribble(Input *input)
{
	uint64_t at = input->number(2);
	uint64_t value = input->byte();

	if (memory == nullptr)
		return;
	if (value == 0xFF)
		value = input->number(8);
	memcpy(memory + at * 8 % memory_bytes, &value, 8);
	spoil_job();
}

void
Peer::end_sending()
{
	shutdown(fd, SHUT_WR);
}

/* ---- answers ---- */

/* What is there; false: there is no more. */
bool
Peer::read_bytes()
{
	char bytes[8192];
	alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
	struct iovec vector = {bytes, sizeof(bytes)};
	struct msghdr message = {};
	ssize_t got;

	message.msg_iov = &vector;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got <= 0)
		return false;
	for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one))
	{
		int file;

		memcpy(&file, CMSG_DATA(one), sizeof(file));
		passed.push_back(file);
	}
	answers.append(bytes, got);
	return true;
}

static bool
say(std::string *fault, const std::string &what)
{
	*fault = what;
	return false;
}

bool
Peer::read_answers(std::string *fault)
{
	while (read_bytes())
		;
	while (answers.size() >= sizeof(GpusortdHeader))
	{
		GpusortdHeader header;

		memcpy(&header, answers.data(), sizeof(header));
		if (header.magic != GPUSORTD_MAGIC || header.version != GPUSORTD_VERSION || header.reserved != 0 ||
			header.type < GPUSORTD_WELCOME || (int) header.length != gpusortd_message_length(header.type))
			return say(fault, "an answer that is no message of gpusortd");
		if (answers.size() < sizeof(header) + header.length)
			return say(fault, "an answer that is not whole");
		if (!take(header, answers.data() + sizeof(header), fault))
			return false;
		answers.erase(0, sizeof(header) + header.length);
	}
	return answers.empty() || say(fault, "an answer that is not whole");
}

template <typename Body>
static Body
body_as(const char *bytes)
{
	Body body;

	memcpy(&body, bytes, sizeof(body));
	return body;
}

bool
Peer::take(const GpusortdHeader &header, const char *body, std::string *fault)
{
	switch (header.type)
	{
		case GPUSORTD_WELCOME:
			return body_as<GpusortdWelcome>(body).devices <= GPUSORTD_MAX_DEVICES ||
				   say(fault, "too many devices");
		case GPUSORTD_JOB:
			return take_job(body_as<GpusortdJob>(body), fault);
		case GPUSORTD_CHUNK_FREE:
			return take_chunk(body_as<GpusortdChunkFree>(body), fault);
		case GPUSORTD_SORTED:
			return take_sorted(body_as<GpusortdSorted>(body), fault);
		case GPUSORTD_ROWS:
			return take_rows(body_as<GpusortdRows>(body), fault);
		case GPUSORTD_ENDED:
			forget_job();
			changing = false;
			in_order = true;
			return true;
		case GPUSORTD_ERROR:
			/* What was sent with it is dropped, or already answered. */
			asked.clear();
			spoil_job();
			return memchr(body_as<GpusortdError>(body).message, 0, sizeof(GpusortdError::message)) !=
					   nullptr ||
				   say(fault, "an error without an end");
		default:
			return true;
	}
}

/* The question that this answers, with all that must have been answered before it left out. */
bool
Peer::answer_to(GpusortdType type, uint32_t chunk, Asked *found)
{
	while (!asked.empty())
	{
		*found = asked.front();
		asked.pop_front();
		if (found->type == type && found->chunk == chunk)
			return true;
		/* An answer was left out, or came too late. */
		if (in_order)
			return false;
	}
	return !in_order;
}

bool
Peer::take_job(const GpusortdJob &told, std::string *fault)
{
	std::shared_ptr<KnownJob> joined = wanted_job;
	struct stat file = {};
	int memory_fd = passed.empty() ? -1 : passed.front();
	bool spoiled = !in_order;

	if (!passed.empty())
		passed.pop_front();
	if (memory_fd < 0 || fstat(memory_fd, &file) != 0 || told.chunks == 0 || told.chunks > most_chunks ||
		(uint64_t) file.st_size != told.chunks * told.chunk_bytes)
	{
		if (memory_fd >= 0)
			close(memory_fd);
		return say(fault, "JOB without the memory that it tells of");
	}
	forget_job();
	changing = false;
	lent = told;
	memory_bytes = file.st_size;
	memory = (uint8_t *) mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
	close(memory_fd);
	if (memory == MAP_FAILED)
	{
		memory = nullptr;
		return true;
	}
	job = joined != nullptr ? joined : std::make_shared<KnownJob>();
	if (joined == nullptr)
	{
		job->key_bytes = wanted_key_bytes;
		job->id = told.job;
		job->token = told.token;
	}
	job->spoiled |= spoiled;
	return true;
}

bool
Peer::take_chunk(const GpusortdChunkFree &freed, std::string *fault)
{
	Asked told = {};

	if (job == nullptr || freed.chunk >= lent.chunks || !answer_to(GPUSORTD_SUBMIT, freed.chunk, &told))
		return say(fault, "CHUNK_FREE of chunk " + std::to_string(freed.chunk) + ", which was not the next");
	if (freed.refused == 0)
	{
		job->rows += told.rows;
		job->sum += told.sum;
	}
	return true;
}

bool
Peer::take_sorted(const GpusortdSorted &sorted, std::string *fault)
{
	sorted_rows = sorted.rows;
	seen = seen_sum = 0;
	return job == nullptr || job->spoiled || sorted.rows == job->rows ||
		   say(fault, "SORTED has " + std::to_string(sorted.rows) + " rows of " + std::to_string(job->rows));
}

bool
Peer::take_rows(const GpusortdRows &rows, std::string *fault)
{
	Asked told = {};

	if (job == nullptr || rows.chunk >= lent.chunks || !answer_to(GPUSORTD_FETCH, rows.chunk, &told))
		return say(fault, "ROWS in chunk " + std::to_string(rows.chunk) + ", which was not the next");
	if (memory == nullptr || job->spoiled || is_given(rows.chunk))
		return true;
	return check_window(rows, fault);
}

/* The rows of a window in order; and of a pass from the first row to the last all of them, each one once. */
bool
Peer::check_window(const GpusortdRows &rows, std::string *fault)
{
	const uint8_t *base = memory + rows.chunk * lent.chunk_bytes;
	bool follows = rows.first == 0 || rows.first == seen;

	if (rows.bytes != rows.rows * ROW_BYTES || rows.bytes > lent.chunk_bytes ||
		rows.first + rows.rows > job->rows)
		return say(fault, "a window of " + std::to_string(rows.rows) + " rows from " +
							  std::to_string(rows.first) + " in " + std::to_string(rows.bytes) + " bytes");
	if (rows.first == 0)
		seen = seen_sum = 0;
	for (uint64_t i = 0; i < rows.rows; i++)
	{
		uint64_t key;

		memcpy(&key, base + i * ROW_BYTES + 8, sizeof(key));
		if ((i > 0 || (follows && seen > 0)) && key < last_key)
			return say(fault, "row " + std::to_string(rows.first + i) + " is out of order");
		last_key = key;
		if (follows)
		{
			seen++;
			seen_sum += mix(key);
		}
	}
	return !follows || seen < job->rows || seen_sum == job->sum ||
		   say(fault, "rows that are not those that were sent");
}
