/*
 * monitor/shared_memory.h
 *		The shared memory of a server's processes for the views.
 */
#ifndef GPUSORT_MONITOR_SHARED_MEMORY_H
#define GPUSORT_MONITOR_SHARED_MEMORY_H

/*
 * Requests shared memory if the library is in shared_preload_libraries.  Call once, when the library is
 * loaded.
 */
extern void shared_memory_install_hooks(void);

#endif /* GPUSORT_MONITOR_SHARED_MEMORY_H */
