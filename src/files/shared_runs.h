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
 * A set of files for several processes, which goes with CurrentMemoryContext, after errors, too: when all
 * other processes have ended, or write to it no more.  files: to hand on copies of it.
 */
extern void file_set_init(FileSet *files);

/*
 * Passes on what other processes need to read these runs, which must be all that this process has in the
 * files, written to their ends; drops them.  Where there are none it leaves nothing behind.
 */
extern void shared_runs_publish(FileSet *files, int process, Run **runs, int nruns);

/*
 * The runs of so many processes, from the first one on, that have published theirs; in CurrentMemoryContext,
 * to be dropped.  The files stay.  *nruns: their number.
 */
extern Run **shared_runs_open(FileSet *files, int first, int nprocesses, int *nruns);

#endif /* GPUSORT_FILES_SHARED_RUNS_H */
