/*
 * vestal symbols: give a server the programs and debug files that name what it has stored.
 */
#include <unistd.h>

#include "base/clock.h"
#include "cli/sink.h"
#include "cli/small_answer.h"
#include "cli/symbol_sending.h"
#include "cli/table.h"
#include "cli/term.h"
#include "model/model.h"

struct symbols_options {
	struct common_options common;
	struct client_options client;
	bool again, json;
};

static const struct option table[] = {
	{"again", 0, OPT_FLAG, NULL, "send files that the server has already, too",
	 AT(struct symbols_options, again), NULL},
	{"json", 0, OPT_FLAG, NULL, "the list as the server's JSON (docs/json.md)",
	 AT(struct symbols_options, json), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Server", client_table, AT(struct symbols_options, client)},
	{"Connection", connection_table, AT(struct symbols_options, client)},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal symbols upload ./app", "a program as it was built, before it was stripped"},
	{"vestal symbols upload build", "all programs and debug files below a folder"},
	{"vestal symbols list", "what the server has, by build id"},
	{0},
};

static int upload(const struct symbols_options *o, const struct text_list *paths)
{
	struct symbol_sending s = {.common = &o->common, .client = &o->client, .again = o->again};
	int status = symbol_sending_begin(&s), worst = EXIT_OK;

	for (size_t i = 0; !status && i < paths->n; i++) {
		status = symbol_sending_path(&s, paths->v[i]);
		worst = status ? status : worst;
		/* One bad file does not keep the others back; an absent server does. */
		if (status != EXIT_UNAVAILABLE && status != EXIT_DENIED)
			status = EXIT_OK;
	}
	if (!status && !worst && !s.sent)
		say(&o->common, s.skipped ? "the server has all of them"
					  : "there are no programs and debug files with build ids");
	symbol_sending_release(&s);
	return status ? status : worst;
}

static void put_items(const struct symbol_sending *s, struct table *t)
{
	vec_for_each (item, &s->there) {
		CLEANUP(buf_release) struct buf size = BUF_INIT(64);
		char when[CLOCK_TEXT_SIZE];

		unit_format(&size, (double)item->size, STR("bytes"));
		table_cell(t, str_of(item->build_id), NULL);
		table_cell(t, str_of(item->debug ? "debug" : "program"), NULL);
		table_cell(t, buf_view(&size), NULL);
		table_cell(t, str_of(clock_format(item->kept_s * NS_PER_S, 0, when)), NULL);
	}
}

static int list(const struct symbols_options *o)
{
	static const struct column columns[] = {
		{"build id", ALIGN_LEFT, 16},
		{"kind", ALIGN_LEFT, 7},
		{"size", ALIGN_RIGHT, 8},
		{"since", ALIGN_LEFT, 20},
	};
	CLEANUP(buf_release) struct buf answer = BUF_INIT((size_t)64 << 20);
	CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)64 << 20);
	CLEANUP(call_release) struct call c = {0};
	CLEANUP(symbol_sending_release) struct symbol_sending s = {0};
	CLEANUP(table_release) struct table t;
	int status;

	table_init(&t, columns, 4, term_width(STDOUT_FILENO),
		   term_color(STDOUT_FILENO, o->common.color));
	call_init(&c, &o->client, "/api/v1/symbols");
	if (o->json)
		call_param_text(&c, "pretty", "true");
	status = client_get(&c, &answer);
	if (status || o->json)
		return status ? status : answer_print(&answer);
	status = symbol_list_read(&answer, &s);
	if (status)
		return status;
	if (!s.there.n)
		say(&o->common, "none");
	else
		put_items(&s, &t);
	if (s.there.n)
		table_print(&t, &out);
	return sink_stdout(&out);
}

static int delete_all(const struct symbols_options *o, const struct text_list *ids)
{
	for (size_t i = 0; i < ids->n; i++) {
		CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 16);
		CLEANUP(call_release) struct call c = {0};
		int status;

		call_init(&c, &o->client, "/api/v1/symbols/delete");
		call_param_text(&c, "build_id", ids->v[i]);
		status = client_post(&c, (struct str){0}, &answer);
		if (status)
			return status;
		say(&o->common, "%s: deleted", ids->v[i]);
	}
	return EXIT_OK;
}

static int run(struct invocation *in)
{
	const struct symbols_options *o = in->options;
	const char *what = in->arguments.n ? in->arguments.v[0] : "";
	struct text_list rest = {in->arguments.v + 1, in->arguments.n ? in->arguments.n - 1 : 0, 0};

	if (strcmp(what, "upload") == 0 && rest.n)
		return upload(o, &rest);
	if (strcmp(what, "list") == 0 && !rest.n)
		return list(o);
	if (strcmp(what, "delete") == 0 && rest.n)
		return delete_all(o, &rest);
	return complain_usage(in, "upload FILE..., list, or delete BUILD_ID...");
}

const struct command command_symbols = {
	.name = "symbols",
	.summary = "upload symbols of stripped programs to a server",
	.arguments = "upload FILE...|list|delete BUILD_ID...",
	.examples = examples,
	.description = "The frames of a stripped program are addresses (app+0x11f0), stored with "
		       "its build id. After an upload of the unstripped program or its debug file "
		       "with the same build id, the server returns functions, files, lines and "
		       "inlined functions, also for profiles stored earlier.\n\n"
		       "Folders are searched recursively. Files in them without build id or "
		       "symbols are skipped; if such a file is given by name, that is an error. "
		       "Uploading requires the right write, deleting the right admin.",
	.groups = groups,
	.options_size = sizeof(struct symbols_options),
	.words = "upload list delete",
	.run = run,
};
