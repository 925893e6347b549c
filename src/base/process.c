#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define ERRORS_CEILING ((size_t)64 * 1024)
#define READ_PIECE     ((size_t)64 * 1024)
#define ASK_EVERY_MS   20

extern char **environ;

/* A running child. Descriptors are -1 when closed. */
struct child {
	pid_t pid; /* 0 before it runs and after its end */
	int status;
	int input, output, errors, ended;
	int output_end, errors_end; /* the child's ends, until it inherited them */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void child_close(struct child *c)
{
	close_fd(&c->input);
	close_fd(&c->output);
	close_fd(&c->errors);
	close_fd(&c->ended);
	close_fd(&c->output_end);
	close_fd(&c->errors_end);
}

static enum err open_input(struct str input, int *ret_fd)
{
	enum err e;

	if (!input.n)
		*ret_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	else
		*ret_fd = memfd_create("input", MFD_CLOEXEC);
	if (*ret_fd < 0)
		return err_from_errno(errno);
	e = write_all(*ret_fd, input.p, input.n);
	if (!e && input.n && lseek(*ret_fd, 0, SEEK_SET) < 0)
		e = err_from_errno(errno);
	return e;
}

static enum err open_pipe(int *ret_read, int *ret_write)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_from_errno(errno);
	*ret_read = ends[0];
	*ret_write = ends[1];
	/* Only our end: the program expects writes that wait. */
	return fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? err_from_errno(errno) : ERR_OK;
}

/* posix_spawn, because it is safe in a program with threads. 0 or an errno value. */
static int spawn(struct child *c, const char *const *argv)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int failed;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	failed = posix_spawn_file_actions_adddup2(&files, c->input, 0);
	if (!failed)
		failed = posix_spawn_file_actions_adddup2(&files, c->output_end, 1);
	if (!failed)
		failed = posix_spawn_file_actions_adddup2(&files, c->errors_end, 2);
	if (!failed)
		failed = posix_spawn_file_actions_addclosefrom_np(&files, 3);
	if (!failed)
		failed = posix_spawnp(&c->pid, argv[0], &files, &attributes, (char *const *)argv,
				      environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return failed;
}

static enum err child_start(struct child *c, const struct process_options *options,
			    struct fault *fault)
{
	const char *name = options->argv[0];
	enum err e = open_input(options->input, &c->input);
	int failed;

	if (!e)
		e = open_pipe(&c->output, &c->output_end);
	if (!e)
		e = open_pipe(&c->errors, &c->errors_end);
	if (e)
		return fault_set(fault, e, "%s cannot be started: %s", name, err_text(e));
	failed = spawn(c, options->argv);
	if (failed == ENOENT)
		return fault_set(fault, ERR_NOT_FOUND, "%s is not installed (not found in PATH)",
				 name);
	if (failed)
		return fault_set(fault, err_from_errno(failed), "%s cannot be started: %s", name,
				 strerror(failed));
	close_fd(&c->input);
	close_fd(&c->output_end);
	close_fd(&c->errors_end);
	/* Detects its exit even if a process it started keeps the pipes open. */
	c->ended = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return ERR_OK;
}

/* Takes what there is; closes at the end. Without `must_fit`, what is too much is dropped. */
static enum err drain(int *fd, struct buf *into, bool must_fit)
{
	char scratch[READ_PIECE];

	while (*fd >= 0) {
		ssize_t got = read(*fd, scratch, sizeof(scratch));
		size_t room = into->ceiling - into->n;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return ERR_OK;
		if (got <= 0) {
			close_fd(fd);
			return got < 0 ? ERR_IO : ERR_OK;
		}
		if (!must_fit && (size_t)got > room)
			got = (ssize_t)room;
		buf_append(into, scratch, (size_t)got);
		TRY(buf_error(into));
	}
	return ERR_OK;
}

