/*
 * A program that has signals of its own: SIGPROF by setitimer, on a small stack of its own; jumps
 * out of a handler; and calls that a signal must not interrupt. Prints how many of its own signals
 * came.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "truth.h"

static volatile sig_atomic_t profs, jumps;
static sigjmp_buf back;
static volatile uint64_t sink;

static void on_prof(int number)
{
	(void)number;
	profs++;
}

static void on_usr1(int number)
{
	(void)number;
	jumps++;
	siglongjmp(back, 1);
}

int main(void)
{
	struct sigaction prof = {.sa_handler = on_prof, .sa_flags = SA_RESTART | SA_ONSTACK};
	struct sigaction usr1 = {.sa_handler = on_usr1};
	struct itimerval every = {{0, 10000}, {0, 10000}};
	static char memory[16384];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	int64_t end = cpu_ns() + 1000000000;

	sigaltstack(&stack, NULL);
	sigaction(SIGPROF, &prof, NULL);
	sigaction(SIGUSR1, &usr1, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
	while (cpu_ns() < end) {
		sink += churn(sink, 20000);
		if (!sigsetjmp(back, 1))
			raise(SIGUSR1);
	}
	printf("{\"profs\": %d, \"jumps\": %d}\n", profs, jumps);
	return !profs || !jumps;
}
