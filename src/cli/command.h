/*
 * A sub-command: a row of the table in commands.c. --help, `vestal help`, the shell completions and
 * the manual pages are generated from the texts of the row (help.c, cmd_completion.c).
 */
#pragma once

#include "cli/options.h"

/* Exit statuses; the numbers are those of sysexits.h. */
enum exit_status {
	EXIT_OK = 0,
	EXIT_USAGE = 64,       /* the command line is wrong */
	EXIT_BAD_DATA = 65,    /* an input is damaged, unknown or above a limit */
	EXIT_NO_INPUT = 66,    /* an input cannot be opened or read */
	EXIT_UNAVAILABLE = 69, /* the network or a server did not answer */
	EXIT_INTERNAL = 70,    /* a bug */
	EXIT_OS = 71,	       /* out of memory and the like */
	EXIT_NO_OUTPUT = 73,   /* an output cannot be created, or exists */
	EXIT_IO = 74,	       /* writing failed half way */
	EXIT_DENIED = 77,      /* the server refused access */
	EXIT_INTERRUPTED = 130,
};

struct example {
	const char *line; /* as typed */
	const char *what; /* what it does */
};

struct invocation;

struct command {
	const char *name;
	const char *summary;   /* one line */
	const char *arguments; /* "FILE..." */
	const struct example *examples;
	const char *description; /* paragraphs, an empty line between them */
	const struct option_group *groups;
	size_t options_size;
	const char *words; /* completion of arguments; NULL = file names */
	void (*defaults)(void *options);
	int (*run)(struct invocation *in); /* returns an exit status */
};

struct invocation {
	const struct command *command;
	void *options;
	struct text_list arguments;
};

extern const struct command *const commands[]; /* ends with NULL */
const struct command *command_find(struct str name);

/* Options every command has; the first member of every command's struct. */
struct common_options {
	bool help;
	bool quiet;
	const char *color;
};
extern const struct option common_table[];

/* Messages. Each is one line on stderr that begins with "vestal: ". */
void say(const struct common_options *o, const char *format, ...) PRINTF_LIKE(2, 3);
int complain(int status, const char *format, ...) PRINTF_LIKE(2, 3);
/* "vestal top: … (see vestal top --help)", EXIT_USAGE. */
int complain_usage(const struct invocation *in, const char *format, ...) PRINTF_LIKE(2, 3);
/* The exit status for an error while reading an input. */
int status_of(enum err e);

/* help.c */
struct buf;
void help_print(const struct command *c, struct buf *out, bool color);
void help_markdown(const struct command *c, struct buf *out);
void help_overview(struct buf *out, bool color);
void help_overview_markdown(struct buf *out);
void help_exit(struct buf *out);
void help_formats(struct buf *out);

#define COMMAND(name_) extern const struct command command_##name_
COMMAND(show);
COMMAND(top);
COMMAND(flame);
COMMAND(diff);
COMMAND(convert);
COMMAND(redact);
COMMAND(retention);
COMMAND(record);
COMMAND(agent);
COMMAND(live);
COMMAND(doctor);
COMMAND(push);
COMMAND(query);
COMMAND(up);
COMMAND(server);
COMMAND(status);
COMMAND(services);
COMMAND(labels);
COMMAND(types);
COMMAND(delete);
COMMAND(backup);
COMMAND(check);
COMMAND(token);
COMMAND(symbols);
COMMAND(completion);
COMMAND(version);
COMMAND(help);
#undef COMMAND
