#include "agent/worker_host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/worker_pace.h"
#include "agent/worker_wire.h"
#include "agent/worker_zygote.h"
#include "base/clock.h"
#include "base/log.h"

/* A zygote forks and nothing else, and reads no file. */
#define ASK_NS	      (500 * NS_PER_MS)
/* Interval for checking the zygotes, and a worker while waiting for it. */
#define LOOK_NS	      (200 * NS_PER_MS)
/* So many looks in a row at a process that is stopped: a debugger's short stop is none. */
#define STOPPED_LOOKS 3u
/* Without CPU time and without a beat: asleep, in the middle of reading a disk, wanting a CPU. */
#define ASLEEP_NS     (700 * NS_PER_MS)
#define READING_NS    (5 * NS_PER_S)
#define RUNNABLE_NS   (60 * NS_PER_S)
/* Between two lines of the log about workers. */
#define SAY_NS	      (10 * NS_PER_S)
/* More than one of a kind only for a moment. */
#define LIVE_MAX      8u
#define ZYGOTES	      2u

struct live_worker {
	int socket; /* -1 = the place is free */
	pid_t pid;
	enum worker_kind kind;
	u64 cpu_ns; /* last check */
};

struct zygote {
	int socket; /* -1 = there is none */
	pid_t pid;
	unsigned stopped; /* looks in a row */
};

/* Held while a zygote is asked, half a second at most; by threads that may wait. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
/* Guards what follows; held for moments. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct zygote zygotes[ZYGOTES] = {{.socket = -1}, {.socket = -1}};
static bool started, all_gone;
static pid_t first_pid, owner;
static struct live_worker live[LIVE_MAX];
static u32 live_count;
static u64 ended_ns;

static _Atomic u64 lost, zygotes_replaced, replaced[WORKER_FATES];
static _Atomic int64_t said;

/* ---- what the kernel says of a process ---- */

/* 0 if it has ended: its CPU time since the last check is unknown. */
static u64 cpu_of(pid_t pid)
{
	struct timespec t;
	clockid_t id;

	if (pid <= 0 || clock_getcpuclockid(pid, &id) || clock_gettime(id, &t))
		return 0;
	return (u64)t.tv_sec * NS_PER_S + (u64)t.tv_nsec;
}

/* The state in /proc/PID/stat; 'X' if it has ended. */
static char state_of(pid_t pid)
{
	char path[40], text[160];
	ssize_t n;
	size_t at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	at = n > 0 ? str_rfind(str_n(text, (size_t)n), ')') : 0;
	return n > 0 && at + 2 < (size_t)n ? text[at + 2] : 'X';
}

static bool is_gone(char state)
{
	return state == 'X' || state == 'x' || state == 'Z';
}

static bool is_stopped(char state)
{
	return state == 'T' || state == 't';
}

/* ---- zygotes ---- */

/* Requires `asking`. A zygote that does not answer in time is not used again. */
static enum err ask(struct zygote *z, u32 kind, u64 serial, int fd, u64 *ret)
{
	struct wire_head request = {.kind = kind, .serial = serial}, reply;
	enum err e = z->socket < 0 ? ERR_UNAVAILABLE : wire_send_head(z->socket, &request, fd);

	if (!e)
		e = wire_recv(z->socket, &reply, sizeof(reply), clock_monotonic_ns() + ASK_NS);
	if (e && z->socket >= 0) {
		close(z->socket);
		z->socket = -1;
	}
	if (e)
		return e;
	*ret = reply.serial;
	return ERR_OK;
}

/* Called with `asking`: whichever zygote can. */
static enum err ask_any(u32 kind, u64 serial, int fd, u64 *ret)
{
	enum err e = ERR_UNAVAILABLE;

	for (unsigned i = 0; e && i < ZYGOTES; i++) {
		e = ask(&zygotes[i], kind, serial, fd, ret);
		if (!e && !*ret && kind != ZYGOTE_KILL)
			e = ERR_UNAVAILABLE;
	}
	return e;
}

/* Called with `asking`. */
static enum err fork_zygote(unsigned at)
{
	int pair[2];
	u64 pid = 0;
	enum err e;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_from_errno(errno);
	e = ask(&zygotes[at ^ 1], ZYGOTE_FORK, 0, pair[1], &pid);
	close(pair[1]);
	if (e || !pid) {
		close(pair[0]);
		return e ? e : ERR_UNAVAILABLE;
	}
	pthread_mutex_lock(&lock);
	zygotes[at] = (struct zygote){pair[0], (pid_t)pid, 0};
	pthread_mutex_unlock(&lock);
	return ERR_OK;
}

