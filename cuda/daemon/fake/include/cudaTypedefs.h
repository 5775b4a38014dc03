/*
 * cudaTypedefs.h
 *		Types of the driver's functions, which are looked up at run time.
 */
#ifndef FAKE_CUDA_TYPEDEFS_H
#define FAKE_CUDA_TYPEDEFS_H

#include <cuda.h>

typedef CUresult (*PFN_cuMemGetAllocationGranularity_v10020)(size_t *, const CUmemAllocationProp *,
															 CUmemAllocationGranularity_flags);
typedef CUresult (*PFN_cuMemAddressReserve_v10020)(CUdeviceptr *, size_t, size_t, CUdeviceptr,
												   unsigned long long);
typedef CUresult (*PFN_cuMemAddressFree_v10020)(CUdeviceptr, size_t);
typedef CUresult (*PFN_cuMemCreate_v10020)(CUmemGenericAllocationHandle *, size_t,
										   const CUmemAllocationProp *, unsigned long long);
typedef CUresult (*PFN_cuMemRelease_v10020)(CUmemGenericAllocationHandle);
typedef CUresult (*PFN_cuMemMap_v10020)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
										unsigned long long);
typedef CUresult (*PFN_cuMemUnmap_v10020)(CUdeviceptr, size_t);
typedef CUresult (*PFN_cuMemSetAccess_v10020)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);

#endif /* FAKE_CUDA_TYPEDEFS_H */
