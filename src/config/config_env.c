/*
 * ${NAME}, ${NAME:-otherwise} and $$ in values.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "config/config_tree.h"

#define MAX_VALUE ((size_t)64 << 10)
#define MAX_NAME  200

static bool is_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		      (i && c >= '0' && c <= '9')))
			return false;
	}
	return name.n && name.n <= MAX_NAME;
}

/* The part between the braces. */
static enum err put_variable(struct config *c, struct str inner, size_t line, struct buf *out,
			     struct fault *fault)
{
	size_t colon = str_search(inner, STR(":-"));
	struct str name = str_n(inner.p, colon);
	char word[MAX_NAME + 1];
	const char *value;

	if (!is_name(name))
		return config_fail(c, line, fault, "\"${%.*s}\" is no variable; $$ is a dollar",
				   (int)(inner.n < 60 ? inner.n : 60), inner.p);
	memcpy(word, name.p, name.n);
	word[name.n] = 0;
	value = getenv(word);
	if (value && (*value || colon == inner.n))
		buf_text(out, value);
	else if (colon < inner.n)
		buf_str(out, str_skip(inner, colon + 2));
	else
		return config_fail(c, line, fault,
				   "the variable %.60s is not set; ${%.60s:-…} sets a default",
				   word, word);
	return ERR_OK;
}

static enum err expand(struct config *c, struct str text, size_t line, struct buf *out,
		       struct fault *fault)
{
	while (text.n) {
		size_t dollar = str_find(text, '$'), close;
		char follows;

		buf_str(out, str_n(text.p, dollar));
		if (dollar == text.n)
			break;
		text = str_skip(text, dollar + 1);
		follows = text.n ? *text.p : 0;
		if (follows != '{') {
			buf_byte(out, '$');
			text = str_skip(text, follows == '$');
			continue;
		}
		close = str_find(text, '}');
		if (close == text.n)
			return config_fail(c, line, fault, "\"${\" without its \"}\"");
		TRY(put_variable(c, str_n(text.p + 1, close - 1), line, out, fault));
		text = str_skip(text, close + 1);
	}
	if (out->error == ERR_TOO_LARGE)
		return config_fail(c, line, fault, "a value is longer than %zu bytes", MAX_VALUE);
	return buf_error(out);
}

enum err config_expand(struct config *c, struct str text, size_t line, const char **ret,
		       struct fault *fault)
{
	struct buf out = BUF_INIT(MAX_VALUE);
	enum err e = expand(c, text, line, &out, fault);

	if (!e) {
		*ret = arena_copy(&c->arena, str_n(out.n ? out.data : "", out.n));
		if (!*ret)
			e = ERR_NO_MEMORY;
	}
	buf_release(&out);
	return e;
}
