/*
 * Things that programs do and a profiler inside them must survive. Prints the same in every run:
 *	hosts vfork|daemon|jump|overflow|altstack|sigprof|blocked|setuid|strict|filter|become|exits|
 *		sigwait|reset
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

static volatile uint64_t sink;
static sigjmp_buf back;
static volatile sig_atomic_t ticks;

static void work_ms(int ms)
{
	int64_t end = cpu_ns() + ms * 1000000LL;

	while (cpu_ns() < end) {
		sink += churn(sink, 1000);
		free(malloc(3000));
	}
}

static void *work_for_ever(void *unused)
{
	for (;;) {
		sink += churn(sink, 1000);
		pthread_testcancel();
	}
	return unused;
}

/* Children that share the parent's memory until they become another program. */
static void do_vfork(void)
{
	for (int i = 0; i < 100; i++) {
		int status = 0;
		pid_t child = vfork();

		if (!child) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		work_ms(2);
		if (waitpid(child, &status, 0) != child || status)
			abort();
	}
}

static void do_daemon(void)
{
	int pipe_ends[2];
	char text[8] = "";

	if (pipe(pipe_ends) != 0)
		abort();
	if (!fork()) {
		/* The child leaves, its child works on. */
		if (daemon(0, 0) != 0)
			_exit(1);
		work_ms(300);
		if (write(pipe_ends[1], "worked", 6) != 6)
			_exit(1);
		exit(0);
	}
	close(pipe_ends[1]);
	if (read(pipe_ends[0], text, 6) != 6)
		abort();
	printf("%s\n", text);
	wait(NULL);
}

static void on_alarm(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* Out of a handler, ten times a second and more. */
static void do_jump(void)
{
	struct itimerval often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
	volatile int jumps = 0;

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	while (jumps < 200) {
		if (sigsetjmp(back, 1)) {
			jumps++;
			continue;
		}
		/* Nothing that must not be left in the middle. */
		for (;;)
			sink += churn(sink, 1000);
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

NOINLINE int sink_deeper(int depth)
{
	volatile char room[4096];

	room[depth % 4096] = (char)depth;
	sink += churn(sink, 2000);
	if (depth < 0)
		return 0;
	return sink_deeper(depth + 1) + room[depth % 4096];
}

static void on_fault(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* The stack ends, is seen to end on another one, and is used again. */
static void do_overflow(void)
{
	struct sigaction act = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
	stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};

	sigaltstack(&other, NULL);
	sigaction(SIGSEGV, &act, NULL);
	for (volatile int i = 0; i < 20; i++)
		if (!sigsetjmp(back, 1))
			sink_deeper(0);
}

static void on_small(int number)
{
	(void)number;
	work_ms(5);
	ticks++;
}

/* Work on a small other stack, interrupted there. */
static void do_altstack(void)
{
	struct sigaction act = {.sa_handler = on_small, .sa_flags = SA_ONSTACK};
	stack_t other = {.ss_sp = malloc(32768), .ss_size = 32768};

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &act, NULL);
	for (int i = 0; i < 60; i++)
		raise(SIGUSR1);
	printf("%d\n", (int)ticks);
}

static void on_tick(int number)
{
	(void)number;
	ticks++;
}

static void do_sigprof(void)
{
	struct itimerval often = {{0, 10000}, {0, 10000}};
	struct sigaction now;

	signal(SIGPROF, on_tick);
	setitimer(ITIMER_PROF, &often, NULL);
	work_ms(500);
	sigaction(SIGPROF, NULL, &now);
	printf("%d %d\n", now.sa_handler == on_tick, ticks > 10);
}

/* A thread that lets no signal in. */
static void do_blocked(void)
{
	sigset_t all, pending;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	work_ms(300);
	sigpending(&pending);
	printf("%d\n", sigismember(&pending, SIGPROF));
}

/* All signals as they were in the beginning, and ignored, and in a child as well. */
static void do_reset(void)
{
	int status = 1;
	pid_t child;

	work_ms(50);
	for (int i = 1; i <= 64; i++)
		signal(i, SIG_DFL);
	work_ms(200);
	for (int i = 1; i <= 64; i++) {
		struct sigaction ignored = {.sa_handler = SIG_IGN}, old;

		if (i != SIGCHLD)
			sigaction(i, &ignored, &old);
	}
	work_ms(100);
	for (int i = 1; i <= 64; i++)
		signal(i, SIG_DFL);
	child = fork();
	if (!child) {
		for (int i = 1; i <= 64; i++)
			signal(i, SIG_DFL);
		work_ms(200);
		execl("/bin/true", "true", (char *)NULL);
	}
	waitpid(child, &status, 0);
	printf("%d\n", status);
}

/* Becomes another program while signals wait that it lets in. */
static void do_become(void)
{
	sigset_t all, none;

	if (getenv("HOSTS_BECAME")) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		return;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	work_ms(100);
	/* One that fails changes nothing. */
	execl("/no/such/program", "none", (char *)NULL);
	work_ms(100);
	setenv("HOSTS_BECAME", "1", 1);
	execl("/proc/self/exe", "hosts", "become", (char *)NULL);
}

static atomic_int ended;

static void *end_soon(void *number)
{
	int64_t length = (int64_t)(uintptr_t)number % 1500 * 1000, end = cpu_ns() + length;

	while (cpu_ns() < end)
		sink += churn(sink, 100);
	free(malloc(500));
	ended++;
	if ((uintptr_t)number % 3 == 0)
		pthread_exit(NULL);
	return NULL;
}

static void *never_joined(void *unused)
{
	for (uintptr_t i = 0; i < 400; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, end_soon, (void *)(i * 7919)))
			abort();
		pthread_detach(thread);
	}
	return unused;
}

