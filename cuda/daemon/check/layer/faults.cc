/*
 * faults.cc
 *		Every call of the runtime, failed at every place where it can.
 *
 * The k-th call of an operation fails, for k = 1, 2, 3 and so on until the operation has no k-th one.  Each
 * time the layer must say what happened in a code that is right for it, or sort right all the same; what it
 * has said of a chunk must be true; the next job must be right, and all must be given back in the end.
 */
#include "daemon/check/layer/check.h"
#include "daemon/fake/fake_cuda.h"

/* More calls in one operation than this are taken for an endless loop. */
#define MOST_CALLS 20000

struct Fault
{
	const char *name;
	cudaError_t error;
	bool lasts;
};

static const Fault memory_is_full = {"out of memory", cudaErrorMemoryAllocation, false};
static const Fault call_fails = {"a failure", cudaErrorLaunchFailure, false};
static const Fault device_is_lost = {"a lost device", cudaErrorLaunchFailure, true};

/* A code that the fault may have. */
static bool
code_is_right(const Fault &fault, GpusortdCode code)
{
	if (fault.error == cudaErrorMemoryAllocation)
		return code == GPUSORTD_MEMORY_FULL || code == GPUSORTD_NO_RESOURCES;
	return code == GPUSORTD_DEVICE_LOST;
}

/* Does the operation fail as it may, or not at all?  The fault is over then. */
static bool
failed_well(const Fault &fault, const Outcome &outcome, const std::string &why, bool *struck)
{
	*struck = fake_fault_struck();
	fake_fault_arm(0, cudaSuccess, false);
	(void) cudaGetLastError();
	if (outcome.ok() ? why.empty() : *struck && code_is_right(fault, outcome.code))
		return true;
	note("code %d, %s %s", (int) outcome.code, outcome.message.c_str(), why.c_str());
	return false;
}

/* ---- a job ---- */

/* By one thread, or by several; with few estimates, so that it has to ask for more and more. */
static void
check_job(const JobShape &shape, const Fault &fault, int threads, bool coded = false)
{
	JobRows rows = {shape, 2000, 300, false, coded};
	std::unique_ptr<DeviceLayer> layer = open_layer();
	bool struck = true;
	bool right = layer != nullptr;
	uint64_t call = 0;

	while (right && struck && call < MOST_CALLS)
	{
		Promise promise(0, FAKE_DEVICE_MEMORY);
		std::string why;
		Outcome outcome;

		fake_fault_arm(++call, fault.error, fault.lasts);
		outcome = threads > 1 ? run_job_in_threads(layer.get(), rows, threads, &promise, &why)
							  : run_job(layer.get(), rows, {}, &promise, &why);
		right = failed_well(fault, outcome, why, &struck) && still_sorts(layer.get(), shape);
	}
	layer.reset();
	check(right && !struck && nothing_is_held(), "%s%s, %d threads: %s at each of the first %llu calls",
		  describe(shape).c_str(), coded ? " with codes" : "", threads, fault.name,
		  (unsigned long long) call);
}

/* ---- beginning, where no other job has left anything to begin with ---- */

static void
check_begin(const Fault &fault)
{
	const JobShape shape = {8, GPUSORTD_AUTO, CHUNK_BYTES};
	Promise promise(FAKE_DEVICE_MEMORY, FAKE_DEVICE_MEMORY);
	bool struck = true;
	bool right = true;
	uint64_t call = 0;

	while (right && struck && call < MOST_CALLS)
	{
		std::unique_ptr<DeviceLayer> layer = open_layer();
		std::unique_ptr<DeviceJob> other;
		std::unique_ptr<DeviceJob> job;
		Outcome outcome;

		if (layer == nullptr || !layer->begin(0, shape, {}, &promise, &other).ok())
			break;
		fake_fault_arm(++call, fault.error, fault.lasts);
		outcome = layer->begin(0, shape, {}, &promise, &job);
		right = failed_well(fault, outcome, "", &struck) && still_sorts(layer.get(), shape);
	}
	check(right && !struck && nothing_is_held(), "begin: %s at each of the first %llu calls", fault.name,
		  (unsigned long long) call);
}

/* ---- the layer ---- */

/* Opens it, and makes memory known and forgotten.  A device about which nothing can be learnt is left out. */
static Outcome
use_layer(DeviceLayer *layer)
{
	std::vector<uint64_t> memory(CHUNK_BYTES / sizeof(uint64_t));
	std::vector<DeviceDescription> devices;
	Outcome outcome = layer->open({}, CHUNK_BYTES, &devices);

	if (outcome.ok() && devices.size() < FAKE_DEVICES)
		return {GPUSORTD_DEVICE_LOST, "a device is left out"};
	if (!outcome.ok())
		return outcome;
	outcome = layer->register_memory(memory.data(), CHUNK_BYTES);
	if (outcome.ok())
		layer->unregister_memory(memory.data());
	(void) layer->keep_memory(0, FAKE_DEVICE_MEMORY);
	layer->tidy();
	return outcome;
}

static void
check_open(const Fault &fault)
{
	bool struck = true;
	bool right = true;
	uint64_t call = 0;

	while (right && struck && call < MOST_CALLS)
	{
		std::unique_ptr<DeviceLayer> layer = device_layer_cuda();
		Outcome outcome;

		fake_fault_arm(++call, fault.error, fault.lasts);
		outcome = use_layer(layer.get());
		struck = fake_fault_struck();
		fake_fault_arm(0, cudaSuccess, false);
		(void) cudaGetLastError();
		right = outcome.ok() ? still_sorts(layer.get(), {8, GPUSORTD_AUTO, CHUNK_BYTES})
							 : struck && !outcome.message.empty();
		layer.reset();
		right = right && nothing_is_held();
	}
	check(right && !struck, "opening: %s at each of the first %llu calls", fault.name,
		  (unsigned long long) call);
}

void
check_faults()
{
	for (const Fault &fault : {memory_is_full, call_fails, device_is_lost})
	{
		check_open(fault);
		check_begin(fault);
		for (const JobShape &shape : all_shapes())
			check_job(shape, fault, 1);
		check_job({8, GPUSORTD_AUTO, CHUNK_BYTES}, fault, 3);
		check_job({8, GPUSORTD_AUTO, CHUNK_BYTES}, fault, 1, true);
		check_job({24, GPUSORTD_AUTO, CHUNK_BYTES}, fault, 3, true);
		check_job({0, GPUSORTD_AUTO, CHUNK_BYTES}, fault, 3);
	}
}
