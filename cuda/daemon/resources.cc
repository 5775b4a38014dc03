/*
 * resources.cc
 *		Promises of device memory, and segments of chunk memory; resources.h says how.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "resources.h"

/* ---- chunk memory ---- */

SegmentPool::SegmentPool(DeviceLayer *device_layer, uint64_t size_of_chunk, uint32_t chunks_of_segment)
	: chunk_bytes(size_of_chunk), chunks(chunks_of_segment), layer(device_layer)
{
}

SegmentPool::~SegmentPool()
{
	for (const Segment &segment : free_segments)
	{
		layer->unregister_memory(segment.base);
		destroy(segment);
	}
}

void
SegmentPool::destroy(Segment segment)
{
	if (segment.base != nullptr)
		munmap(segment.base, chunk_bytes * chunks);
	if (segment.fd >= 0)
		close(segment.fd);
}

/* Allocates all of it at once, so that running out of memory is an error here and no signal later. */
Outcome
SegmentPool::make(Segment *segment)
{
	uint64_t	bytes = chunk_bytes * chunks;
	void	   *address;
	Outcome		outcome;

	segment->fd = memfd_create("gpusortd chunks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (segment->fd < 0 || ftruncate(segment->fd, bytes) != 0 || fallocate(segment->fd, 0, 0, bytes) != 0 ||
		fcntl(segment->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return {GPUSORTD_NO_RESOURCES, std::string("could not make chunk memory: ") + strerror(errno)};
	address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, segment->fd, 0);
	if (address == MAP_FAILED)
		return {GPUSORTD_NO_RESOURCES, std::string("could not map chunk memory: ") + strerror(errno)};
	segment->base = (uint8_t *) address;
	return layer->register_memory(address, bytes);
}

Outcome
SegmentPool::take(Segment *segment)
{
	Outcome		outcome;

	{
		std::lock_guard<std::mutex> lock(mutex);

		if (!free_segments.empty())
		{
			*segment = free_segments.back();
			free_segments.pop_back();
			return {};
		}
	}
	outcome = make(segment);
	if (!outcome.ok())
	{
		destroy(*segment);
		*segment = {};
	}
	return outcome;
}

void
SegmentPool::give_back(Segment segment)
{
	std::lock_guard<std::mutex> lock(mutex);

	free_segments.push_back(segment);
}

/* ---- admission ---- */

static uint64_t
bytes_left(const GateDevice &device)
{
	return device.limit - device.promised;
}

GateDevice *
Gate::most_free()
{
	return &*std::max_element(devices.begin(), devices.end(), [](const GateDevice &a, const GateDevice &b)
							  { return bytes_left(a) < bytes_left(b); });
}

/* Under the lock: admits from the queue's head as long as there is something for it. */
void
Gate::admit_waiting()
{
	while (!queue.empty() && free_segments > 0)
	{
		Admission  *next = queue.front();
		GateDevice *device = most_free();
		uint64_t	one = 1;

		if (bytes_left(*device) < next->share)
			return;
		device->promised += next->share;
		device->jobs++;
		free_segments--;
		next->place = device;
		queue.pop_front();
		(void) !write(next->event, &one, sizeof(one));
	}
}

/* A job that expects more than any device has gets all that one may have, and is told when that is full. */
std::unique_ptr<Admission>
Gate::enter(uint64_t bytes)
{
	int			event = eventfd(0, EFD_CLOEXEC);
	uint64_t	most = 0;

	if (event < 0)
		return nullptr;
	for (const GateDevice &device : devices)
		most = std::max(most, device.limit);

	std::unique_ptr<Admission> admission(new Admission(this, event, std::min(bytes, most)));
	std::lock_guard<std::mutex> lock(mutex);

	queue.push_back(admission.get());
	admit_waiting();
	return admission;
}

Admission::~Admission()
{
	{
		std::lock_guard<std::mutex> lock(gate->mutex);

		if (place != nullptr)
		{
			place->promised -= share;
			place->jobs--;
			gate->free_segments++;
		}
		else
			gate->queue.remove(this);
		gate->admit_waiting();
	}
	close(event);
}

bool
Admission::admitted() const
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	return place != nullptr;
}

int
Admission::device() const
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	return place->description.number;
}

uint64_t
Admission::promised() const
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

bool
Admission::promise(uint64_t bytes)
{
	std::lock_guard<std::mutex> lock(gate->mutex);

	if (bytes <= share)
		return true;
	if (bytes - share > bytes_left(*place))
		return false;
	place->promised += bytes - share;
	share = bytes;
	return true;
}

bool
Gate::take_segment()
{
	std::lock_guard<std::mutex> lock(mutex);

	if (free_segments == 0)
		return false;
	free_segments--;
	return true;
}

void
Gate::release_segment()
{
	std::lock_guard<std::mutex> lock(mutex);

	free_segments++;
	admit_waiting();
}

std::vector<GateDevice>
Gate::describe()
{
	std::lock_guard<std::mutex> lock(mutex);

	return devices;
}
