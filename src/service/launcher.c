/*
 * service/launcher.c
 *		The background worker that keeps gpusortd alive.
 *
 * README.md has the phases of gpusortd, and what leads from one to the next; restart.c says when it is
 * started again.  One that doesn't answer is killed: the kernel then closes its connections, so that the
 * backends that wait for it go on without it.
 *
 * The launcher itself only waits, for its latch, for lines of gpusortd's log, for answers and for time to
 * pass.  Whichever way it ends, its exit callback ends gpusortd; after a crash, the kernel does (process.c).
 * What it knows, others know by state.h.
 */
#include "postgres.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "base/guc.h"
#include "base/pg_compat.h"
#include "base/stopwatch.h"
#include "memory/keep.h"
#include "service/connection.h"
#include "service/launcher.h"
#include "service/process.h"
#include "service/restart.h"
#include "service/state.h"
#include "service/watchdog.h"

#define START_TIMEOUT_MS 120000 /* CUDA takes its time with many cards */
#define END_TIMEOUT_MS 5000
#define ASK_STARTING_MS 50 /* between questions */
#define ASK_READY_MS 5000
#define ASK_AGAIN_MS 100 /* between looks at a question that is open */
#define SILENT_MS 1000	 /* after that it is known not to answer */
#define LAUNCHER_RESTART_S 5

#define MAX_ARGUMENTS 64

/* Why the launcher has told gpusortd to end. */
typedef enum EndCause
{
	NOT_TOLD,
	SETTINGS_CHANGED,
	LOST_SOCKET,
	NEVER_READY, /* this and what follows: it hung */
	NO_ANSWER
} EndCause;

static const char *const cause_in_words[] = {
	[SETTINGS_CHANGED] = "its settings have changed",
	[LOST_SOCKET] = "lost its socket",
	[NEVER_READY] = "did not become ready",
	[NO_ANSWER] = "did not answer within gpusort.service_timeout",
};

static GpuProcess process = {.log_fd = -1, .parent_fd = -1};
static GpuWatchdog watchdog = {.fd = -1};
static GpuServicePhase phase = GPU_SERVICE_UNBORN;
static GpuRestart restart = {GPU_RESTART_FIRST_DELAY_MS};
static Stopwatch in_phase;	  /* since the phase began */
static Stopwatch since_start; /* since gpusortd was started */
static Stopwatch since_ready; /* since it answered for the first time */
static bool served;			  /* has it? */
static int delay_ms;		  /* in phase WAITING */
static char *command;		  /* its arguments, as text; NULL: it was never started */
static EndCause told_to_end;

/* Enters a phase, and lets others know. */
static void
enter_phase(GpuServicePhase new_phase, const char *reason)
{
	phase = new_phase;
	in_phase = stopwatch_start();
	gpu_service_enter_phase(phase, phase == GPU_SERVICE_WAITING ? delay_ms : 0, reason);
}

void
gpu_launcher_register(void)
{
	BackgroundWorker worker = {0};

	if (!process_shared_preload_libraries_in_progress || !IsPostmasterEnvironment || IsBinaryUpgrade)
		return;
	strlcpy(worker.bgw_name, "gpusort launcher", sizeof(worker.bgw_name));
	strlcpy(worker.bgw_type, "gpusort launcher", sizeof(worker.bgw_type));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = LAUNCHER_RESTART_S;
	strlcpy(worker.bgw_library_name, "gpusort", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "gpu_launcher_main", sizeof(worker.bgw_function_name));
	RegisterBackgroundWorker(&worker);
}

/* ---------------------------------------------------------------- starting gpusortd */

/*
 * Where it is if not beside the server's programs, where `make install` puts it: as packages are built, in
 * their place (GPUSORTD_PATH); and how to get it.
 */
#ifdef GPUSORTD_PATH
static const char other_path[] = GPUSORTD_PATH;
static const char install_hint[] =
	"Install the package gpusortd and reload, or set gpusort.devices to \"none\".";
#else
static const char other_path[] = "";
static const char install_hint[] =
	"Build it with \"make gpusortd\", which needs nvcc, and install it, or set gpusort.devices to \"none\".";
