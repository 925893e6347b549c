#include "base/log.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"

#define LINE_MAX_BYTES	8192
#define LINE_RESERVE	24 /* for the mark that something was cut, and the end of the line */
#define VALUE_MAX_BYTES 512

static struct {
	int fd;
	enum log_level least;
	enum log_style style;
} settings = {2, LEVEL_OFF, LOG_LOGFMT};

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};

/* A line under construction: once something did not fit, `cut` is set and `n` is no longer
 * moved. */
struct line {
	char data[LINE_MAX_BYTES];
	size_t n;
	bool cut;
};

void log_setup(int fd, enum log_level least, enum log_style style)
{
	settings.fd = fd;
	settings.least = least;
	settings.style = style;
}

enum err log_level_parse(struct str text, enum log_level *ret)
{
	for (unsigned i = LEVEL_DEBUG; i <= LEVEL_OFF; i++)
		if (str_eq(text, str_of(level_names[i]))) {
			*ret = (enum log_level)i;
			return ERR_OK;
		}
	return ERR_BAD_ARGUMENT;
}

bool log_enabled(enum log_level level)
{
	return level >= settings.least && level < LEVEL_OFF;
}

static void put(struct line *l, struct str s)
{
	if (l->cut || s.n > sizeof(l->data) - LINE_RESERVE - l->n) {
		l->cut = true;
		return;
	}
	memcpy(l->data + l->n, s.p, s.n);
	l->n += s.n;
}

__attribute__((format(printf, 2, 3))) static void putf(struct line *l, const char *format, ...)
{
	char text[64];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0)
		put(l, str_n(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1));
}

/* Between quotes, valid in JSON and unambiguous in logfmt. */
static void put_quoted(struct line *l, struct str s)
{
	bool shortened = s.n > VALUE_MAX_BYTES;

	if (shortened)
		s.n = VALUE_MAX_BYTES;
	put(l, STR("\""));
	while (s.n) {
		unsigned char c = (unsigned char)s.p[0];
		size_t n = utf8_length(s);

		if (c == '"' || c == '\\')
			putf(l, "\\%c", c);
		else if (c == '\n')
			put(l, STR("\\n"));
		else if (c < 0x20 || c == 0x7f)
			putf(l, "\\u%04x", c);
		else if (n)
			put(l, str_n(s.p, n));
		else
			put(l, STR("\xef\xbf\xbd"));
		s = str_skip(s, n ? n : 1);
	}
	put(l, shortened ? STR("…\"") : STR("\""));
}

/* logfmt leaves the quotes out where nothing needs them. */
static bool is_bare(struct str s)
{
	if (!s.n || s.n > VALUE_MAX_BYTES)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
			return false;
	}
	return true;
}

static void put_text(struct line *l, struct str s)
{
	if (settings.style == LOG_LOGFMT && is_bare(s))
		put(l, s);
	else
		put_quoted(l, s);
}

static void put_double(struct line *l, double value)
{
	if (isfinite(value))
		putf(l, "%.6g", value);
	else
		put(l, STR("null"));
}

static void put_key(struct line *l, const char *key)
{
	if (settings.style == LOG_JSON) {
		put(l, l->n > 1 ? STR(",\"") : STR("\""));
		put(l, str_of(key));
		put(l, STR("\":"));
		return;
	}
	if (l->n)
		put(l, STR(" "));
	put(l, str_of(key));
	put(l, STR("="));
}

/* All of the pair or nothing. */
static void put_pair(struct line *l, const struct log_pair *pair)
{
	size_t before = l->n;

	put_key(l, pair->key);
	switch (pair->kind) {
	case LOG_VALUE_STR:
		put_text(l, pair->s);
		break;
	case LOG_VALUE_I64:
		putf(l, "%lld", (long long)pair->i);
		break;
	case LOG_VALUE_U64:
		putf(l, "%llu", (unsigned long long)pair->u);
		break;
	case LOG_VALUE_F64:
		put_double(l, pair->f);
		break;
	case LOG_VALUE_BOOL:
		put(l, pair->b ? STR("true") : STR("false"));
		break;
	case LOG_END:
		break;
	}
	if (l->cut)
		l->n = before;
}

void log_write(enum log_level level, const char *message, const struct log_pair *pairs)
{
	struct line l;
	bool json = settings.style == LOG_JSON;
	char time[CLOCK_TEXT_SIZE];
	const char *end;

	if (!log_enabled(level))
		return;
	l.n = 0;
	l.cut = false;
	if (json)
		put(&l, STR("{"));
	put_pair(&l, &log_text("time", clock_format(clock_wall_ns(), 3, time)));
	put_pair(&l, &log_text("level", level_names[level]));
	put_pair(&l, &log_text("msg", message));
	for (; pairs->kind != LOG_END && !l.cut; pairs++)
		put_pair(&l, pairs);
	/* LINE_RESERVE keeps room for this. */
	end = json ? (l.cut ? ",\"cut\":true}\n" : "}\n") : (l.cut ? " cut=true\n" : "\n");
	memcpy(l.data + l.n, end, strlen(end));
	l.n += strlen(end);
	/* If the log cannot be written, that cannot be reported either. */
	if (write_all(settings.fd, l.data, l.n))
		return;
}
