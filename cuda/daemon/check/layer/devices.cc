/*
 * devices.cc
 *		Which device is worked on: none but those that were asked for has a context.
 *
 * A thread begins with device 0 as its own.
 */
#include <thread>

#include "daemon/check/layer/check.h"
#include "daemon/fake/fake_cuda.h"

void
check_devices()
{
	std::unique_ptr<DeviceLayer> layer = device_layer_cuda();
	std::vector<DeviceDescription> devices;
	std::vector<uint64_t> memory(CHUNK_BYTES / sizeof(uint64_t));
	Outcome outcome = layer->open({1}, CHUNK_BYTES, &devices);
	Outcome registered;

	check(outcome.ok() && devices.size() == 1 && devices[0].number == 1 && !fake_has_context(0),
		  "opening one device makes no context on another: %s", outcome.message.c_str());
	std::thread([&] { registered = layer->register_memory(memory.data(), CHUNK_BYTES); }).join();
	std::thread([&] { layer->unregister_memory(memory.data()); }).join();
	check(registered.ok() && !fake_has_context(0), "nor does pinning memory in another thread");
	layer.reset();
	check(!fake_has_context(0) && nothing_is_held(), "nor ending");
}
