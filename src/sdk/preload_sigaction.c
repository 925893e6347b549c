/*
 * Programs that reset all signals to their default, or ignore them, such as daemons and children
 * before exec(), do not mean ours, which may be pending and would kill them: for our signals this
 * has no effect. If the program installs a handler for one of them, sampling ends (cpu_taken_over).
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "sdk/cpu_sampler.h"
#include "sdk/interpose.h"

static bool is_ours(int number)
{
	int ours[2];

	return cpu_signals(ours) && number > 0 && (number == ours[0] || number == ours[1]);
}

static bool is_plain(const struct sigaction *act)
{
	return act && !(act->sa_flags & SA_SIGINFO) &&
	       (act->sa_handler == SIG_DFL || act->sa_handler == SIG_IGN);
}

PUBLIC int INTERPOSED(sigaction)(int number, const struct sigaction *act, struct sigaction *old)
{
	__typeof__(sigaction) *real = NULL;

	if (is_plain(act) && is_ours(number)) {
		if (old)
			memset(old, 0, sizeof(*old));
		return 0;
	}
	FIND_REAL(real, sigaction, NULL);
	return real ? real(number, act, old) : (errno = ENOSYS, -1);
}

PUBLIC __sighandler_t INTERPOSED(signal)(int number, __sighandler_t handler)
{
	__typeof__(signal) *real = NULL;

	if ((handler == SIG_DFL || handler == SIG_IGN) && is_ours(number))
		return SIG_DFL;
	FIND_REAL(real, signal, NULL);
	return real ? real(number, handler) : SIG_ERR;
}
