#include "model/amount_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "model/types.h"

struct scale {
	double size;
	const char *unit;
};

static const struct scale long_times[] = {{86400e9, "d"}, {3600e9, "h"}, {60e9, "min"}, {0, NULL}};
static const struct scale times[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}, {0, NULL}};
static const struct scale sizes[] = {{0x1p50, "PiB"}, {0x1p40, "TiB"}, {0x1p30, "GiB"},
				     {0x1p20, "MiB"}, {0x1p10, "KiB"}, {1, "B"},
				     {0, NULL}};
static const struct scale counts[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {0, NULL}};

/* Rounds as JavaScript does: what lies in the middle goes away from zero, where printf takes the
 * even digit. */
static void put_fixed(struct buf *out, double value, int digits, bool trim)
{
	char text[DBL_MAX_10_EXP + 16];
	double power = pow(10, digits), scaled = value * power;
	int n;

	if (fabs(scaled - trunc(scaled)) == 0.5 && fma(value, power, -scaled) == 0)
		value = (trunc(scaled) + copysign(1, scaled)) / power;
	n = snprintf(text, sizeof(text), "%.*f", digits, value);
	while (trim && digits && n > 1 && text[n - 1] == '0')
		n--;
	if (trim && digits && text[n - 1] == '.')
		n--;
	buf_append(out, text, (size_t)n);
}

static void put_grouped(struct buf *out, double value)
{
	char text[DBL_MAX_10_EXP + 16];
	int n = snprintf(text, sizeof(text), "%.0f", floor(fabs(value) + 0.5));

	if (value < 0)
		buf_byte(out, '-');
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			buf_byte(out, ',');
		buf_byte(out, (uint8_t)text[i]);
	}
}

void figure_put(struct buf *out, double value)
{
	double size = fabs(value);

	if (size >= 999.5)
		put_grouped(out, value);
	else
		put_fixed(out, value, size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2, true);
}

static void put_scaled(struct buf *out, double value, const struct scale *s)
{
	if (value == 0) {
		buf_byte(out, '0');
		return;
	}
	while (s[1].unit && fabs(value) < s->size * 0.9995)
		s++;
	figure_put(out, value / s->size);
	buf_printf(out, " %s", s->unit);
}

static void put_time(struct buf *out, double ns)
{
	put_scaled(out, ns, fabs(ns) >= 120e9 ? long_times : times);
}

static void put_count(struct buf *out, double value)
{
	if (fabs(value) < 9999.5)
		figure_put(out, value);
	else
		put_scaled(out, value, counts);
}

/* The name of counted things: the type without "alloc_" or "inuse_", or the unit if that is more
 * specific. */
static void put_noun(struct buf *out, struct str type, struct str unit)
{
	size_t from = out->n;

	if (unit.n && !str_eq(unit, STR("count"))) {
		buf_str(out, unit);
		return;
	}
	if (str_starts(type, STR("alloc_")) || str_starts(type, STR("inuse_")))
		type = str_skip(type, 6);
	if (!type.n || str_eq(type, STR("cpu")))
		type = STR("samples");
	buf_str(out, type);
	for (size_t i = from; i < out->n; i++)
		if (out->data[i] == '_')
			out->data[i] = ' ';
}

void amount_text(struct buf *out, double value, struct str type, struct str unit)
{
	double factor;
	enum unit_kind kind = unit_kind(unit, &factor);

	if (kind == UNIT_TIME) {
		put_time(out, value * factor);
	} else if (kind == UNIT_BYTES) {
		put_scaled(out, value * factor, sizes);
	} else {
		put_count(out, value);
		buf_byte(out, ' ');
		put_noun(out, type, unit);
	}
}

/* Below a tenth of a core a figure more, as people speak of 0.035 cores. */
static void put_cores(struct buf *out, double cores)
{
	size_t from = out->n;

	if (cores > 0 && cores < 0.0995)
		put_fixed(out, cores, 3, true);
	else
		figure_put(out, cores);
	if (out->error)
		return;
	buf_text(out, out->n - from == 1 && out->data[from] == '1' ? " core" : " cores");
}

/* Rates below one per second are shown per minute. */
static void put_per(struct buf *out, double rate, struct str type, struct str unit)
{
	double factor, least = unit_kind(unit, &factor) == UNIT_BYTES ? 0x1p20 / factor : 1;
	bool slow = rate > 0 && rate < least;

	amount_text(out, slow ? rate * 60 : rate, type, unit);
	buf_text(out, slow ? "/min" : "/s");
}

void rate_text(struct buf *out, double rate, struct str type, struct str unit, bool gauge)
{
	double factor;
	enum unit_kind kind = unit_kind(unit, &factor);
	double cores = rate * factor / NS_PER_S;

	if (isnan(rate)) {
		buf_text(out, "–");
	} else if (gauge) {
		amount_text(out, rate, type, unit);
	} else if (kind != UNIT_TIME) {
		put_per(out, rate, type, unit);
	} else if (str_eq(type, STR("cpu")) && (cores == 0 || cores >= 0.01)) {
		put_cores(out, cores);
	} else {
		put_time(out, rate * factor);
		buf_text(out, "/s");
	}
}

void share_text(struct buf *out, double share)
{
	double percent = fabs(share) * 100;

	if (!isfinite(share))
		return;
	if (percent < 0.05) {
		buf_text(out, "0 %");
		return;
	}
	buf_text(out, share > 0 ? "+" : "−");
	if (percent >= 9.95)
		put_grouped(out, percent);
	else
		put_fixed(out, percent, 1, true);
	buf_text(out, " %");
}
