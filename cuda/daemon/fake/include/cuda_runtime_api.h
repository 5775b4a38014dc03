/*
 * cuda_runtime_api.h
 *		The CUDA runtime, as far as gpusortd's layer uses it.
 *
 * A kernel is a function that is called once a thread, one thread after the other: this is enough for kernels
 * whose threads don't talk to each other.
 */
#ifndef FAKE_CUDA_RUNTIME_API_H
#define FAKE_CUDA_RUNTIME_API_H

#include <cstddef>
#include <functional>

#define CUDART_VERSION 12000

/* ---- kernels ---- */

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)

struct dim3
{
	unsigned int x = 1;
};

/* Of the thread that is being run. */
extern thread_local dim3 threadIdx;
extern thread_local dim3 blockIdx;

/* ---- errors ---- */

typedef enum cudaError
{
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInsufficientDriver = 35,
	cudaErrorNoDevice = 100,
	cudaErrorInvalidDevice = 101,
	cudaErrorNoKernelImageForDevice = 209,
	cudaErrorUnsupportedPtxVersion = 222,
	cudaErrorInvalidResourceHandle = 400,
	cudaErrorLaunchFailure = 719,
	cudaErrorNotSupported = 801
} cudaError_t;

const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

/* ---- devices ---- */

typedef enum cudaDeviceAttr
{
	cudaDevAttrComputeCapabilityMajor = 75,
	cudaDevAttrComputeCapabilityMinor = 76
} cudaDeviceAttr;

typedef struct cudaDeviceProp
{
	char name[256];
	size_t totalGlobalMem;
	int major;
	int minor;
	int multiProcessorCount;
} cudaDeviceProp;

cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);

/* ---- streams and events ---- */

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

#define cudaStreamNonBlocking 1
#define cudaEventBlockingSync 1
#define cudaEventDisableTiming 2

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);

/* ---- memory ---- */

typedef enum cudaMemcpyKind
{
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2
} cudaMemcpyKind;

#define cudaHostAllocPortable 1
#define cudaHostAllocMapped 2
#define cudaHostRegisterPortable 1

cudaError_t cudaFree(void *memory);
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned int flags);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void *memory);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
							cudaStream_t stream);

/* ---- launches ---- */

typedef enum cudaFuncAttribute
{
	cudaFuncAttributeMaxDynamicSharedMemorySize = 8
} cudaFuncAttribute;

template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel kernel, cudaFuncAttribute attribute, int value);

typedef struct cudaLaunchConfig_t
{
	dim3 gridDim;
	dim3 blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
} cudaLaunchConfig_t;

/* Queues all threads of a kernel. */
cudaError_t fake_launch(const cudaLaunchConfig_t *config, const std::function<void()> &thread);

template <typename... Parameters, typename... Arguments>
cudaError_t
cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...), Arguments... arguments)
{
	return fake_launch(config, [=] { kernel(arguments...); });
}

/* ---- the driver's functions ---- */

typedef enum cudaDriverEntryPointQueryResult
{
	cudaDriverEntryPointSuccess = 0,
	cudaDriverEntryPointSymbolNotFound = 1
} cudaDriverEntryPointQueryResult;

#define cudaEnableDefault 0

cudaError_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
									cudaDriverEntryPointQueryResult *found);

#endif /* FAKE_CUDA_RUNTIME_API_H */
