#include "sdk/switch_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "sdk/background_state.h"
#include "sdk/sampling.h"

static atomic_uint arrived;
static unsigned done;

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	atomic_fetch_add(&arrived, 1);
	background_ring();
	errno = saved;
}

enum err switch_signal_begin(int number, struct fault *fault)
{
	struct sigaction own = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK}, now;

	if (sigaction(number, NULL, &now) != 0)
		return fault_set(fault, ERR_BAD_ARGUMENT, "VESTAL_SIGNAL cannot be signal %d",
				 number);
	if (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == on_signal)
		return ERR_OK;
	if (now.sa_flags & SA_SIGINFO || now.sa_handler != SIG_DFL)
		return fault_set(fault, ERR_EXISTS,
				 "VESTAL_SIGNAL: the program uses signal %d itself", number);
	sigfillset(&own.sa_mask);
	return sigaction(number, &own, NULL) == 0 ? ERR_OK : err_from_errno(errno);
}

void switch_signal_turn(void)
{
	unsigned now = atomic_load(&arrived);

	/* Twice is as it was. */
	if ((now - done) % 2)
		sampling_pause(PAUSED_BY_USER, !(sampling_paused() & PAUSED_BY_USER));
	done = now;
}
