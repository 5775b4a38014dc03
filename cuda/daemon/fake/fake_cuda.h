/*
 * fake_cuda.h
 *		What tests ask of the CUDA runtime in host memory, and what its parts share.
 *
 * Every call that could fail is counted and is a place for a fault, launches, copies and the driver's
 * functions included.  A call that fails does nothing, unless it gives something back: that is given back all
 * the same, as by CUDA, whose calls also return errors of earlier ones.
 */
#ifndef FAKE_CUDA_CONTROL_H
#define FAKE_CUDA_CONTROL_H

#include <cstdint>
#include <functional>

#include <cuda_runtime_api.h>

#define FAKE_DEVICES 2
#define FAKE_DEVICE_MEMORY (UINT64_C(1) << 30)
#define FAKE_PAGE ((size_t) 2 << 20) /* what its memory is mapped in */

/* ---- for tests ---- */

/*
 * Lets the call-th call from now on fail with this error, 1 being the next; if it lasts, all later ones too.
 * 0: none.
 */
void fake_fault_arm(uint64_t call, cudaError_t error, bool lasts);

/* Has it struck? */
bool fake_fault_struck();

/* What has not been given back. */
struct FakeHoldings
{
	int streams;
	int events;
	int pinned;		/* blocks, those of others that were registered included */
	int ranges;		/* of device addresses */
	uint64_t bytes; /* of device memory */
};

FakeHoldings fake_holdings();

/* Memory of the test's that counts as pinned; false: it did not. */
void fake_pin(void *memory, size_t bytes);
bool fake_unpin(void *memory);

/* Has anything made a context on this device? */
bool fake_has_context(int device);

/* ---- for the parts ---- */

/* To be asked by every call: what it returns instead. */
cudaError_t fake_call();

/* The driver's part: its functions by name, the bytes taken of a device, address ranges. */
void *fake_driver_function(const char *name);
uint64_t fake_driver_bytes(int device);
int fake_driver_ranges();

#endif /* FAKE_CUDA_CONTROL_H */
