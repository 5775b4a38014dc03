/*
 * cuda.h
 *		The driver's memory management, as far as growing buffers use it.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <cstddef>

typedef enum CUresult
{
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_SUPPORTED = 801
} CUresult;

typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;

typedef enum CUmemAllocationType
{
	CU_MEM_ALLOCATION_TYPE_PINNED = 1
} CUmemAllocationType;

typedef enum CUmemLocationType
{
	CU_MEM_LOCATION_TYPE_DEVICE = 1
} CUmemLocationType;

typedef enum CUmemAllocationGranularity_flags
{
	CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1
} CUmemAllocationGranularity_flags;

typedef enum CUmemAccess_flags
{
	CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
} CUmemAccess_flags;

typedef struct CUmemLocation
{
	CUmemLocationType type;
	int id;
} CUmemLocation;

typedef struct CUmemAllocationProp
{
	CUmemAllocationType type;
	CUmemLocation location;
} CUmemAllocationProp;

typedef struct CUmemAccessDesc
{
	CUmemLocation location;
	CUmemAccess_flags flags;
} CUmemAccessDesc;

#endif /* FAKE_CUDA_H */
