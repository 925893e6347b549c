#include "cli/listing.h"

#include "cli/small_answer.h"
#include "cli/sink.h"
#include "cli/table.h"
#include "format/format.h"

const struct option list_table[] = {
	{"query", 0, OPT_TEXT, "SELECTOR", "only of these series: checkout{env=\"prod\"}",
	 AT(struct list_options, query), NULL},
	{"type", 't', OPT_TEXT, "TYPE", "only of profiles of this type",
	 AT(struct list_options, type), NULL},
	{"from", 0, OPT_TEXT, "TIME", "since then: -1h, 2026-11-15T10:00:00Z (the beginning)",
	 AT(struct list_options, from), NULL},
	{"until", 0, OPT_TEXT, "TIME", "until then (now)", AT(struct list_options, until), NULL},
	{"json", 0, OPT_FLAG, NULL, "the server's response as JSON (docs/json.md)",
	 AT(struct list_options, json), NULL},
	{0},
};

const struct option_group list_groups[] = {
	{"Options", list_table, 0},
	{"Server", client_table, AT(struct list_options, client)},
	{"Connection", connection_table, AT(struct list_options, client)},
	{"Common options", common_table, 0},
	{0},
};

int list_ask(const struct list_options *o, const char *path, const char *step, struct buf *answer)
{
	CLEANUP(call_release) struct call c;

	call_init(&c, &o->client, path);
	if (step)
		call_path(&c, str_of(step));
	call_param_text(&c, "query", o->query);
	call_param_text(&c, "type", o->type);
	call_param_text(&c, "from", o->from);
	call_param_text(&c, "until", o->until);
	if (o->json)
		call_param_text(&c, "pretty", "true");
	return client_get(&c, answer);
}

static void put_lines(struct json *j, const char *key, struct buf *out)
{
	struct str name, text;

	if (!json_object(j))
		return;
	while (json_key(j, &name)) {
		if (!str_eq(name, str_of(key)) || !json_array(j)) {
			json_skip(j);
			continue;
		}
		while (json_item(j)) {
			text = (struct str){0};
			if (!json_string(j, &text))
				break;
			text_clean(out, text);
			buf_byte(out, '\n');
		}
	}
}

int list_print(const struct list_options *o, const char *path, const char *step, const char *key)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT((size_t)1 << 30);
	CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)1 << 30);
	struct reading r = {.limits = LIMITS_DEFAULT};
	struct json j;
	int status = list_ask(o, path, step, &answer);
	enum err e;

	if (status || o->json)
		return status ? status : answer_print(&answer);
	json_init(&j, buf_view(&answer), "answer", 16, &r);
	put_lines(&j, key, &out);
	e = j.error;
	json_release(&j);
	if (e)
		return complain(status_of(e), "%s", r.fault.text[0] ? r.fault.text : err_text(e));
	if (!out.n)
		say(&o->common, "none");
	return sink_stdout(&out);
}
