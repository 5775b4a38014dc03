/*
 * base/devices.c
 *		The devices' names.
 */
#include "postgres.h"

#include "base/devices.h"

const char *const device_names[DEVICES] = {[DEVICE_CPU] = "cpu", [DEVICE_CUDA] = "cuda"};
