#include "cli/units.h"

#include <math.h>
#include <stdio.h>

#include "model/model.h"

struct step {
	const char *name;
	double size; /* in the base unit of its kind: nanoseconds, bytes */
};

static const struct step times[] = {
	{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"hrs", 3600e9},
};
static const struct step sizes[] = {
	{"B", 1},
	{"kB", 1024.0},
	{"MB", 1048576.0},
	{"GB", 1073741824.0},
	{"TB", 1099511627776.0},
	{"PB", 1125899906842624.0},
};

static const struct step *largest_below(const struct step *steps, size_t n, double amount)
{
	const struct step *best = &steps[0];

	for (size_t i = 1; i < n; i++)
		if (amount >= steps[i].size)
			best = &steps[i];
	return best;
}

struct scale scale_of(int64_t value, struct str unit)
{
	double factor, amount;
	enum unit_kind kind = unit_kind(unit, &factor);
	const struct step *s;

	if (kind == UNIT_COUNT || (kind == UNIT_OTHER && !unit.n))
		return (struct scale){.name = "", .factor = 1, .size = 1, .unit = unit};
	if (kind == UNIT_OTHER)
		return (struct scale){
			.name = "", .factor = 1, .size = 1, .own_name = true, .unit = unit};
	amount = fabs((double)value) * factor;
	s = kind == UNIT_TIME ? largest_below(times, sizeof(times) / sizeof(times[0]), amount)
			      : largest_below(sizes, sizeof(sizes) / sizeof(sizes[0]), amount);
	return (struct scale){.name = s->name, .factor = factor, .size = s->size, .unit = unit};
}

struct scale scale_choose(int64_t smallest, int64_t total, struct str unit)
{
	struct scale low, high;

	if (!smallest)
		smallest = total;
	low = scale_of(smallest, unit);
	high = scale_of(total, unit);
	/* Small values may go down to 0.01 of a larger unit. */
	if (low.name != high.name && fabs((double)smallest) * 100 < fabs((double)total))
		return scale_of((int64_t)(fabs((double)smallest) * 100), unit);
	return low;
}

void scale_put(struct buf *out, const struct scale *s, double value)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%.2f", value * s->factor / s->size);

	if (n > 3 && memcmp(text + n - 3, ".00", 3) == 0)
		n -= 3;
	if ((n == 1 && text[0] == '0') || (n == 2 && memcmp(text, "-0", 2) == 0)) {
		buf_byte(out, '0');
		return;
	}
	buf_append(out, text, (size_t)n);
	if (s->own_name)
		buf_str(out, s->unit);
	else
		buf_text(out, s->name);
}

void share_put(struct buf *out, double part, double whole)
{
	double share = whole != 0 ? fabs(part / whole) * 100 : 0;

	if (share >= 99.95 && share <= 100.05)
		buf_text(out, "  100%");
	else if (share >= 1)
		buf_printf(out, "%5.2f%%", share);
	else
		buf_printf(out, "%5.2g%%", share);
}
