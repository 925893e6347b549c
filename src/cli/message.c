/*
 * Messages on stderr, and exit statuses of errors.
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/table.h"
#include "cli/term.h"

const struct option common_table[] = {
	{"help", 'h', OPT_FLAG, NULL, "show this help", AT(struct common_options, help), NULL},
	{"quiet", 'q', OPT_FLAG, NULL, "no progress, no remarks; only errors",
	 AT(struct common_options, quiet), NULL},
	{"color", 0, OPT_CHOICE, "WHEN", "colour: auto, always or never; NO_COLOR means never",
	 AT(struct common_options, color), "auto always never"},
	{0},
};

/* File names and names from files may hold anything: no control character reaches a terminal. */
PRINTF_LIKE(2, 0)
static void put_line(const char *prefix, const char *format, va_list args)
{
	CLEANUP(buf_release) struct buf raw = BUF_INIT(1 << 16);
	CLEANUP(buf_release) struct buf line = BUF_INIT(1 << 18);

	term_clear_progress();
	buf_vprintf(&raw, format, args);
	buf_text(&line, prefix);
	text_clean(&line, buf_view(&raw));
	buf_byte(&line, '\n');
	if (buf_error(&line) || write_all(STDERR_FILENO, line.data, line.n))
		return; /* cannot be reported */
}

void say(const struct common_options *o, const char *format, ...)
{
	va_list args;

	if (o->quiet)
		return;
	va_start(args, format);
	put_line("vestal: ", format, args);
	va_end(args);
}

int complain(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_line("vestal: ", format, args);
	va_end(args);
	return status;
}

int complain_usage(const struct invocation *in, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return complain(EXIT_USAGE, "%s: %s (see vestal %s --help)", in->command->name, text,
			in->command->name);
}

int status_of(enum err e)
{
	switch (e) {
	case ERR_OK:
		return EXIT_OK;
	case ERR_NO_MEMORY:
		return EXIT_OS;
	case ERR_BAD_ARGUMENT:
		return EXIT_USAGE;
	case ERR_NOT_FOUND:
	case ERR_NO_PERMISSION:
	case ERR_UNAUTHENTICATED:
	case ERR_IO:
		return EXIT_NO_INPUT;
	case ERR_EXISTS:
		return EXIT_NO_OUTPUT;
	case ERR_NO_SPACE:
		return EXIT_IO;
	case ERR_NETWORK:
	case ERR_TIMEOUT:
	case ERR_BUSY:
	case ERR_UNAVAILABLE:
		return EXIT_UNAVAILABLE;
	case ERR_CANCELLED:
		return EXIT_INTERRUPTED;
	case ERR_INTERNAL:
	case ERR_COUNT_:
		return EXIT_INTERNAL;
	default:
		return EXIT_BAD_DATA;
	}
}
