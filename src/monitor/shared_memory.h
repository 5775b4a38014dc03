/*
 * monitor/shared_memory.h
 *		What the processes of a server share for the views.
 */
#ifndef GPUSORT_MONITOR_SHARED_MEMORY_H
#define GPUSORT_MONITOR_SHARED_MEMORY_H

/* Asks for shared memory if the library is in shared_preload_libraries; once, when it is loaded. */
extern void shared_memory_install_hooks(void);

#endif /* GPUSORT_MONITOR_SHARED_MEMORY_H */
