/*
 * files/shared_runs.c
 *		Sorted runs that several processes wrote, for all of them to read.
 *
 * Each process has one more file, a list of its runs: their number, and for each that of its file, the run
 * and its milestones.
 */
#include "postgres.h"

#include <fcntl.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/pg_compat.h"
#include "files/shared_runs.h"

/* Looking through the folder checks for interrupts; what a cancel leaves there then, nobody would remove. */
static void
remove_files(void *arg)
{
	HOLD_INTERRUPTS();
	FileSetDeleteAll((FileSet *) arg);
	RESUME_INTERRUPTS();
}

void
file_set_init(FileSet *files)
{
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	FileSet *own = palloc(sizeof(FileSet));

	FileSetInit(files);
	*own = *files;
	callback->func = remove_files;
	callback->arg = own;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
}

static void
name_list(char *name, int process)
{
	snprintf(name, MAXPGPATH, "runs.%d", process);
}

/* ---------------------------------------------------------------- writing */

/* No run is written to any more. */
static void
export_files(Run **runs, int nruns)
{
	for (int i = 0; i < nruns; i++)
	{
		if (!runs[i]->file->stays)
			run_file_export(runs[i]->file);
	}
}

void
shared_runs_publish(FileSet *files, int process, Run **runs, int nruns)
{
	char name[MAXPGPATH];
	BufFile *list;

	if (nruns == 0)
		return;
	name_list(name, process);
	list = BufFileCreateFileSet(files, name);
	export_files(runs, nruns);
	buffile_write(list, &nruns, sizeof(int));
	for (int i = 0; i < nruns; i++)
	{
		buffile_write(list, &runs[i]->file->number, sizeof(int));
		buffile_write(list, runs[i], sizeof(Run));
		buffile_write(list, runs[i]->milestones, sizeof(RunMilestone) * runs[i]->nmilestones);
		run_drop(runs[i]);
	}
	BufFileExportFileSet(list);
	BufFileClose(list);
}

/* ---------------------------------------------------------------- reading */

static void
read_bytes(BufFile *list, void *bytes, Size size)
{
	if (buffile_read(list, bytes, size) != size)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read a list of sorted runs: %m")));
}

/* The file of this number among those that the process's runs are in so far, opened if it is a new one. */
static RunFile *
find_file(FileSet *files, int process, int number, Run **runs, int nruns)
{
	for (int i = 0; i < nruns; i++)
	{
		if (runs[i]->file->number == number)
			return runs[i]->file;
	}
	return run_file_open(files, process, number);
}

/* The next run of the list, of a process that has nruns of them already. */
static Run *
read_run(FileSet *files, int process, BufFile *list, Run **runs, int nruns)
{
	Run *run = palloc(sizeof(Run));
	int number;

	read_bytes(list, &number, sizeof(int));
	read_bytes(list, run, sizeof(Run));
	run->file = find_file(files, process, number, runs, nruns);
	run->file->nruns++;
	run->milestones = palloc(sizeof(RunMilestone) * run->nmilestones);
	read_bytes(list, run->milestones, sizeof(RunMilestone) * run->nmilestones);
	return run;
}

/* Adds a process's runs to so many of others; returns the array, which may move. */
static Run **
read_list(FileSet *files, int process, Run **runs, int *nruns)
{
	char name[MAXPGPATH];
	BufFile *list;
	int others = *nruns;
	int count;

	name_list(name, process);
	list = BufFileOpenFileSet(files, name, O_RDONLY, true);
	if (list == NULL)
		return runs;
	read_bytes(list, &count, sizeof(int));
	runs = repalloc(runs, sizeof(Run *) * Max(others + count, 1));
	for (int i = 0; i < count; i++)
		runs[others + i] = read_run(files, process, list, runs + others, i);
	*nruns = others + count;
	BufFileClose(list);
	return runs;
}

Run **
shared_runs_open(FileSet *files, int first, int nprocesses, int *nruns)
{
	Run **runs = palloc(sizeof(Run *));

	*nruns = 0;
	for (int i = 0; i < nprocesses; i++)
		runs = read_list(files, first + i, runs, nruns);
	return runs;
}
