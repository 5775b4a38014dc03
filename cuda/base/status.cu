/*
 * status.cu
 *		Making statuses.
 */
#include <cstdarg>
#include <cstdio>

#include "base/status.h"

DevSortStatus
status_make(DevSortCode code, const char *format, ...)
{
	DevSortStatus status;
	va_list arguments;

	status.code = code;
	va_start(arguments, format);
	vsnprintf(status.message, sizeof(status.message), format, arguments);
	va_end(arguments);
	return status;
}

DevSortStatus
status_from_cuda(cudaError_t error, const char *doing)
{
	switch (error)
	{
		case cudaSuccess:
			return status_ok();
		case cudaErrorMemoryAllocation:
			/* Not sticky: forget it, or the next launch would report it again. */
			(void) cudaGetLastError();
			return status_make(DEVSORT_OUT_OF_MEMORY, "out of device memory while %s", doing);
		case cudaErrorNoDevice:
		case cudaErrorInsufficientDriver:
		case cudaErrorNoKernelImageForDevice:
		case cudaErrorUnsupportedPtxVersion:
			return status_make(DEVSORT_NO_DEVICE, "no usable CUDA device while %s: %s", doing,
							   cudaGetErrorString(error));
		default:
			return status_make(DEVSORT_DEVICE_FAILED, "%s while %s (%s)", cudaGetErrorString(error), doing,
							   cudaGetErrorName(error));
	}
}

#ifdef DEVSORT_FAULTS

static int fault_countdown[] = {-1, -1};

void
devsort_fault_arm(DevSortFault fault, int countdown)
{
	fault_countdown[fault] = countdown;
}

bool
fault_strikes(DevSortFault fault)
{
	return fault_countdown[fault] >= 0 && fault_countdown[fault]-- == 0;
}

#endif
