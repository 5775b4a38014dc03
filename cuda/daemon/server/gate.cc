/*
 * gate.cc
 *		Promises of device memory and of chunk memory, and the queue for them; gate.h says how.
 */
#include <algorithm>
#include <chrono>
#include <iterator>

#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/server/files.h"
#include "daemon/server/gate.h"

/* Before it has sent a row, nobody is promised more than this part of a device. */
#define FIRST_SHARE 4

/* A raise waits no longer than that for others to make room. */
#define ROOM_MILLISECONDS 1000

/* Less than this part of a device, or of chunk memory, is left: those who have rested for long leave. */
#define SHORT_SHARE 2

Gate::Gate(std::vector<GateDevice> all_devices, uint32_t chunks)
	: devices(std::move(all_devices)), all_chunks(chunks), free_chunks(chunks)
{
}

static uint64_t
bytes_left(const GateDevice &device)
{
	return device.limit - device.promised;
}

/* The devices, the one with the most left first. */
std::vector<GateDevice *>
Gate::by_room()
{
	std::vector<GateDevice *> order;

	for (GateDevice &device : devices)
		order.push_back(&device);
	std::stable_sort(order.begin(), order.end(), [](const GateDevice *a, const GateDevice *b) {
		return bytes_left(*a) > bytes_left(*b);
	});
	return order;
}

/* ---- the queue ---- */

/*
 * Whenever something has changed: admits from the queue's head as long as there is something for it; then
 * sees to it that there will be, or refuses it.
 */
void
Gate::settle()
{
	while (!queue.empty())
	{
		Admission *next = queue.front();

		if (admit(next))
			continue;
		if (hope_for_chunks(next->chunks) && hope_for_memory(next->share))
			break;
		refuse(next);
	}
	room.notify_all();
}

bool
Gate::admit(Admission *next)
{
	GateDevice *device = by_room().front();

	if (free_chunks < next->chunks || bytes_left(*device) < next->share)
		return false;
	device->promised += next->share;
	device->jobs++;
	free_chunks -= next->chunks;
	next->place = device;
	next->on_device = true;
	next->stand = Admission::Stand::admitted;
	queue.pop_front();
	admitted.push_back(next);
	next->signal();
	return true;
}

void
Gate::refuse(Admission *next)
{
	next->stand = Admission::Stand::refused;
	queue.pop_front();
	next->signal();
}

/* ---- asking those that rest ---- */

/* Who rests on the device and could give back as much, and no more than need be; else who has most. */
Admission *
Gate::best_spare(const GateDevice *device, uint64_t bytes)
{
	Admission *best = nullptr;

	for (Admission *one : admitted)
	{
		uint64_t spare = one->spare.bytes;

		if (!one->resting || one->place != device || spare == 0)
			continue;
		if (best == nullptr || (best->spare.bytes < bytes ? spare > best->spare.bytes
														  : spare >= bytes && spare < best->spare.bytes))
			best = one;
	}
	return best;
}

/* Asks for what is missing of so many bytes; false: those that rest don't have as much, and none is asked. */
bool
Gate::ask_for_memory(GateDevice *device, uint64_t bytes)
{
	uint64_t coming = bytes_left(*device);
	uint64_t spare = 0;

	for (const Admission *one : admitted)
	{
		coming += one->place == device ? one->asked.bytes : 0;
		spare += one->place == device && one->resting ? one->spare.bytes : 0;
	}
	if (coming + spare < bytes)
		return false;
	while (coming < bytes)
	{
		Admission *one = best_spare(device, bytes - coming);

		coming += one->spare.bytes;
		one->asked.bytes += one->spare.bytes;
		one->spare.bytes = 0;
		one->signal();
	}
	return true;
}

/* Will there be so many bytes on some device: left, of those that rest, or of those that work? */
bool
Gate::hope_for_memory(uint64_t bytes)
{
	std::vector<GateDevice *> order = by_room();

	for (GateDevice *device : order)
	{
		if (ask_for_memory(device, bytes))
			return true;
	}
	for (const GateDevice *device : order)
	{
		uint64_t possible = bytes_left(*device);

		for (const Admission *one : admitted)
		{
			if (one->place == device)
				possible += one->resting ? one->spare.bytes + one->asked.bytes : one->share;
		}
		if (possible >= bytes)
			return true;
	}
	return false;
}

/* The same of chunks.  What joiners have counts as what is worked with. */
bool
Gate::hope_for_chunks(uint32_t chunks)
{
	uint32_t coming = free_chunks;
	uint32_t kept = 0;

	for (const Admission *one : admitted)
	{
		coming += one->asked.chunks;
		kept += one->resting ? one->chunks - one->asked.chunks : 0;
	}
	for (Admission *one : admitted)
	{
		if (coming >= chunks)
			return true;
		if (!one->resting || one->spare.chunks == 0)
			continue;
		coming += one->spare.chunks;
		kept -= one->spare.chunks;
		one->asked.chunks += one->spare.chunks;
		one->spare.chunks = 0;
		one->signal();
	}
	return coming >= chunks || all_chunks - kept >= chunks;
}

/* ---- joiners' chunks ---- */

