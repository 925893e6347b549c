/* Work in a signal handler that interrupts a function; on a stack of its own when told so. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "truth.h"

static volatile uint64_t sink;
static volatile int handled;

NOINLINE void work_in_handler(void)
{
	int64_t end = cpu_ns() + 20000000;

	while (cpu_ns() < end)
		sink += churn(sink, 5000);
}

static void on_alarm(int number)
{
	(void)number;
	work_in_handler();
	handled++;
}

NOINLINE void interrupted_function(void)
{
	while (handled < 50)
		sink += churn(sink, 5000);
	sink++;
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = on_alarm};
	struct itimerval every = {{0, 30000}, {0, 30000}};
	static char memory[65536];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};

	(void)argv;
	if (argc > 1) {
		sigaltstack(&stack, NULL);
		act.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGVTALRM, &act, NULL);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	interrupted_function();
	return 0;
}
