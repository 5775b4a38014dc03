/*
 * resources.cc
 *		Slabs of chunk memory, and idle memory; resources.h says how.
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

SlabPool::SlabPool(DeviceLayer *device_layer, uint64_t size_of_chunk, uint32_t most)
	: chunk_bytes(size_of_chunk), most_chunks(most), layer(device_layer)
{
}

SlabPool::~SlabPool()
{
	ending = true;
	if (preparing.joinable())
		preparing.join();
	for (const Slab &slab : free_slabs)
		destroy(slab);
}

void
SlabPool::destroy(Slab slab)
{
	if (slab.base != nullptr)
	{
		if (!slab.retired)
			layer->unregister_memory(slab.base);
		munmap(slab.base, chunk_bytes * slab.chunks);
	}
	if (slab.fd >= 0)
		close(slab.fd);
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
SlabPool::map(Slab *slab)
{
	uint64_t bytes = chunk_bytes * slab->chunks;
	void *address;
	Outcome outcome;

	slab->fd = make_memory_file();
	if (slab->fd < 0 || ftruncate(slab->fd, bytes) != 0 || fallocate(slab->fd, 0, 0, bytes) != 0 ||
		fcntl(slab->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return {GPUSORTD_NO_RESOURCES, std::string("could not make chunk memory: ") + strerror(errno)};
	address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, slab->fd, 0);
	if (address == MAP_FAILED)
		return {GPUSORTD_NO_RESOURCES, std::string("could not map chunk memory: ") + strerror(errno)};
	outcome = layer->register_memory(address, bytes);
	if (outcome.ok())
		slab->base = (uint8_t *) address;
	else
		munmap(address, bytes);
	return outcome;
}

/* A slab whose chunks are counted as made. */
Outcome
SlabPool::make(uint32_t chunks, Slab *slab)
{
	Slab made;
	Outcome outcome;

	made.chunks = chunks;
	outcome = map(&made);
	if (outcome.ok())
	{
		*slab = made;
		return outcome;
	}
	destroy(made);

	std::lock_guard<std::mutex> lock(mutex);

	made_chunks -= chunks;
	return outcome;
}

/*
 * Under the lock: a free slab of that size.  False: there is none, but its chunks may be made now and are
 * counted; free ones of the other size that were in the way are gone.
 */
bool
SlabPool::take_free(uint32_t chunks, Slab *slab)
{
	for (auto found = free_slabs.rbegin(); found != free_slabs.rend(); ++found)
	{
		if (found->chunks == chunks)
		{
			*slab = *found;
			free_slabs.erase(std::next(found).base());
			return true;
		}
	}
	while (made_chunks + chunks > most_chunks && !free_slabs.empty())
	{
		made_chunks -= free_slabs.front().chunks;
		destroy(free_slabs.front());
		free_slabs.erase(free_slabs.begin());
	}
	made_chunks += chunks;
	return false;
}

Outcome
SlabPool::take(uint32_t chunks, Slab *slab)
{
	{
		std::lock_guard<std::mutex> lock(mutex);

		if (take_free(chunks, slab))
			return {};
	}
	return make(chunks, slab);
}

void
SlabPool::give_back(Slab slab)
{
	std::lock_guard<std::mutex> lock(mutex);

	if (slab.retired)
		destroy(slab);
	else
		free_slabs.push_back(slab);
}

void
SlabPool::retire(Slab *slab)
{
	layer->unregister_memory(slab->base);
	slab->retired = true;

	std::lock_guard<std::mutex> lock(mutex);

	made_chunks -= slab->chunks;
}

/* False: there is no room for it, or it could not be made; clients will be told why when they ask. */
bool
SlabPool::prepare_one(uint32_t chunks)
{
	Slab slab;

	{
		std::lock_guard<std::mutex> lock(mutex);

		if (ending || made_chunks + chunks > most_chunks)
			return false;
		made_chunks += chunks;
	}
	if (!make(chunks, &slab).ok())
		return false;
	give_back(slab);
	return true;
}

void
SlabPool::prepare(const std::vector<uint32_t> &sizes, size_t first)
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
