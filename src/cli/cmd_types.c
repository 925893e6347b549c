/*
 * vestal types: the types of stored profiles, and what they are called.
 */
#include <unistd.h>

#include "cli/small_answer.h"
#include "cli/listing.h"
#include "cli/sink.h"
#include "cli/table.h"
#include "cli/term.h"
#include "format/format.h"

static const struct example examples[] = {
	{"vestal types", "all types"},
	{"vestal types --query 'checkout{}'", "those of one service"},
	{0},
};

struct type_row {
	struct str name, unit, id;
	bool gauge;
};

static void read_row(struct json *j, struct arena *arena, struct type_row *row)
{
	struct str key, sample_type = {0};

	*row = (struct type_row){0};
	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		if (str_eq(key, STR("name")))
			json_string_keep(j, arena, &row->name);
		else if (str_eq(key, STR("type")))
			json_string_keep(j, arena, &sample_type);
		else if (str_eq(key, STR("unit")))
			json_string_keep(j, arena, &row->unit);
		else if (str_eq(key, STR("id")))
			json_string_keep(j, arena, &row->id);
		else if (str_eq(key, STR("gauge")))
			json_bool(j, &row->gauge);
		else
			json_skip(j);
	}
	if (!row->name.n)
		row->name = sample_type;
}

static enum err put_table(struct str answer, struct table *t, struct fault *fault)
{
	struct reading r = {.limits = LIMITS_DEFAULT};
	struct arena arena = {0};
	struct type_row row;
	struct json j;
	struct str key;
	enum err e;

	json_init(&j, answer, "answer", 16, &r);
	if (json_object(&j))
		while (json_key(&j, &key)) {
			if (!str_eq(key, STR("types")) || !json_array(&j)) {
				json_skip(&j);
				continue;
			}
			while (json_item(&j)) {
				read_row(&j, &arena, &row);
				table_cell(t, row.name, NULL);
				table_cell(t, row.unit, NULL);
				table_cell(t, row.gauge ? STR("level") : STR("sum"), NULL);
				table_cell(t, row.id, NULL);
			}
		}
	e = j.error;
	*fault = r.fault;
	json_release(&j);
	arena_release(&arena);
	return e;
}

static int print_table(const struct list_options *o, struct str answer)
{
	static const struct column columns[] = {{"type", ALIGN_LEFT, 8},
						{"unit", ALIGN_LEFT, 8},
						{"kind", ALIGN_LEFT, 5},
						{"full id", ALIGN_LEFT, 0}};
	CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)1 << 30);
	CLEANUP(table_release) struct table t;
	struct fault fault = {0};
	enum err e;

	table_init(&t, columns, 4, term_width(STDOUT_FILENO),
		   term_color(STDOUT_FILENO, o->common.color));
	e = put_table(answer, &t, &fault);
	if (e)
		return complain(status_of(e), "%s", fault.text[0] ? fault.text : err_text(e));
	if (!t.cells.n) {
		say(&o->common, "none");
		return EXIT_OK;
	}
	table_print(&t, &out);
	return sink_stdout(&out);
}

static int run(struct invocation *in)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT((size_t)1 << 30);
	const struct list_options *o = in->options;
	int status;

	if (in->arguments.n)
		return complain_usage(in, "%s is not understood", in->arguments.v[0]);
	status = list_ask(o, "/api/v1/types", NULL, &answer);
	if (status)
		return status;
	return o->json ? answer_print(&answer) : print_table(o, buf_view(&answer));
}

const struct command command_types = {
	.name = "types",
	.summary = "which types of profiles a server has",
	.arguments = "",
	.examples = examples,
	.description = "Prints a row per type: its name for --type, the unit of its values, "
		       "whether values are sums or gauges (which are averaged over time, never "
		       "summed), and the full id used by Pyroscope's clients.",
	.groups = list_groups,
	.options_size = sizeof(struct list_options),
	.words = "",
	.run = run,
};
