/*
 * base/devices.h
 *		The devices that sort, as data.
 */
#ifndef GPUSORT_BASE_DEVICES_H
#define GPUSORT_BASE_DEVICES_H

#include "postgres.h"

/* The first device is always there, and can do every sort. */
typedef enum DeviceKind
{
	DEVICE_CPU,
	DEVICE_CUDA,
	DEVICES /* their number */
} DeviceKind;

/* The devices' names in settings, views, EXPLAIN and messages. */
extern const char *const device_names[DEVICES];

#endif /* GPUSORT_BASE_DEVICES_H */
