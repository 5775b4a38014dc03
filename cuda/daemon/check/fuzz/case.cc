/*
 * case.cc
 *		A case of the protocol's fuzzer: a gpusortd of its own, and up to three clients.
 *
 * The first bytes say what gpusortd has: devices in host memory as they are, or by way of the CUDA layer over
 * a CUDA runtime in host memory; how much memory of them.  Then comes what clients do, one step after the
 * other: messages that are right, or nearly, or not at all; chunks with good rows, or spoiled ones; time that
 * passes; calls of the CUDA runtime that fail.  Sessions are those of the program, without its listener: each
 * has a thread and one end of a pair of sockets.  Between two steps all of them run until they wait
 * (lockstep.h).
 *
 * Whatever the clients do, gpusortd's answers are those of the protocol (peer.h).  When they have closed
 * their ends all sessions end, nothing is promised or lent any more, and the layer holds nothing.
 */
#include <array>
#include <memory>

#include <sys/socket.h>
#include <unistd.h>

#include "daemon/check/fuzz/case.h"
#include "daemon/check/fuzz/kept_layer.h"
#include "daemon/check/fuzz/lockstep.h"
#include "daemon/check/fuzz/peer.h"
#include "daemon/fake/fake_cuda.h"
#include "daemon/server/service.h"

#define PEERS 3
#define MOST_STEPS 200
#define CHUNKS 4

/* Slabs for one large job and one small one, and no thread that makes more. */
#define STAGING_CHUNKS (CHUNKS + CHUNKS / 2 + 1)
#define CHUNK_BYTES UINT64_C(4096)

/* What a step does, by its lowest four bits: sends one of these messages, or something else. */
static const GpusortdType messages[] = {GPUSORTD_RANKS,	 GPUSORTD_HELLO,   GPUSORTD_BEGIN, GPUSORTD_JOIN,
										GPUSORTD_SUBMIT, GPUSORTD_PERFORM, GPUSORTD_FETCH, GPUSORTD_END};

#define MESSAGES (sizeof(messages) / sizeof(messages[0]))

enum Step
{
	SUBMIT_AS_IT_IS = MESSAGES,
	SPOILED_MESSAGE,
	BYTES,
	SCRIBBLE,
	TIME,
	CLOSE,
	FAULT,
	SHORT_TIME
};

/* Several messages come before the sessions run. */
#define AT_ONCE 0x10

/* The layer, by the first byte: opening one of CUDA's takes a while, so most cases use the last one's. */
enum class Layer
{
	host,
	kept,
	fresh
};

static Layer
layer_of(uint8_t form)
{
	return form & 0x80 ? Layer::host : (form & 0x70) == 0x70 ? Layer::fresh : Layer::kept;
}

static std::unique_ptr<DeviceLayer>
open_layer(Layer layer)
{
	std::string why_not;

	return layer == Layer::host	   ? device_layer_host("", &why_not)
		   : layer == Layer::fresh ? device_layer_cuda()
								   : kept_layer(CHUNK_BYTES);
}

static Settings
read_settings(Input *input, Layer *layer)
{
	static const uint64_t idle_memory[] = {0, UINT64_C(16) << 10, UINT64_C(1) << 20, UINT64_C(1) << 30};
	uint8_t form = input->byte();
	Settings settings;

	*layer = layer_of(form);
	settings.host_memory = *layer == Layer::host;
	settings.chunk_bytes = CHUNK_BYTES;
	settings.chunks = CHUNKS;
	settings.staging_memory = STAGING_CHUNKS * CHUNK_BYTES;
	settings.idle_memory = idle_memory[form & 0x03];
	settings.count_devices = form & 0x04 ? 2 : 1;
	settings.device_memory = form & 0x08 ? (uint64_t) (input->byte() + 1) << 20 : 0;
	return settings;
}

/* gpusortd, and who is connected with it. */
struct Case
{
	explicit Case(const Settings &settings, std::unique_ptr<DeviceLayer> layer)
		: service(settings, std::move(layer))
	{
	}

	bool connect(int number);
	bool step(Input *input);
	bool read_all_answers();
	bool end();
	bool say(const std::string &what);

	Service service;
	std::array<std::unique_ptr<Peer>, PEERS> peers;
	std::string fault;
	Lockstep sessions; /* goes first: its threads use the service */
};

bool
Case::say(const std::string &what)
{
	fault = what;
	return false;
}

bool
Case::connect(int number)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return say("no sockets");
	peers[number] = std::make_unique<Peer>(ends[0], CHUNKS);
	sessions.start([this, fd = ends[1]] {
		session_run(&service, fd);
		close(fd);
	});
	return true;
}

