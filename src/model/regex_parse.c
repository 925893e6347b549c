/*
 * Patterns to trees, by recursive descent:
 *
 *	either = concat { "|" concat }
 *	concat = { repeat }
 *	repeat = atom [ ( "*" | "+" | "?" | "{m}" | "{m,}" | "{m,n}" ) [ "?" ] ]
 *	atom   = "." | "(" [ "?:" | "?P<name>" | "?<name>" | "?i:" ] either ")" | "[" set "]" |
 *		 "\" escape | "^" | "$" | character
 *
 * Lazy repeats match the same texts as greedy ones, so the "?" behind them is only read over.
 */
#include "model/regex_parser.h"

static enum err parse_either(struct regex_parser *p, struct regex_node **ret);

enum err regex_fail(struct regex_parser *p, const char *what)
{
	return fault_set(p->fault, ERR_BAD_ARGUMENT,
			 "the regular expression \"%.*s\" is not valid: %s at byte %zu",
			 (int)(p->source.n < 120 ? p->source.n : 120), p->source.p, what, p->at);
}

struct regex_node *regex_node_new(struct regex_parser *p, int kind)
{
	struct regex_node *node = arena_zalloc(p->arena, 1, sizeof(*node));

	if (node)
		node->kind = kind;
	return node;
}

static bool ended(const struct regex_parser *p)
{
	return p->at >= p->source.n;
}

static bool at_text(const struct regex_parser *p, const char *text)
{
	return str_starts(str_skip(p->source, p->at), str_of(text));
}

/* Skips `text` if the pattern continues with it. */
static bool take(struct regex_parser *p, const char *text)
{
	if (!at_text(p, text))
		return false;
	p->at += strlen(text);
	return true;
}

static enum err make_assertion(struct regex_parser *p, enum regex_assertion assertion,
			       struct regex_node **ret)
{
	struct regex_node *node = regex_node_new(p, NODE_ASSERT);

	if (!node)
		return ERR_NO_MEMORY;
	node->assertion = assertion;
	*ret = node;
	return ERR_OK;
}

static enum err make_any(struct regex_parser *p, struct regex_node **ret)
{
	struct regex_node *node = regex_node_new(p, NODE_RANGES);

	if (!node)
		return ERR_NO_MEMORY;
	node->negated = true; /* not out of the empty set */
	*ret = node;
	return ERR_OK;
}

static enum err skip_group_name(struct regex_parser *p)
{
	size_t end = str_find(str_skip(p->source, p->at), '>');

	if (p->at + end >= p->source.n)
		return regex_fail(p, "a group name without its \">\"");
	p->at += end + 1;
	return ERR_OK;
}

/* After "(": parses the kind of group. `ret_bare` for "(?i)", which has no content. */
static enum err parse_group_head(struct regex_parser *p, bool *ret_bare)
{
	*ret_bare = false;
	if (!take(p, "?"))
		return ERR_OK;
	if (at_text(p, "=") || at_text(p, "!") || at_text(p, "<=") || at_text(p, "<!"))
		return regex_fail(p, "look-around is not supported");
	if (take(p, "P<") || take(p, "<"))
		return skip_group_name(p);
	/* A dot matches line ends anyway, and ^ and $ are the ends of the text: s and m change
	 * nothing for label values. */
	for (bool on = true; !ended(p); p->at++) {
		char c = p->source.p[p->at];

		if (c == ':' || c == ')') {
			*ret_bare = c == ')';
			p->at++;
			return ERR_OK;
		}
		if (c == '-')
			on = false;
		else if (c == 'i')
			p->ignore_case = on;
		else if (c != 's' && c != 'm' && c != 'U')
			return regex_fail(p, "an unknown flag of a group");
	}
	return regex_fail(p, "a group that does not end");
}

static enum err parse_group(struct regex_parser *p, struct regex_node **ret)
{
	bool ignore_case = p->ignore_case, bare;

	TRY(parse_group_head(p, &bare));
	if (bare) { /* its flags hold to the end of the group around it */
		*ret = regex_node_new(p, NODE_EMPTY);
		return *ret ? ERR_OK : ERR_NO_MEMORY;
	}
	if (++p->nesting > REGEX_MAX_NESTING)
		return regex_fail(p, "too many groups inside each other");
	TRY(parse_either(p, ret));
	p->nesting--;
	p->ignore_case = ignore_case;
	if (!take(p, ")"))
		return regex_fail(p, "a group without its \")\"");
	return ERR_OK;
}

static enum err parse_escape(struct regex_parser *p, struct regex_node **ret)
{
	char c = p->at + 1 < p->source.n ? p->source.p[p->at + 1] : 0;

	if (c == 'A' || c == 'z' || c == 'b' || c == 'B') {
		p->at += 2;
		return make_assertion(p,
				      c == 'A'	 ? AT_BEGIN
				      : c == 'z' ? AT_END
				      : c == 'b' ? AT_WORD_EDGE
						 : AT_NO_WORD_EDGE,
				      ret);
	}
	if (c >= '1' && c <= '9')
		return regex_fail(p, "back references are not supported");
	return regex_parse_single(p, ret);
}

