/*
 * plan/devices.h
 *		The devices that may do a sort, by the settings and the state of the devices.
 *
 * verified: do the sort's keys only guess the order, so that comparisons must verify it?  beside: number of
 * processes that do one such sort each at the same time; 0: only this one.
 */
#ifndef GPUSORT_PLAN_DEVICES_H
#define GPUSORT_PLAN_DEVICES_H

#include "postgres.h"

#include "base/devices.h"

/* Can the device do such a sort now, and does gpusort.backend not exclude it? */
extern bool device_is_usable(DeviceKind device, bool verified, int beside);

/* Are there several such devices? */
extern bool device_is_open(bool verified, int beside);

/* Is the device usable, and not another usable device named by gpusort.backend? */
extern bool device_is_allowed(DeviceKind device, bool verified, int beside);

/* Returns this device if it is allowed, otherwise one that is. */
extern DeviceKind device_or_allowed(DeviceKind device, bool verified, int beside);

/* Returns the most bytes of device memory that a sort may use; 0: not known. */
extern double device_memory_of_sort(void);

#endif /* GPUSORT_PLAN_DEVICES_H */
