/*
 * plan/devices.c
 *		The devices that may do a sort, by the settings and the state of the devices.
 */
#include "postgres.h"

#include "base/guc.h"
#include "plan/devices.h"
#include "service/state.h"

bool
device_is_usable(DeviceKind device, bool verified, int beside)
{
	if (device == DEVICE_CPU)
		return true;

	/* a card sorts only by keys that say the order, and one sort of a query */
	if (verified || beside > 0 || gpusort_max_device_sorts == 0)
		return false;
	return gpusort_backend == (int) device ||
		   (gpusort_backend == GPUSORT_BACKEND_AUTO && gpu_service_ready());
}

bool
device_is_open(bool verified, int beside)
{
	for (DeviceKind device = DEVICE_CPU + 1; device < DEVICES; device++)
	{
		if (device_is_usable(device, verified, beside))
			return true;
	}
	return false;
}

bool
device_is_allowed(DeviceKind device, bool verified, int beside)
{
	if (!device_is_usable(device, verified, beside))
		return false;
	return gpusort_backend == GPUSORT_BACKEND_AUTO || gpusort_backend == (int) device ||
		   !device_is_usable(gpusort_backend, verified, beside);
}

DeviceKind
device_or_allowed(DeviceKind device, bool verified, int beside)
{
	for (DeviceKind other = DEVICE_CPU; !device_is_allowed(device, verified, beside); other++)
		device = other;
	return device;
}

double
device_memory_of_sort(void)
{
	return guc_sort_device_memory(gpu_service_device_memory());
}
