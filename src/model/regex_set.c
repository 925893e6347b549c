/*
 * Single characters, escapes and sets in brackets: everything that matches exactly one character.
 * Case is ignored for ASCII letters only.
 */
#include "model/regex_parser.h"

struct range_list {
	VEC(struct regex_range) list;
};

#define MAX_CODE_POINT 0x10ffff

static const struct named_set {
	const char *name;
	struct regex_range ranges[4];
	uint32_t n;
} named_sets[] = {
	{"d", {{'0', '9'}}, 1},
	{"w", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, 4},
	{"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}, 3},
	{"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}, 3},
	{"alpha", {{'A', 'Z'}, {'a', 'z'}}, 2},
	{"ascii", {{0, 0x7f}}, 1},
	{"blank", {{'\t', '\t'}, {' ', ' '}}, 2},
	{"cntrl", {{0, 0x1f}, {0x7f, 0x7f}}, 2},
	{"digit", {{'0', '9'}}, 1},
	{"graph", {{'!', '~'}}, 1},
	{"lower", {{'a', 'z'}}, 1},
	{"print", {{' ', '~'}}, 1},
	{"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, 4},
	{"space", {{'\t', '\r'}, {' ', ' '}}, 2},
	{"upper", {{'A', 'Z'}}, 1},
	{"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, 4},
	{"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}, 3},
};

static const struct named_set *find_named(struct str name)
{
	for (size_t i = 0; i < sizeof(named_sets) / sizeof(*named_sets); i++)
		if (str_eq(str_of(named_sets[i].name), name))
			return &named_sets[i];
	return NULL;
}

static enum err add_range(struct regex_parser *p, struct range_list *set, uint32_t low,
			  uint32_t high)
{
	TRY(vec_push(&set->list, ((struct regex_range){low, high})));
	if (!p->ignore_case)
		return ERR_OK;
	for (uint32_t c = low > 'A' ? low : 'A'; c <= high && c <= 'z'; c++) {
		uint32_t other = c <= 'Z' ? c + 32 : c >= 'a' ? c - 32 : c;

		if (other != c)
			TRY(vec_push(&set->list, ((struct regex_range){other, other})));
	}
	return ERR_OK;
}

/* All that a named set does not have. Its ranges are in order and apart. */
static enum err add_complement(struct range_list *set, const struct named_set *named)
{
	uint32_t from = 0;

	for (uint32_t i = 0; i < named->n; i++) {
		if (named->ranges[i].low > from)
			TRY(vec_push(&set->list,
				     ((struct regex_range){from, named->ranges[i].low - 1})));
		from = named->ranges[i].high + 1;
	}
	return vec_push(&set->list, ((struct regex_range){from, MAX_CODE_POINT}));
}

static enum err add_named(struct range_list *set, const struct named_set *named, bool negated)
{
	if (negated)
		return add_complement(set, named);
	return vec_append(&set->list, named->ranges, named->n);
}

/* \x41 or \x{1F600}; `at` is after the x. */
static enum err parse_hex(struct regex_parser *p, uint32_t *ret)
{
	bool braces = p->at < p->source.n && p->source.p[p->at] == '{';
	struct str rest = str_skip(p->source, p->at + braces);
	size_t length = braces ? str_find(rest, '}') : 2;
	uint64_t value;

	if (length > 6 || length + braces > rest.n ||
	    str_to_u64(str_n(rest.p, length), 16, &value) != ERR_OK || value > MAX_CODE_POINT)
		return regex_fail(p, "a bad \\x");
	p->at += length + 2 * (size_t)braces;
	*ret = (uint32_t)value;
	return ERR_OK;
}

/* One escape: a named set (`*ret_named`, perhaps negated) or a character. */
static enum err parse_escape(struct regex_parser *p, const struct named_set **ret_named,
			     bool *ret_negated, uint32_t *ret_char)
{
	static const char letters[] = "tnrfva", meanings[] = "\t\n\r\f\v\a";
	char c = p->at + 1 < p->source.n ? p->source.p[p->at + 1] : 0;
	char lower = (char)(c | 0x20);

	*ret_named = NULL;
	if (lower == 'd' || lower == 'w' || lower == 's') {
		p->at += 2;
		*ret_named = find_named(str_n(&lower, 1));
		*ret_negated = c != lower;
		return ERR_OK;
	}
	const char *letter = c ? strchr(letters, c) : NULL;

	if (letter)
		*ret_char = (uint32_t)(unsigned char)meanings[letter - letters];
	else if (c == 'x') {
		p->at += 2;
		return parse_hex(p, ret_char);
	} else if (c == 'p' || c == 'P')
		return regex_fail(p, "Unicode classes are not supported");
	else if (c > ' ' && c < 0x7f && !(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9'))
		*ret_char = (uint32_t)c;
	else
		return regex_fail(p, "an unknown escape");
	p->at += 2;
	return ERR_OK;
}

static uint32_t take_char(struct regex_parser *p)
{
	size_t length;
	uint32_t c = regex_decode(p->source, p->at, &length);

	p->at += length;
	return c;
}

/* The node takes a copy of the set into the arena. */
static enum err finish(struct regex_parser *p, struct range_list *set, bool negated,
		       struct regex_node **ret)
{
	struct regex_node *node = regex_node_new(p, NODE_RANGES);
	size_t size = set->list.n * sizeof(*set->list.v);
	struct regex_range *ranges = arena_alloc(p->arena, size ? size : 1);

	if (!node || !ranges)
		return ERR_NO_MEMORY;
	if (size)
		memcpy(ranges, set->list.v, size);
	node->ranges = ranges;
	node->range_count = (uint32_t)set->list.n;
	node->negated = negated;
	*ret = node;
	return ERR_OK;
}

static enum err read_single(struct regex_parser *p, struct range_list *set)
{
	const struct named_set *named = NULL;
	bool negated = false;
	uint32_t c = 0;

	if (p->source.p[p->at] == '\\')
		TRY(parse_escape(p, &named, &negated, &c));
	else
		c = take_char(p);
	return named ? add_named(set, named, negated) : add_range(p, set, c, c);
}

enum err regex_parse_single(struct regex_parser *p, struct regex_node **ret)
{
	struct range_list set = {0};
	enum err error = read_single(p, &set);

	if (error == ERR_OK)
		error = finish(p, &set, false, ret);
	vec_release(&set.list);
	return error;
}

/* [:alpha:] or [:^alpha:] inside a set; `*ret_found` false when it is none. */
static enum err parse_posix(struct regex_parser *p, struct range_list *set, bool *ret_found)
{
	struct str rest = str_skip(p->source, p->at);
	size_t end = str_search(rest, STR(":]"));

	*ret_found = str_starts(rest, STR("[:")) && end < rest.n;
	if (!*ret_found)
		return ERR_OK;
	bool negated = rest.p[2] == '^' && end > 2;
	size_t begin = negated ? 3 : 2;
	const struct named_set *named = find_named(str_n(rest.p + begin, end - begin));

	if (!named || end - begin < 2)
		return regex_fail(p, "an unknown [:class:]");
	p->at += end + 2;
	return add_named(set, named, negated);
}

static enum err parse_item(struct regex_parser *p, struct range_list *set)
{
	const struct named_set *named = NULL;
	bool negated = false, found;
	uint32_t low = 0, high;

	TRY(parse_posix(p, set, &found));
	if (found)
		return ERR_OK;
	if (p->source.p[p->at] == '\\')
		TRY(parse_escape(p, &named, &negated, &low));
	else
		low = take_char(p);
	if (named)
		return add_named(set, named, negated);
	high = low;
	struct str rest = str_skip(p->source, p->at);

	if (rest.n >= 2 && rest.p[0] == '-' && rest.p[1] != ']') {
		p->at++;
		if (p->source.p[p->at] == '\\')
			TRY(parse_escape(p, &named, &negated, &high));
		else
			high = take_char(p);
		if (named || high < low)
			return regex_fail(p, "a bad range in a set");
	}
	return add_range(p, set, low, high);
}

static enum err read_set(struct regex_parser *p, struct range_list *set, bool *ret_negated)
{
	p->at++;
	*ret_negated = p->at < p->source.n && p->source.p[p->at] == '^';
	p->at += *ret_negated;
	for (bool first = true;; first = false) {
		if (p->at >= p->source.n)
			return regex_fail(p, "a set without its \"]\"");
		if (p->source.p[p->at] == ']' && !first)
			break;
		TRY(parse_item(p, set));
	}
	p->at++;
	return ERR_OK;
}

enum err regex_parse_set(struct regex_parser *p, struct regex_node **ret)
{
	struct range_list set = {0};
	bool negated;
	enum err error = read_set(p, &set, &negated);

	if (error == ERR_OK)
		error = finish(p, &set, negated, ret);
	vec_release(&set.list);
	return error;
}
