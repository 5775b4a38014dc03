/*
 * lockstep.cc
 *		One thread at a time, and what has them wait; lockstep.h says what for.
 */
#include <cerrno>
#include <cstring>
#include <mutex>

#include <pthread.h>
#include <sys/socket.h>

#include "daemon/check/fuzz/lockstep.h"

/* So often somebody may have something to do before the driver goes on. */
#define MOST_TURNS 20000

using Time = std::chrono::steady_clock::time_point;

/* Nobody waits until then. */
#define NEVER (Time::max())

/* Who runs; NULL: the driver. */
static std::mutex baton;
static std::condition_variable drivers_turn;
static Runner *running = nullptr;

static thread_local Runner *self = nullptr;

/* Read by all, written by the driver while nobody else runs. */
static Time now = Time();
static uint64_t random_state = 0;

void
lockstep_begin_case()
{
	now = Time();
	random_state = 0;
}

/* ---- the threads ---- */

/* Has the driver go on, until it is this thread's turn again. */
static void
wait_for_turn()
{
	std::unique_lock<std::mutex> lock(baton);

	running = nullptr;
	drivers_turn.notify_one();
	self->turn.wait(lock, [] { return running == self; });
}

void
Lockstep::start(const std::function<void()> &work)
{
	Runner *runner = &runners.emplace_back();

	runner->thread = std::thread([runner, work] {
		self = runner;
		{
			std::unique_lock<std::mutex> lock(baton);

			runner->turn.wait(lock, [runner] { return running == runner; });
		}
		work();

		std::lock_guard<std::mutex> lock(baton);

		runner->ended = true;
		running = nullptr;
		drivers_turn.notify_one();
	});
}

void
Lockstep::resume(Runner *runner)
{
	std::unique_lock<std::mutex> lock(baton);

	runner->fresh = false;
	running = runner;
	runner->turn.notify_one();
	drivers_turn.wait(lock, [] { return running == nullptr; });
}

static bool
is_ready(Runner *runner)
{
	return !runner->ended && (runner->fresh || (!runner->files.empty() &&
												poll(runner->files.data(), runner->files.size(), 0) > 0));
}

/* Each that has something to do runs once; false: nobody had. */
bool
Lockstep::settle_once()
{
	bool any = false;

	for (Runner &runner : runners)
	{
		if (is_ready(&runner))
		{
			resume(&runner);
			any = true;
		}
	}
	return any;
}

/* Who waits for room looks whether there is some when all others have run. */
bool
Lockstep::settle()
{
	bool looked = false;

	for (int turns = 0; turns < MOST_TURNS; turns++)
	{
		if (settle_once())
			looked = false;
		else if (looked)
			return true;
		else
		{
			looked = true;
			for (Runner &runner : runners)
			{
				if (!runner.ended && runner.waits_for_room)
					resume(&runner);
			}
		}
	}
	return false;
}

bool
Lockstep::pass_time(std::chrono::milliseconds time)
{
	Time end = now + time;

	while (settle())
	{
		Runner *first = nullptr;

		for (Runner &runner : runners)
		{
			if (!runner.ended && runner.until <= end && (first == nullptr || runner.until < first->until))
				first = &runner;
		}
		if (first == nullptr)
		{
			now = end;
			return true;
		}
		now = std::max(now, first->until);
		resume(first);
	}
	return false;
}

bool
Lockstep::all_ended()
{
	bool all = true;

	for (Runner &runner : runners)
	{
		if (runner.ended && runner.thread.joinable())
			runner.thread.join();
		all &= runner.ended;
	}
	return all;
}

Lockstep::~Lockstep()
{
	for (Runner &runner : runners)
	{
		if (runner.thread.joinable())
			runner.thread.join();
	}
}

/* ---- what has threads wait ---- */

extern "C"
{
int __real_poll(struct pollfd *files, nfds_t number, int timeout);
ssize_t __real_recv(int fd, void *to, size_t bytes, int flags);
ssize_t __real_getrandom(void *to, size_t bytes, unsigned int flags);
int __real_pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
								  const struct timespec *until);
int __wrap_poll(struct pollfd *files, nfds_t number, int timeout);
ssize_t __wrap_recv(int fd, void *to, size_t bytes, int flags);
ssize_t __wrap_getrandom(void *to, size_t bytes, unsigned int flags);
int __wrap_pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
								  const struct timespec *until);
}

/* std::chrono::steady_clock::now() */
Time wrap_now() __asm__("__wrap__ZNSt6chrono3_V212steady_clock3nowEv");

int
__wrap_poll(struct pollfd *files, nfds_t number, int timeout)
{
	Time until = timeout < 0 ? NEVER : now + std::chrono::milliseconds(timeout);

	for (;;)
	{
		int ready = __real_poll(files, number, 0);

		if (self == nullptr || ready != 0 || now >= until)
			return ready;
		self->files.assign(files, files + number);
		self->until = until;
		wait_for_turn();
		self->files.clear();
		self->until = NEVER;
	}
}

ssize_t
__wrap_recv(int fd, void *to, size_t bytes, int flags)
{
	for (;;)
	{
		struct pollfd file = {fd, POLLIN, 0};
		ssize_t got = __real_recv(fd, to, bytes, flags | MSG_DONTWAIT);

		if (self == nullptr || got >= 0 || errno != EAGAIN)
			return got;
		(void) __wrap_poll(&file, 1, -1);
	}
}

/* Numbers that nobody has to guess, so that cases can name them. */
ssize_t
__wrap_getrandom(void *to, size_t bytes, unsigned int flags)
{
	if (self == nullptr)
		return __real_getrandom(to, bytes, flags);
	random_state += UINT64_C(0x9E3779B97F4A7C15);
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *) to)[i] = random_state >> (i % 8 * 8);
	return bytes;
}

/*
 * Returns when others have run, or the time is over; who called looks at the condition, and at the clock, by
 * himself.
 */
int
__wrap_pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
							  const struct timespec *until)
{
	if (self == nullptr)
		return __real_pthread_cond_clockwait(condition, mutex, clock, until);
	self->until = Time(std::chrono::seconds(until->tv_sec) + std::chrono::nanoseconds(until->tv_nsec));
	self->waits_for_room = true;
	pthread_mutex_unlock(mutex);
	wait_for_turn();
	pthread_mutex_lock(mutex);
	self->waits_for_room = false;
	bool late = now >= self->until;
	self->until = NEVER;
	return late ? ETIMEDOUT : 0;
}

Time
wrap_now()
{
	return now;
}
