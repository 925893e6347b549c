#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "symbols/demangle.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Bytes of an operator's name at `s`, which follows the word "operator". */
static size_t operator_length(const char *s)
{
	static const char *const operators[] = {"<=>", "<<=", ">>=", "->*", "()", "<<", ">>",
						"<=",  ">=",  "->",  "<",   ">",  NULL};

	for (const char *const *o = operators; *o; o++)
		if (strncmp(s, *o, strlen(*o)) == 0)
			return strlen(*o);
	return 0;
}

/* The position after the bracket that closes the one at `s`; NULL if there is none. */
static const char *behind_group(const char *s)
{
	int depth = 0;

	for (; *s; s++) {
		if (*s == '<' || *s == '(' || *s == '[' || *s == '{') {
			depth++;
		} else if (*s == ')' || *s == ']' || *s == '}' || (*s == '>' && s[-1] != '-')) {
			if (--depth == 0)
				return s + 1;
		}
	}
	return NULL;
}

static bool is_name_in_parentheses(const char *s)
{
	return strncmp(s, "(anonymous namespace)", 21) == 0;
}

/* foo::<T> of Rust: the colons go with the arguments. A name, as in foo::<impl Trait for T>::bar,
 * stays. */
static bool is_rust_argument(const char *name, const char *s)
{
	return *s == '<' && s - name > 2 && s[-1] == ':' && strncmp(s, "<impl ", 6) != 0;
}

void demangle_simplify(char *name)
{
	const char *in = name;
	char *out = name;

	while (*in) {
		const char *behind;

		if (strncmp(in, "operator", 8) == 0 && (in == name || !is_word(in[-1])) &&
		    !is_word(in[8])) {
			size_t n = 8 + operator_length(in + 8);

			memmove(out, in, n);
			out += n;
			in += n;
			continue;
		}
		/* A bracket at the start is part of the name: <T as Trait>::f of Rust. */
		bool rust = is_rust_argument(name, in);
		bool argument = (*in == '<' || *in == '(') && in > name &&
				(rust || in[-1] != ':') && !is_name_in_parentheses(in);
		behind = argument ? behind_group(in) : NULL;
		if (!behind) {
			*out++ = *in++;
			continue;
		}
		in = behind;
		if (rust && out - name > 2)
			out -= 2;
	}
	*out = 0;
}
