/*
 * Intercepts the locks of pthread. A lock is tried first, which nearly always succeeds at the cost
 * of a normal lock. The clock is read only if the thread must wait.
 *
 * Callers see no difference: results (trylock of an error-checking or recursive mutex returns the
 * same as lock, except "busy"), errno, and cancellation points. State of a wait is only on the
 * stack, so that a thread cancelled meanwhile leaks nothing.
 *
 * As in Go there are two profiles: waits for a lock that another thread holds (mutex, rwlock, spin
 * lock) are `lock`, waits for an event (condition, semaphore) are `block`.
 */
#include <errno.h>
#include <pthread.h>

#include "sdk/preload_waits.h"

/* ------------------------------------------------------------------ the real ones */

static struct {
	int (*mutex_lock)(pthread_mutex_t *);
	int (*mutex_trylock)(pthread_mutex_t *);
	int (*mutex_timedlock)(pthread_mutex_t *, deadline);
	int (*mutex_clocklock)(pthread_mutex_t *, clockid_t, deadline);
	int (*rwlock_rdlock)(pthread_rwlock_t *);
	int (*rwlock_tryrdlock)(pthread_rwlock_t *);
	int (*rwlock_timedrdlock)(pthread_rwlock_t *, deadline);
	int (*rwlock_clockrdlock)(pthread_rwlock_t *, clockid_t, deadline);
	int (*rwlock_wrlock)(pthread_rwlock_t *);
	int (*rwlock_trywrlock)(pthread_rwlock_t *);
	int (*rwlock_timedwrlock)(pthread_rwlock_t *, deadline);
	int (*rwlock_clockwrlock)(pthread_rwlock_t *, clockid_t, deadline);
	int (*spin_lock)(pthread_spinlock_t *);
	int (*spin_trylock)(pthread_spinlock_t *);
} real;

void preload_find_locks(void)
{
	preload_find_blocks();
	FIND_OTHER(real.mutex_trylock, pthread_mutex_trylock);
	FIND_REAL(real.mutex_timedlock, pthread_mutex_timedlock, NULL);
	FIND_REAL(real.mutex_clocklock, pthread_mutex_clocklock, NULL);
	FIND_OTHER(real.rwlock_tryrdlock, pthread_rwlock_tryrdlock);
	FIND_REAL(real.rwlock_rdlock, pthread_rwlock_rdlock, NULL);
	FIND_REAL(real.rwlock_timedrdlock, pthread_rwlock_timedrdlock, NULL);
	FIND_REAL(real.rwlock_clockrdlock, pthread_rwlock_clockrdlock, NULL);
	FIND_OTHER(real.rwlock_trywrlock, pthread_rwlock_trywrlock);
	FIND_REAL(real.rwlock_wrlock, pthread_rwlock_wrlock, NULL);
	FIND_REAL(real.rwlock_timedwrlock, pthread_rwlock_timedwrlock, NULL);
	FIND_REAL(real.rwlock_clockwrlock, pthread_rwlock_clockwrlock, NULL);
	FIND_OTHER(real.spin_trylock, pthread_spin_trylock);
	FIND_REAL(real.spin_lock, pthread_spin_lock, NULL);
	FIND_REAL(real.mutex_lock, pthread_mutex_lock, NULL);
}

