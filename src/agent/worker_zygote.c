#include "agent/worker_zygote.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/confine.h"
#include "agent/worker.h"
#include "agent/worker_host.h"
#include "agent/worker_pace.h"
#include "agent/worker_wire.h"

/* The overflow uid of Linux, if no better one is available. */
#define NOBODY		65534u
/* Stacks of a new program are truncated until its table is ready, which would take long on a busy
 * machine. So tables are built at a higher priority, limited by worker_pace.h. */
#define TABLES_NICE	(-5)
/* More than the largest debug builds need; a file that needs more has no symbols. */
#define WORKER_DATA_MAX ((rlim_t)1 << 30)

/* ---- who it is ---- */

/* Unassigned uid ranges (systemd, UIDS-GIDS): of the whole machine, and of a container. */
static const struct id_range {
	u32 first, last;
} unassigned[] = {{0x70000000u, 0x7ffffffeu}, {60600u, 61183u}};

/* Whether ids of this namespace have a meaning outside. */
static bool is_mapped(u32 id)
{
	FILE *map = fopen("/proc/self/uid_map", "re");
	unsigned first, outside, count;
	bool found = false;

	while (map && !found && fscanf(map, "%u %u %u", &first, &outside, &count) == 3)
		found = id >= first && id - first < count;
	if (map)
		fclose(map);
	return found;
}

static bool is_in_use(u32 id)
{
	DIR *processes = opendir("/proc");
	bool found = false;

	for (struct dirent *d; processes && !found && (d = readdir(processes));) {
		struct stat info;

		found = isdigit((unsigned char)d->d_name[0]) &&
			!fstatat(dirfd(processes), d->d_name, &info, 0) && info.st_uid == id;
	}
	if (processes)
		closedir(processes);
	return found;
}

bool zygote_find_uid(u32 *ret)
{
	for (size_t i = 0; i < sizeof(unassigned) / sizeof(*unassigned); i++) {
		const struct id_range *r = &unassigned[i];
		u32 number;

		if (!is_mapped(r->first) || !is_mapped(r->last))
			continue;
		for (unsigned tries = 0; tries < 16; tries++) {
			if (getrandom(&number, sizeof(number), 0) != sizeof(number))
				number = (u32)getpid() * 2654435761u;
			number = r->first + number % (r->last - r->first + 1);
			if (!is_in_use(number)) {
				*ret = number;
				return true;
			}
		}
	}
	return false;
}

/* Makes permitted capabilities effective. */
static void use_capabilities(bool any)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (any && syscall(SYS_capget, &head, data))
		return;
	for (unsigned i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	(void)syscall(SYS_capset, &head, data);
}

/*
 * Best effort: without root the uid stays the user's own, and some systems allow no namespace. That
 * no capabilities are left, which matters most, is also seen to by confine_reader.
 */
static void become_nobody_else(void)
{
	u32 id = NOBODY;

	if (!geteuid()) {
		zygote_find_uid(&id);
		prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
		if (setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id))
			(void)!setresuid(NOBODY, NOBODY, NOBODY);
		/* For systems where only an administrator makes namespaces. */
		use_capabilities(true);
	}
	(void)!unshare(CLONE_NEWUSER);
	use_capabilities(false);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* ---- what it does ---- */

/* Waited for, so that their time is counted as the zygote's. */
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

	/* Ctrl-C goes to the whole process group: ignore it, and exit when the sockets are closed,
	 * after the last window was symbolized. */
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
	if (kind == WORKER_TABLES)
		(void)setpriority(PRIO_PROCESS, 0, TABLES_NICE);
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

_Noreturn static void serve(void);

static u64 obey(const struct wire_head *request, int fd)
{
	pid_t pid;

	if (request->kind == ZYGOTE_KILL)
		return request->serial > 1 && request->serial <= INT32_MAX &&
		       !kill((pid_t)request->serial, SIGKILL);
	pid = fd >= 0 ? fork() : -1;
	if (!pid && request->kind == ZYGOTE_FORK) {
		keep_one(fd);
		serve();
	}
	if (!pid)
		be_worker(fd, request->kind);
	return pid > 0 ? (u64)pid : 0;
}

/* It exits when its socket is closed. */
_Noreturn static void serve(void)
{
	struct wire_head request;
	int fd;

	while (wire_recv_head(3, &request, &fd, WIRE_FOREVER) == ERR_OK) {
		struct wire_head reply = {.serial = obey(&request, fd)};

		if (fd >= 0)
			close(fd);
		if (wire_send(3, &reply, sizeof(reply)) != ERR_OK)
			break;
	}
	_exit(0);
}

enum err zygote_start(int *ret_socket, pid_t *ret_pid)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_from_errno(errno);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_NAME, "vestal-host", 0, 0, 0);
		ignore_signals();
		keep_one(pair[1]);
		limit(RLIMIT_NICE, 20 - TABLES_NICE);
		become_nobody_else();
		serve();
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_from_errno(errno);
	}
	*ret_socket = pair[0];
	*ret_pid = pid;
	return ERR_OK;
}