#endif

/* The program's path, in the current memory context. */
static char *
gpusortd_path(void)
{
	char path[MAXPGPATH];

	if (gpusort_gpusortd_path[0] != '\0')
		return pstrdup(gpusort_gpusortd_path);
	strlcpy(path, my_exec_path, sizeof(path));
	get_parent_directory(path);
	join_path_components(path, path, "gpusortd");
	return pstrdup(other_path[0] != '\0' && access(path, X_OK) != 0 ? other_path : path);
}

/* Splits gpusort.gpusortd_options at blanks. */
static int
append_options(char **argv, int argc)
{
	char *rest = NULL;
	char *option = strtok_r(pstrdup(gpusort_gpusortd_options), " \t\n", &rest);

	for (; option != NULL && argc < MAX_ARGUMENTS; option = strtok_r(NULL, " \t\n", &rest))
		argv[argc++] = option;
	return argc;
}

/* gpusortd's arguments as the settings are now, in the current memory context. */
static void
make_arguments(char *argv[MAX_ARGUMENTS + 1])
{
	int argc = 0;

	argv[argc++] = gpusortd_path();
	argv[argc++] = "--socket";
	argv[argc++] = GPU_CLIENT_SOCKET;
	argv[argc++] = "--parent-fd";
	argv[argc++] = psprintf("%d", GPU_PROCESS_PARENT_FD);
	argv[argc++] = "--max-device-memory";
	argv[argc++] = guc_device_memory_argument();
	argv[argc++] = "--staging-memory";
	argv[argc++] = psprintf("%dM", gpusort_staging_memory);
	argv[argc++] = "--idle-memory";
	argv[argc++] = gpusort_idle_memory == 0 ? "0" : psprintf("%dM", gpusort_idle_memory);
	if (gpusort_device_list[0] != '\0')
	{
		argv[argc++] = "--devices";
		argv[argc++] = gpusort_device_list;
	}
	argc = append_options(argv, argc);
	argv[argc] = NULL;
}

/* All that gpusortd is started with, as one text. */
static char *
describe_command(char **argv)
{
	StringInfoData text;

	initStringInfo(&text);
	for (; *argv != NULL; argv++)
		appendStringInfo(&text, "%s\n", *argv);
	return text.data;
}

/* There is no gpusortd until the configuration is loaded again: says why, once. */
static void
give_up(const char *reason, const char *hint)
{
	ereport(LOG,
			(errmsg("gpusort has no GPU: %s", reason),
			 errdetail("Sorts run on the CPU. gpusortd is not started until the configuration is reloaded."),
			 errhint("%s", hint)));
	enter_phase(GPU_SERVICE_OFF, reason);
}

/* It has ended, and is started again after so many milliseconds. */
static void
wait_before_next_start(const char *reason, int milliseconds)
{
	const char *when =
		milliseconds < GPU_RESTART_FIRST_DELAY_MS ? "at once" : psprintf("in %d s", milliseconds / 1000);

	ereport(WARNING, (errmsg("gpusortd: %s", reason),
					  errdetail("Sorts run on the CPU until then. gpusortd is restarted %s.", when)));
	delay_ms = milliseconds;
	enter_phase(GPU_SERVICE_WAITING, reason);
}

static void
start_gpusortd(void)
{
	char *argv[MAX_ARGUMENTS + 1];

	make_arguments(argv);
	if (command != NULL)
		pfree(command);
	command = MemoryContextStrdup(TopMemoryContext, describe_command(argv));
	if (guc_no_devices())
	{
		enter_phase(GPU_SERVICE_OFF, "gpusort.devices is \"none\"");
		return;
	}
	if (access(argv[0], X_OK) != 0)
	{
		give_up(psprintf("there is no program \"%s\"", argv[0]), install_hint);
		return;
	}
	served = false;
	since_start = stopwatch_start();
	gpu_watchdog_reset(&watchdog);
	if (gpu_process_start(&process, argv))
		enter_phase(GPU_SERVICE_STARTING, "");
	else
		wait_before_next_start(psprintf("could not be started: %m"), gpu_restart_failed_delay(&restart));
}

