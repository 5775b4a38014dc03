/*
 * lockstep.h
 *		The threads of sessions, one at a time, and a clock that the test moves.
 *
 * A session's thread runs until it would wait: for its socket, for an event, for room.  Then the next thread
 * with work may run.  A case therefore takes the same course each time, and no thread really waits.  The
 * linker redirects poll, recv, getrandom, the steady clock, and a condition's wait with a limit of time to
 * this code (cuda.mk, --wrap).  For other threads this code calls the original functions.
 */
#ifndef DAEMON_CHECK_FUZZ_LOCKSTEP_H
#define DAEMON_CHECK_FUZZ_LOCKSTEP_H

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <thread>
#include <vector>

#include <poll.h>

/* A thread, and what it waits for while others run. */
struct Runner
{
	std::thread thread;
	std::condition_variable turn;
	bool ended = false;
	bool fresh = true;			 /* it has not run yet */
	bool waits_for_room = false; /* of a condition, which does not say when it is true */
	std::vector<pollfd> files;	 /* one of which is to be ready */
	std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
};

class Lockstep
{
public:
	~Lockstep();

	/* Makes a thread for this work; the thread runs when settle is called. */
	void start(const std::function<void()> &work);

	/* Runs all threads until none has work. False: they do not seem to end. */
	bool settle();

	/* The same, while so much time passes. */
	bool pass_time(std::chrono::milliseconds time);

	/* Have all threads ended?  Those that have are joined. */
	bool all_ended();

private:
	void resume(Runner *runner);
	bool settle_once();

	std::list<Runner> runners;
};

/* The clock stands at zero again, and getrandom gives the same numbers again. */
void lockstep_begin_case();

#endif /* DAEMON_CHECK_FUZZ_LOCKSTEP_H */
