/*
 * The locks of pthread, in front of libc's. A lock is tried first: nearly always that is all, and
 * costs what taking it costs. Only who has to wait looks at the clock.
 *
 * What a caller can see stays as it is: results (a mutex that checks errors or is recursive answers
 * a try as it answers a lock, but for "busy"), errno, and where a thread can be cancelled. Nothing
 * is kept from before a wait to after it but on the stack, so that a thread that is cancelled
 * meanwhile leaves nothing behind.
 *
 * As Go has it there are two profiles: waits for somebody who holds something (mutex, rwlock, spin
 * lock) are `lock`, waits for something to happen (condition, semaphore) are `block`.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "sdk/interpose.h"
#include "sdk/lock_sampler.h"
#include "sdk/preload.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define NOINLINE  __attribute__((noinline))

typedef const struct timespec *deadline;

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
	int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *);
	int (*cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, deadline);
	int (*cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, deadline);
	int (*sem_wait)(sem_t *);
	int (*sem_trywait)(sem_t *);
	int (*sem_timedwait)(sem_t *, deadline);
	int (*sem_clockwait)(sem_t *, clockid_t, deadline);
} real;

/* The condition of 2002 has another shape, under the same name: that must not be found. */
#define CONDITION_VERSION "GLIBC_2.3.2"

void preload_find_locks(void)
{
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
	FIND_REAL(real.cond_wait, pthread_cond_wait, CONDITION_VERSION);
	FIND_REAL(real.cond_timedwait, pthread_cond_timedwait, CONDITION_VERSION);
	FIND_REAL(real.cond_clockwait, pthread_cond_clockwait, NULL);
	FIND_OTHER(real.sem_trywait, sem_trywait);
	FIND_REAL(real.sem_wait, sem_wait, NULL);
	FIND_REAL(real.sem_timedwait, sem_timedwait, NULL);
	FIND_REAL(real.sem_clockwait, sem_clockwait, NULL);
	FIND_REAL(real.mutex_lock, pthread_mutex_lock, NULL);
}

/* A library that begins before us may want a lock. What this libc does not have nobody calls. */
#define FOUND(member) (likely(real.member) || (preload_find_locks(), real.member))

static bool timed(void)
{
	return atomic_load_explicit(&lock_timed, memory_order_relaxed);
}

static s64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Runs a call that waits, and tells how long it took. In a function that is not inlined: its frame
 * says who called. */
#define TIMED(kind, lock, call)                                    \
	do {                                                       \
		struct alloc_caller caller_ = ALLOC_CALLER;        \
		s64 start_ = now();                                \
		int result_ = call;                                \
                                                                   \
		lock_waited(kind, lock, now() - start_, &caller_); \
		return result_;                                    \
	} while (0)

/* What libc's own header shows of a mutex: robust ones and those that change priorities are not
 * tried, because libc's answers to a try differ (one that cannot be recovered is left locked). That
 * somebody holds them is seen from their word; a wait that begins just then is missed. */
#define SPECIAL_KINDS 0x70

static bool is_special(const pthread_mutex_t *m)
{
	return m->__data.__kind & SPECIAL_KINDS;
}

static bool is_held(const pthread_mutex_t *m)
{
	return *(const volatile int *)&m->__data.__lock != 0;
}

/* A try answers for good, but for EBUSY. */
#define TRIED(member, lock, busy)                \
	do {                                     \
		int result_ = real.member(lock); \
                                                 \
		if (likely(result_ != EBUSY))    \
			return result_;          \
		return busy;                     \
	} while (0)

/* A call with another clock is refused, be the lock free or not. */
static bool is_clock(clockid_t clock)
{
	return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}

/* ------------------------------------------------------------------ mutex */

static NOINLINE int wait_mutex(pthread_mutex_t *m)
{
	TIMED(SAMPLE_LOCK, m, real.mutex_lock(m));
}

