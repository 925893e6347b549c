#include "agent/worker_host.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/confine.h"
#include "agent/worker.h"
#include "agent/worker_pace.h"
#include "agent/worker_wire.h"
#include "base/clock.h"

/* Nobody's number, on every Linux. */
#define NOBODY		65534
/* Above what the largest debug builds need; a file that wants more does without. */
#define WORKER_DATA_MAX ((rlim_t)1 << 30)

/* Guarded by nothing: set before there are threads, then only read. */
static int host = -1;
static pid_t host_pid, owner;

/* Waited for, so that their time is counted as the host's. */
static void reap(int signal)
{
	int before = errno;

	(void)signal;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	errno = before;
}

static void ignore_signals(void)
{
	struct sigaction reaped = {.sa_handler = reap, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};
	sigset_t none;

	/* Whoever stops the agent stops its whole group: they end when their sockets are closed,
	 * after the last window was named. */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigaction(SIGCHLD, &reaped, NULL);
	signal(SIGALRM, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Nothing of the agent's stays open, but one socket at number 3. */
static void keep_one(int socket)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; nothing >= 0 && i < 3; i++)
		dup2(nothing, i);
	if (socket != 3)
		dup2(socket, 3);
	close_range(4, ~0u, 0);
}

static void limit(int what, rlim_t value)
{
	struct rlimit r = {value, value};

	setrlimit(what, &r);
}

_Noreturn static void be_worker(int socket, u32 kind)
{
	prctl(PR_SET_NAME, kind == WORKER_TABLES ? "vestal-tables" : "vestal-names", 0, 0, 0);
	keep_one(socket);
	if (kind == WORKER_TABLES) {
		struct sched_param lowest = {0};

		/* Nobody is interrupted for it. Less than that would be too little: until it is
		 * done stacks are kept raw, which costs more. */
		sched_setscheduler(0, SCHED_BATCH, &lowest);
	}
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose own memory is vast */
	limit(RLIMIT_DATA, WORKER_DATA_MAX);
#endif
	limit(RLIMIT_CORE, 0);
	worker_pace_begin(kind);
	if (confine_reader() != ERR_OK)
		_exit(1);
	worker_serve(3, WORKER_IDLE_NS, WORKER_KEPT_BYTES);
	_exit(0);
}

_Noreturn static void be_host(int socket)
{
	struct wire_head request;
	int fd;

	prctl(PR_SET_NAME, "vestal-host", 0, 0, 0);
	ignore_signals();
	keep_one(socket);
	/* Best effort: not root to begin with, or in a container that knows no nobody. That there
	 * are no capabilities left, which matters most, is confine_reader's. */
	if (!geteuid() && !setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY))
		(void)!setresuid(NOBODY, NOBODY, NOBODY);
	while (wire_recv_head(3, &request, &fd, WIRE_FOREVER) == ERR_OK) {
		pid_t pid = fd >= 0 ? fork() : -1;
		struct wire_head reply = {.serial = pid > 0 ? (u64)pid : 0};

		if (!pid)
			be_worker(fd, request.kind);
		if (fd >= 0)
			close(fd);
		if (wire_send(3, &reply, sizeof(reply)) != ERR_OK)
			break;
	}
	_exit(0);
}

/* It ends when nobody can ask it any more: waited for, so that no corpse is left to others. */
static void end_host(void)
{
	if (host < 0 || getpid() != owner)
		return;
	close(host);
	host = -1;
	waitpid(host_pid, NULL, 0);
}

enum err worker_host_start(void)
{
	int pair[2];
	pid_t pid;

	if (host >= 0)
		return ERR_OK;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_from_errno(errno);
	worker_pace_share();
	pid = fork();
	if (!pid)
		be_host(pair[1]);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_from_errno(errno);
	}
	host = pair[0];
	host_pid = pid;
	owner = getpid();
	/* Without it a corpse is left to others, which is no harm. */
	(void)!atexit(end_host);
	return ERR_OK;
}

/* A debug build of a gigabyte takes less. */
#define WORKER_CPU_MOST_NS ((u64)60 * NS_PER_S)
/* More than one of a kind only for a moment. */
#define LIVE_MAX	   8u

struct live_worker {
	int socket; /* -1 = the place is free */
	pid_t pid;
	u64 cpu_ns; /* when it was looked at last */
};

/* Guards the host's socket and what follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct live_worker live[LIVE_MAX];
static u32 live_count;
static u64 ended_ns;
static _Atomic u64 lost;

/* 0 when it has ended: what it used since it was looked at last is not known. */
static u64 cpu_of(pid_t pid)
{
	struct timespec t;
	clockid_t id;

	if (pid <= 0 || clock_getcpuclockid(pid, &id) || clock_gettime(id, &t))
		return 0;
	return (u64)t.tv_sec * NS_PER_S + (u64)t.tv_nsec;
}

