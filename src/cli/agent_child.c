#include "cli/agent_child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

static atomic_bool stop, ended;

static void on_end(int signal)
{
	if (signal != SIGHUP)
		atomic_store(&ended, true);
	atomic_store(&stop, true);
}

int capture_types_read(const struct invocation *in, const char *text, unsigned *ret)
{
	struct fault fault = {0};

	*ret = 0;
	return capture_types_parse(str_of(text), ret, &fault) == ERR_OK
		       ? EXIT_OK
		       : complain_usage(in, "--type %s", fault.text);
}

void capture_lacks_say(const struct common_options *common, const struct capture *c)
{
	size_t n;
	const struct capture_lack *lacks = capture_lacks(c, &n);

	for (size_t i = 0; i < n; i++) {
		char names[CAPTURE_NAMES_ROOM];

		capture_types_write(lacks[i].types, names);
		say(common, "without %s: %s (vestal doctor says what helps)", names,
		    lacks[i].why.text);
	}
}

static void listen_to_signals(bool reload)
{
	struct sigaction act = {.sa_handler = on_end};
	sigset_t none;

	sigemptyset(&none);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	if (reload)
		sigaction(SIGHUP, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int agent_serve_loading(struct daemon_options *o, int (*load)(void *, struct daemon_options *),
			void *context)
{
	struct fault fault = {0};
	enum err e;

	listen_to_signals(load);
	for (;;) {
		e = daemon_run(o, &stop, &fault);
		if (e)
			return complain(status_of(e), "%s",
					fault.text[0] ? fault.text : err_text(e));
		if (atomic_load(&ended))
			return EXIT_OK;
		/* A signal from here on is not lost, because `ended` is checked last. */
		atomic_store(&stop, false);
		if (load(context, o) == EXIT_OK)
			log_info("reloaded");
		else
			log_error("not reloaded; nothing changed");
		if (atomic_load(&ended))
			return EXIT_OK;
	}
}

int agent_serve(const struct common_options *common, const struct daemon_options *o)
{
	struct daemon_options same = *o;

	(void)common;
	return agent_serve_loading(&same, NULL, NULL);
}

/* The server's address comes when it listens; nothing comes when it could not. */
static int serve_when_told(const struct common_options *common, const struct daemon_options *o,
			   int told)
{
	struct daemon_options d = *o;
	char url[300] = "http://", byte;
	size_t n = strlen(url);
	ssize_t got;

	/* One line; the pipe stays open until the server stops the agent. */
	while (n < sizeof(url) - 1 && (got = read(told, url + n, sizeof(url) - 1 - n)) > 0) {
		n += (size_t)got;
		if (url[n - 1] == '\n')
			break;
	}
	if (n == strlen("http://") || url[n - 1] != '\n')
		return EXIT_OK;
	url[n - 1] = 0;
	/* It gets SIGTERM when the server exits, even if the server has changed its user. */
	if (fcntl(told, F_SETOWN, getpid()) || fcntl(told, F_SETSIG, SIGTERM) ||
	    fcntl(told, F_SETFL, O_ASYNC | O_NONBLOCK))
		return complain(EXIT_OS, "the agent cannot follow the server");
	listen_to_signals(false);
	if (!read(told, &byte, 1))
		return EXIT_OK;
	d.exporter.endpoint.server = url;
	return agent_serve(common, &d);
}

bool agent_spawn(const struct common_options *common, const struct daemon_options *o,
		 struct agent_child *ret)
{
	pid_t pid;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		_exit(serve_when_told(common, o, ends[0]));
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return false;
	}
	*ret = (struct agent_child){pid, ends[1]};
	return true;
}

void agent_tell(struct agent_child *child, struct str address)
{
	if (!child->pid)
		return;
	/* A child that has exited has printed the reason. */
	if (write_all(child->tell, address.p, address.n) != ERR_OK ||
	    write_all(child->tell, "\n", 1) != ERR_OK)
		child->pid = 0;
}

void agent_end(struct agent_child *child)
{
	if (!child->pid)
		return;
	close(child->tell);
	waitpid(child->pid, NULL, 0);
	child->pid = 0;
}
