/*
 * arena.cu
 *		Arenas: making them, and passing them on from job to job.
 */
#include "daemon/device/cuda/arena.h"

/*
 * An arena that is larger than this is not worth keeping: its job took much longer than getting memory takes.
 */
#define KEPT_ARENA_BYTES (UINT64_C(256) << 20)
#define KEPT_ARENAS 32

DevSortStatus
stream_wait(cudaStream_t stream, cudaEvent_t done, bool quickly)
{
	if (quickly)
	{
		CHECK_CUDA(cudaStreamSynchronize(stream), "waiting for the device");
		return status_ok();
	}
	CHECK_CUDA(cudaEventRecord(done, stream), "waiting for the device");
	CHECK_CUDA(cudaEventSynchronize(done), "waiting for the device");
	return status_ok();
}

/* ---- an arena ---- */

static DevSortStatus
open_stream(cudaStream_t *stream, cudaEvent_t *done)
{
	CHECK_CUDA(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "making a stream");
	CHECK_CUDA(cudaEventCreateWithFlags(done, cudaEventBlockingSync | cudaEventDisableTiming),
			   "making an event");
	return status_ok();
}

DevSortStatus
Arena::open()
{
	CHECK_CUDA(cudaSetDevice(device), "choosing the device");
	RETURN_IF_FAILED(open_stream(&stream, &done));
	CHECK_CUDA_MEMORY(cudaHostAlloc((void **) &answers, sizeof(LaneAnswer) * LANES,
									cudaHostAllocPortable | cudaHostAllocMapped),
					  "allocating pinned memory");
	for (int i = 0; i < LANES; i++)
	{
		lanes[i].answer = &answers[i];
		RETURN_IF_FAILED(open_stream(&lanes[i].stream, &lanes[i].done));
	}
	return status_ok();
}

static void
close_stream(cudaStream_t stream, cudaEvent_t done)
{
	if (stream != NULL)
		(void) cudaStreamDestroy(stream);
	if (done != NULL)
		(void) cudaEventDestroy(done);
}

/* The buffers follow by themselves. */
Arena::~Arena()
{
	(void) cudaSetDevice(device);
	close_stream(stream, done);
	for (const Lane &lane : lanes)
		close_stream(lane.stream, lane.done);
	if (answers != NULL)
		(void) cudaFreeHost(answers);
	/* None of this is the next launch's to report. */
	(void) cudaGetLastError();
}

void
Arena::release_buffers()
{
	(void) cudaSetDevice(device);
	for (DeviceMemory *memory :
		 {&keys, &key_offsets, &rows, &row_offsets, &order, &sorted_keys, &places, &workspace})
		memory->release();
	for (Lane &lane : lanes)
	{
		lane.chunk.release();
		lane.plan.release();
	}
}

/* ---- the pool ---- */

void
ArenaPool::limit_kept(uint64_t bytes)
{
	bool too_much;

	{
		std::lock_guard<std::mutex> lock(mutex);

		limit = bytes;
		too_much = kept > limit;
	}
	if (too_much)
		release_idle(std::chrono::seconds(0));
}

DevSortStatus
ArenaPool::take(std::unique_ptr<Arena> *arena)
{
	{
		std::lock_guard<std::mutex> lock(mutex);

		if (!idle.empty())
		{
			*arena = std::move(idle.front());
			idle.pop_front();
			return status_ok();
		}
	}

	auto made = std::make_unique<Arena>(device);

	RETURN_IF_FAILED(made->open());
	*arena = std::move(made);
	return status_ok();
}

void
ArenaPool::give_back(std::unique_ptr<Arena> arena, bool broken)
{
	bool keep;

	{
		std::lock_guard<std::mutex> lock(mutex);

		kept -= arena->kept;
		arena->kept = 0;
		keep = !broken && idle.size() < KEPT_ARENAS;
		if (keep && arena->budget.used <= KEPT_ARENA_BYTES && kept + arena->budget.used <= limit)
		{
			arena->kept = arena->budget.used;
			kept += arena->kept;
		}
	}
	/* Not under the lock: these take a while. */
	if (!keep)
		return;
	if (arena->kept == 0)
		arena->release_buffers();
	arena->left = std::chrono::steady_clock::now();

	std::lock_guard<std::mutex> lock(mutex);

	idle.insert(arena->kept > 0 ? idle.begin() : idle.end(), std::move(arena));
}

void
ArenaPool::release_idle(std::chrono::seconds idle_for)
{
	std::list<std::unique_ptr<Arena>> old;

	{
		std::lock_guard<std::mutex> lock(mutex);
		auto until = std::chrono::steady_clock::now() - idle_for;

		for (auto next = idle.begin(); next != idle.end();)
		{
			auto arena = next++;

			if ((*arena)->left <= until && (*arena)->kept > 0)
				old.splice(old.begin(), idle, arena);
		}
	}
	for (std::unique_ptr<Arena> &arena : old)
	{
		arena->release_buffers();
		give_back(std::move(arena), false);
	}
}
