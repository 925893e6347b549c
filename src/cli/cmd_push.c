/*
 * vestal push: send profiles to a server.
 */
#include <unistd.h>

#include "cli/push.h"
#include "net/net.h"

static const struct option table[] = {
	{"service", 's', OPT_TEXT, "NAME", "service name", AT(struct push_options, service), NULL},
	{"label", 0, OPT_LIST, "K=V", "more about it: commit=abc123; may be repeated",
	 AT(struct push_options, labels), NULL},
	{"from", 0, OPT_TEXT, "TIME",
	 "start time, overrides that of the file: -5m, 2026-11-15T10:00Z",
	 AT(struct push_options, from), NULL},
	{"until", 0, OPT_TEXT, "TIME", "when it ended", AT(struct push_options, until), NULL},
	{"format", 0, OPT_TEXT, "FORMAT", "format; default: detected by content",
	 AT(struct push_options, format), NULL},
	{"max-bytes", 0, OPT_SIZE, "SIZE", "refuse inputs above SIZE (512M)",
	 AT(struct push_options, input.max_bytes), NULL},
	{0},
};

static const struct option watch_table[] = {
	{"watch", 0, OPT_TEXT, "DIR", "push every file that a program drops into DIR, for ever",
	 AT(struct push_options, watch), NULL},
	{"delete", 0, OPT_FLAG, NULL, "delete pushed files instead of moving them to DIR/pushed",
	 AT(struct push_options, remove), NULL},
	{"settle", 0, OPT_SECONDS, "SECONDS", "how long a file waits for its labels (2)",
	 AT(struct push_options, settle), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"A folder", watch_table, 0},
	{"Server", client_table, AT(struct push_options, input.client)},
	{"Connection", connection_table, AT(struct push_options, input.client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal push cpu.pb.gz --service checkout --label commit=abc123", "one profile"},
	{"vestal push monday.pb.gz tuesday.pb.gz --service checkout", "several"},
	{"vestal push 'http://localhost:6060/debug/pprof/profile?seconds=5' --service shop",
	 "from a running Go program"},
	{"vestal push --watch profiles --service shop",
	 "all files that a program writes to the folder profiles"},
	{0},
};

static void set_defaults(void *options)
{
	struct push_options *o = options;

	input_defaults(&o->input);
	o->settle = 2;
}

static int check_labels(const struct invocation *in, const struct push_options *o)
{
	for (size_t i = 0; i < o->labels.n; i++) {
		struct str text = str_of(o->labels.v[i]);

		if (str_find(text, '=') == text.n || text.p[0] == '=')
			return complain_usage(in, "--label %s: expected K=V", o->labels.v[i]);
	}
	if (o->service && !o->service[0])
		return complain_usage(in, "--service is empty");
	return EXIT_OK;
}

static void tell(const struct push_options *o, const char *name, const struct pushed *p,
		 const struct buf *address)
{
	say(&o->common, "%s: %lld samples stored as %s", name, (long long)p->samples,
	    address->data ? address->data : "");
}

static int push_plain_file(const struct push_options *o, const char *path)
{
	CLEANUP(buf_release) struct buf address = BUF_INIT(1 << 20);
	char sidecar[4096];
	struct pushed p;

	if (!push_file(o, path, sidecar, sizeof(sidecar), &address, &p))
		return complain(p.status, "%s", p.fault.text);
	tell(o, path, &p, &address);
	return EXIT_OK;
}

/* Standard input and URLs have no sidecar. */
static int push_stream(const struct push_options *o, const char *name)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(o->input.max_bytes);
	CLEANUP(buf_release) struct buf address = BUF_INIT(1 << 20), shown = BUF_INIT(1 << 16);
	struct inputs in;
	struct pushed p;
	int status;

	inputs_init(&in, &o->common, &o->input);
	status = inputs_bytes(&in, name, &bytes);
	if (status)
		return status;
	push_address(o, NULL, &address);
	fetch_display_url(&shown, strcmp(name, "-") ? str_of(name) : STR("stdin"));
	if (!push_bytes(o, shown.data ? shown.data : name, &bytes, NULL, &p))
		return complain(p.status, "%s", p.fault.text);
	tell(o, shown.data ? shown.data : name, &p, &address);
	return EXIT_OK;
}

static int run(struct invocation *in)
{
	struct push_options *o = in->options;
	int status = check_labels(in, o), worst = EXIT_OK;

	if (status)
		return status;
	o->input.timeout = o->input.client.timeout;
	o->input.insecure = o->input.client.insecure;
	if (o->watch && in->arguments.n)
		return complain_usage(in, "either files or --watch DIR");
	if (o->watch)
		return watch_run(o);
	if (!in->arguments.n)
		return complain_usage(in, "file missing: vestal push FILE --service NAME");
	for (size_t i = 0; i < in->arguments.n; i++) {
		const char *name = in->arguments.v[i];

		if (strcmp(name, "-") == 0 || fetch_is_url(str_of(name)))
			status = push_stream(o, name);
		else
			status = push_plain_file(o, name);
		/* One bad file does not keep the others back; an absent server does. */
		if (status == EXIT_UNAVAILABLE || status == EXIT_DENIED)
			return status;
		worst = status ? status : worst;
	}
	return worst;
}

const struct command command_push = {
	.name = "push",
	.summary = "send profiles to a server",
	.arguments = "FILE...",
	.examples = examples,
	.description =
		"Sends profiles of any format that vestal reads. On success they are on the "
		"server's disk. Service and labels identify them in queries; a file with a service "
		"(OTLP) needs none.\n\n"
		"A JSON file next to a profile (cpu-1.pb.gz.json or cpu-1.json for cpu-1.pb.gz) "
		"can add metadata: service or service.name, version, commit or git.commit, branch, "
		"environment and any other label; window_start and window_end, or timestamp and "
		"durationMillis, are its time. The command line takes precedence.\n\n"
		"--watch pushes every file of a folder, existing and new ones, as soon as it is "
		"complete, and moves it to the subfolder pushed (or deletes it). Files that are no "
		"profiles are moved to refused. It waits while the server does not respond; Ctrl-C "
		"ends it, and remaining files are pushed the next time.",
	.groups = groups,
	.options_size = sizeof(struct push_options),
	.defaults = set_defaults,
	.run = run,
};
