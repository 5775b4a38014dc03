/*
 * service/launcher.h
 *		The background worker that keeps gpusortd alive.
 */
#ifndef GPUSORT_SERVICE_LAUNCHER_H
#define GPUSORT_SERVICE_LAUNCHER_H

#include "postgres.h"

/* Called when the library is loaded; has an effect when that is by shared_preload_libraries. */
extern void gpu_launcher_register(void);

extern PGDLLEXPORT void gpu_launcher_main(Datum argument);

#endif /* GPUSORT_SERVICE_LAUNCHER_H */
