#include <unistd.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/sink.h"
#include "cli/term.h"

struct help_options {
	struct common_options common;
	bool markdown;
};

static const struct option table[] = {
	{"markdown", 0, OPT_FLAG, NULL, "as Markdown, the source of the manual page",
	 AT(struct help_options, markdown), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal help", "the list of commands"},
	{"vestal help top", "the same as vestal top --help"},
	{"vestal help formats", "which formats are read and written"},
	{"vestal help exit", "exit statuses"},
	{0},
};

static int unknown_topic(const struct invocation *in, const char *word)
{
	const char *names[34], *near;
	size_t n = 0;

	for (; commands[n] && n < 32; n++)
		names[n] = commands[n]->name;
	names[n++] = "formats";
	names[n++] = "exit";
	near = nearest_word(str_of(word), names, n);
	if (near)
		return complain_usage(in, "no help on %s (did you mean %s?)", word, near);
	return complain_usage(in, "no help on %s", word);
}

static int run(struct invocation *in)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	const struct help_options *o = in->options;
	bool color = term_color(STDOUT_FILENO, o->common.color);
	const char *topic = in->arguments.n ? in->arguments.v[0] : NULL;
	const struct command *c = topic ? command_find(str_of(topic)) : NULL;

	if (in->arguments.n > 1)
		return complain_usage(in, "one command at a time");
	if (c && o->markdown)
		help_markdown(c, &out);
	else if (c)
		help_print(c, &out, color);
	else if (!topic && o->markdown)
		help_overview_markdown(&out);
	else if (!topic)
		help_overview(&out, color);
	else if (strcmp(topic, "formats") == 0)
		help_formats(&out);
	else if (strcmp(topic, "exit") == 0)
		help_exit(&out);
	else
		return unknown_topic(in, topic);
	return sink_stdout(&out);
}

const struct command command_help = {
	.name = "help",
	.summary = "explain a command, the formats or the exit status",
	.arguments = "[COMMAND|formats|exit]",
	.examples = examples,
	.description = "Prints what a command does, with examples first.",
	.groups = groups,
	.options_size = sizeof(struct help_options),
	.words = "show top flame diff convert redact completion version help formats exit",
	.run = run,
};
