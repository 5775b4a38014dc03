/*
 * base/memory_limit.h
 *		How much memory may this server have?
 */
#ifndef GPUSORT_BASE_MEMORY_LIMIT_H
#define GPUSORT_BASE_MEMORY_LIMIT_H

#include "postgres.h"

/* Bytes: of the machine, or what the cgroup of this process, or one that it is in, may have. */
extern Size memory_limit(void);

#endif /* GPUSORT_BASE_MEMORY_LIMIT_H */
