#include "cli/serve.h"

#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "commit.h"

int serve_memory_usage(const struct invocation *in)
{
	return complain_usage(in,
			      "--memory takes no size: it keeps all data in memory and nothing on "
			      "disk; --memory-limit %s limits how much memory the server takes",
			      in->arguments.v[0]);
}

void serve_log(const char *level_text, const char *style)
{
	enum log_level level;

	if (log_level_parse(str_of(level_text), &level) == ERR_OK)
		log_setup(STDERR_FILENO, level, strcmp(style, "json") ? LOG_LOGFMT : LOG_JSON);
}

void serve_address(struct server_options *s, const char *address, const char *kind)
{
	if (strcmp(address, "none") != 0)
		s->listen[s->listen_count++] = (struct server_listen){address, kind, false};
}

void serve_optional_address(struct server_options *s, const char *address, const char *kind)
{
	size_t at = s->listen_count;

	serve_address(s, address, kind);
	if (s->listen_count > at)
		s->listen[at].optional = true;
}

/* Suggests the next commands, for the current address. */
static void put_next(const struct common_options *common, const struct server_options *options,
		     struct str address)
{
	const char *scheme = options->http.tls.certificate ? "https" : "http";

	if (str_eq(address, STR(SERVE_LISTEN)) && !options->http.tls.certificate)
		say(common, "next: vestal push cpu.pb.gz --service NAME, then vestal query NAME; "
			    "Ctrl-C stops the server");
	else
		say(common,
		    "next: export VESTAL_SERVER=%s://%.*s, vestal push cpu.pb.gz --service NAME; "
		    "Ctrl-C stops the server",
		    scheme, (int)address.n, address.p);
}

/* Print this warning even with --quiet, because a sender may use that address. */
static void warn_taken(const struct server_listen *l, struct str main_address)
{
	complain(EXIT_OK,
		 "%s: %s is in use by another program, such as a collector; send it to %.*s, which "
		 "takes it as well, or choose a port with %s",
		 l->kind, l->address, (int)main_address.n, main_address.p,
		 strstr(l->kind, "gRPC") ? "--otlp-grpc" : "--otlp-http");
}

static void announce(const struct common_options *common, const struct server_options *options,
		     const struct server *s)
{
	const char *scheme = options->http.tls.certificate ? "https" : "http";
	struct str main_address = server_address(s, 0);

	say(common, "server on %s://%.*s, data in %s", scheme, (int)main_address.n, main_address.p,
	    options->store.directory ? options->store.directory : "memory");
	for (size_t i = 1; i < options->listen_count; i++) {
		struct str address = server_address(s, i);

		if (!address.n) {
			warn_taken(&options->listen[i], main_address);
			continue;
		}
		say(common, "%s on %.*s", options->listen[i].kind, (int)address.n, address.p);
	}
	put_next(common, options, main_address);
}

/* Root's server is root no more: what only root reads it read once. */
static void not_reloaded(const struct server_options *options, const struct fault *fault)
{
	const char *hint = "";

	if (fault->code == ERR_NO_PERMISSION && options->confine)
		hint = "the server runs without privileges: let its user read the file, or start "
		       "it again";
	log_error("not reloaded; nothing changed", log_text("reason", fault->text),
		  log_text("hint", hint));
}

/* The threads are deaf to these: this one waits for them. */
static void wait_for_end(struct server *s, const struct server_options *options)
{
	struct fault fault = {0};
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	while (sigwait(&set, &number) == 0) {
		if (number != SIGHUP)
			return;
		if (server_reload(s, &fault) == ERR_OK)
			log_info("reloaded");
		else
			not_reloaded(options, &fault);
	}
}

/* Blocked, they wait for sigwait, even where a shell in the background has SIGINT ignored. */
static void block_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int serve(const struct common_options *common, const struct server_options *options,
	  const struct serve_hooks *hooks)
{
	struct server_options with_revision = *options;
	struct fault fault = {0};
	struct server *server;
	enum err error;

	with_revision.revision = VESTAL_COMMIT;
	block_signals();
	error = server_start(&with_revision, &server, &fault);
	if (error != ERR_OK)
		return complain(status_of(error), "%s",
				fault.text[0] ? fault.text : err_text(error));
	announce(common, options, server);
	if (hooks)
		hooks->started(common, server_address(server, 0));
	wait_for_end(server, options);
	if (hooks)
		hooks->stopping();
	server_stop(server);
	say(common, "stopped");
	return EXIT_OK;
}
