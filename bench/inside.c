/*
 * The measurements of bench/library inside a process; prints one number:
 *
 *	inside pairs THREADS	nanoseconds per malloc/free pair of 16 to 512 bytes
 *	inside deep FRAMES	the same, FRAMES calls below main
 *	inside span		nanoseconds per span entered and left (gets libvestal by dlsym)
 *	inside mutex		nanoseconds per uncontended mutex lock and unlock
 *	inside mutex-alone	the same in a single-threaded program
 *	inside signal FRAMES	nanoseconds per sample, FRAMES calls below main: libvestal's timer
 *				signal, or SIGPROF; without a profiler, of an empty handler
 *	inside spin SECONDS	loops done in this much CPU time, without a call
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAIRS	    20000000
#define THREADS_MAX 16
#define BURST	    1000
#define BURSTS	    15

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *pairs(void *ret)
{
	double start = now(CLOCK_THREAD_CPUTIME_ID);
	void *held[16] = {0};
	uint32_t x = 12345;

	for (int i = 0; i < PAIRS; i++) {
		void **place = &held[x >> 28];

		x = x * 1664525u + 1013904223u;
		free(*place);
		*place = malloc(16 + (x >> 23));
		__asm__ volatile("" : : "r"(*place) : "memory");
	}
	for (int i = 0; i < 16; i++)
		free(held[i]);
	*(double *)ret = (now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / PAIRS;
	return NULL;
}

static double all_pairs(int threads)
{
	double each[THREADS_MAX], sum = 0;
	pthread_t ids[THREADS_MAX];

	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, pairs, &each[i]))
			exit(1);
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		sum += each[i];
	}
	return sum / threads;
}

__attribute__((noinline)) static void below(int frames, void *(*work)(void *), double *ret)
{
	if (frames)
		below(frames - 1, work, ret);
	else
		work(ret);
	__asm__ volatile("" : : : "memory");
}

static double span(void)
{
	static const uint8_t trace[16] = {1}, id[8] = {2};
	void (*enter)(const uint8_t *, const uint8_t *, const char *);
	void (*leave)(int);
	void *found[2] = {dlsym(RTLD_DEFAULT, "vestal_span_enter"),
			  dlsym(RTLD_DEFAULT, "vestal_span_exit")};
	double start;

	if (!found[0] || !found[1])
		exit(1);
	memcpy(&enter, &found[0], sizeof(enter));
	memcpy(&leave, &found[1], sizeof(leave));
	start = now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < PAIRS; i++) {
		enter(trace, id, "checkout.totals");
		leave(0);
	}
	return (now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / PAIRS;
}

static void *end_at_once(void *nothing)
{
	return nothing;
}

/* While a program has had but one thread libc takes locks without atomic instructions; the
 * library's own thread ends that, as any thread does. */
static double mutex(bool alone)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t other;
	double start;

	if (!alone) {
		if (pthread_create(&other, NULL, end_at_once, NULL))
			exit(1);
		pthread_join(other, NULL);
	}
	start = now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < PAIRS; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	return (now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / PAIRS;
}

/* ------------------------------------------------------------------ signals */

static void on_nothing(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
}

/* The timer of a thread's own and what it sends, as the kernel tells it. */
static int find_timer(siginfo_t *ret)
{
	FILE *timers = fopen("/proc/self/timers", "r");
	char line[256];
	void *value;
	int number, found = 0;

	while (timers && !found && fgets(line, sizeof(line), timers))
		if (sscanf(line, "signal: %d/%p", &number, &value) == 2) {
			ret->si_signo = number;
			ret->si_code = SI_TIMER;
			ret->si_value.sival_ptr = value;
			found = 1;
		}
	if (timers)
		fclose(timers);
	return found;
}

static siginfo_t choose_signal(void)
{
	siginfo_t info = {.si_signo = SIGPROF, .si_code = SI_QUEUE};
	struct sigaction present, own = {.sa_sigaction = on_nothing, .sa_flags = SA_SIGINFO};

	if (find_timer(&info))
		return info;
	sigaction(SIGPROF, NULL, &present);
	if (present.sa_handler == SIG_DFL)
		sigaction(SIGPROF, &own, NULL);
	return info;
}

/* As many as any profiler keeps until it has looked at them; then it may. */
static double burst(siginfo_t *info)
{
	long process = getpid(), thread = syscall(SYS_gettid);
	double start = now(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < BURST; i++)
		syscall(SYS_rt_tgsigqueueinfo, process, thread, info->si_signo, info);
	return (now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / BURST;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void *signals(void *ret)
{
	siginfo_t info = choose_signal();
	double each[BURSTS];

	/* The first ones find tables that are not made and memory that is not there yet. */
	for (int i = 0; i < 2; i++) {
		burst(&info);
		usleep(300000);
	}
	for (int i = 0; i < BURSTS; i++) {
		each[i] = burst(&info);
		usleep(300000);
	}
	qsort(each, BURSTS, sizeof(each[0]), by_value);
	*(double *)ret = each[BURSTS / 2];
	return NULL;
}

static double spin(double seconds)
{
	double end = now(CLOCK_PROCESS_CPUTIME_ID) + seconds, loops = 0;
	uint64_t x = 1;

	while (now(CLOCK_PROCESS_CPUTIME_ID) < end) {
		for (int i = 0; i < 100000; i++)
			x = x * 6364136223846793005ull + 1442695040888963407ull;
		__asm__ volatile("" : "+r"(x));
		loops++;
	}
	return loops;
}

int main(int argc, char **argv)
{
	double value = 0;

	if (argc > 2 && !strcmp(argv[1], "pairs"))
		value = all_pairs(atoi(argv[2]));
	else if (argc > 2 && !strcmp(argv[1], "deep"))
		below(atoi(argv[2]), pairs, &value);
	else if (argc > 2 && !strcmp(argv[1], "signal"))
		below(atoi(argv[2]), signals, &value);
	else if (argc > 1 && !strcmp(argv[1], "span"))
		value = span();
	else if (argc > 1 && !strcmp(argv[1], "mutex"))
		value = mutex(false);
	else if (argc > 1 && !strcmp(argv[1], "mutex-alone"))
		value = mutex(true);
	else if (argc > 2 && !strcmp(argv[1], "spin"))
		value = spin(atof(argv[2]));
	else
		return 2;
	printf("%.3f\n", value);
	return 0;
}