/* Threads that end at every moment between two samples, some cancelled, while others begin. */
static void do_exits(void)
{
	pthread_t makers[4], endless;

	for (int i = 0; i < 4; i++)
		pthread_create(&makers[i], NULL, never_joined, NULL);
	for (int i = 0; i < 200; i++) {
		pthread_create(&endless, NULL, work_for_ever, NULL);
		work_ms(1);
		pthread_cancel(endless);
		pthread_join(endless, NULL);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(makers[i], NULL);
	while (ended < 1600)
		usleep(1000);
	printf("%d\n", (int)ended);
}

/* One thread has all signals of the program, whichever they are, and does not expect others. */
static void *wait_for_any(void *unused)
{
	sigset_t all;
	int number, seen = 0;

	sigfillset(&all);
	while (seen < 200) {
		work_ms(2);
		if (seen % 2 ? sigwait(&all, &number) != 0 : (number = sigwaitinfo(&all, NULL)) < 0)
			continue;
		if (number != SIGUSR1)
			abort();
		seen++;
	}
	return unused;
}

static void do_sigwait(void)
{
	pthread_t thread;
	struct signalfd_siginfo got;
	sigset_t all;
	int fd;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_create(&thread, NULL, wait_for_any, NULL);
	for (int i = 0; i < 200; i++) {
		pthread_kill(thread, SIGUSR1);
		work_ms(1);
		usleep(3000);
	}
	while (pthread_tryjoin_np(thread, NULL))
		pthread_kill(thread, SIGUSR1);
	/* The same of a descriptor. */
	work_ms(50);
	fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	raise(SIGUSR2);
	if (read(fd, &got, sizeof(got)) != sizeof(got) || got.ssi_signo != SIGUSR2 ||
	    read(fd, &got, sizeof(got)) >= 0)
		abort();
}

static void do_setuid(void)
{
	work_ms(100);
	if (getuid() == 0 && (setgid(65534) || setuid(65534)))
		abort();
	work_ms(300);
}

/* Nothing but read, write, exit and sigreturn from here on. */
static void do_strict(void)
{
	work_ms(100);
	fflush(stdout);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		abort();
	for (int i = 0; i < 300; i++)
		sink += churn(sink, 1000000);
	if (write(1, "inside\n", 7) != 7)
		for (;;)
			;
	syscall(SYS_exit, 0);
}

/* A filter for all threads, by which everything but a few calls ends the process. */
static void do_filter(void)
{
	static const unsigned allowed[] = {SYS_read,  SYS_write,	SYS_exit_group,
					   SYS_exit,  SYS_rt_sigreturn, SYS_brk,
					   SYS_futex, SYS_munmap,	SYS_clock_gettime};
	enum { N = sizeof(allowed) / sizeof(allowed[0]) };
	struct sock_filter code[N * 2 + 2];
	struct sock_fprog program = {.filter = code};
	unsigned n = 0;

	work_ms(100);
	/* What the first line needs of the kernel is not on the list. */
	printf("filter\n");
	fflush(stdout);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < N; i++) {
		code[n++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)n;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		abort();
	for (int i = 0; i < 300; i++) {
		sink += churn(sink, 1000000);
		free(malloc(3000));
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {{"vfork", do_vfork},	      {"daemon", do_daemon},	 {"jump", do_jump},
		   {"overflow", do_overflow}, {"altstack", do_altstack}, {"sigprof", do_sigprof},
		   {"blocked", do_blocked},   {"setuid", do_setuid},	 {"strict", do_strict},
		   {"filter", do_filter},     {"become", do_become},	 {"exits", do_exits},
		   {"sigwait", do_sigwait},   {"reset", do_reset}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (argc > 1 && !strcmp(argv[1], all[i].name)) {
			all[i].run();
			printf("well\n");
			return 0;
		}
	return 2;
}
