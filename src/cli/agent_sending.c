#include "cli/agent_sending.h"

#include <stdlib.h>
#include <unistd.h>

const struct option sending_table[] = {
	{"server", 's', OPT_TEXT, "URL",
	 "where to send: http(s)://host:4318, or :4317 and grpc(s):// for gRPC "
	 "(OTEL_EXPORTER_OTLP_ENDPOINT, " ENDPOINT_DEFAULT ")",
	 AT(struct sending_options, server), NULL},
	{"token", 0, OPT_TEXT, "TOKEN", "bearer token (VESTAL_TOKEN)",
	 AT(struct sending_options, token), NULL},
	{"ca-file", 0, OPT_TEXT, "FILE", "certificates that may sign the server's",
	 AT(struct sending_options, ca_file), NULL},
	{"cert", 0, OPT_TEXT, "FILE", "show the server this certificate (PEM)",
	 AT(struct sending_options, certificate), NULL},
	{"key", 0, OPT_TEXT, "FILE", "and its key", AT(struct sending_options, key), NULL},
	{"insecure", 0, OPT_FLAG, NULL, "accept any certificate",
	 AT(struct sending_options, insecure), NULL},
	{0},
};

const struct option queue_table[] = {
	{"queue", 0, OPT_TEXT, "DIR",
	 "queue undelivered data here; none = do not (" AGENT_QUEUE " for root)",
	 AT(struct sending_options, queue), NULL},
	{"queue-size", 0, OPT_SIZE, "SIZE",
	 "limit of that queue; the oldest data is dropped first (256MiB)",
	 AT(struct sending_options, queue_size), NULL},
	{0},
};

const struct option privacy_table[] = {
	{"redact", 0, OPT_TEXT, "RE",
	 "names and values that match become [REDACTED] (" REDACT_DEFAULT_PATTERN ")",
	 AT(struct sending_options, redact), NULL},
	{"no-redact", 0, OPT_FLAG, NULL, "send all names as they are",
	 AT(struct sending_options, no_redact), NULL},
	{"strip-paths", 0, OPT_FLAG, NULL, "leave only the last part of file names",
	 AT(struct sending_options, strip), NULL},
	{"mask-paths", 0, OPT_FLAG, NULL, "put a short hash in place of directories",
	 AT(struct sending_options, mask), NULL},
	{0},
};

static void take_text(const char **to, const char *given)
{
	if (given)
		*to = given;
}

static void apply_queue(const struct sending_options *o, struct exporter_options *x)
{
	const char *given = o->queue ? o->queue : x->queue.directory;

	x->queue_optional = !given;
	if (!given && confine_first_uid() == 0)
		given = AGENT_QUEUE;
	x->queue.directory = given && strcmp(given, "none") != 0 ? given : NULL;
	if (o->queue_size)
		x->queue.max_bytes = o->queue_size;
}

static int apply_privacy(const struct invocation *in, const struct sending_options *o,
			 struct daemon_options *d)
{
	struct pattern *pattern = NULL;
	struct fault fault = {0};

	if (o->strip && o->mask)
		return complain_usage(in, "--strip-paths and --mask-paths exclude each other");
	if (o->no_redact)
		d->redact_names = false;
	if (o->redact) {
		d->redact.pattern = str_of(o->redact);
		d->redact_names = true;
	}
	if (o->strip || o->mask)
		d->redact.paths = o->strip ? PATHS_STRIP : PATHS_MASK;
	if (d->redact.pattern.n &&
	    pattern_new(d->redact.pattern, PATTERN_IGNORE_CASE, &pattern, &fault) != ERR_OK)
		return complain_usage(in, "--redact: %s", fault.text);
	pattern_free(pattern);
	return EXIT_OK;
}

int sending_apply(const struct invocation *in, const struct sending_options *o,
		  struct daemon_options *d)
{
	struct endpoint_options *e = &d->exporter.endpoint;

	take_text(&e->server, o->server);
	take_text(&e->ca_file, o->ca_file);
	take_text(&e->certificate, o->certificate);
	take_text(&e->key, o->key);
	take_text(&e->token, o->token);
	if (!e->token)
		e->token = getenv("VESTAL_TOKEN");
	e->insecure |= o->insecure;
	apply_queue(o, &d->exporter);
	/* An empty string in the file disables debuginfod. */
	if (!d->debuginfod.urls)
		d->debuginfod.urls = getenv("DEBUGINFOD_URLS");
	return apply_privacy(in, o, d);
}
