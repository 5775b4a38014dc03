/*
 * service/process.h
 *		gpusortd as a child process: starting it, its log lines, its end.
 */
#ifndef GPUSORT_SERVICE_PROCESS_H
#define GPUSORT_SERVICE_PROCESS_H

#include "postgres.h"

/* The descriptor in the child whose other end its parent holds. */
#define GPU_PROCESS_PARENT_FD 3

typedef struct GpuProcess
{
	pid_t pid;		 /* 0: there is none */
	int log_fd;		 /* its stderr; -1: none */
	int parent_fd;	 /* the other end of its --parent-fd; -1: none */
	int line_length; /* of the line that is not complete yet */
	char line[1024];
	char last_words[256]; /* its first FATAL line; empty: there was none */
} GpuProcess;

/*
 * Starts the program argv[0]; false: could not, errno says why.  No other child of this process may be
 * unwaited for.
 */
extern bool gpu_process_start(GpuProcess *process, char **argv);

/* Writes what it has said to the server's log. */
extern void gpu_process_read_log(GpuProcess *process);

/* Has it ended?  Then all that belonged to it is released, and *status is as waitpid gave it. */
extern bool gpu_process_has_ended(GpuProcess *process, int *status);

/* Ends it, politely at first, and waits for that, but not for ever.  Raises no error. */
extern void gpu_process_end(GpuProcess *process);

#endif /* GPUSORT_SERVICE_PROCESS_H */