static u64 look_at(struct live_worker *w)
{
	u64 now = cpu_of(w->pid);

	if (now > w->cpu_ns)
		w->cpu_ns = now;
	return w->cpu_ns;
}

/* Called with the lock. */
static void retire(u32 at)
{
	ended_ns += look_at(&live[at]);
	live[at] = live[--live_count];
}

static enum err ask_host(enum worker_kind kind, int theirs, pid_t *ret_pid)
{
	struct wire_head request = {.kind = kind}, reply;

	TRY(wire_send_head(host, &request, theirs));
	/* It forks and nothing else, and reads no file. */
	TRY(wire_recv(host, &reply, sizeof(reply), WIRE_FOREVER));
	*ret_pid = (pid_t)reply.serial;
	return *ret_pid > 0 ? ERR_OK : ERR_UNAVAILABLE;
}

enum err worker_open(enum worker_kind kind, int *ret_socket)
{
	int pair[2];
	enum err e;
	pid_t pid;

	if (host < 0)
		return ERR_UNAVAILABLE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_from_errno(errno);
	pthread_mutex_lock(&lock);
	e = ask_host(kind, pair[1], &pid);
	if (!e && live_count == LIVE_MAX)
		retire(0);
	if (!e)
		live[live_count++] = (struct live_worker){pair[0], pid, 0};
	pthread_mutex_unlock(&lock);
	close(pair[1]);
	if (e) {
		close(pair[0]);
		return e;
	}
	*ret_socket = pair[0];
	return ERR_OK;
}

void worker_close(int socket)
{
	if (socket < 0)
		return;
	pthread_mutex_lock(&lock);
	for (u32 i = live_count; i-- > 0;)
		if (live[i].socket == socket)
			retire(i);
	pthread_mutex_unlock(&lock);
	close(socket);
}

u64 worker_cpu_ns(int socket)
{
	u64 ns = 0;

	pthread_mutex_lock(&lock);
	for (u32 i = 0; i < live_count; i++)
		if (live[i].socket == socket)
			ns = look_at(&live[i]);
	pthread_mutex_unlock(&lock);
	return ns;
}

enum err worker_wait(int socket, int64_t patience_ns)
{
	u64 begun = worker_cpu_ns(socket), before = begun, now;
	enum err e;

	while ((e = wire_wait(socket, clock_monotonic_ns() + patience_ns)) == ERR_TIMEOUT) {
		now = worker_cpu_ns(socket);
		if (now <= before || now - begun > WORKER_CPU_MOST_NS)
			return e;
		before = now;
	}
	return e;
}

/* The start of a file below /proc/PID, as far as `room` goes; empty when it cannot be read. */
static struct str read_proc_file(pid_t pid, const char *name, char *text, size_t room)
{
	char path[48];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, room);
	if (fd >= 0)
		close(fd);
	return str_n(text, n > 0 ? (size_t)n : 0);
}

/* Memory of its own: what is resident (the second number of statm) but for files (the third). */
u64 process_own_bytes(pid_t pid)
{
	char text[200];
	struct str rest = read_proc_file(pid, "statm", text, sizeof(text)), field;
	u64 resident, files;

	if (!str_split(&rest, ' ', &field) || !str_split(&rest, ' ', &field) ||
	    str_to_u64(field, 10, &resident) != ERR_OK || !str_split(&rest, ' ', &field) ||
	    str_to_u64(field, 10, &files) != ERR_OK || files > resident)
		return 0;
	return (resident - files) * (u64)sysconf(_SC_PAGESIZE);
}

u64 process_pss(pid_t pid)
{
	char text[2048];
	struct str rest = read_proc_file(pid, "smaps_rollup", text, sizeof(text)), line;
	u64 kib;

	while (str_split(&rest, '\n', &line)) {
		if (!str_starts(line, STR("Pss:")))
			continue;
		line = str_trim(str_skip(line, 4));
		return str_to_u64(str_n(line.p, str_find(line, ' ')), 10, &kib) ? 0 : kib * 1024;
	}
	return 0;
}

u64 worker_pss(void)
{
	u64 sum = host >= 0 ? process_pss(host_pid) : 0;

	pthread_mutex_lock(&lock);
	for (u32 i = 0; i < live_count; i++)
		sum += process_pss(live[i].pid);
	pthread_mutex_unlock(&lock);
	return sum;
}

void worker_usage(struct worker_usage *ret)
{
	*ret = (struct worker_usage){.lost = atomic_load(&lost)};
	pthread_mutex_lock(&lock);
	ret->cpu_ns = ended_ns + (host >= 0 ? cpu_of(host_pid) : 0);
	ret->memory = host >= 0 ? process_own_bytes(host_pid) : 0;
	for (u32 i = 0; i < live_count; i++) {
		ret->cpu_ns += look_at(&live[i]);
		ret->memory += process_own_bytes(live[i].pid);
	}
	pthread_mutex_unlock(&lock);
}

void worker_count_lost(void)
{
	atomic_fetch_add(&lost, 1);
}
