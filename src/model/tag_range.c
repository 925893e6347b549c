/*
 * Label filters as text: "k=v", "k!~re"; and numbers in them: "4kb:1mb", ":64", "10ms:", "32kb".
 */
#include <ctype.h>
#include <math.h>

#include "model/ops.h"
#include "model/pattern.h"
#include "model/types.h"

struct quantity {
	double value; /* in the base unit of its kind */
	enum unit_kind kind;
};

static bool read_quantity(struct str text, struct quantity *ret)
{
	size_t digits = text.n && (text.p[0] == '-' || text.p[0] == '+') ? 1 : 0;
	struct str unit;
	double factor = 1;

	while (digits < text.n && (isdigit((unsigned char)text.p[digits]) || text.p[digits] == '.'))
		digits++;
	unit = str_skip(text, digits);
	if (str_to_double(str_n(text.p, digits), &ret->value) != ERR_OK)
		return false;
	ret->kind = UNIT_OTHER;
	if (unit.n)
		ret->kind = unit_kind(unit, &factor);
	if (unit.n && ret->kind == UNIT_OTHER)
		return false;
	ret->value *= factor;
	return true;
}

bool tag_filter_range(struct str text, struct tag_filter *ret)
{
	size_t colon = str_find(text, ':');
	struct str low = str_n(text.p, colon), high = low;
	struct quantity from = {-INFINITY, UNIT_OTHER}, to = {INFINITY, UNIT_OTHER};

	if (colon < text.n)
		high = str_skip(text, colon + 1);
	if ((!low.n && !high.n) || (low.n && !read_quantity(low, &from)) ||
	    (high.n && !read_quantity(high, &to)))
		return false;
	if (low.n && high.n && from.kind != to.kind)
		return false;
	ret->is_range = true;
	ret->min = from.value;
	ret->max = to.value;
	ret->kind = low.n ? from.kind : to.kind;
	return true;
}

bool tag_filter_parse(struct str text, struct tag_filter *ret, struct str *ret_value,
		      unsigned *ret_flags)
{
	size_t bang = str_search(text, STR("!~")), equals = str_find(text, '=');
	bool negate_pattern = bang < equals;
	struct str key = str_n(text.p, negate_pattern ? bang : equals);
	struct str value = str_skip(text, negate_pattern ? bang + 1 : equals + 1);

	*ret = (struct tag_filter){.negate = negate_pattern};
	*ret_value = (struct str){0};
	*ret_flags = 0;
	if (!negate_pattern && equals < text.n && str_ends(key, STR("!"))) {
		ret->negate = true;
		key.n--;
	}
	ret->key = key;
	if (!key.n || key.n == text.n)
		return key.n > 0;
	if (value.n && value.p[0] == '~') {
		*ret_value = str_skip(value, 1);
		return true;
	}
	(void)tag_filter_range(value, ret);
	*ret_value = value;
	*ret_flags = PATTERN_LITERAL | PATTERN_ANCHORED;
	return true;
}

/* A label without a unit is measured in what its key says, as pprof takes it. */
static enum unit_kind label_kind(const struct dict *d, const struct label *l, double *ret_factor)
{
	return unit_kind(dict_str(d, l->unit ? l->unit : l->key), ret_factor);
}

bool tag_range_matches(const struct tag_filter *tag, const struct dict *d, const struct label *l)
{
	double value = (double)l->value, factor = 1;

	if (l->type == LABEL_DOUBLE)
		memcpy(&value, &l->value, sizeof(value));
	else if (l->type != LABEL_INT)
		return false;
	/* A number without a unit is compared with the number the label has. */
	if (tag->kind != UNIT_OTHER && label_kind(d, l, &factor) != tag->kind)
		return false;
	value *= factor;
	return value >= tag->min && value <= tag->max;
}
