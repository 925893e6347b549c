/*
 * vestal completion: scripts for the shells, from the tables of commands and options.
 */
#include "base/buf.h"
#include "cli/command.h"
#include "cli/sink.h"
#include "format/format.h"

struct completion_options {
	struct common_options common;
};

static const struct option_group groups[] = {
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal completion bash > vestal.bash", "then: source vestal.bash"},
	{"vestal completion zsh > _vestal", "put it into a folder of $fpath"},
	{"vestal completion fish > vestal.fish", "put it into ~/.config/fish/completions"},
	{0},
};

/* --from completes to what can be read, --to to what can be written. */
static void put_format_names(struct buf *out, bool to_write)
{
	const char *blank = "";

	for (unsigned i = 0; i < FORMAT_COUNT_; i++) {
		if (to_write ? !formats[i].write : !formats[i].read)
			continue;
		buf_printf(out, "%s%s", blank, formats[i].name);
		blank = " ";
	}
}

/* The words an option's argument completes to; nothing when it is a file or anything. */
static void put_choices(struct buf *out, const struct option *o)
{
	if (o->kind == OPT_CHOICE)
		buf_text(out, o->choices);
	else if (o->argument && strcmp(o->argument, "FORMAT") == 0)
		put_format_names(out, strcmp(o->name, "to") == 0);
}

static void bash_options(struct buf *out, const struct command *c)
{
	for (const struct option_group *g = c->groups; g->table; g++)
		for (const struct option *o = g->table; o->name; o++)
			buf_printf(out, " --%s", o->name);
}

static void bash_arguments(struct buf *out, const struct command *c)
{
	for (const struct option_group *g = c->groups; g->table; g++) {
		for (const struct option *o = g->table; o->name; o++) {
			CLEANUP(buf_release) struct buf words = BUF_INIT(4096);

			if (!option_takes_argument(o))
				continue;
			put_choices(&words, o);
			buf_printf(out, "\t%s:--%s", c->name, o->name);
			if (o->letter)
				buf_printf(out, "|%s:-%c", c->name, o->letter);
			if (words.n)
				buf_printf(out,
					   ") COMPREPLY=($(compgen -W '%s' -- \"$cur\"));"
					   " return ;;\n",
					   words.data);
			else if (strcmp(o->argument, "FILE") == 0)
				buf_text(out,
					 ") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
			else
				buf_text(out, ") return ;;\n");
		}
	}
}

static void put_bash(struct buf *out)
{
	buf_text(out, "# bash completion for vestal\n_vestal()\n{\n"
		      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		      "\tlocal command=${COMP_WORDS[1]}\n\n\tCOMPREPLY=()\n"
		      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W '");
	for (const struct command *const *c = commands; *c; c++)
		buf_printf(out, "%s%s", c == commands ? "" : " ", (*c)->name);
	buf_text(out, "' -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase \"$command:$prev\" in\n");
	for (const struct command *const *c = commands; *c; c++)
		bash_arguments(out, *c);
	buf_text(out, "\tesac\n\tcase \"$command:$cur\" in\n");
	for (const struct command *const *c = commands; *c; c++) {
		buf_printf(out, "\t%s:-*) COMPREPLY=($(compgen -W '", (*c)->name);
		bash_options(out, *c);
		buf_text(out, "' -- \"$cur\")) ;;\n");
		if ((*c)->words)
			buf_printf(out, "\t%s:*) COMPREPLY=($(compgen -W '%s' -- \"$cur\")) ;;\n",
				   (*c)->name, (*c)->words);
	}
	buf_text(out, "\t*) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n\tesac\n}\n"
		      "complete -o filenames -F _vestal vestal\n");
}

/* Inside '…' of zsh's _arguments: quotes, brackets and colons mean something. */
static void zsh_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_text(out, "'\\''");
		else {
			if (strchr("[]:", *text))
				buf_byte(out, '\\');
			buf_byte(out, (unsigned char)*text);
		}
	}
}