/* Called with `asking`. */
static void mend_zygote(unsigned at, const char *why)
{
	struct zygote *z = &zygotes[at];
	pid_t pid = z->pid;
	u64 done;

	if (z->socket >= 0)
		close(z->socket);
	z->socket = -1;
	/* Only the first one is a child of ours. */
	(void)waitpid(pid, NULL, WNOHANG);
	if (zygotes[at ^ 1].socket < 0) {
		if (!all_gone)
			log_error("no process is left that can start readers of files: new "
				  "programs are not unwound and not named; restart the agent");
		all_gone = true;
		return;
	}
	/* It may be stopped, and would never see that its socket was closed. */
	(void)!ask(&zygotes[at ^ 1], ZYGOTE_KILL, (u64)pid, -1, &done);
	if (fork_zygote(at) != ERR_OK)
		return;
	atomic_fetch_add(&zygotes_replaced, 1);
	log_warn("the process that starts readers of files was replaced", log_text("reason", why),
		 log_u64("pid", (u64)pid), log_u64("now", (u64)z->pid));
}

static void look_at_zygotes(void)
{
	pthread_mutex_lock(&asking);
	for (unsigned i = 0; i < ZYGOTES; i++) {
		struct zygote *z = &zygotes[i];
		char state = state_of(z->pid);

		z->stopped = is_stopped(state) ? z->stopped + 1 : 0;
		if (is_gone(state))
			mend_zygote(i, "it ended");
		else if (z->stopped >= STOPPED_LOOKS)
			mend_zygote(i, "it was stopped");
		else if (z->socket < 0)
			mend_zygote(i, "it did not answer");
	}
	pthread_mutex_unlock(&asking);
}

static void *watch(void *unused)
{
	(void)unused;
	for (;;) {
		clock_sleep_ns(LOOK_NS);
		look_at_zygotes();
	}
	return NULL;
}

void worker_host_watch(void)
{
	static bool watching;
	pthread_attr_t detached;
	sigset_t all, before;
	pthread_t thread;

	if (watching || !started || pthread_attr_init(&detached))
		return;
	/* For as long as the process lives: it has nothing of its own. */
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	watching = !pthread_create(&thread, &detached, watch, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&detached);
	if (watching)
		pthread_setname_np(thread, "vestal-watch");
}

/* They exit when their sockets are closed; wait for them, so that no zombies remain. */
static void end_zygotes(void)
{
	if (!started || getpid() != owner)
		return;
	pthread_mutex_lock(&asking);
	for (unsigned i = 0; i < ZYGOTES; i++) {
		if (zygotes[i].socket >= 0)
			close(zygotes[i].socket);
		zygotes[i].socket = -1;
	}
	/* Never mended again: the lock is kept. */
	if (!is_stopped(state_of(first_pid)))
		waitpid(first_pid, NULL, 0);
}

enum err worker_host_start(void)
{
	if (started)
		return ERR_OK;
	worker_pace_share();
	TRY(zygote_start(&zygotes[0].socket, &zygotes[0].pid));
	first_pid = zygotes[0].pid;
	owner = getpid();
	started = true;
	/* Without it a corpse is left to others, which is no harm. */
	(void)!atexit(end_zygotes);
	/* One is enough to work; the watch tries again. */
	(void)!fork_zygote(1);
	return ERR_OK;
}

/* ---- workers ---- */

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

enum err worker_open(enum worker_kind kind, int *ret_socket)
{
	int pair[2];
	enum err e;
	u64 pid = 0;

	if (!started)
		return ERR_UNAVAILABLE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_from_errno(errno);
	pthread_mutex_lock(&asking);
	e = ask_any(kind, 0, pair[1], &pid);
	pthread_mutex_unlock(&asking);
	close(pair[1]);
	if (e) {
		close(pair[0]);
		return e;
	}
	pthread_mutex_lock(&lock);
	if (live_count == LIVE_MAX)
		retire(0);
	live[live_count++] = (struct live_worker){pair[0], (pid_t)pid, kind, 0};
	pthread_mutex_unlock(&lock);
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

/* Its current state; pid 0 if unknown. */
static struct live_worker worker_at(int socket)
{
	struct live_worker found = {.socket = -1};

	pthread_mutex_lock(&lock);
	for (u32 i = 0; i < live_count; i++)
		if (live[i].socket == socket) {
			look_at(&live[i]);
			found = live[i];
		}
	pthread_mutex_unlock(&lock);
	return found;
}

u64 worker_cpu_ns(int socket)
{
	return worker_at(socket).cpu_ns;
}

static int64_t patience_in(char state)
{
	return state == 'S' ? ASLEEP_NS : state == 'D' ? READING_NS : RUNNABLE_NS;
}

enum worker_fate worker_wait(int socket, const struct worker_patience *p)
{
	struct live_worker w = worker_at(socket);
	u64 begun = w.cpu_ns, seen = begun, beat = worker_pace_beat(w.kind);
	int64_t since = clock_monotonic_ns();
	unsigned stopped = 0;

