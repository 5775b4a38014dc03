/*
 * base/spin.h
 *		Spin locks.  Builds for tests check that a process releases only locks that it has taken.
 *
 * PostgreSQL does not notice if a lock is released that was not taken, and the race that follows is rare.
 * With LOCKS_CHECKED such a release ends the server.  A file takes and releases one lock at a time.
 */
#ifndef GPUSORT_BASE_SPIN_H
#define GPUSORT_BASE_SPIN_H

#include "postgres.h"

#include "storage/spin.h"

#ifdef LOCKS_CHECKED
static const volatile slock_t *lock_taken pg_attribute_unused(); /* by this file's functions; NULL: none */

static inline void
checked_acquire(volatile slock_t *lock)
{
	SpinLockAcquire(lock);
	lock_taken = lock;
}

static inline void
checked_release(volatile slock_t *lock)
{
	if (lock_taken != lock)
		elog(PANIC, "a spin lock is released that was not taken");
	lock_taken = NULL;
	SpinLockRelease(lock);
}

#undef SpinLockAcquire
#undef SpinLockRelease
#define SpinLockAcquire(lock) checked_acquire(lock)
#define SpinLockRelease(lock) checked_release(lock)
#endif

#endif /* GPUSORT_BASE_SPIN_H */
