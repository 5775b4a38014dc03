/*
 * service/launcher.h
 *		The background worker that keeps gpusortd running.
 */
#ifndef GPUSORT_SERVICE_LAUNCHER_H
#define GPUSORT_SERVICE_LAUNCHER_H

#include "postgres.h"

/*
 * Call this when the library is loaded.  It has an effect only if shared_preload_libraries loads the library.
 */
extern void gpu_launcher_register(void);

extern PGDLLEXPORT void gpu_launcher_main(Datum argument);

#endif /* GPUSORT_SERVICE_LAUNCHER_H */