static void zsh_option(struct buf *out, const struct option *o)
{
	CLEANUP(buf_release) struct buf words = BUF_INIT(4096);
	const char *repeat = o->kind == OPT_LIST ? "*" : "";

	put_choices(&words, o);
	for (int form = o->letter ? 0 : 1; form < 2; form++) {
		buf_printf(out, "\t\t\t'%s", repeat);
		if (form == 0)
			buf_printf(out, "-%c[", o->letter);
		else
			buf_printf(out, "--%s%s[", o->name, option_takes_argument(o) ? "=" : "");
		zsh_text(out, o->help);
		buf_byte(out, ']');
		if (option_takes_argument(o)) {
			buf_printf(out, ":%s:", o->argument);
			if (words.n)
				buf_printf(out, "(%s)", words.data);
			else if (strcmp(o->argument, "FILE") == 0)
				buf_text(out, "_files");
		}
		buf_text(out, "' \\\n");
	}
}

static void put_zsh(struct buf *out)
{
	buf_text(out, "#compdef vestal\n_vestal() {\n\tlocal -a commands\n\tcommands=(\n");
	for (const struct command *const *c = commands; *c; c++) {
		buf_printf(out, "\t\t'%s:", (*c)->name);
		zsh_text(out, (*c)->summary);
		buf_text(out, "'\n");
	}
	buf_text(out, "\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n"
		      "\t\treturn\n\tfi\n\tlocal command=$words[2]\n\tshift words\n"
		      "\t(( CURRENT-- ))\n\tcase $command in\n");
	for (const struct command *const *c = commands; *c; c++) {
		buf_printf(out, "\t%s)\n\t\t_arguments \\\n", (*c)->name);
		for (const struct option_group *g = (*c)->groups; g->table; g++)
			for (const struct option *o = g->table; o->name; o++)
				zsh_option(out, o);
		if ((*c)->words && (*c)->words[0])
			buf_printf(out, "\t\t\t'*:argument:(%s)'\n", (*c)->words);
		else
			buf_text(out, "\t\t\t'*:file:_files'\n");
		buf_text(out, "\t\t;;\n");
	}
	buf_text(out, "\tesac\n}\n_vestal \"$@\"\n");
}

static void fish_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_byte(out, '\\');
		buf_byte(out, (unsigned char)*text);
	}
}

static void fish_option(struct buf *out, const struct command *c, const struct option *o)
{
	CLEANUP(buf_release) struct buf words = BUF_INIT(4096);

	put_choices(&words, o);
	buf_printf(out, "complete -c vestal -n '__fish_seen_subcommand_from %s' -l %s", c->name,
		   o->name);
	if (o->letter)
		buf_printf(out, " -s %c", o->letter);
	if (words.n)
		buf_printf(out, " -x -a '%s'", words.data);
	else if (option_takes_argument(o))
		buf_text(out, strcmp(o->argument, "FILE") == 0 ? " -r -F" : " -x");
	buf_text(out, " -d '");
	fish_text(out, o->help);
	buf_text(out, "'\n");
}

static void put_fish(struct buf *out)
{
	buf_text(out, "# fish completion for vestal\n");
	for (const struct command *const *c = commands; *c; c++) {
		buf_printf(out, "complete -c vestal -n __fish_use_subcommand -f -a %s -d '",
			   (*c)->name);
		fish_text(out, (*c)->summary);
		buf_text(out, "'\n");
		if ((*c)->words)
			buf_printf(out,
				   "complete -c vestal -n '__fish_seen_subcommand_from %s' -f -a "
				   "'%s'\n",
				   (*c)->name, (*c)->words);
		for (const struct option_group *g = (*c)->groups; g->table; g++)
			for (const struct option *o = g->table; o->name; o++)
				fish_option(out, *c, o);
	}
}

static int run(struct invocation *in)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	const char *shell = in->arguments.n == 1 ? in->arguments.v[0] : "";

	if (strcmp(shell, "bash") == 0)
		put_bash(&out);
	else if (strcmp(shell, "zsh") == 0)
		put_zsh(&out);
	else if (strcmp(shell, "fish") == 0)
		put_fish(&out);
	else
		return complain_usage(in, "for which shell? bash, zsh or fish");
	return sink_stdout(&out);
}

const struct command command_completion = {
	.name = "completion",
	.summary = "a completion script for bash, zsh or fish",
	.arguments = "bash|zsh|fish",
	.examples = examples,
	.description =
		"Prints a script that makes the shell complete commands, options and formats.",
	.groups = groups,
	.options_size = sizeof(struct completion_options),
	.words = "bash zsh fish",
	.run = run,
};
