/*
 * service/watchdog.c
 *		Is there anybody at gpusortd's socket?
 *
 * A process that is stopped, or stuck, still has a socket, and the kernel even accepts connections for it.
 * So the question is a HELLO, as of any client, and the answer is whatever comes back; its devices, if all is
 * well.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "storage/fd.h"

#include "service/connection.h"
#include "service/state.h"
#include "service/watchdog.h"

static void
hang_up(GpuWatchdog *watchdog)
{
	if (watchdog->fd < 0)
		return;
	close(watchdog->fd);
	ReleaseExternalFD();
	watchdog->fd = -1;
	watchdog->received = 0;
}

/* Is it this process, or the kernel, that lacks what a call needs? */
static bool
is_short_here(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

/*
 * Connects and greets.  Where that is not possible just now, as too many others try, it is tried again later.
 * A gpusortd that refuses the connection may have closed it already: the answer is there to be read all the
 * same.
 */
static GpuWatchdogAnswer
call(GpuWatchdog *watchdog)
{
	static const struct
	{
		GpusortdHeader header;
		GpusortdHello hello;
	} question = {{GPUSORTD_MAGIC, GPUSORTD_VERSION, GPUSORTD_HELLO, sizeof(GpusortdHello), 0}, {0}};
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GPU_CLIENT_SOCKET};

	watchdog->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (watchdog->fd < 0)
		return GPU_WATCHDOG_NOT_ASKED;
	ReserveExternalFD();
	if (connect(watchdog->fd, (struct sockaddr *) &address, sizeof(address)) != 0)
	{
		int error = errno;

		hang_up(watchdog);
		if (error == ENOENT || error == ECONNREFUSED)
			return GPU_WATCHDOG_NO_SOCKET;
		return is_short_here(error) ? GPU_WATCHDOG_NOT_ASKED : GPU_WATCHDOG_NOT_YET;
	}
	if (send(watchdog->fd, &question, sizeof(question), MSG_NOSIGNAL) != sizeof(question) && errno != EPIPE)
		hang_up(watchdog);
	return GPU_WATCHDOG_NOT_YET;
}

/* Has something come back, and all of it? */
static GpuWatchdogAnswer
listen_for_answer(GpuWatchdog *watchdog)
{
	static const GpusortdHeader welcome = {GPUSORTD_MAGIC, GPUSORTD_VERSION, GPUSORTD_WELCOME,
										   sizeof(GpusortdWelcome), 0};
	char *answer = (char *) &watchdog->answer;
	ssize_t got = recv(watchdog->fd, answer + watchdog->received,
					   sizeof(watchdog->answer) - watchdog->received, MSG_DONTWAIT);
	bool complete;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return GPU_WATCHDOG_NOT_YET;
	watchdog->received += Max(got, 0);
	complete = watchdog->received == sizeof(watchdog->answer);
	/* Or refused, as it has no room for one more connection: it is there. */
	if (got > 0 && !complete && memcmp(answer, &welcome, Min(watchdog->received, sizeof(welcome))) == 0)
		return GPU_WATCHDOG_NOT_YET;
	complete &= memcmp(answer, &welcome, sizeof(welcome)) == 0;
	gpu_service_note_answer(complete ? &watchdog->answer.welcome : NULL);
	hang_up(watchdog);
	return GPU_WATCHDOG_ANSWERED;
}

GpuWatchdogAnswer
gpu_watchdog_ask(GpuWatchdog *watchdog)
{
	GpuWatchdogAnswer answer;

	if (!watchdog->asking)
	{
		watchdog->asking = true;
		watchdog->since = stopwatch_start();
	}
	answer = watchdog->fd < 0 ? call(watchdog) : listen_for_answer(watchdog);
	if (answer == GPU_WATCHDOG_ANSWERED || answer == GPU_WATCHDOG_NOT_ASKED)
		gpu_watchdog_reset(watchdog);
	return answer;
}

void
gpu_watchdog_reset(GpuWatchdog *watchdog)
{
	hang_up(watchdog);
	watchdog->asking = false;
	watchdog->since = stopwatch_start();
}