PUBLIC int INTERPOSED(pthread_mutex_lock)(pthread_mutex_t *m)
{
	if (likely(timed())) {
		if (likely(!is_special(m)))
			TRIED(mutex_trylock, m, wait_mutex(m));
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

static NOINLINE int wait_read(pthread_rwlock_t *l)
{
	TIMED(SAMPLE_LOCK, l, real.rwlock_rdlock(l));
}

PUBLIC int INTERPOSED(pthread_rwlock_rdlock)(pthread_rwlock_t *l)
{
	if (likely(timed()))
		TRIED(rwlock_tryrdlock, l, wait_read(l));
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

static NOINLINE int wait_write(pthread_rwlock_t *l)
{
	TIMED(SAMPLE_LOCK, l, real.rwlock_wrlock(l));
}

PUBLIC int INTERPOSED(pthread_rwlock_wrlock)(pthread_rwlock_t *l)
{
	if (likely(timed()))
		TRIED(rwlock_trywrlock, l, wait_write(l));
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

/* ------------------------------------------------------------------ condition */

static NOINLINE int wait_condition(pthread_cond_t *c, pthread_mutex_t *m)
{
	TIMED(SAMPLE_BLOCK, c, real.cond_wait(c, m));
}

PUBLIC int INTERPOSED(pthread_cond_wait)(pthread_cond_t *c, pthread_mutex_t *m)
{
	if (likely(timed()))
		return wait_condition(c, m);
	return FOUND(cond_wait) ? real.cond_wait(c, m) : ENOSYS;
}

static NOINLINE int wait_condition_timed(pthread_cond_t *c, pthread_mutex_t *m, deadline end)
{
	TIMED(SAMPLE_BLOCK, c, real.cond_timedwait(c, m, end));
}

PUBLIC int INTERPOSED(pthread_cond_timedwait)(pthread_cond_t *c, pthread_mutex_t *m, deadline end)
{
	if (likely(timed()))
		return wait_condition_timed(c, m, end);
	return FOUND(cond_timedwait) ? real.cond_timedwait(c, m, end) : ENOSYS;
}

static NOINLINE int wait_condition_clock(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
					 deadline end)
{
	TIMED(SAMPLE_BLOCK, c, real.cond_clockwait(c, m, clock, end));
}

PUBLIC int INTERPOSED(pthread_cond_clockwait)(pthread_cond_t *c, pthread_mutex_t *m,
					      clockid_t clock, deadline end)
{
	if (likely(timed()) && real.cond_clockwait)
		return wait_condition_clock(c, m, clock, end);
	return FOUND(cond_clockwait) ? real.cond_clockwait(c, m, clock, end) : ENOSYS;
}

/* ------------------------------------------------------------------ semaphore */

/* A semaphore that is there is taken. errno stays what it was when it is not. A thread that is to
 * be cancelled ends here, also where it need not wait. */
static bool take_semaphore(sem_t *s)
{
	int saved = errno;

	pthread_testcancel();
	if (likely(real.sem_trywait(s) == 0))
		return true;
	errno = saved;
	return false;
}

static NOINLINE int wait_semaphore(sem_t *s)
{
	TIMED(SAMPLE_BLOCK, s, real.sem_wait(s));
}

PUBLIC int INTERPOSED(sem_wait)(sem_t *s)
{
	if (likely(timed()))
		return take_semaphore(s) ? 0 : wait_semaphore(s);
	return FOUND(sem_wait) ? real.sem_wait(s) : (errno = ENOSYS, -1);
}

/* A time that is none is refused, be the semaphore there or not. */
static bool is_time(deadline end)
{
	return end && end->tv_nsec >= 0 && end->tv_nsec < NS_PER_S;
}

static NOINLINE int wait_semaphore_timed(sem_t *s, deadline end)
{
	TIMED(SAMPLE_BLOCK, s, real.sem_timedwait(s, end));
}

PUBLIC int INTERPOSED(sem_timedwait)(sem_t *s, deadline end)
{
	if (timed() && is_time(end))
		return take_semaphore(s) ? 0 : wait_semaphore_timed(s, end);
	return FOUND(sem_timedwait) ? real.sem_timedwait(s, end) : (errno = ENOSYS, -1);
}

static NOINLINE int wait_semaphore_clock(sem_t *s, clockid_t clock, deadline end)
{
	TIMED(SAMPLE_BLOCK, s, real.sem_clockwait(s, clock, end));
}

PUBLIC int INTERPOSED(sem_clockwait)(sem_t *s, clockid_t clock, deadline end)
{
	if (timed() && is_clock(clock) && is_time(end) && real.sem_clockwait)
		return take_semaphore(s) ? 0 : wait_semaphore_clock(s, clock, end);
	return FOUND(sem_clockwait) ? real.sem_clockwait(s, clock, end) : (errno = ENOSYS, -1);
}
