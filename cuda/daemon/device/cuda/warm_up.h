/*
 * warm_up.h
 *		Sorting something on a GPU before any client comes.
 */
#ifndef GPUSORTD_CUDA_WARM_UP_H
#define GPUSORTD_CUDA_WARM_UP_H

#include "daemon/device/cuda/job.h"

/*
 * Sorts small jobs, one for each way that keys are sorted, and checks the results: so the first client finds
 * arenas and streams made, and a device that can't sort is not offered to any.
 */
Outcome warm_up(ArenaPool *arenas, uint64_t device_bytes, uint64_t chunk_bytes);

#endif /* GPUSORTD_CUDA_WARM_UP_H */
