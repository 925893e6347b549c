#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

enum err fault_set(struct fault *f, enum err code, const char *format, ...)
{
	va_list args;

	if (!f)
		return code;
	f->code = code;
	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
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
	memcpy(f->text, joined, sizeof(joined));
}
