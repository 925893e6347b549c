#include "cli/text_fold.h"

#define ELLIPSIS   "\xe2\x80\xa6"
#define FOLDED_MAX 5 /* bytes of "<…>": what is no longer stays */

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool begins_word(struct str s, size_t at, struct str word)
{
	return str_starts(str_skip(s, at), word) && (!at || !is_word(s.p[at - 1]));
}

/* Bytes of "operator<<" and its like at `at`, whose brackets are no brackets. */
static size_t operator_length(struct str s, size_t at)
{
	size_t n = sizeof("operator") - 1;

	if (!begins_word(s, at, STR("operator")))
		return 0;
	if (str_starts(str_skip(s, at + n), STR("()")))
		return n + 2;
	while (at + n < s.n && (s.p[at + n] == '<' || s.p[at + n] == '>' || s.p[at + n] == '=' ||
				s.p[at + n] == '-'))
		n++;
	return n;
}

/* Bytes of the group in brackets at `at`; 0 when nothing closes it. */
static size_t group_length(struct str s, size_t at)
{
	size_t depth = 0;

	for (size_t i = at; i < s.n; i++) {
		char c = s.p[i];

		if (c == '<' || c == '(' || c == '[' || c == '{')
			depth++;
		else if ((c == ')' || c == ']' || c == '}' || (c == '>' && s.p[i - 1] != '-')) &&
			 --depth == 0)
			return i + 1 - at;
	}
	return 0;
}

/*
 * Arguments follow a word: foo<int>, foo(int), foo<A>(B), and in Rust foo::<A>. Other brackets are
 * part of a name: Go's (*T), (anonymous namespace), Rust's <T as Trait> and <impl Trait for T>.
 */
static bool is_arguments(struct str s, size_t at)
{
	char c = s.p[at], before = at ? s.p[at - 1] : ' ';

	if (c == '<' && before == ':')
		return !str_starts(str_skip(s, at), STR("<impl "));
	return (c == '<' || c == '(') && (is_word(before) || before == '>' || before == ')');
}

void text_fold(struct buf *out, struct str s)
{
	size_t n;

	for (size_t at = 0; at < s.n; at += n) {
		n = operator_length(s, at);
		if (n) {
			buf_append(out, s.p + at, n);
			continue;
		}
		n = is_arguments(s, at) ? group_length(s, at) : 0;
		if (n > FOLDED_MAX) {
			buf_byte(out, s.p[at]);
			buf_text(out, ELLIPSIS);
			buf_byte(out, s.p[at + n - 1]);
			continue;
		}
		n = n ? n : 1;
		buf_append(out, s.p + at, n);
	}
}
