/* Waits for something to happen: conditions and semaphores, in front of libc's (preload_locks.c).
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "sdk/preload_waits.h"

static struct {
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

void preload_find_blocks(void)
{
	FIND_REAL(real.cond_wait, pthread_cond_wait, CONDITION_VERSION);
	FIND_REAL(real.cond_timedwait, pthread_cond_timedwait, CONDITION_VERSION);
	FIND_REAL(real.cond_clockwait, pthread_cond_clockwait, NULL);
	FIND_OTHER(real.sem_trywait, sem_trywait);
	FIND_REAL(real.sem_wait, sem_wait, NULL);
	FIND_REAL(real.sem_timedwait, sem_timedwait, NULL);
	FIND_REAL(real.sem_clockwait, sem_clockwait, NULL);
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