/* ---------------------------------------------------------------- ending it */

static void
tell_to_end(EndCause cause)
{
	told_to_end = cause;
	gpu_watchdog_reset(&watchdog);
	(void) kill(process.pid, cause >= NEVER_READY ? SIGKILL : SIGTERM);
	enter_phase(GPU_SERVICE_ENDING, cause_in_words[cause]);
}

/* The end of gpusortd in words, in the current memory context. */
static const char *
describe_end(int status)
{
	const char *why = process.last_words;
	char *how;

	if (WIFSIGNALED(status))
		how = psprintf("was ended by signal %d", WTERMSIG(status));
	else
		how = psprintf("ended with status %d", WEXITSTATUS(status));
	if (told_to_end != NOT_TOLD)
		return psprintf("%s, and %s", cause_in_words[told_to_end], how);
	return why[0] != '\0' ? psprintf("%s: %s", how, why) : how;
}

/* It has ended: what now? */
static void
note_end(int status)
{
	const char *reason = describe_end(status);
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	bool start_now = told_to_end == SETTINGS_CHANGED;
	GpuEnd end = {.status = status,
				  .hung = told_to_end >= NEVER_READY,
				  .since_start = stopwatch_ms(since_start),
				  .since_ready = served ? stopwatch_ms(since_ready) : -1};

	gpu_watchdog_reset(&watchdog);
	told_to_end = NOT_TOLD;
	if (start_now)
	{
		start_gpusortd();
		return;
	}
	switch (code)
	{
		case GPUSORTD_EXIT_USAGE:
			give_up(psprintf("gpusortd %s", reason),
					"Correct the settings with names that begin with \"gpusort.\", and reload.");
			break;
		case GPUSORTD_EXIT_NO_DEVICE:
			give_up(
				psprintf("gpusortd %s", reason),
				"If there is a GPU, install NVIDIA's driver with its library libcuda.so.1 (Debian: nvidia-driver, libcuda1), check that nvidia-smi shows the GPU, and reload. If there is no GPU, set gpusort.devices to \"none\".");
			break;
		case GPUSORTD_EXIT_NOT_RUN:
			give_up(psprintf("gpusortd %s", reason),
					"Build and install gpusortd for this machine, and reload.");
			break;
		default:
			wait_before_next_start(reason, gpu_restart_delay(&restart, &end));
			break;
	}
}

static void
end_at_exit(int code, Datum argument)
{
	gpu_process_end(&process);
}

/* ---------------------------------------------------------------- settings */

/* The configuration was loaded again: gpusortd with the new settings, or another attempt. */
static void
reload(void)
{
	char *argv[MAX_ARGUMENTS + 1];

	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
	make_arguments(argv);
	restart = (GpuRestart){GPU_RESTART_FIRST_DELAY_MS};
	if (process.pid == 0)
		start_gpusortd();
	else if (strcmp(command, describe_command(argv)) != 0 && phase != GPU_SERVICE_ENDING)
	{
		ereport(LOG, (errmsg("gpusortd is restarted because its settings have changed")));
		tell_to_end(SETTINGS_CHANGED);
	}
}

/* ---------------------------------------------------------------- watching it */

/* It runs, and has not answered yet. */
static void
watch_starting(void)
{
	if (gpu_watchdog_ask(&watchdog) == GPU_WATCHDOG_ANSWERED)
	{
		served = true;
		since_ready = stopwatch_start();
		ereport(LOG, (errmsg("gpusortd is ready, %.0f ms after its start", stopwatch_ms(since_start))));
		enter_phase(GPU_SERVICE_READY, "");
	}
	else if (stopwatch_ms(in_phase) > START_TIMEOUT_MS)
		tell_to_end(NEVER_READY);
}

/* The time between two questions: some of them within the time that an answer may take. */
static double
ask_interval(void)
{
	return gpusort_service_timeout == 0 ? ASK_READY_MS : Min(ASK_READY_MS, gpusort_service_timeout / 2);
}

/* Is a question open, or due? */
static bool
is_asking(void)
{
	return watchdog.asking || stopwatch_ms(watchdog.since) >= ask_interval() || gpu_service_silent();
}