bool
Gate::take_chunks(uint32_t chunks)
{
	std::lock_guard<std::mutex> lock(mutex);

	if (free_chunks < chunks || (!queue.empty() && free_chunks < queue.front()->chunks + chunks))
		return false;
	free_chunks -= chunks;
	return true;
}

void
Gate::release_chunks(uint32_t chunks)
{
	std::lock_guard<std::mutex> lock(mutex);

	free_chunks += chunks;
	settle();
}

std::vector<GateDevice>
Gate::describe()
{
	std::lock_guard<std::mutex> lock(mutex);

	return devices;
}

/* ---- a job's place ---- */

static int
open_event()
{
	std::lock_guard<std::mutex> lock(files_mutex);

	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* A job that expects more than it may have at first is promised more when its rows come. */
std::unique_ptr<Admission>
Gate::enter(uint64_t bytes, uint64_t least, uint64_t most, uint32_t chunks)
{
	int event = open_event();
	uint64_t largest = 0;

	if (event < 0)
		return nullptr;
	for (const GateDevice &device : devices)
		largest = std::max(largest, device.limit);
	bytes = std::min({bytes, std::max(largest / FIRST_SHARE, least), largest});
	if (most > 0)
		bytes = std::min(bytes, most);

	std::unique_ptr<Admission> admission(new Admission(this, event, bytes, chunks));
	std::lock_guard<std::mutex> lock(mutex);

	admission->most = most;
	queue.push_back(admission.get());
	settle();
	return admission;
}

Admission::~Admission()
{
	{
		std::lock_guard<std::mutex> lock(gate->mutex);

		if (on_device)
		{
			place->promised -= share;
			place->jobs--;
		}
		if (stand == Stand::admitted)
		{
			gate->free_chunks += chunks;
			gate->admitted.remove(this);
		}
		else
			gate->queue.remove(this);
		gate->settle();
	}
	close(event);
}

/* Under the lock. */
void
Admission::signal()
{
	uint64_t one = 1;

	(void) !write(event, &one, sizeof(one));
}

bool
Admission::waits() const
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	return stand == Stand::waiting;
}

bool
Admission::refused() const
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	return stand == Stand::refused;
}

uint32_t
Admission::device() const
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	return place - gate->devices.data();
}

int
Admission::device_number() const
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	return place->description.number;
}

uint32_t
Admission::chunks_lent() const
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	return chunks;
}

uint64_t
Admission::bytes() const
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	return share;
}

uint64_t
Admission::before() const
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	return std::distance(gate->queue.begin(), std::find(gate->queue.begin(), gate->queue.end(), this));
}

/* ---- raising and lowering ---- */

bool
Admission::raise(uint64_t bytes)
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	raise_refused = 0;
	if (bytes <= share)
		return true;
	if (most > 0 && bytes > most)
		return false;
	if (bytes - share > bytes_left(*place))
	{
		raise_refused = bytes;
		return false;
	}
	place->promised += bytes - share;
	share = bytes;
	return true;
}

void
Admission::lower(uint64_t bytes)
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	if (bytes >= share)
		return;
	place->promised -= share - bytes;
	share = bytes;
	gate->settle();
}

void
Admission::limit_to(uint64_t bytes)
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	most = bytes;
}

bool
Admission::make_room()
{
	auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ROOM_MILLISECONDS);
	std::unique_lock<std::mutex> lock(gate->mutex);
	uint64_t more = raise_refused > share ? raise_refused - share : 0;

	raise_refused = 0;
	if (more == 0)
		return false;
	while (bytes_left(*place) < more)
	{
		if (!gate->ask_for_memory(place, more) ||
			gate->room.wait_until(lock, until) == std::cv_status::timeout)
			return false;
	}
	return true;
}

/* ---- resting ---- */

void
Admission::rest(const Holding &could_give_back)
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	resting = true;
	spare.bytes = could_give_back.bytes - std::min(could_give_back.bytes, asked.bytes);
	spare.chunks = could_give_back.chunks - std::min(could_give_back.chunks, asked.chunks);
	gate->settle();
}

Holding
Admission::wanted(bool long_enough)
{
	std::lock_guard<std::mutex> lock(gate->mutex);
	Holding all = asked;
	uint64_t events;

	(void) !read(event, &events, sizeof(events));
	if (long_enough && on_device && bytes_left(*place) < place->limit / SHORT_SHARE)
		all.bytes += spare.bytes;
	if (long_enough && gate->free_chunks < gate->all_chunks / SHORT_SHARE)
		all.chunks += spare.chunks;
	return all;
}

void
Admission::wake()
{
	std::lock_guard<std::mutex> lock(gate->mutex);
	uint64_t events;

	(void) !read(event, &events, sizeof(events));
	resting = false;
	spare = {};
	asked = {};
	gate->settle();
}

void
Admission::leave_device()
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	if (!on_device)
		return;
	place->promised -= share;
	place->jobs--;
	on_device = false;
	share = 0;
	spare.bytes = asked.bytes = 0;
	gate->settle();
}

void
Admission::leave_chunks()
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	gate->free_chunks += chunks;
	chunks = 0;
	spare.chunks = asked.chunks = 0;
	gate->settle();
}
