#include "cli/record_run.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/agent_child.h"
#include "cli/term.h"

/* Short turns at first: what runs becomes known to the kernel side soon. */
#define FIRST_TURN_NS  (5 * NS_PER_MS)
#define TURN_NS	       (100 * NS_PER_MS)
#define FINISH_NS      (10 * NS_PER_S)
/* For debug files of debuginfod servers, all together. */
#define FETCH_NS       (60 * NS_PER_S)
#define NOT_FOUND_EXIT 127

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* The program waits for a pipe until the BPF side knows it. */
struct child {
	pid_t pid;
	int go; /* closing it lets the program run */
};

static int start_child(char *const *program, struct child *ret)
{
	int gate[2];
	pid_t pid;

	if (pipe(gate))
		return complain(EXIT_OS, "no pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		return complain(EXIT_OS, "the program cannot be started: %s", strerror(errno));
	if (!pid) {
		char byte;

		close(gate[1]);
		/* Returns 0 when the other end is closed. */
		while (read(gate[0], &byte, 1) < 0 && errno == EINTR)
			;
		close(gate[0]);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		execvp(program[0], program);
		fprintf(stderr, "vestal: %s: %s\n", program[0], strerror(errno));
		_exit(NOT_FOUND_EXIT);
	}
	close(gate[0]);
	*ret = (struct child){pid, gate[1]};
	return EXIT_OK;
}

static int wait_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static enum err choose_by_name(struct capture *c, const struct text_list *names, size_t *ret_found)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	enum err e = ERR_OK;

	*ret_found = 0;
	if (!proc)
		return ERR_IO;
	while (!e && (entry = readdir(proc))) {
		CLEANUP(buf_release) struct buf comm = BUF_INIT(64);
		char path[300];
		u64 pid;

		if (str_to_u64(str_of(entry->d_name), 10, &pid) != ERR_OK)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (file_read(path, &comm, NULL) != ERR_OK)
			continue;
		for (size_t i = 0; !e && i < names->n; i++) {
			if (!str_eq(str_trim(buf_view(&comm)), str_of(names->v[i])))
				continue;
			e = capture_choose(c, (u32)pid);
			/* Others may have processes of that name, and processes end. */
			if (e == ERR_NO_PERMISSION || e == ERR_NOT_FOUND)
				e = ERR_OK;
			else
				++*ret_found;
		}
	}
	closedir(proc);
	return e;
}

int record_choose_pid(struct capture *c, const char *text)
{
	char path[40];
	u64 pid;
	enum err e;

	if (str_to_u64(str_of(text), 10, &pid) || !pid || pid > INT32_MAX)
		return complain(EXIT_USAGE, "-p %s is no process", text);
	snprintf(path, sizeof(path), "/proc/%u", (u32)pid);
	if (access(path, F_OK))
		return complain(EXIT_NO_INPUT, "there is no process %u", (u32)pid);
	e = capture_choose(c, (u32)pid);
	if (e == ERR_NO_PERMISSION)
		return complain(status_of(e), "process %u is not yours: root may record it",
				(u32)pid);
	return e ? complain(EXIT_OS, "%s", err_text(e)) : EXIT_OK;
}

static int choose(const struct record_plan *plan, struct capture *c, const struct child *child)
{
	enum err e = child->pid ? capture_choose(c, (u32)child->pid) : ERR_OK;
	int status = EXIT_OK;
	size_t found;

	for (size_t i = 0; !e && !status && i < plan->pids.n; i++)
		status = record_choose_pid(c, plan->pids.v[i]);
	if (!e && !status && plan->names.n) {
		e = choose_by_name(c, &plan->names, &found);
		if (!e && !found)
			return complain(EXIT_NO_INPUT, "no process is called %s", plan->names.v[0]);
	}
	return e ? complain(EXIT_OS, "%s", err_text(e)) : status;
}

