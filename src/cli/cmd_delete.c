/*
 * vestal delete: delete profiles from a server.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/small_answer.h"
#include "cli/client.h"
#include "cli/sink.h"
#include "cli/term.h"
#include "query/query.h"

struct delete_options {
	struct common_options common;
	struct client_options client;
	const char *before, *type;
	bool yes, json;
};

static const struct option table[] = {
	{"before", 0, OPT_TEXT, "TIME", "only older profiles: -30d, 2026-11-15T10:00:00Z",
	 AT(struct delete_options, before), NULL},
	{"type", 't', OPT_TEXT, "TYPE", "only profiles of this type",
	 AT(struct delete_options, type), NULL},
	{"yes", 'y', OPT_FLAG, NULL, "do not ask", AT(struct delete_options, yes), NULL},
	{"json", 0, OPT_FLAG, NULL, "the server's response as JSON (docs/json.md)",
	 AT(struct delete_options, json), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Server", client_table, AT(struct delete_options, client)},
	{"Connection", connection_table, AT(struct delete_options, client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal delete 'checkout{env=\"test\"}' --yes", "all of them"},
	{"vestal delete checkout --before -30d --yes", "profiles older than thirty days"},
	{0},
};

/* A mistyped selector or time is found before anything is asked. */
static int check(const struct invocation *in, const struct delete_options *o, const char *query)
{
	struct fault fault = {0};
	struct selector s;
	int64_t when;
	enum err e = selector_parse(str_of(query), &s, &fault);

	if (e)
		return complain_usage(in, "%s", fault.text[0] ? fault.text : err_text(e));
	selector_release(&s);
	if (o->before && when_parse(str_of(o->before), clock_wall_ns(), &when, &fault))
		return complain_usage(in, "%s", fault.text);
	return EXIT_OK;
}

static bool confirmed(const struct delete_options *o, const char *query)
{
	char line[16] = "";

	fprintf(stderr, "Delete %s%s%s from the server? It cannot be undone. [y/N] ", query,
		o->before ? " before " : ", of all times,", o->before ? o->before : "");
	fflush(stderr);
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static int run(struct invocation *in)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
	CLEANUP(call_release) struct call c = {0};
	const struct delete_options *o = in->options;
	const char *query = in->arguments.n == 1 ? in->arguments.v[0] : NULL;
	int64_t profiles = 0;
	int status;

	if (!query)
		return complain_usage(in,
				      "selector missing: vestal delete 'SELECTOR' --before TIME");
	status = check(in, o, query);
	if (status)
		return status;
	if (!o->yes && (!term_is(STDIN_FILENO) || !term_is(STDERR_FILENO)))
		return complain_usage(
			in, "not a terminal, cannot ask for confirmation: add --yes to delete %s",
			query);
	if (!o->yes && !confirmed(o, query))
		return complain(EXIT_INTERRUPTED, "nothing was deleted");
	call_init(&c, &o->client, "/api/v1/delete");
	call_param_text(&c, "query", query);
	call_param_text(&c, "before", o->before);
	call_param_text(&c, "type", o->type);
	status = client_post(&c, (struct str){0}, &answer);
	if (!status && o->json)
		return answer_print(&answer);
	if (!status)
		status = answer_number(&answer, "profiles", &profiles);
	if (!status)
		say(&o->common, "deleted %lld profiles", (long long)profiles);
	return status;
}

const struct command command_delete = {
	.name = "delete",
	.summary = "delete profiles from a server",
	.arguments = "SELECTOR",
	.examples = examples,
	.description = "Deletes the profiles of the series that match a selector: a service "
		       "(checkout), or with labels checkout{commit=\"abc123\"}; {} is everything. "
		       "With --before only those that began earlier. Names that are no longer used "
		       "are deleted, too, and the disk space is freed.\n\n"
		       "On a terminal it asks for confirmation. The server records each deletion "
		       "in its audit log.",
	.groups = groups,
	.options_size = sizeof(struct delete_options),
	.words = "",
	.run = run,
};
