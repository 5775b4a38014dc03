/*
 * files/shared_runs.h
 *		Sorted runs that several processes wrote, for all of them to read.
 */
#ifndef GPUSORT_FILES_SHARED_RUNS_H
#define GPUSORT_FILES_SHARED_RUNS_H

#include "postgres.h"

#include "storage/fileset.h"

#include "files/run.h"

/*
 * Passes on what other processes need to read these runs, which must be all that this process has in the
 * files, written to their ends; drops them.
 */
extern void shared_runs_publish(FileSet *files, int process, Run **runs, int nruns);

/*
 * The runs of all processes, so many, which have published theirs; in CurrentMemoryContext, to be dropped.
 * The files stay.  *nruns: their number.
 */
extern Run **shared_runs_open(FileSet *files, int nprocesses, int *nruns);

#endif /* GPUSORT_FILES_SHARED_RUNS_H */
