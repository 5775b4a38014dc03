/*
 * files/shared_runs.h
 *		Sorted runs that several processes wrote, and that all of these processes read.
 */
#ifndef GPUSORT_FILES_SHARED_RUNS_H
#define GPUSORT_FILES_SHARED_RUNS_H

#include "postgres.h"

#include "storage/fileset.h"

#include "files/run.h"

/*
 * Initializes a set of files for several processes.  The set ends with CurrentMemoryContext, also after
 * errors.  At that time all other processes must have ended, or no longer write to it.  Copies of *files may
 * be given to other processes.
 */
extern void file_set_init(FileSet *files);

/*
 * Writes a list with which other processes can read these runs, and drops the runs.  The runs must be all
 * runs of this process in the files, completely written.  Without runs no list is written.
 */
extern void shared_runs_publish(FileSet *files, int process, Run **runs, int nruns);

/*
 * Returns the published runs of nprocesses processes, from process `first` on, in CurrentMemoryContext.  The
 * caller drops the runs; the files stay.  *nruns: the number of runs.
 */
extern Run **shared_runs_open(FileSet *files, int first, int nprocesses, int *nruns);

#endif /* GPUSORT_FILES_SHARED_RUNS_H */
