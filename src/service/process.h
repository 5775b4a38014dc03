/*
 * service/process.h
 *		gpusortd as a child process: its start, its log lines, its end.
 */
#ifndef GPUSORT_SERVICE_PROCESS_H
#define GPUSORT_SERVICE_PROCESS_H

#include "postgres.h"

/* The descriptor in the child of a pipe whose other end the parent holds. */
#define GPU_PROCESS_PARENT_FD 3

typedef struct GpuProcess
{
	pid_t pid;		 /* 0: no process */
	int log_fd;		 /* stderr of the process; -1: none */
	int parent_fd;	 /* the parent's end of the pipe --parent-fd; -1: none */
	int line_length; /* length of the incomplete line */
	char line[1024];
	char last_words[256]; /* the first FATAL line of the process; empty: there was none */
} GpuProcess;

/*
 * Starts the program argv[0].  False: that failed, and errno is set.  This process must have no other child
 * that has not been waited for.
 */
extern bool gpu_process_start(GpuProcess *process, char **argv);

/* Writes the process's output to the server's log. */
extern void gpu_process_read_log(GpuProcess *process);

/* Has the process ended?  Then its resources are released, and *status is the status from waitpid. */
extern bool gpu_process_has_ended(GpuProcess *process, int *status);

/* Ends the process, first by SIGTERM, and waits for its end for a limited time.  Raises no error. */
extern void gpu_process_end(GpuProcess *process);

#endif /* GPUSORT_SERVICE_PROCESS_H */
