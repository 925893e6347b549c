/*
 * Programs that do to an observer what hostile ones would:
 *	attacker KIND SECONDS [FOLDER OF PERF MAPS | PIDS TO END]
 * Each works a little as well, so that it is sampled, and prints its number of rounds when it ends.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

#define PAGE   4096u
#define MIB    ((size_t)1 << 20)
/* Below vm.max_map_count. */
#define SPLITS 32000u

static volatile uint64_t sink;
static int64_t deadline;
static unsigned long rounds;

static int goes_on(void)
{
	return wall_ns() < deadline;
}

/* Every second page becomes a mapping of code, again and again. */
static void mapping_bomb(void)
{
	char *all = mmap(NULL, (size_t)SPLITS * 2 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	while (all != MAP_FAILED && goes_on()) {
		for (unsigned i = 0; i < SPLITS && goes_on(); i++)
			mprotect(all + (size_t)i * 2 * PAGE, PAGE,
				 PROT_READ | (rounds % 2 ? PROT_WRITE : PROT_EXEC));
		rounds++;
		sink += churn(rounds, 1000);
	}
}

static void fork_storm(void)
{
	while (goes_on()) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		if (child > 0)
			waitpid(child, NULL, 0);
		rounds++;
	}
}

static void exec_storm(void)
{
	while (goes_on()) {
		pid_t child = vfork();

		if (!child) {
			execl("/proc/self/exe", "attacker", "nothing", "0", (char *)NULL);
			_exit(1);
		}
		if (child > 0)
			waitpid(child, NULL, 0);
		rounds++;
	}
}

static void *short_thread(void *unused)
{
	return unused;
}

static void thread_storm(void)
{
	while (goes_on()) {
		pthread_t thread;

		if (!pthread_create(&thread, NULL, short_thread, NULL))
			pthread_join(thread, NULL);
		rounds++;
	}
}

static void name_storm(void)
{
	char name[16];

	while (goes_on()) {
		snprintf(name, sizeof(name), "n%lx", rounds++);
		prctl(PR_SET_NAME, name, 0, 0, 0);
	}
}

/* A whole copy of this program, which is another file each time. */
static int copy_of_self(void)
{
	int from = open("/proc/self/exe", O_RDONLY), to = memfd_create("program", MFD_CLOEXEC);
	struct stat info;

	if (from >= 0 && to >= 0 && !fstat(from, &info))
		while (info.st_size > 0) {
			ssize_t n = copy_file_range(from, NULL, to, NULL, (size_t)info.st_size, 0);
			char buffer[65536];

			if (n <= 0) {
				n = read(from, buffer, sizeof(buffer));
				if (n <= 0 || write(to, buffer, (size_t)n) != n)
					break;
			}
			info.st_size -= n;
		}
	close(from);
	return to;
}

/* Files of code by the thousand, each mapped, none like the other. */
static void file_storm(void)
{
	while (goes_on()) {
		int fd = copy_of_self();
		void *at = fd < 0 ? MAP_FAILED
				  : mmap(NULL, 4 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (at != MAP_FAILED)
			munmap(at, 4 * PAGE);
		close(fd);
		rounds++;
		sink += churn(rounds, 1000);
	}
}

/* Code at `at` that only works, called through a pointer. */
static void make_code(unsigned char *at)
{
	/* mov $200000,%ecx; 1: dec %ecx; jnz 1b; ret */
	static const unsigned char code[] = {0xb9, 0x40, 0x0d, 0x03, 0x00,
					     0xff, 0xc9, 0x75, 0xfc, 0xc3};

	memcpy(at, code, sizeof(code));
}

/* Code that is made, run and dropped; its perf map is 256 MiB of newlines. */
static void code_storm(const char *map)
{
	int fd;
	char path[64];

	snprintf(path, sizeof(path), "%s/perf-%d.map", map, (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd >= 0) {
		static char lines[MIB];

		memset(lines, '\n', sizeof(lines));
		for (unsigned i = 0; i < 256 && goes_on(); i++)
			if (write(fd, lines, sizeof(lines)) < 0)
				break;
		close(fd);
	}
	while (goes_on()) {
		unsigned char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			break;
		make_code(at);
		for (unsigned i = 0; i < 20; i++)
			((void (*)(void))(uintptr_t)at)();
		munmap(at, PAGE);
		rounds++;
	}
	unlink(path);
}

/* A list of mappings that takes the agent long to read, and code that is moved so that it asks for
 * the list again. As another program every second: it has never been asked for that one's. */
static void long_list(void)
{
	char *all = mmap(NULL, (size_t)SPLITS * 2 * PAGE, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int64_t until = wall_ns() + 1000000000;
	char left[24];

	if (all == MAP_FAILED || at == MAP_FAILED)
		return;
	for (unsigned i = 0; i < SPLITS; i++)
		mprotect(all + (size_t)i * 2 * PAGE, PAGE, PROT_NONE);
	make_code(at);
	while (goes_on() && wall_ns() < until) {
		void *room = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void *moved = mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room);

		if (moved == MAP_FAILED)
			return;
		at = moved;
		for (unsigned i = 0; i < 100; i++)
			((void (*)(void))(uintptr_t)at)();
		usleep(50000);
	}
	snprintf(left, sizeof(left), "%lld", (long long)((deadline - wall_ns()) / 1000000000));
	if (goes_on())
		execl("/proc/self/exe", "attacker", "lists", left, (char *)NULL);
}

/* Only works: what is hostile is its file, or what stands beside it. */
NOINLINE static void spin(void)
{
	while (goes_on()) {
		sink += churn(rounds, 100000);
		rounds++;
	}
}

/* Stopped most of the time, in the middle of anything. */
static void stopped(void)
{
	pid_t worker = fork();

	if (!worker) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		spin();
		_exit(0);
	}
	while (goes_on()) {
		kill(worker, SIGSTOP);
		usleep(200000);
		kill(worker, SIGCONT);
		usleep(20000);
		rounds++;
	}
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
}

/* Stops and ends those of the given processes that it may. */
static void killer(char **pids)
{
	while (goes_on()) {
		for (char **pid = pids; *pid; pid++)
			if (!kill(atoi(*pid), SIGSTOP)) {
				kill(atoi(*pid), SIGKILL);
				rounds++;
			}
		usleep(100000);
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	/* Not beyond the test that began it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	deadline = wall_ns() + (argc > 2 ? atoll(argv[2]) : 1) * 1000000000ll;
	if (!strcmp(kind, "mappings"))
		mapping_bomb();
	else if (!strcmp(kind, "forks"))
		fork_storm();
	else if (!strcmp(kind, "execs"))
		exec_storm();
	else if (!strcmp(kind, "threads"))
		thread_storm();
	else if (!strcmp(kind, "names"))
		name_storm();
	else if (!strcmp(kind, "files"))
		file_storm();
	else if (!strcmp(kind, "code"))
		code_storm(argc > 3 ? argv[3] : "/tmp");
	else if (!strcmp(kind, "lists"))
		long_list();
	else if (!strcmp(kind, "stopped"))
		stopped();
	else if (!strcmp(kind, "killer"))
		killer(argv + (argc > 3 ? 3 : argc));
	else if (strcmp(kind, "nothing") != 0)
		spin();
	if (rounds)
		printf("%lu\n", rounds);
	return 0;
}