static struct timespec time_of(s64 ns)
{
	return (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
}

/* The same for a lock with a known holder: waits with a timeout (`try_until`) until the wait is
 * certain to be sampled, and then requests the stack of the holder, at a time that is as random as
 * the sample. */
#define TIMED_HELD(lock, owner, try_until, call)                            \
	do {                                                                \
		struct alloc_caller caller_ = ALLOC_CALLER;                 \
		s64 start_ = now(), after_ = lock_sample_after();           \
		struct timespec until_ = time_of(start_ + after_);          \
		int result_ = after_ ? try_until : ETIMEDOUT;               \
		u32 question_ = 0;                                          \
                                                                            \
		if (result_ == ETIMEDOUT) {                                 \
			question_ = after_ ? holder_ask(owner) : 0;         \
			result_ = call;                                     \
		}                                                           \
		lock_waited_for(lock, now() - start_, &caller_, question_); \
		return result_;                                             \
	} while (0)

/* The kind of a mutex, as in libc's header: robust mutexes and those with priority inheritance are
 * not tried, because trylock behaves differently for them (one that cannot be recovered is left
 * locked). Whether they are held is read from the lock word; a wait that begins at that very moment
 * is missed. */
#define SPECIAL_KINDS 0x70

static bool is_special(const pthread_mutex_t *m)
{
	return m->__data.__kind & SPECIAL_KINDS;
}

static bool is_held(const pthread_mutex_t *m)
{
	return *(const volatile int *)&m->__data.__lock != 0;
}

/* Shared with other processes, whose threads cannot be examined. */
#define SHARED_KIND 0x80

static bool is_plain(const pthread_mutex_t *m)
{
	return real.mutex_clocklock && !(m->__data.__kind & (SPECIAL_KINDS | SHARED_KIND));
}

/* The result of trylock is final, except EBUSY. */
#define TRIED(member, lock, busy)                \
	do {                                     \
		int result_ = real.member(lock); \
                                                 \
		if (likely(result_ != EBUSY))    \
			return result_;          \
		return busy;                     \
	} while (0)

/* ------------------------------------------------------------------ mutex */

static NOINLINE int wait_plain_mutex(pthread_mutex_t *m)
{
	TIMED_HELD(m, &m->__data.__owner, real.mutex_clocklock(m, CLOCK_MONOTONIC, &until_),
		   real.mutex_lock(m));
}

static NOINLINE int wait_mutex(pthread_mutex_t *m)
{
	TIMED(SAMPLE_LOCK, m, real.mutex_lock(m));
}

PUBLIC int INTERPOSED(pthread_mutex_lock)(pthread_mutex_t *m)
{
	if (likely(timed())) {
		if (likely(!is_special(m)))
			TRIED(mutex_trylock, m, is_plain(m) ? wait_plain_mutex(m) : wait_mutex(m));
		if (is_held(m))
			return wait_mutex(m);
	}
	return FOUND(mutex_lock) ? real.mutex_lock(m) : ENOSYS;
}

static NOINLINE int wait_mutex_timed(pthread_mutex_t *m, deadline end)
{
	TIMED(SAMPLE_LOCK, m, real.mutex_timedlock(m, end));
}

PUBLIC int INTERPOSED(pthread_mutex_timedlock)(pthread_mutex_t *m, deadline end)
{
	if (timed() && !is_special(m))
		TRIED(mutex_trylock, m, wait_mutex_timed(m, end));
	if (timed() && is_held(m))
		return wait_mutex_timed(m, end);
	return FOUND(mutex_timedlock) ? real.mutex_timedlock(m, end) : ENOSYS;
}

static NOINLINE int wait_mutex_clock(pthread_mutex_t *m, clockid_t clock, deadline end)
{
	TIMED(SAMPLE_LOCK, m, real.mutex_clocklock(m, clock, end));
}

PUBLIC int INTERPOSED(pthread_mutex_clocklock)(pthread_mutex_t *m, clockid_t clock, deadline end)
{
	if (timed() && !is_special(m) && is_clock(clock))
		TRIED(mutex_trylock, m, wait_mutex_clock(m, clock, end));
	if (timed() && is_held(m))
		return wait_mutex_clock(m, clock, end);
	return FOUND(mutex_clocklock) ? real.mutex_clocklock(m, clock, end) : ENOSYS;
}

/* ------------------------------------------------------------------ rwlock */

/* It says who writes; who reads is not known. */
static bool has_holder(const pthread_rwlock_t *l)
{
	return real.rwlock_clockrdlock && real.rwlock_clockwrlock && !l->__data.__shared;
}

static NOINLINE int wait_read_held(pthread_rwlock_t *l)
{
	TIMED_HELD(l, &l->__data.__cur_writer, real.rwlock_clockrdlock(l, CLOCK_MONOTONIC, &until_),
		   real.rwlock_rdlock(l));
}

static NOINLINE int wait_read(pthread_rwlock_t *l)
{
	TIMED(SAMPLE_LOCK, l, real.rwlock_rdlock(l));
}

PUBLIC int INTERPOSED(pthread_rwlock_rdlock)(pthread_rwlock_t *l)
{
	if (likely(timed()))
		TRIED(rwlock_tryrdlock, l, has_holder(l) ? wait_read_held(l) : wait_read(l));
	return FOUND(rwlock_rdlock) ? real.rwlock_rdlock(l) : ENOSYS;
}

static NOINLINE int wait_read_timed(pthread_rwlock_t *l, deadline end)
{
	TIMED(SAMPLE_LOCK, l, real.rwlock_timedrdlock(l, end));
}

PUBLIC int INTERPOSED(pthread_rwlock_timedrdlock)(pthread_rwlock_t *l, deadline end)
{
	if (timed())
		TRIED(rwlock_tryrdlock, l, wait_read_timed(l, end));
	return FOUND(rwlock_timedrdlock) ? real.rwlock_timedrdlock(l, end) : ENOSYS;
}

static NOINLINE int wait_read_clock(pthread_rwlock_t *l, clockid_t clock, deadline end)
{
	TIMED(SAMPLE_LOCK, l, real.rwlock_clockrdlock(l, clock, end));
}

PUBLIC int INTERPOSED(pthread_rwlock_clockrdlock)(pthread_rwlock_t *l, clockid_t clock,
						  deadline end)
{
	if (timed() && is_clock(clock))
		TRIED(rwlock_tryrdlock, l, wait_read_clock(l, clock, end));
	return FOUND(rwlock_clockrdlock) ? real.rwlock_clockrdlock(l, clock, end) : ENOSYS;
}

static NOINLINE int wait_write_held(pthread_rwlock_t *l)
{
	TIMED_HELD(l, &l->__data.__cur_writer, real.rwlock_clockwrlock(l, CLOCK_MONOTONIC, &until_),
		   real.rwlock_wrlock(l));
}

static NOINLINE int wait_write(pthread_rwlock_t *l)
{
	TIMED(SAMPLE_LOCK, l, real.rwlock_wrlock(l));
}

PUBLIC int INTERPOSED(pthread_rwlock_wrlock)(pthread_rwlock_t *l)
{
	if (likely(timed()))
		TRIED(rwlock_trywrlock, l, has_holder(l) ? wait_write_held(l) : wait_write(l));
	return FOUND(rwlock_wrlock) ? real.rwlock_wrlock(l) : ENOSYS;
}

static NOINLINE int wait_write_timed(pthread_rwlock_t *l, deadline end)
{
	TIMED(SAMPLE_LOCK, l, real.rwlock_timedwrlock(l, end));
}

PUBLIC int INTERPOSED(pthread_rwlock_timedwrlock)(pthread_rwlock_t *l, deadline end)
{
	if (timed())
		TRIED(rwlock_trywrlock, l, wait_write_timed(l, end));
	return FOUND(rwlock_timedwrlock) ? real.rwlock_timedwrlock(l, end) : ENOSYS;
}

static NOINLINE int wait_write_clock(pthread_rwlock_t *l, clockid_t clock, deadline end)
{
	TIMED(SAMPLE_LOCK, l, real.rwlock_clockwrlock(l, clock, end));
}

PUBLIC int INTERPOSED(pthread_rwlock_clockwrlock)(pthread_rwlock_t *l, clockid_t clock,
						  deadline end)
{
	if (timed() && is_clock(clock))
		TRIED(rwlock_trywrlock, l, wait_write_clock(l, clock, end));
	return FOUND(rwlock_clockwrlock) ? real.rwlock_clockwrlock(l, clock, end) : ENOSYS;
}

/* ------------------------------------------------------------------ spin lock */

static NOINLINE int wait_spin(pthread_spinlock_t *l)
{
	TIMED(SAMPLE_LOCK, l, real.spin_lock(l));
}

PUBLIC int INTERPOSED(pthread_spin_lock)(pthread_spinlock_t *l)
{
	if (likely(timed()))
		TRIED(spin_trylock, l, wait_spin(l));
	return FOUND(spin_lock) ? real.spin_lock(l) : ENOSYS;
}
