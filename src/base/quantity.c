#include "base/quantity.h"

#include "base/clock.h"

static const struct unit {
	struct str name;
	int64_t ns;
} units[] = {
	{STR("ns"), 1},
	{STR("us"), 1000},
	{STR("µs"), 1000},
	{STR("ms"), 1000000},
	{STR("min"), 60 * NS_PER_S},
	{STR("s"), NS_PER_S},
	{STR("m"), 60 * NS_PER_S},
	{STR("h"), 3600 * NS_PER_S},
	{STR("d"), 86400 * NS_PER_S},
	{STR("w"), 7 * 86400 * NS_PER_S},
	{STR("y"), 365 * 86400 * NS_PER_S},
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Splits off what consists of digits and dots. */
static struct str take_number(struct str *text)
{
	size_t n = 0;

	while (n < text->n && (digit(text->p[n]) || text->p[n] == '.'))
		n++;
	struct str number = str_n(text->p, n);

	*text = str_skip(*text, n);
	return number;
}

static const struct unit *take_unit(struct str *text)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (str_starts(*text, units[i].name)) {
			*text = str_skip(*text, units[i].name.n);
			return &units[i];
		}
	return NULL;
}

static enum err bad_duration(struct str text, struct fault *fault)
{
	return fault_set(fault, ERR_BAD_ARGUMENT,
			 "\"%.*s\" is no duration; write 90s, 15m, 1h30m, 14d or 2w",
			 (int)(text.n < 80 ? text.n : 80), text.p);
}

enum err duration_parse(struct str text, int64_t *ret_ns, struct fault *fault)
{
	struct str rest = str_trim(text), number = take_number(&rest);
	double sum = 0, value;

	if (!number.n)
		return bad_duration(text, fault);
	for (;; number = take_number(&rest)) {
		if (str_to_double(number, &value) != ERR_OK)
			return bad_duration(text, fault);
		const struct unit *unit = rest.n ? take_unit(&rest) : &units[5];

		if (!unit)
			return bad_duration(text, fault);
		sum += value * (double)unit->ns;
		if (!rest.n)
			break;
	}
	if (!(sum < 9.2e18))
		return bad_duration(text, fault);
	*ret_ns = (int64_t)sum;
	return ERR_OK;
}

enum err size_parse(struct str text, size_t *ret)
{
	static const char letters[] = "KMGT";
	struct str digits = text, suffix;
	unsigned shift = 0;
	uint64_t value;

	digits.n = 0;
	while (digits.n < text.n && text.p[digits.n] >= '0' && text.p[digits.n] <= '9')
		digits.n++;
	suffix = str_skip(text, digits.n);
	if (suffix.n && suffix.p[0] != 'B' && suffix.p[0] != 'b') {
		const char *hit = memchr(letters, suffix.p[0] & ~0x20, 4);

		if (!hit)
			return ERR_BAD_ARGUMENT;
		shift = 10 * (unsigned)(hit - letters + 1);
		suffix = str_skip(suffix, 1);
		if (suffix.n == 2 && (suffix.p[0] == 'i' || suffix.p[0] == 'I'))
			suffix = str_skip(suffix, 1);
	}
	if (suffix.n > 1 || (suffix.n && (suffix.p[0] & ~0x20) != 'B'))
		return ERR_BAD_ARGUMENT;
	if (str_to_u64(digits, 10, &value) || value > (SIZE_MAX >> shift))
		return ERR_BAD_ARGUMENT;
	*ret = (size_t)value << shift;
	return ERR_OK;
}
