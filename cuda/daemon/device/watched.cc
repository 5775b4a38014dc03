/*
 * watched.cc
 *		A layer whose calls are watched: one that a device never returns from is noticed.
 *
 * A thread looks at the calls under way every second, and counts for each how often it has seen it.  So the
 * seconds are those in which this process runs, and being stopped makes no call late.
 */
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "daemon/device/layer.h"

/* ---- the watch ---- */

class Watch
{
public:
	Watch(unsigned int seconds_allowed, const std::function<void()> &what_to_do)
		: seconds(seconds_allowed), when_late(what_to_do), watcher([this] { watch(); })
	{
	}

	~Watch()
	{
		{
			std::lock_guard<std::mutex> lock(mutex);

			ended = true;
		}
		ending.notify_all();
		watcher.join();
	}

	/*
	 * A call under way, as long as this lives.  It is a link of the list of calls itself, so that noting it
	 * takes no memory: what gives memory back is watched, too.
	 */
	class Call
	{
	public:
		explicit Call(Watch *its_watch) : watch(its_watch)
		{
			std::lock_guard<std::mutex> lock(watch->mutex);

			next = watch->calls;
			if (next != nullptr)
				next->link = &next;
			link = &watch->calls;
			watch->calls = this;
		}

		~Call()
		{
			std::lock_guard<std::mutex> lock(watch->mutex);

			*link = next;
			if (next != nullptr)
				next->link = link;
		}

		Call(const Call &) = delete;
		Call &operator=(const Call &) = delete;

	private:
		friend class Watch;

		Watch *watch;
		Call *next;
		Call **link; /* what points to this one */
		unsigned int seen = 0;
	};

private:
	void watch();

	const unsigned int seconds;
	const std::function<void()> when_late;
	std::mutex mutex;
	std::condition_variable ending;
	bool ended = false;
	Call *calls = nullptr; /* under way */
	std::thread watcher;
};

void
Watch::watch()
{
	std::unique_lock<std::mutex> lock(mutex);

	while (!ending.wait_for(lock, std::chrono::seconds(1), [this] { return ended; }))
	{
		for (Call *call = calls; call != nullptr; call = call->next)
		{
			if (++call->seen > seconds)
				when_late();
		}
	}
}

/* ---- the layer ---- */

class WatchedJob : public DeviceJob
{
public:
	WatchedJob(Watch *its_watch, std::unique_ptr<DeviceJob> watched)
		: watch(its_watch), job(std::move(watched))
	{
	}

	~WatchedJob() override
	{
		Watch::Call call(watch);

		job.reset();
	}

	Outcome submit(const FilledChunk &chunk) override
	{
		Watch::Call call(watch);

		return job->submit(chunk);
	}

	uint64_t least() override
	{
		return job->least();
	}

	void trim() override
	{
		Watch::Call call(watch);

		job->trim();
	}

	Outcome take_ranks(const RankPiece &piece) override
	{
		Watch::Call call(watch);

		return job->take_ranks(piece);
	}

	Outcome perform(GpusortdSorted *sorted) override
	{
		Watch::Call call(watch);

		return job->perform(sorted);
	}

	Outcome start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window) override
	{
		Watch::Call call(watch);

		return job->start_fetch(position, backward, target, window);
	}

	Outcome finish_fetch(uint64_t ticket) override
	{
		Watch::Call call(watch);

		return job->finish_fetch(ticket);
	}

private:
	Watch *watch;
	std::unique_ptr<DeviceJob> job;
};

/* What only computes is not watched; nor is open, in which a driver may have to compile for a new card. */
class WatchedLayer : public DeviceLayer
{
public:
	WatchedLayer(std::unique_ptr<DeviceLayer> watched, unsigned int seconds,
				 const std::function<void()> &when_late)
		: watch(seconds, when_late), layer(std::move(watched))
	{
	}

	const char *name() const override
	{
		return layer->name();
	}

	Outcome open(const std::vector<int> &wanted, uint64_t chunk_bytes,
				 std::vector<DeviceDescription> *devices) override
	{
		return layer->open(wanted, chunk_bytes, devices);
	}

	uint64_t keep_memory(int device, uint64_t limit) override
	{
		Watch::Call call(&watch);

		return layer->keep_memory(device, limit);
	}

	void tidy() override
	{
		Watch::Call call(&watch);

		layer->tidy();
	}

	Outcome register_memory(void *memory, size_t bytes) override
	{
		Watch::Call call(&watch);

		return layer->register_memory(memory, bytes);
	}

	void unregister_memory(void *memory) override
	{
		Watch::Call call(&watch);

		layer->unregister_memory(memory);
	}

	uint64_t memory_needed(const JobShape &shape, const JobSize &size) override
	{
		return layer->memory_needed(shape, size);
	}

	Outcome begin(int device, const JobShape &shape, const JobSize &expected, MemoryPromise *promise,
				  std::unique_ptr<DeviceJob> *job) override
	{
		Watch::Call call(&watch);
		std::unique_ptr<DeviceJob> begun;
		Outcome outcome = layer->begin(device, shape, expected, promise, &begun);

		if (outcome.ok())
			*job = std::make_unique<WatchedJob>(&watch, std::move(begun));
		return outcome;
	}

private:
	Watch watch;
	std::unique_ptr<DeviceLayer> layer;
};

std::unique_ptr<DeviceLayer>
device_layer_watched(std::unique_ptr<DeviceLayer> layer, unsigned int seconds,
					 const std::function<void()> &when_late)
{
	return std::make_unique<WatchedLayer>(std::move(layer), seconds, when_late);
}