static int milliseconds_until(int64_t deadline)
{
	int64_t left;

	if (!deadline)
		return -1;
	left = deadline - clock_monotonic_ns();
	if (left <= 0)
		return 0;
	left = left / NS_PER_MS + 1;
	return left > 1000000 ? 1000000 : (int)left;
}

/* Whether the program has ended; then `status` is known. */
static bool child_ended(struct child *c)
{
	int status;

	if (c->pid > 0 && waitpid(c->pid, &status, WNOHANG) == c->pid) {
		c->pid = 0;
		c->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	return c->pid == 0;
}

/* Waits until there is something to read or the program ended. */
static enum err child_wait(struct child *c, int64_t deadline)
{
	struct pollfd fds[3] = {
		{c->output, POLLIN, 0}, {c->errors, POLLIN, 0}, {c->ended, POLLIN, 0}};
	int wait = milliseconds_until(deadline);

	if (wait == 0)
		return ERR_TIMEOUT;
	/* Poll if the kernel does not report the exit (in a sandbox or valgrind). */
	if (c->ended < 0 && (wait < 0 || wait > ASK_EVERY_MS))
		wait = ASK_EVERY_MS;
	return poll(fds, 3, wait) < 0 && errno != EINTR ? ERR_IO : ERR_OK;
}

/*
 * Until the program has ended, which may be later than the end of its output, or earlier, if a
 * process it started keeps the pipes open.
 */
static enum err child_collect(struct child *c, int64_t deadline, struct process_result *r)
{
	bool ended;

	do {
		TRY(child_wait(c, deadline));
		/* Check this first: its last output is then in the pipes. */
		ended = child_ended(c);
		TRY(drain(&c->output, &r->output, true));
		TRY(drain(&c->errors, &r->errors, false));
	} while (!ended);
	r->status = c->status;
	return ERR_OK;
}

static void child_kill(struct child *c)
{
	if (c->pid <= 0)
		return;
	kill(-c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
}

static enum err run_fault(const struct process_options *o, enum err e, struct fault *fault)
{
	const char *name = o->argv[0];

	if (e == ERR_TIMEOUT)
		return fault_set(fault, e, "%s did not end within %lld s and was stopped", name,
				 (long long)((o->timeout_ns + NS_PER_S - 1) / NS_PER_S));
	if (e == ERR_TOO_LARGE)
		return fault_set(fault, e, "%s printed more than the limit of %zu bytes", name,
				 o->max_output);
	return fault_set(fault, e, "%s: %s", name, err_text(e));
}

enum err process_run(const struct process_options *options, struct process_result *ret,
		     struct fault *fault)
{
	struct process_result r = {.output = BUF_INIT(options->max_output),
				   .errors = BUF_INIT(ERRORS_CEILING)};
	struct child c = {0, 0, -1, -1, -1, -1, -1, -1};
	int64_t deadline = 0;
	enum err e;

	if (options->timeout_ns)
		deadline = clock_monotonic_ns() + options->timeout_ns;
	e = child_start(&c, options, fault);
	if (!e) {
		e = child_collect(&c, deadline, &r);
		if (e)
			e = run_fault(options, e, fault);
	}
	child_kill(&c);
	child_close(&c);
	if (e) {
		process_result_release(&r);
		return e;
	}
	*ret = r;
	return ERR_OK;
}

enum err process_check(const struct process_result *r, const char *name, struct fault *fault)
{
	struct str rest = str_trim(buf_view(&r->errors)), line = rest;

	if (r->status == 0)
		return ERR_OK;
	if (!str_split(&rest, '\n', &line))
		return fault_set(fault, ERR_IO, "%s exited with status %d without a message", name,
				 r->status);
	line = str_trim(line);
	return fault_set(fault, ERR_IO, "%s ended with status %d: %.*s", name, r->status,
			 (int)(line.n < 200 ? line.n : 200), line.p);
}

void process_result_release(struct process_result *r)
{
	if (!r)
		return;
	buf_release(&r->output);
	buf_release(&r->errors);
}
