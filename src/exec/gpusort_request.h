/*
 * exec/gpusort_request.h
 *		The request of a GpuSort: which rows are wanted, which columns get codes, what is expected.
 */
#ifndef GPUSORT_EXEC_GPUSORT_REQUEST_H
#define GPUSORT_EXEC_GPUSORT_REQUEST_H

#include "postgres.h"

#include "exec/gpusort_state.h"

/* Makes the request for this device.  The key has the layout of the device. */
extern void gpusort_request_make(GpuSortState *state, const SortDevice *device, SortRequest *request);

/* Do its keys only guess the order, on a card?  Keys with codes do not. */
extern bool gpusort_request_has_guesses(const GpuSortState *state);

#endif /* GPUSORT_EXEC_GPUSORT_REQUEST_H */
