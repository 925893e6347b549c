#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

struct err_row {
	const char *label;
	const char *text;
	int http;
	int grpc;
	bool retry;
};

static const struct err_row rows[] = {
#define ERR(code, label, http, grpc, retry, text) {label, text, http, grpc, retry},
#include "base/err.def"
#undef ERR
};

static const struct err_row *row(enum err e)
{
	return &rows[(unsigned)e < ERR_COUNT_ ? e : ERR_INTERNAL];
}

const char *err_text(enum err e)
{
	return row(e)->text;
}

const char *err_label(enum err e)
{
	return row(e)->label;
}

int err_http(enum err e)
{
	return row(e)->http;
}

int err_grpc(enum err e)
{
	return row(e)->grpc;
}

bool err_retry(enum err e)
{
	return row(e)->retry;
}

enum err err_from_errno(int os_error)
{
	switch (os_error) {
	case 0:
		return ERR_OK;
	case ENOMEM:
		return ERR_NO_MEMORY;
	case ENOENT:
	case ENOTDIR:
		return ERR_NOT_FOUND;
	case EEXIST:
		return ERR_EXISTS;
	case EACCES:
	case EPERM:
	case EROFS:
		return ERR_NO_PERMISSION;
	case ENOSPC:
	case EDQUOT:
		return ERR_NO_SPACE;
	case EFBIG:
		return ERR_TOO_LARGE;
	case ETIMEDOUT:
		return ERR_TIMEOUT;
	case EINTR:
		return ERR_CANCELLED;
	default:
		return ERR_IO;
	}
}

/*
 * These texts contain names from untrusted files: replace control characters, which may move a
 * terminal's cursor or start a new line, and drop a character that the end of the buffer cut in
 * two.
 */
static void keep_printable(char *text)
{
	size_t n = strlen(text), lead = n;

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = '?';
	while (lead && ((unsigned char)text[lead - 1] & 0xc0) == 0x80)
		lead--;
	if (lead && ((unsigned char)text[lead - 1] & 0xc0) == 0xc0 &&
	    !utf8_length(str_n(text + lead - 1, n - lead + 1)))
		text[lead - 1] = '\0';
}

enum err fault_set(struct fault *f, enum err code, const char *format, ...)
{
	/* Formatted into a second buffer, because an argument may be the current text. */
	char text[sizeof(f->text)];
	va_list args;

	if (!f)
		return code;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	keep_printable(text);
	f->code = code;
	memcpy(f->text, text, strlen(text) + 1);
	return code;
}

void fault_prefix(struct fault *f, const char *prefix)
{
	char joined[sizeof(f->text)];

	if (!f || !f->text[0])
		return;
	/* A text that no longer fits is cut: the beginning names the place and matters most. */
	if (snprintf(joined, sizeof(joined), "%s: %s", prefix, f->text) < 0)
		return;
	keep_printable(joined);
	memcpy(f->text, joined, strlen(joined) + 1);
}