static enum err parse_atom(struct regex_parser *p, struct regex_node **ret)
{
	switch (p->source.p[p->at]) {
	case '.':
		p->at++;
		return make_any(p, ret);
	case '^':
		p->at++;
		return make_assertion(p, AT_BEGIN, ret);
	case '$':
		p->at++;
		return make_assertion(p, AT_END, ret);
	case '(':
		p->at++;
		return parse_group(p, ret);
	case '[':
		return regex_parse_set(p, ret);
	case '\\':
		return parse_escape(p, ret);
	case '*':
	case '+':
	case '?':
		return regex_fail(p, "nothing to repeat");
	default:
		return regex_parse_single(p, ret);
	}
}

static int parse_count(struct regex_parser *p)
{
	int count = -1;

	for (; !ended(p) && p->source.p[p->at] >= '0' && p->source.p[p->at] <= '9'; p->at++) {
		count = (count < 0 ? 0 : count) * 10 + (p->source.p[p->at] - '0');
		if (count > REGEX_MAX_REPEAT)
			count = REGEX_MAX_REPEAT + 1;
	}
	return count;
}

/* "{m}", "{m,}" or "{m,n}"; anything else in braces is text, and `*ret_found` false. */
static enum err parse_braces(struct regex_parser *p, int *ret_min, int *ret_max, bool *ret_found)
{
	size_t begin = p->at;
	int min, max;

	*ret_found = false;
	p->at++;
	min = max = parse_count(p);
	if (min >= 0 && take(p, ","))
		max = parse_count(p);
	if (min < 0 || !take(p, "}")) {
		p->at = begin;
		return ERR_OK;
	}
	if (min > REGEX_MAX_REPEAT || max > REGEX_MAX_REPEAT)
		return regex_fail(p, "more than 1000 repeats");
	if (max >= 0 && max < min)
		return regex_fail(p, "a repeat whose end is below its begin");
	*ret_min = min;
	*ret_max = max;
	*ret_found = true;
	return ERR_OK;
}

static enum err parse_quantifier(struct regex_parser *p, int *ret_min, int *ret_max,
				 bool *ret_found)
{
	*ret_found = true;
	*ret_max = -1;
	if (take(p, "*"))
		*ret_min = 0;
	else if (take(p, "+"))
		*ret_min = 1;
	else if (take(p, "?"))
		*ret_min = 0, *ret_max = 1;
	else if (at_text(p, "{"))
		TRY(parse_braces(p, ret_min, ret_max, ret_found));
	else
		*ret_found = false;
	if (*ret_found)
		(void)take(p, "?");
	return ERR_OK;
}

static enum err parse_repeat(struct regex_parser *p, struct regex_node **ret)
{
	bool found, again;
	int min, max;

	TRY(parse_atom(p, ret));
	TRY(parse_quantifier(p, &min, &max, &found));
	if (!found)
		return ERR_OK;
	struct regex_node *node = regex_node_new(p, NODE_REPEAT);

	if (!node)
		return ERR_NO_MEMORY;
	node->left = *ret;
	node->min = min;
	node->max = max;
	*ret = node;
	TRY(parse_quantifier(p, &min, &max, &again));
	return again ? regex_fail(p, "a repeat of a repeat") : ERR_OK;
}

static enum err join(struct regex_parser *p, int kind, struct regex_node *left,
		     struct regex_node *right, struct regex_node **ret)
{
	struct regex_node *node = regex_node_new(p, kind);

	if (!node)
		return ERR_NO_MEMORY;
	node->left = left;
	node->right = right;
	*ret = node;
	return ERR_OK;
}

static enum err parse_concat(struct regex_parser *p, struct regex_node **ret)
{
	*ret = regex_node_new(p, NODE_EMPTY);
	if (!*ret)
		return ERR_NO_MEMORY;
	while (!ended(p) && !at_text(p, "|") && !at_text(p, ")")) {
		struct regex_node *next;

		TRY(parse_repeat(p, &next));
		if ((*ret)->kind == NODE_EMPTY)
			*ret = next;
		else
			TRY(join(p, NODE_CONCAT, *ret, next, ret));
	}
	return ERR_OK;
}

static enum err parse_either(struct regex_parser *p, struct regex_node **ret)
{
	TRY(parse_concat(p, ret));
	while (take(p, "|")) {
		struct regex_node *next;

		TRY(parse_concat(p, &next));
		TRY(join(p, NODE_EITHER, *ret, next, ret));
	}
	return ERR_OK;
}

enum err regex_parse(struct str source, struct arena *arena, struct regex_node **ret,
		     struct fault *fault)
{
	struct regex_parser p = {.source = source, .arena = arena, .fault = fault};

	if (source.n > REGEX_MAX_SOURCE)
		return fault_set(fault, ERR_TOO_LARGE,
				 "a regular expression has %zu bytes; at most %d are taken",
				 source.n, REGEX_MAX_SOURCE);
	if (!utf8_valid(source))
		return fault_set(fault, ERR_BAD_ARGUMENT, "a regular expression is not UTF-8");
	TRY(parse_either(&p, ret));
	return ended(&p) ? ERR_OK : regex_fail(&p, "a \")\" without its \"(\"");
}
