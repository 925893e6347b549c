/*
 * The documentation, made from the tables of commands and options: --help for people (examples
 * first), Markdown for the manual pages.
 */
#include "base/buf.h"
#include "cli/command.h"
#include "cli/table.h"
#include "cli/term.h"
#include "format/format.h"

#define HELP_WIDTH 92

static void heading(struct buf *out, const char *text, bool color)
{
	buf_printf(out, "\n%s%s%s\n", color ? COLOR_BOLD : "", text, color ? COLOR_RESET : "");
}

/* Words wrapped at HELP_WIDTH, continued at `indent`; `column` is where the first one begins. */
static void wrapped(struct buf *out, struct str text, unsigned column, unsigned indent)
{
	struct str word;

	while (str_split(&text, ' ', &word)) {
		unsigned width = text_width(word);

		if (column > indent && column + width > HELP_WIDTH) {
			buf_printf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		buf_str(out, word);
		column += width;
		if (text.n) {
			buf_byte(out, ' ');
			column++;
		}
	}
	buf_byte(out, '\n');
}

/* Paragraphs are separated by empty lines; lines that begin with a space are kept unchanged. */
static void paragraphs(struct buf *out, const char *text)
{
	struct str rest = str_of(text), line;

	while (rest.n) {
		line = str_n(rest.p, str_find(rest, '\n'));
		rest = str_skip(rest, line.n + 1);
		if (!line.n || line.p[0] == ' ') {
			buf_str(out, line);
			buf_byte(out, '\n');
		} else {
			wrapped(out, line, 0, 0);
		}
	}
}

static void option_left(struct buf *out, const struct option *o)
{
	if (o->letter)
		buf_printf(out, "-%c, --%s", o->letter, o->name);
	else
		buf_printf(out, "    --%s", o->name);
	if (o->argument)
		buf_printf(out, " %s", o->argument);
}

static void option_lines(struct buf *out, const struct option *table)
{
	const unsigned indent = 26;

	for (const struct option *o = table; o->name; o++) {
		size_t before;

		buf_text(out, "  ");
		before = out->n;
		option_left(out, o);
		if (out->n - before > indent - 4)
			buf_printf(out, "\n%*s", (int)indent, "");
		else
			buf_printf(out, "%*s", (int)(indent - 2 - (out->n - before)), "");
		wrapped(out, str_of(o->help), indent, indent);
	}
}

static void example_lines(struct buf *out, const struct example *examples)
{
	unsigned width = 0;

	for (const struct example *e = examples; e->line; e++)
		if (text_width(str_of(e->line)) > width && text_width(str_of(e->line)) <= 52)
			width = text_width(str_of(e->line));
	for (const struct example *e = examples; e->line; e++) {
		unsigned w = text_width(str_of(e->line));

		buf_printf(out, "  %s", e->line);
		if (w > width)
			buf_printf(out, "\n%*s", (int)width + 2, "");
		buf_printf(out, "%*s", (int)(w > width ? 2 : width - w + 2), "");
		buf_printf(out, "%s\n", e->what);
	}
}

void help_print(const struct command *c, struct buf *out, bool color)
{
	buf_printf(out, "vestal %s: %s\n", c->name, c->summary);
	heading(out, "Examples", color);
	example_lines(out, c->examples);
	heading(out, "Usage", color);
	buf_printf(out, "  vestal %s [options] %s\n\n", c->name, c->arguments);
	paragraphs(out, c->description);
	for (const struct option_group *g = c->groups; g->table; g++) {
		heading(out, g->title, color);
		option_lines(out, g->table);
	}
}

void help_overview(struct buf *out, bool color)
{
	static const struct example first[] = {
		{"vestal top cpu.pb.gz", "which functions cost the most"},
		{"vestal flame cpu.pb.gz", "one HTML file to view and share"},
		{"vestal diff before.pb.gz after.pb.gz",
		 "what changed, and whether it is significant"},
		{"vestal convert app.jfr -o app.pb.gz", "any format in, any format out"},
		{"vestal up", "a server for profiles"},
		{"vestal push cpu.pb.gz --service checkout", "send it one"},
		{"vestal query checkout", "and ask"},
		{0},
	};

	buf_text(out, "vestal: show, compare, convert, share and store profiles\n");
	heading(out, "Examples", color);
	example_lines(out, first);
	heading(out, "Commands", color);
	for (const struct command *const *c = commands; *c; c++)
		buf_printf(out, "  %-11s %s\n", (*c)->name, (*c)->summary);
	buf_text(out,
		 "\nInputs are files, - for stdin, http(s) URLs, or selectors of stored profiles, "
		 "such\nas 'checkout{commit=\"abc123\"}'; formats are recognised by "
		 "content.\nvestal COMMAND --help has details, with examples first; vestal help "
		 "formats, vestal help exit.\n");
}

/* Markdown: what would be markup in it is escaped. */
static void escaped(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (memchr("*_<>[]`|\\", s.p[i], 9))
			buf_byte(out, '\\');
		buf_byte(out, (unsigned char)s.p[i]);
	}
}

