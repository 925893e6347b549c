/*
 * A thread that waits for any signal (sigwait of a full set, a signalfd) must not receive ours:
 * they are removed from the set.
 */
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "sdk/cpu_sampler.h"
#include "sdk/interpose.h"

static const sigset_t *without_ours(const sigset_t *set, sigset_t *room)
{
	int ours[2];

	if (!set || !cpu_signals(ours))
		return set;
	*room = *set;
	for (int i = 0; i < 2; i++)
		if (ours[i])
			sigdelset(room, ours[i]);
	return room;
}

PUBLIC int INTERPOSED(sigwait)(const sigset_t *set, int *number)
{
	__typeof__(sigwait) *real = NULL;
	sigset_t room;

	FIND_REAL(real, sigwait, NULL);
	return real ? real(without_ours(set, &room), number) : ENOSYS;
}

PUBLIC int INTERPOSED(sigwaitinfo)(const sigset_t *set, siginfo_t *info)
{
	__typeof__(sigwaitinfo) *real = NULL;
	sigset_t room;

	FIND_REAL(real, sigwaitinfo, NULL);
	return real ? real(without_ours(set, &room), info) : (errno = ENOSYS, -1);
}

PUBLIC int INTERPOSED(sigtimedwait)(const sigset_t *set, siginfo_t *info,
				    const struct timespec *limit)
{
	__typeof__(sigtimedwait) *real = NULL;
	sigset_t room;

	FIND_REAL(real, sigtimedwait, NULL);
	return real ? real(without_ours(set, &room), info, limit) : (errno = ENOSYS, -1);
}

PUBLIC int INTERPOSED(signalfd)(int fd, const sigset_t *set, int flags)
{
	__typeof__(signalfd) *real = NULL;
	sigset_t room;

	FIND_REAL(real, signalfd, NULL);
	return real ? real(fd, without_ours(set, &room), flags) : (errno = ENOSYS, -1);
}
