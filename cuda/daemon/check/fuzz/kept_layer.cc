/*
 * kept_layer.cc
 *		A layer that one case after the other uses: all calls go on to it.
 */
#include "daemon/check/fuzz/kept_layer.h"

struct Kept
{
	std::unique_ptr<DeviceLayer> layer;
	std::vector<DeviceDescription> devices;
	int blocks;
};

/* Not destroyed at the end of the process, when the runtime below it may be gone. */
static Kept &kept = *new Kept;

class KeptLayer : public DeviceLayer
{
public:
	const char *name() const override
	{
		return kept.layer->name();
	}

	Outcome open(const std::vector<int> &, uint64_t, std::vector<DeviceDescription> *devices) override
	{
		*devices = kept.devices;
		return {};
	}

	uint64_t keep_memory(int device, uint64_t limit) override
	{
		return kept.layer->keep_memory(device, limit);
	}

	void tidy() override
	{
		kept.layer->tidy();
	}

	Outcome register_memory(void *memory, size_t bytes) override
	{
		Outcome outcome = kept.layer->register_memory(memory, bytes);

		kept.blocks += outcome.ok();
		return outcome;
	}

	void unregister_memory(void *memory) override
	{
		kept.layer->unregister_memory(memory);
		kept.blocks--;
	}

	uint64_t memory_needed(const JobShape &shape, const JobSize &size) override
	{
		return kept.layer->memory_needed(shape, size);
	}

	Outcome begin(int device, const JobShape &shape, const JobSize &expected, MemoryPromise *promise,
				  std::unique_ptr<DeviceJob> *job) override
	{
		return kept.layer->begin(device, shape, expected, promise, job);
	}
};

std::unique_ptr<DeviceLayer>
kept_layer(uint64_t chunk_bytes)
{
	if (kept.layer == nullptr)
	{
		kept = {device_layer_cuda(), {}, 0};
		if (!kept.layer->open({}, chunk_bytes, &kept.devices).ok())
			kept.devices.clear();
	}
	return std::make_unique<KeptLayer>();
}

int
kept_layer_blocks()
{
	return kept.blocks;
}

void
kept_layer_drop()
{
	kept = {};
}
