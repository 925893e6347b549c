#include "base/alloc.h"
#include "query/query.h"

#define MAX_SELECTOR 65536
#define MAX_MATCHERS 64

struct parser {
	struct str text;
	size_t at;
	struct selector *out;
	struct fault *fault;
};

void selector_release(struct selector *s)
{
	vec_for_each (m, &s->matchers)
		linear_regex_free((struct linear_regex *)m->regex);
	vec_release(&s->matchers);
	arena_release(&s->arena);
}

static enum err fail(const struct parser *p, const char *what)
{
	return fault_set(p->fault, ERR_BAD_ARGUMENT,
			 "the selector \"%.*s\" is not valid: %s at byte %zu",
			 (int)(p->text.n < 200 ? p->text.n : 200), p->text.p, what, p->at);
}

static char peek(const struct parser *p)
{
	return p->at < p->text.n ? p->text.p[p->at] : 0;
}

static void skip_space(struct parser *p)
{
	while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\n' || peek(p) == '\r')
		p->at++;
}

static bool name_char(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
	       c == '.' || c == '-' || c == '/' || c == ':' || (unsigned char)c >= 0x80;
}

/* \uXXXX in a quoted string; `at` is after the u. */
static enum err parse_unicode(struct parser *p, char *out, size_t *n)
{
	uint64_t c;

	if (p->at + 4 > p->text.n || str_to_u64(str_n(p->text.p + p->at, 4), 16, &c) != ERR_OK ||
	    (c >> 11) == 0x1b)
		return fail(p, "a bad \\u");
	p->at += 4;
	if (c < 0x80) {
		out[(*n)++] = (char)c;
	} else if (c < 0x800) {
		out[(*n)++] = (char)(0xc0 | c >> 6);
		out[(*n)++] = (char)(0x80 | (c & 0x3f));
	} else {
		out[(*n)++] = (char)(0xe0 | c >> 12);
		out[(*n)++] = (char)(0x80 | (c >> 6 & 0x3f));
		out[(*n)++] = (char)(0x80 | (c & 0x3f));
	}
	return ERR_OK;
}

/* A backslash in a value that is to be a regular expression is often meant for that: an escape that
 * is not one of ours keeps its backslash ("a\.b"). */
static enum err parse_escape(struct parser *p, char *out, size_t *n)
{
	static const char letters[] = "\\\"'`ntr", meanings[] = "\\\"'`\n\t\r";
	char c = peek(p);
	const char *letter = c ? strchr(letters, c) : NULL;

	if (!c)
		return fail(p, "a text that ends with a backslash");
	p->at++;
	if (c == 'u')
		return parse_unicode(p, out, n);
	if (!letter)
		out[(*n)++] = '\\';
	out[(*n)++] = letter ? meanings[letter - letters] : c;
	return ERR_OK;
}

static enum err parse_quoted(struct parser *p, struct str *ret)
{
	char quote = p->text.p[p->at++];
	/* An escape is never shorter than its result. */
	char *out = arena_alloc(&p->out->arena, p->text.n - p->at + 1);
	size_t n = 0;

	if (!out)
		return ERR_NO_MEMORY;
	for (char c; (c = peek(p)) != quote; p->at++) {
		if (p->at >= p->text.n)
			return fail(p, "a text without its closing quote");
		if (c == '\\' && quote != '`') {
			p->at++;
			TRY(parse_escape(p, out, &n));
			p->at--;
		} else {
			out[n++] = c;
		}
	}
	p->at++;
	*ret = str_n(out, n);
	return ERR_OK;
}

static enum err parse_name(struct parser *p, struct str *ret)
{
	size_t begin = p->at;

	if (peek(p) == '"' || peek(p) == '\'' || peek(p) == '`')
		return parse_quoted(p, ret);
	while (name_char(peek(p)))
		p->at++;
	if (p->at == begin)
		return fail(p, "a label name is expected");
	*ret = str_n(p->text.p + begin, p->at - begin);
	return ERR_OK;
}

static enum err parse_value(struct parser *p, struct str *ret)
{
	size_t begin = p->at;

	if (peek(p) == '"' || peek(p) == '\'' || peek(p) == '`')
		return parse_quoted(p, ret);
	while (p->at < p->text.n && peek(p) != ',' && peek(p) != '}')
		p->at++;
	*ret = str_trim(str_n(p->text.p + begin, p->at - begin));
	return ERR_OK;
}

static enum err parse_operator(struct parser *p, enum match_op *ret)
{
	static const struct {
		struct str text;
		enum match_op op;
	} operators[] = {{STR("=~"), MATCH_REGEX},
			 {STR("!~"), MATCH_NOT_REGEX},
			 {STR("!="), MATCH_NOT_EQUAL},
			 {STR("=="), MATCH_EQUAL},
			 {STR("="), MATCH_EQUAL}};

	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (str_starts(str_skip(p->text, p->at), operators[i].text)) {
			p->at += operators[i].text.n;
			*ret = operators[i].op;
			return ERR_OK;
		}
	return fail(p, "one of = != =~ !~ is expected");
}

static enum err copy(struct selector *s, struct str text, struct str *ret)
{
	const char *copied = arena_copy(&s->arena, text);

	if (!copied)
		return ERR_NO_MEMORY;
	*ret = str_n(copied, text.n);
	return ERR_OK;
}

enum err selector_add(struct selector *s, struct str name, enum match_op op, struct str value,
		      struct fault *fault)
{
	struct linear_regex *regex = NULL;
	struct matcher m = {.op = op};
	enum err error;