/* Runs until the time is over, the program has ended, or Ctrl-C. */
static enum err gather(const struct record_plan *plan, struct capture *c, const struct child *child,
		       const struct common_options *common, struct recording *r)
{
	int64_t start = clock_monotonic_ns(), end = start + (int64_t)(plan->seconds * 1e9);
	bool forever = plan->seconds <= 0, running = child->pid != 0;
	int64_t turn = FIRST_TURN_NS;
	enum err e = ERR_OK;

	r->window.start_ns = clock_wall_ns();
	progress_begin("recording", PROGRESS_SECONDS, forever ? 0 : (uint64_t)plan->seconds,
		       common->quiet);
	while (!e && !interrupted) {
		int64_t now = clock_monotonic_ns(), left = end - now;
		int status;

		if (!forever && left <= 0)
			break;
		if (running && waitpid(child->pid, &status, WNOHANG) == child->pid) {
			r->program_status = wait_status(status);
			running = false;
		}
		if (child->pid && !running)
			break;
		capture_wait(c, !forever && left < turn ? left : turn);
		turn = turn * 5 / 4 < TURN_NS ? turn * 5 / 4 : TURN_NS;
		e = capture_turn(c);
		progress_update((uint64_t)((clock_monotonic_ns() - start) / NS_PER_S));
	}
	progress_end();
	if (!e)
		e = capture_open_waits(c);
	capture_stop(c);
	r->window.duration_ns = clock_wall_ns() - r->window.start_ns;
	if (running) {
		int status;

		/* Ctrl-C reached the program as well; the end of the time did not. */
		if (!interrupted)
			kill(child->pid, SIGTERM);
		if (waitpid(child->pid, &status, 0) == child->pid)
			r->program_status = wait_status(status);
	}
	return e ? e : capture_finish(c, FINISH_NS);
}

static enum err make_profile(const struct record_plan *plan, struct capture *c,
			     const struct common_options *common, struct profile *ret,
			     struct recording *r)
{
	struct collector *collected = capture_collector(c);
	struct debug_source_options debuginfod = {.urls = getenv("DEBUGINFOD_URLS")};
	struct names_options options = {.patience_ns = FETCH_NS, .prober = capture_prober(c)};
	struct names *names = NULL;
	struct fault fault = {0};
	enum err e;

	r->window.types = capture_types(c);
	r->window.period_ns = (u64)NS_PER_S / plan->capture.kernel.rate_hz;
	r->samples = collected->samples;
	r->complete = collected->ends[UNWIND_ROOT];
	memcpy(r->ends, collected->ends, sizeof(r->ends));
	capture_stats(c, &r->stats);
	/* Keep the recording even if symbolization fails. */
	if (debug_source_new(&debuginfod, &options.debug, &fault) != ERR_OK)
		say(common, "DEBUGINFOD_URLS is not used: %s", fault.text);
	e = names_new(capture_modules(c), &options, &names);
	if (!e)
		e = window_profile(collected, names, &r->window, ret);
	names_free(names);
	debug_source_free(options.debug);
	return e;
}

int record_run(const struct record_plan *plan, const struct common_options *common,
	       struct profile *ret, struct recording *ret_recording)
{
	struct sigaction act = {.sa_handler = on_interrupt}, old_int, old_term;
	struct capture *c = NULL;
	struct child child = {0};
	struct fault fault = {0};
	enum err e;
	int status;

	e = capture_open_allowed(&plan->capture, &c, &fault);
	if (e)
		return complain(status_of(e), "%s", fault.text[0] ? fault.text : err_text(e));
	if (capture_is_own(c))
		say(common, "%s", capture_own_note);
	sigaction(SIGINT, &act, &old_int);
	sigaction(SIGTERM, &act, &old_term);
	status = plan->program ? start_child(plan->program, &child) : EXIT_OK;
	if (!status)
		status = choose(plan, c, &child);
	if (!status) {
		e = capture_start(c, &fault);
		if (e)
			status = complain(status_of(e), "%s", fault.text);
		else
			capture_lacks_say(common, c);
	}
	if (child.go)
		close(child.go);
	if (!status) {
		e = gather(plan, c, &child, common, ret_recording);
		if (!e)
			e = make_profile(plan, c, common, ret, ret_recording);
		if (e)
			status = complain(status_of(e), "%s", err_text(e));
	} else if (child.pid) {
		kill(child.pid, SIGKILL);
		waitpid(child.pid, NULL, 0);
	}
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	capture_close(c);
	return status;
}
