/*
 * resources.cc
 *		Segments of chunk memory, and idle memory; resources.h says how.
 */
#include <cerrno>
#include <cstring>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/server/files.h"
#include "daemon/server/resources.h"

/* Older C libraries lack it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* ---- chunk memory ---- */

SegmentPool::SegmentPool(DeviceLayer *device_layer, uint64_t size_of_chunk, uint32_t most)
	: chunk_bytes(size_of_chunk), most_chunks(most), layer(device_layer)
{
}

SegmentPool::~SegmentPool()
{
	ending = true;
	if (preparing.joinable())
		preparing.join();
	for (const Segment &segment : free_segments)
		destroy(segment);
}

void
SegmentPool::destroy(Segment segment)
{
	if (segment.base != nullptr)
	{
		if (!segment.retired)
			layer->unregister_memory(segment.base);
		munmap(segment.base, chunk_bytes * segment.chunks);
	}
	if (segment.fd >= 0)
		close(segment.fd);
}

/* A kernel may ask that memory be made unexecutable; one before 6.3 doesn't know how. */
static int
make_memory_file()
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	std::lock_guard<std::mutex> lock(files_mutex);
	int fd = memfd_create("gpusortd chunks", flags | MFD_NOEXEC_SEAL);

	return fd < 0 && errno == EINVAL ? memfd_create("gpusortd chunks", flags) : fd;
}

/* Allocates all of it at once, so that running out of memory is an error here and no signal later. */
Outcome
SegmentPool::map(Segment *segment)
{
	uint64_t bytes = chunk_bytes * segment->chunks;
	void *address;
	Outcome outcome;

	segment->fd = make_memory_file();
	if (segment->fd < 0 || ftruncate(segment->fd, bytes) != 0 || fallocate(segment->fd, 0, 0, bytes) != 0 ||
		fcntl(segment->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return {GPUSORTD_NO_RESOURCES, std::string("could not make chunk memory: ") + strerror(errno)};
	address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, segment->fd, 0);
	if (address == MAP_FAILED)
		return {GPUSORTD_NO_RESOURCES, std::string("could not map chunk memory: ") + strerror(errno)};
	outcome = layer->register_memory(address, bytes);
	if (outcome.ok())
		segment->base = (uint8_t *) address;
	else
		munmap(address, bytes);
	return outcome;
}

/* A segment whose chunks are counted as made. */
Outcome
SegmentPool::make(uint32_t chunks, Segment *segment)
{
	Segment made;
	Outcome outcome;

	made.chunks = chunks;
	outcome = map(&made);
	if (outcome.ok())
	{
		*segment = made;
		return outcome;
	}
	destroy(made);

	std::lock_guard<std::mutex> lock(mutex);

	made_chunks -= chunks;
	return outcome;
}

/*
 * Under the lock: a free segment of that size.  False: there is none, but its chunks may be made now and are
 * counted; free ones of the other size that were in the way are gone.
 */
bool
SegmentPool::take_free(uint32_t chunks, Segment *segment)
{
	for (auto found = free_segments.rbegin(); found != free_segments.rend(); ++found)
	{
		if (found->chunks == chunks)
		{
			*segment = *found;
			free_segments.erase(std::next(found).base());
			return true;
		}
	}
	while (made_chunks + chunks > most_chunks && !free_segments.empty())
	{
		made_chunks -= free_segments.front().chunks;
		destroy(free_segments.front());
		free_segments.erase(free_segments.begin());
	}
	made_chunks += chunks;
	return false;
}

Outcome
SegmentPool::take(uint32_t chunks, Segment *segment)
{
	{
		std::lock_guard<std::mutex> lock(mutex);

		if (take_free(chunks, segment))
			return {};
	}
	return make(chunks, segment);
}

void
SegmentPool::give_back(Segment segment)
{
	std::lock_guard<std::mutex> lock(mutex);

	if (segment.retired)
		destroy(segment);
	else
		free_segments.push_back(segment);
}

void
SegmentPool::retire(Segment *segment)
{
	layer->unregister_memory(segment->base);
	segment->retired = true;

	std::lock_guard<std::mutex> lock(mutex);

	made_chunks -= segment->chunks;
}

/* False: there is no room for it, or it could not be made; clients will be told why when they ask. */
bool
SegmentPool::prepare_one(uint32_t chunks)
{
	Segment segment;

	{
		std::lock_guard<std::mutex> lock(mutex);

		if (ending || made_chunks + chunks > most_chunks)
			return false;
		made_chunks += chunks;
	}
	if (!make(chunks, &segment).ok())
		return false;
	give_back(segment);
	return true;
}

void
SegmentPool::prepare(const std::vector<uint32_t> &sizes, size_t first)
{
	for (size_t i = 0; i < first; i++)
	{
		if (!prepare_one(sizes[i]))
			return;
	}
	try
	{
		preparing = std::thread([this, sizes, first] {
			for (size_t i = first; i < sizes.size() && prepare_one(sizes[i]); i++)
				;
		});
	}
	catch (const std::system_error &)
	{
		/* Without a thread for that, they are made when they are needed. */
	}
}

/* ---- idle memory ---- */

bool
IdleMemory::take(uint64_t bytes)
{
	uint64_t before = taken;

	while (bytes <= limit - before)
	{
		if (taken.compare_exchange_weak(before, before + bytes))
			return true;
	}
	return false;
}

void
IdleMemory::give_back(uint64_t bytes)
{
	taken -= bytes;
}

bool
IdleShare::take(IdleMemory *from, uint64_t wanted)
{
	if (wanted > bytes)
	{
		if (!from->take(wanted - bytes))
			return false;
		memory = from;
		bytes = wanted;
	}
	return true;
}

void
IdleShare::give_back()
{
	if (memory != nullptr)
		memory->give_back(bytes);
	memory = nullptr;
	bytes = 0;
}