	if (s->matchers.n >= MAX_MATCHERS)
		return fault_set(fault, ERR_TOO_LARGE, "a selector has more than %d conditions",
				 MAX_MATCHERS);
	if (str_eq(name, STR("service.name")) || str_eq(name, STR("__service_name__")))
		name = STR("service_name");
	TRY(copy(s, name, &m.name));
	TRY(copy(s, value, &m.value));
	if (op == MATCH_REGEX || op == MATCH_NOT_REGEX)
		TRY(linear_regex_new(m.value, &regex, fault));
	m.regex = regex;
	error = vec_push(&s->matchers, m);
	if (error != ERR_OK)
		linear_regex_free(regex);
	return error;
}

static enum err parse_matcher(struct parser *p)
{
	struct str name, value;
	enum match_op op = MATCH_EQUAL;

	TRY(parse_name(p, &name));
	skip_space(p);
	TRY(parse_operator(p, &op));
	skip_space(p);
	TRY(parse_value(p, &value));
	return selector_add(p->out, name, op, value, p->fault);
}

static enum err parse_braces(struct parser *p)
{
	p->at++;
	for (skip_space(p); peek(p) != '}'; skip_space(p)) {
		TRY(parse_matcher(p));
		skip_space(p);
		if (peek(p) == ',')
			p->at++;
		else if (peek(p) != '}')
			return fail(p, "\",\" or \"}\" is expected");
	}
	p->at++;
	return ERR_OK;
}

/* The part before the brace: with four or five colons it is a type, else a service. */
static enum err take_prefix(struct parser *p, struct str prefix)
{
	size_t colons = 0;

	for (size_t i = 0; i < prefix.n; i++)
		colons += prefix.p[i] == ':';
	if (colons >= 4 && colons <= 5)
		return copy(p->out, prefix, &p->out->type);
	if (!prefix.n)
		return ERR_OK;
	return selector_add(p->out, STR("service_name"), MATCH_EQUAL, prefix, p->fault);
}

static enum err parse(struct parser *p)
{
	struct str prefix = str_trim(str_n(p->text.p, str_find(p->text, '{')));

	if (p->text.n > MAX_SELECTOR)
		return fault_set(p->fault, ERR_TOO_LARGE, "a selector has more than %d bytes",
				 MAX_SELECTOR);
	for (p->at = 0; p->at < prefix.n; p->at++)
		if (!name_char(prefix.p[p->at]))
			return fail(p, "a service name ends here, and \"{\" is expected");
	TRY(take_prefix(p, prefix));
	p->at = str_find(p->text, '{');
	if (p->at == p->text.n)
		return prefix.n ? ERR_OK : fail(p, "it is empty; {} selects everything");
	TRY(parse_braces(p));
	skip_space(p);
	return p->at == p->text.n ? ERR_OK : fail(p, "unexpected text after \"}\"");
}

enum err selector_parse(struct str text, struct selector *ret, struct fault *fault)
{
	struct selector s = {0};
	struct parser p = {.text = str_trim(text), .out = &s, .fault = fault};
	enum err error;

	arena_init(&s.arena, (size_t)16 << 20);
	error = parse(&p);
	if (error != ERR_OK)
		selector_release(&s);
	else
		*ret = s;
	return error;
}

/* The conditions of `more` too; a second type is one of them. */
static enum err add_all(struct selector *s, const struct selector *more, struct fault *fault)
{
	if (more->type.n && !s->type.n)
		TRY(copy(s, more->type, &s->type));
	else if (more->type.n)
		TRY(selector_add(s, STR("__profile_type__"), MATCH_EQUAL, more->type, fault));
	vec_for_each (m, &more->matchers)
		TRY(selector_add(s, m->name, m->op, m->value, fault));
	return ERR_OK;
}

enum err selector_parse_all(const struct str *texts, size_t n, struct selector *ret,
			    struct fault *fault)
{
	struct selector all;
	enum err error =
		selector_parse(n && str_trim(texts[0]).n ? texts[0] : STR("{}"), &all, fault);

	if (error != ERR_OK)
		return error;
	for (size_t i = 1; error == ERR_OK && i < n; i++) {
		struct selector more;

		if (!str_trim(texts[i]).n)
			continue;
		error = selector_parse(texts[i], &more, fault);
		if (error != ERR_OK)
			break;
		error = add_all(&all, &more, fault);
		selector_release(&more);
	}
	if (error != ERR_OK)
		selector_release(&all);
	else
		*ret = all;
	return error;
}

static void print_quoted(struct buf *out, struct str text)
{
	buf_byte(out, '"');
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c == '\n')
			buf_text(out, "\\n");
		else if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else
			buf_byte(out, (unsigned char)c);
	}
	buf_byte(out, '"');
}

void selector_print(const struct selector *s, struct buf *out)
{
	static const char *const operators[] = {"=", "!=", "=~", "!~"};
	const char *comma = "";

	buf_str(out, s->type);
	buf_byte(out, '{');
	vec_for_each (m, &s->matchers) {
		bool plain = m->name.n > 0;

		for (size_t i = 0; i < m->name.n; i++)
			plain &= name_char(m->name.p[i]);
		buf_text(out, comma);
		if (plain)
			buf_str(out, m->name);
		else
			print_quoted(out, m->name);
		buf_text(out, operators[m->op]);
		print_quoted(out, m->value);
		comma = ",";
	}
	buf_byte(out, '}');
}

struct str selector_equal(const struct selector *s, struct str name)
{
	vec_for_each (m, &s->matchers)
		if (m->op == MATCH_EQUAL && str_eq(m->name, name))
			return m->value;
	return (struct str){0};
}
