#include "cli/agent_child.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

static atomic_bool stop;

static void on_end(int signal)
{
	(void)signal;
	atomic_store(&stop, true);
}

int capture_types_read(const struct invocation *in, const char *text, unsigned *ret)
{
	struct str rest = str_of(text), one;

	*ret = 0;
	while (str_split(&rest, ',', &one)) {
		if (str_eq(one, STR("cpu")))
			*ret |= CAPTURE_CPU;
		else if (str_eq(one, STR("offcpu")) || str_eq(one, STR("off_cpu")))
			*ret |= CAPTURE_WAITS;
		else if (str_eq(one, STR("lock")))
			*ret |= CAPTURE_LOCKS;
		else if (str_eq(one, STR("wall")))
			*ret |= CAPTURE_WALL;
		else
			return complain_usage(in,
					      "--type %.*s is not one of cpu, offcpu, lock, wall",
					      (int)one.n, one.p);
	}
	return *ret ? EXIT_OK : complain_usage(in, "--type needs at least one type");
}

int agent_serve(const struct common_options *common, const struct daemon_options *o)
{
	struct sigaction act = {.sa_handler = on_end};
	struct fault fault = {0};
	sigset_t none;
	enum err e;

	(void)common;
	sigemptyset(&none);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
	e = daemon_run(o, &stop, &fault);
	if (e)
		return complain(status_of(e), "%s", fault.text[0] ? fault.text : err_text(e));
	return EXIT_OK;
}

pid_t agent_spawn(const struct common_options *common, const struct daemon_options *o)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	/* When the server goes, however it goes, there is nobody left to send to. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_OK);
	_exit(agent_serve(common, o));
}