	while (wire_wait(socket, clock_monotonic_ns() + LOOK_NS) == ERR_TIMEOUT) {
		char state = state_of(w.pid);
		u64 now = worker_cpu_ns(socket), beats = worker_pace_beat(w.kind);

		if (is_gone(state))
			return WORKER_ENDED;
		stopped = is_stopped(state) ? stopped + 1 : 0;
		if (stopped >= STOPPED_LOOKS)
			return WORKER_STOPPED;
		if (p->cpu_ns && now - begun > p->cpu_ns)
			return WORKER_SPENT;
		if (p->enough && p->enough(p->context, now - begun))
			return WORKER_SPENT;
		if (now > seen || beats != beat || stopped) {
			seen = now;
			beat = beats;
			since = clock_monotonic_ns();
		} else if (clock_monotonic_ns() - since > patience_in(state)) {
			return WORKER_HUNG;
		}
	}
	/* Also when the other end was closed: who receives sees it. */
	return WORKER_ANSWERS;
}

const char *worker_fate_text(enum worker_fate fate)
{
	static const char *const texts[WORKER_FATES] = {
		[WORKER_ANSWERS] = "answered wrongly", [WORKER_ENDED] = "ended",
		[WORKER_STOPPED] = "stopped",	       [WORKER_HUNG] = "hung",
		[WORKER_SPENT] = "took too long",
	};

	return texts[fate];
}

void worker_replace(int socket, enum worker_fate fate)
{
	struct live_worker w = worker_at(socket);
	int64_t now = clock_monotonic_ns(), before = atomic_load(&said);
	u64 done;

	if (socket < 0)
		return;
	if (w.pid && fate != WORKER_ENDED) {
		pthread_mutex_lock(&asking);
		(void)!ask_any(ZYGOTE_KILL, (u64)w.pid, -1, &done);
		pthread_mutex_unlock(&asking);
	}
	atomic_fetch_add(&replaced[fate], 1);
	/* Files that make workers end may come by the thousand. A file that is too much is no
	 * matter of the log at all. */
	if (fate == WORKER_SPENT)
		log_debug("reading a file takes long", log_u64("pid", (u64)w.pid));
	else if ((!before || now - before > SAY_NS) &&
		 atomic_compare_exchange_strong(&said, &before, now))
		log_warn("a reader of files is replaced",
			 log_text("kind", w.kind == WORKER_TABLES ? "tables" : "names"),
			 log_text("reason", worker_fate_text(fate)), log_u64("pid", (u64)w.pid));
	worker_close(socket);
}

/* ---- what they cost ---- */

static u64 pss_of(pid_t pid)
{
	u64 pss = process_pss(pid);

	/* Without root it may not be seen. */
	return pss ? pss : process_own_bytes(pid);
}

/* A copy of the running workers, because reading /proc takes too long for holding the lock. */
static u32 all_pids(pid_t pids[LIVE_MAX + ZYGOTES])
{
	u32 n = 0;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; started && i < ZYGOTES; i++)
		if (zygotes[i].pid)
			pids[n++] = zygotes[i].pid;
	for (u32 i = 0; i < live_count; i++)
		pids[n++] = live[i].pid;
	pthread_mutex_unlock(&lock);
	return n;
}

u64 worker_pss(void)
{
	pid_t pids[LIVE_MAX + ZYGOTES];
	u32 n = all_pids(pids);
	u64 sum = 0;

	for (u32 i = 0; i < n; i++)
		sum += pss_of(pids[i]);
	return sum;
}

void worker_usage(struct worker_usage *ret)
{
	pid_t pids[LIVE_MAX + ZYGOTES];
	u32 n = all_pids(pids);

	*ret = (struct worker_usage){.lost = atomic_load(&lost),
				     .zygotes = atomic_load(&zygotes_replaced)};
	for (unsigned i = 0; i < WORKER_FATES; i++)
		ret->replaced[i] = atomic_load(&replaced[i]);
	pthread_mutex_lock(&lock);
	ret->cpu_ns = ended_ns;
	for (u32 i = 0; i < live_count; i++)
		ret->cpu_ns += look_at(&live[i]);
	for (unsigned i = 0; started && i < ZYGOTES; i++)
		ret->cpu_ns += cpu_of(zygotes[i].pid);
	pthread_mutex_unlock(&lock);
	for (u32 i = 0; i < n; i++)
		ret->memory += process_own_bytes(pids[i]);
}

void worker_count_lost(void)
{
	atomic_fetch_add(&lost, 1);
}
