/*
 * service/process.c
 *		gpusortd as a child process: starting it, its log lines, its end.
 *
 * The child has nothing of the server's (README.md).  It is in a session of its own, as the postmaster
 * signals whole process groups, and SIGQUIT would make it dump core.  It can't outlive its parent: the kernel
 * kills it then, and before that a gpusortd that is well has seen its --parent-fd closed.
 */
#include "postgres.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/fd.h"

#include "base/pg_compat.h"
#include "base/stopwatch.h"
#include "daemon/protocol/protocol.h"
#include "service/process.h"

/* What an end may take, before and after the kill. */
#define END_GRACE_MS 3000
#define END_KILLED_MS 2000
#define END_POLL_US 5000

/* ---------------------------------------------------------------- in the child */

/* Gives every signal its default action; handlers would be gone anyway, but what is ignored stays so. */
static void
reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		(void) signal(i, SIG_DFL);
	sigemptyset(&none);
	(void) sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Closes all descriptors above `last`; false: which ones there are can't be found out. */
static bool
close_descriptors_above(int last)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (dir == NULL)
		return false;
	while ((entry = readdir(dir)) != NULL)
	{
		int fd = atoi(entry->d_name);

		if (fd > last && fd != dirfd(dir))
			(void) close(fd);
	}
	(void) closedir(dir);
	return true;
}

/* Tells the parent, as gpusortd itself would, why there is no gpusortd. */
pg_noreturn static void
exit_child(const char *doing)
{
	char line[256];
	int length = snprintf(line, sizeof(line), "FATAL: %s: %s\n", doing, strerror(errno));

	(void) !write(STDERR_FILENO, line, Min(length, (int) sizeof(line) - 1));
	_exit(GPUSORTD_EXIT_NOT_RUN);
}

/* Becomes gpusortd.  Must not come near anything of the server's, its exit handlers above all. */
pg_noreturn static void
run_child(char **argv, pid_t parent, int log_fd, int parent_fd)
{
	int null_fd;

	if (dup2(log_fd, STDERR_FILENO) < 0)
		_exit(GPUSORTD_EXIT_NOT_RUN);
	null_fd = open("/dev/null", O_RDWR);
	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0)
		exit_child("could not open \"/dev/null\"");
	/* dup2 of a descriptor to itself would leave it to be closed by exec. */
	if (parent_fd == GPU_PROCESS_PARENT_FD ? fcntl(parent_fd, F_SETFD, 0) != 0
										   : dup2(parent_fd, GPU_PROCESS_PARENT_FD) < 0)
		exit_child("could not duplicate a file descriptor");
	if (!close_descriptors_above(GPU_PROCESS_PARENT_FD))
		exit_child("could not open \"/proc/self/fd\"");
	(void) setsid();
	reset_signals();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		exit_child("could not ask to be killed with the parent");
	if (getppid() != parent)
		_exit(0);
	execv(argv[0], argv);
	exit_child("could not execute gpusortd");
}

/* ---------------------------------------------------------------- starting */

static void
close_and_forget(int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	ReleaseExternalFD();
	*fd = -1;
}

/* A pipe whose ends are closed by exec; the server counts one of them. */
static bool
make_pipe(int fds[2])
{
	if (pipe(fds) != 0)
		return false;
	for (int i = 0; i < 2; i++)
		(void) fcntl(fds[i], F_SETFD, FD_CLOEXEC);
	ReserveExternalFD();
	return true;
}

bool
gpu_process_start(GpuProcess *process, char **argv)
{
	int log_pipe[2];
	int parent_pipe[2];
	pid_t parent = getpid();
	pid_t pid;
	sigset_t all;
	sigset_t before;

	if (!make_pipe(log_pipe))
		return false;
	process->log_fd = log_pipe[0];
	if (!make_pipe(parent_pipe))
	{
		close(log_pipe[1]);
		close_and_forget(&process->log_fd);
		return false;
	}
	process->parent_fd = parent_pipe[1];
	(void) fcntl(process->log_fd, F_SETFL, O_NONBLOCK);
	process->line_length = 0;
	process->last_words[0] = '\0';

	/* No handler of the server's may run in the child. */
	sigfillset(&all);
	(void) sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		run_child(argv, parent, log_pipe[1], parent_pipe[0]);
	(void) sigprocmask(SIG_SETMASK, &before, NULL);

	close(log_pipe[1]);
	close(parent_pipe[0]);
	if (pid > 0)
	{
		process->pid = pid;
		return true;
	}
	close_and_forget(&process->log_fd);
	close_and_forget(&process->parent_fd);
	return false;
}

/* ---------------------------------------------------------------- log lines */

/* If the line begins so, what comes after it. */
static const char *
after(const char *line, const char *prefix)
{
	return strncmp(line, prefix, strlen(prefix)) == 0 ? line + strlen(prefix) : NULL;
}

/*
 * Writes one line to the server's log.  The first FATAL is kept instead: it is the reason for the end, which
 * the launcher reports when it comes.
 */
static void
log_line(GpuProcess *process, const char *line)
{
	const char *text;

	if ((text = after(line, "FATAL: ")) != NULL && process->last_words[0] == '\0')
		strlcpy(process->last_words, text, sizeof(process->last_words));
	else if (text != NULL || (text = after(line, "WARNING: ")) != NULL)
		ereport(WARNING, (errmsg_internal("gpusortd: %s", text)));
	else
	{
		text = after(line, "LOG: ");
		ereport(LOG, (errmsg_internal("gpusortd: %s", text != NULL ? text : line)));
	}
}

/* Takes one character; what is too long for one line becomes several. */
static void
take_character(GpuProcess *process, char c)
{
	if (c != '\n')
		process->line[process->line_length++] = c;
	if (process->line_length == 0 || (c != '\n' && process->line_length < (int) sizeof(process->line) - 1))
		return;
	process->line[process->line_length] = '\0';
	process->line_length = 0;
	log_line(process, process->line);
}

void
gpu_process_read_log(GpuProcess *process)
{
	char bytes[1024];
	ssize_t got;

	while (process->log_fd >= 0)
	{
		got = read(process->log_fd, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		/* Nothing more will come. */
		if (got <= 0)
			close_and_forget(&process->log_fd);
		for (ssize_t i = 0; i < got; i++)
			take_character(process, bytes[i]);
	}
}

/* ---------------------------------------------------------------- its end */

bool
gpu_process_has_ended(GpuProcess *process, int *status)
{
	pid_t pid;

	if (process->pid == 0)
		return false;
	do
		pid = waitpid(process->pid, status, WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (pid == 0)
		return false;
	if (pid < 0)
		*status = 0;
	gpu_process_read_log(process);
	take_character(process, '\n');
	close_and_forget(&process->log_fd);
	close_and_forget(&process->parent_fd);
	process->pid = 0;
	return true;
}

/* Waits so long for the end. */
static bool
ends_within(GpuProcess *process, double milliseconds)
{
	Stopwatch watch = stopwatch_start();
	int status;

	while (!gpu_process_has_ended(process, &status))
	{
		if (stopwatch_ms(watch) > milliseconds)
			return false;
		gpu_process_read_log(process);
		pg_usleep(END_POLL_US);
	}
	return true;
}

void
gpu_process_end(GpuProcess *process)
{
	if (process->pid == 0)
		return;
	(void) kill(process->pid, SIGTERM);
	if (ends_within(process, END_GRACE_MS))
		return;
	(void) kill(process->pid, SIGKILL);
	/* A process that is inside of a driver ends when the driver lets go of it; nobody is to wait for that. */
	(void) ends_within(process, END_KILLED_MS);
}
