/*
 * status.h
 *		Making statuses, checking CUDA's, and failing on purpose.
 *
 * With DEVSORT_FAULTS defined, every check of the library first asks whether it is the one that a test chose
 * to fail (devsort_fault_arm).  Without it the question compiles away.
 */
#ifndef DEVSORT_STATUS_H
#define DEVSORT_STATUS_H

#include <cuda_runtime_api.h>

#include "devsort.h"

static inline DevSortStatus
status_ok(void)
{
	DevSortStatus status;

	status.code = DEVSORT_OK;
	status.message[0] = '\0';
	return status;
}

/* A status with a message; format and arguments as for printf. */
DevSortStatus status_make(DevSortCode code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What CUDA's error means for the caller; `doing` completes "... while <doing>". */
DevSortStatus status_from_cuda(cudaError_t error, const char *doing);

#ifdef DEVSORT_FAULTS

/* What a check guards. */
typedef enum DevSortFault
{
	DEVSORT_FAULT_LAUNCH, /* a kernel launch or another operation on a stream */
	DEVSORT_FAULT_MEMORY  /* an allocation */
} DevSortFault;

/* Lets the countdown-th check of that kind from now on fail (0: the next); negative: none. */
#ifdef __cplusplus
extern "C"
#endif
	void
	devsort_fault_arm(DevSortFault fault, int countdown);

/* Does the fault strike here?  Counts down. */
bool fault_strikes(DevSortFault fault);

/* The fault comes instead of the call: what would have been queued or allocated is not. */
#define CHECKED_ERROR(fault, call)                                                                \
	(fault_strikes(fault)                                                                         \
		 ? ((fault) == DEVSORT_FAULT_MEMORY ? cudaErrorMemoryAllocation : cudaErrorLaunchFailure) \
		 : (call))
#else
#define CHECKED_ERROR(fault, call) (call)
#endif

/* Returns the failed status from the calling function. */
#define RETURN_IF_FAILED(call)                  \
	do                                          \
	{                                           \
		DevSortStatus returned_status = (call); \
		if (returned_status.code != DEVSORT_OK) \
			return returned_status;             \
	} while (0)

/* For calls of the CUDA runtime that queue or ask something. */
#define CHECK_CUDA(call, doing)                                             \
	do                                                                      \
	{                                                                       \
		cudaError_t cuda_error = CHECKED_ERROR(DEVSORT_FAULT_LAUNCH, call); \
		if (cuda_error != cudaSuccess)                                      \
			return status_from_cuda(cuda_error, doing);                     \
	} while (0)

/* For allocations. */
#define CHECK_CUDA_MEMORY(call, doing)                                      \
	do                                                                      \
	{                                                                       \
		cudaError_t cuda_error = CHECKED_ERROR(DEVSORT_FAULT_MEMORY, call); \
		if (cuda_error != cudaSuccess)                                      \
			return status_from_cuda(cuda_error, doing);                     \
	} while (0)

/* After a kernel<<<>>> launch. */
#define CHECK_LAUNCH(doing) CHECK_CUDA(cudaGetLastError(), doing)

#endif /* DEVSORT_STATUS_H */