bool
Case::read_all_answers()
{
	for (auto &peer : peers)
	{
		if (!peer->read_answers(&fault))
			return false;
	}
	return true;
}

/* False: something is wrong. */
bool
Case::step(Input *input)
{
	uint8_t form = input->byte();
	int number = (form >> 5) % PEERS;
	Peer *peer = peers[number].get();
	Peer *other = peers[(number + PEERS - 1) % PEERS].get();
	int kind = form & 0x0F;
	bool settled = true;

	if (kind < (int) MESSAGES)
		peer->send(messages[kind], input, *other, true);
	else if (kind == SUBMIT_AS_IT_IS)
		peer->send(GPUSORTD_SUBMIT, input, *other, false);
	else if (kind == SPOILED_MESSAGE)
		peer->send_spoiled(messages[(1 + input->byte()) % MESSAGES], input, *other);
	else if (kind == BYTES)
		peer->send_bytes(input);
	else if (kind == SCRIBBLE)
		peer->scribble(input);
	else if (kind == TIME || kind == SHORT_TIME)
		settled = sessions.pass_time(std::chrono::milliseconds(input->byte() * (kind == TIME ? 16 : 1)));
	else if (kind == CLOSE)
	{
		peers[number]->end_sending();
		settled = sessions.settle() && read_all_answers() && connect(number);
	}
	else if (kind == FAULT)
	{
		uint8_t fault_form = input->byte();

		/* No memory, a failure, or a lost device, which does nothing any more. */
		fake_fault_arm(1 + fault_form % 64,
					   fault_form & 0x40 ? cudaErrorMemoryAllocation : cudaErrorLaunchFailure,
					   (fault_form & 0xC0) == 0x80);
	}
	if (!fault.empty())
		return false;
	if (settled && (form & AT_ONCE))
		return true;
	if (!settled || !sessions.settle())
		return say("sessions run without an end");
	return read_all_answers();
}

/* All clients leave; what they had is given back. */
bool
Case::end()
{
	for (auto &peer : peers)
		peer->end_sending();
	if (!sessions.settle())
		return say("sessions run without an end");
	/* Who waits for room waits a second at most. */
	if (!sessions.pass_time(std::chrono::seconds(10)) || !sessions.all_ended())
		return say("a session does not end when its client has");
	for (const GateDevice &device : service.gate->describe())
	{
		if (device.promised != 0 || device.jobs != 0)
			return say("memory of a device is still promised");
	}
	if (service.idle_memory.bytes() != 0)
		return say("idle memory is still taken");
	if (!service.gate->take_chunks(STAGING_CHUNKS))
		return say("chunks are still lent");
	return true;
}

static std::string
run_with(const Settings &settings, std::unique_ptr<DeviceLayer> layer, Input *input)
{
	Case one(settings, std::move(layer));
	bool sound = true;

	if (!one.service.open().ok())
		return "";
	for (int i = 0; i < PEERS && sound; i++)
		sound = one.connect(i);
	for (int steps = 0; sound && steps < MOST_STEPS && input->at < input->end; steps++)
		sound = one.step(input);
	if (sound)
		sound = one.end();
	/* Its threads are to end, whatever is wrong. */
	for (auto &peer : one.peers)
		peer->end_sending();
	(void) one.sessions.pass_time(std::chrono::seconds(10));
	return one.fault;
}

/* What is left when gpusortd has ended: of a layer that is kept its buffers, but no memory of clients. */
static bool
is_given_back(Layer layer, const FakeHoldings &before)
{
	FakeHoldings held = fake_holdings();

	if (layer == Layer::kept)
		return kept_layer_blocks() == 0;
	return held.streams == before.streams && held.events == before.events && held.pinned == before.pinned &&
		   held.ranges == before.ranges && held.bytes == before.bytes;
}

std::string
run_case(const uint8_t *bytes, size_t size)
{
	Input input = {bytes, bytes + size};
	Layer layer;
	Settings settings = read_settings(&input, &layer);
	FakeHoldings before;
	std::string fault;

	fake_fault_arm(0, cudaSuccess, false);
	if (layer == Layer::fresh)
		kept_layer_drop();
	std::unique_ptr<DeviceLayer> opened = open_layer(layer);

	before = fake_holdings();
	lockstep_begin_case();
	fault = run_with(settings, std::move(opened), &input);
	if (fault.empty() && !is_given_back(layer, before))
		fault = "the layer still holds something";
	/* A lost device is lost until nobody has it any more. */
	if (fake_fault_struck())
		kept_layer_drop();
	fake_fault_arm(0, cudaSuccess, false);
	return fault;
}
