/*
 * device_scan.h
 *		Exclusive sums of 32-bit numbers in device memory.
 */
#ifndef DEVSORT_DEVICE_SCAN_H
#define DEVSORT_DEVICE_SCAN_H

#include "base/workspace.h"

void exclusive_sum_measure(Workspace *workspace, uint64_t n);

/*
 * sums[i] = numbers[0] + ... + numbers[i - 1], for i < n; takes its memory from a workspace where
 * exclusive_sum_measure fits.
 */
DevSortStatus exclusive_sum(const uint32_t *numbers, uint32_t *sums, uint64_t n, const Workspace *workspace,
							cudaStream_t stream);

#endif /* DEVSORT_DEVICE_SCAN_H */