static void markdown_paragraphs(struct buf *out, const char *text)
{
	struct str rest = str_of(text), line;

	while (rest.n) {
		line = str_n(rest.p, str_find(rest, '\n'));
		rest = str_skip(rest, line.n + 1);
		if (line.n && line.p[0] == ' ')
			buf_text(out, "    ");
		if (line.n && line.p[0] == ' ')
			buf_str(out, str_trim(line));
		else
			escaped(out, line);
		buf_byte(out, '\n');
	}
}

static void markdown_options(struct buf *out, const struct option *table)
{
	for (const struct option *o = table; o->name; o++) {
		if (o->letter)
			buf_printf(out, "**-%c**, ", o->letter);
		buf_printf(out, "**--%s**", o->name);
		if (o->argument)
			buf_printf(out, " *%s*", o->argument);
		buf_text(out, "\n:   ");
		escaped(out, str_of(o->help));
		buf_text(out, "\n\n");
	}
}

struct status_row {
	int status;
	const char *meaning;
};

static const struct status_row statuses[] = {
	{EXIT_OK, "done"},
	{EXIT_USAGE, "the command line is wrong, or binary data would go to a terminal"},
	{EXIT_BAD_DATA, "an input is damaged, of no known format, or above a limit"},
	{EXIT_NO_INPUT, "an input cannot be opened or read"},
	{EXIT_UNAVAILABLE, "a server did not answer, or answered with an error"},
	{EXIT_INTERNAL, "a bug in Vestal"},
	{EXIT_OS, "the system refused something, such as memory"},
	{EXIT_NO_OUTPUT, "an output cannot be created, or exists and -f was not given"},
	{EXIT_IO, "writing failed half way, such as on a full disk; nothing is left behind"},
	{EXIT_DENIED, "a server refuses access"},
	{EXIT_INTERRUPTED, "interrupted (Ctrl-C); nothing is left behind"},
};

void help_exit(struct buf *out)
{
	buf_text(out, "Exit status:\n");
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		buf_printf(out, "  %3d  %s\n", statuses[i].status, statuses[i].meaning);
}

void help_formats(struct buf *out)
{
	buf_text(out, "Formats:\n  name          read  write  suffixes\n");
	for (unsigned i = 0; i < FORMAT_COUNT_; i++) {
		const struct format *f = &formats[i];

		buf_printf(out, "  %-12s  %-4s  %-5s  %-28s  %s\n", f->name, f->read ? "yes" : "no",
			   f->write ? "yes" : "no", f->suffixes, f->title);
	}
}

static void markdown_tail(struct buf *out)
{
	buf_text(out, "# EXIT STATUS\n\n");
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		buf_printf(out, "**%d**\n:   %s\n\n", statuses[i].status, statuses[i].meaning);
	buf_text(out, "# ENVIRONMENT\n\n"
		      "**NO_COLOR**\n:   if set and not empty, output is not coloured\n\n"
		      "**VESTAL_SERVER**\n:   the server, if **--server** is not given\n\n"
		      "**VESTAL_TOKEN**\n:   its token, if **--token** is not given\n\n"
		      "**http_proxy**, **https_proxy**, **no_proxy**\n:   proxies for URLs\n\n");
}

void help_markdown(const struct command *c, struct buf *out)
{
	buf_printf(out, "# NAME\n\nvestal-%s - %s\n\n", c->name, c->summary);
	buf_printf(out, "# SYNOPSIS\n\n**vestal %s** [*options*] ", c->name);
	escaped(out, str_of(c->arguments));
	buf_text(out, "\n\n# EXAMPLES\n\n");
	for (const struct example *e = c->examples; e->line; e++) {
		escaped(out, str_of(e->what));
		buf_printf(out, ":\n\n    %s\n\n", e->line);
	}
	buf_text(out, "# DESCRIPTION\n\n");
	markdown_paragraphs(out, c->description);
	buf_text(out, "\n# OPTIONS\n\n");
	for (const struct option_group *g = c->groups; g->table; g++)
		markdown_options(out, g->table);
	markdown_tail(out);
}

void help_overview_markdown(struct buf *out)
{
	buf_text(out,
		 "# NAME\n\nvestal - show, compare, convert, share and store profiles\n\n"
		 "# SYNOPSIS\n\n**vestal** *command* [*options*] [*file*...]\n\n"
		 "# DESCRIPTION\n\nInputs are files, - for standard input, or http(s) URLs such "
		 "as those of a Go program's /debug/pprof. The format of an input is recognised "
		 "by its content. Several inputs are merged.\n\n# COMMANDS\n\n");
	for (const struct command *const *c = commands; *c; c++)
		buf_printf(out, "**vestal-%s**(1)\n:   %s\n\n", (*c)->name, (*c)->summary);
	buf_text(out, "# FORMATS\n\n");
	for (unsigned i = 0; i < FORMAT_COUNT_; i++) {
		const struct format *f = &formats[i];

		buf_printf(out, "**%s**\n:   %s; %s; .%s\n\n", f->name, f->title,
			   f->read && f->write ? "read and written"
			   : f->read	       ? "read"
			   : f->write	       ? "written"
					       : "not in this build",
			   f->suffixes);
	}
	markdown_tail(out);
}