/* It has answered before: does it still? */
static void
watch_ready(void)
{
	GpuWatchdogAnswer answer = gpu_watchdog_ask(&watchdog);

	if (answer != GPU_WATCHDOG_ANSWERED && !gpu_service_silent() &&
		(answer == GPU_WATCHDOG_NO_SOCKET || stopwatch_ms(watchdog.since) > SILENT_MS))
		gpu_service_note_silence();
	if (gpusort_service_timeout == 0)
		return;
	/* Or it is ending already, which looks the same for a moment. */
	if (answer == GPU_WATCHDOG_NO_SOCKET)
		tell_to_end(LOST_SOCKET);
	else if (answer == GPU_WATCHDOG_NOT_YET && stopwatch_ms(watchdog.since) > gpusort_service_timeout)
		tell_to_end(NO_ANSWER);
}

/* Milliseconds until so many are over; 0: they are. */
static long
milliseconds_left(double milliseconds, Stopwatch since)
{
	double left = milliseconds - stopwatch_ms(since);

	return left > 0 ? (long) left + 1 : 0;
}

/* Does what is due.  Milliseconds until something is, if no phase begins before; -1: nothing is. */
static long
step(void)
{
	long left = 0;

	switch (phase)
	{
		case GPU_SERVICE_UNBORN:
			start_gpusortd();
			return 0;
		case GPU_SERVICE_STARTING:
			watch_starting();
			return ASK_STARTING_MS;
		case GPU_SERVICE_READY:
			if (is_asking())
				watch_ready();
			return is_asking() ? ASK_AGAIN_MS : milliseconds_left(ask_interval(), watchdog.since);
		case GPU_SERVICE_ENDING:
			left = milliseconds_left(END_TIMEOUT_MS, in_phase);
			if (left == 0)
				(void) kill(process.pid, SIGKILL);
			return Max(left, ASK_AGAIN_MS);
		case GPU_SERVICE_WAITING:
			left = milliseconds_left(delay_ms, in_phase);
			if (left == 0)
				start_gpusortd();
			return left;
		case GPU_SERVICE_OFF:
			break;
	}
	return -1;
}

/* Waits for whatever comes first, so many milliseconds at most; -1: for ever. */
static void
wait_for_news(long timeout)
{
	WaitEventSet *set = create_wait_event_set(4);
	WaitEvent event;

	AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	if (process.log_fd >= 0)
		AddWaitEventToSet(set, WL_SOCKET_READABLE, process.log_fd, NULL, NULL);
	if (watchdog.fd >= 0)
		AddWaitEventToSet(set, WL_SOCKET_READABLE, watchdog.fd, NULL, NULL);
	(void) WaitEventSetWait(set, timeout, &event, 1, PG_WAIT_EXTENSION);
	FreeWaitEventSet(set);
	ResetLatch(MyLatch);
}

/* ---------------------------------------------------------------- the worker */

static void
handle_child_signal(SIGNAL_ARGS)
{
	int save_errno = errno;

	SetLatch(MyLatch);
	errno = save_errno;
}

void
gpu_launcher_main(Datum argument)
{
	MemoryContext context =
		AllocSetContextCreate(TopMemoryContext, "gpusort launcher", ALLOCSET_DEFAULT_SIZES);
	int status;
	long due;
	long idle;

	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGCHLD, handle_child_signal);
	BackgroundWorkerUnblockSignals();
	on_proc_exit(end_at_exit, 0);
	gpu_service_set_launcher();
	MemoryContextSwitchTo(context);

	while (!ShutdownRequestPending)
	{
		MemoryContextReset(context);
		if (ConfigReloadPending)
			reload();
		gpu_process_read_log(&process);
		if (gpu_process_has_ended(&process, &status))
			note_end(status);
		due = step();
		idle = keep_free_idle();
		/* as unsigned numbers, of which -1, never, is the largest */
		wait_for_news(Min((unsigned long) due, (unsigned long) idle));
	}
	/* With this status the postmaster starts the worker again, if it goes on itself. */
	proc_exit(1);
}
