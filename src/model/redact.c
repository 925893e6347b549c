#include "model/redact.h"

#include "base/buf.h"
#include "base/hash.h"
#include "model/pattern.h"
#include "model/remap.h"
#include "model/rows.h"

#define MAX_TEXT  (64u << 20)
/* The same on every host, so that masked directories can be compared. */
#define MASK_SEED UINT64_C(0x76657374616c)

struct redacting {
	struct pattern *pattern; /* NULL = nothing matches */
	enum redact_paths paths;
	struct str kept_key;
	struct redact_result changed;
	struct buf text;
};

static bool removed_when_matching(enum text_role role)
{
	return role == TEXT_ID || role == TEXT_RULE;
}

static bool is_separator(char c)
{
	return c == '/' || c == '\\';
}

/* /a… or C:\… */
static bool is_absolute_path(struct str s)
{
	return (s.n > 1 && s.p[0] == '/' && !is_separator(s.p[1])) ||
	       (s.n > 3 && s.p[1] == ':' && is_separator(s.p[2]));
}

static size_t directory_length(struct str path)
{
	size_t n = path.n;

	while (n && !is_separator(path.p[n - 1]))
		n--;
	return n;
}

static void put_path(struct redacting *r, struct str path)
{
	size_t directory = directory_length(path);

	if (directory && r->paths == PATHS_MASK)
		buf_printf(&r->text, "%05x/",
			   (unsigned)(hash_bytes(path.p, directory - 1, MASK_SEED) & 0xfffff));
	buf_str(&r->text, str_skip(path, directory));
}

/* Characters that end a path inside a text. */
static bool is_delimiter(char c)
{
	return strchr(" \t\r\n\"'`()[]{}<>,;=|", c) != NULL;
}

static void put_word(struct redacting *r, struct str word)
{
	struct str scheme = STR("file://");

	if (str_starts(word, scheme) && is_absolute_path(str_skip(word, scheme.n)))
		word = str_skip(word, scheme.n);
	if (is_absolute_path(word))
		put_path(r, word);
	else
		buf_str(&r->text, word);
}

/* Names and values are text with paths in it: of scripts, of arguments. */
static void put_words(struct redacting *r, struct str text)
{
	size_t begin = 0;

	for (size_t i = 0; i <= text.n; i++) {
		if (i < text.n && !is_delimiter(text.p[i]))
			continue;
		put_word(r, str_n(text.p + begin, i - begin));
		if (i < text.n)
			buf_byte(&r->text, (unsigned char)text.p[i]);
		begin = i + 1;
	}
}

static struct str shorten_paths(struct redacting *r, enum text_role role, struct str text)
{
	if (r->paths == PATHS_KEEP || removed_when_matching(role))
		return text;
	buf_clear(&r->text);
	if (role == TEXT_FILE)
		put_path(r, text);
	else
		put_words(r, text);
	return buf_view(&r->text);
}

static uint32_t *counter(struct redacting *r, enum text_role role)
{
	switch (role) {
	case TEXT_NAME:
		return &r->changed.names;
	case TEXT_FILE:
		return &r->changed.files;
	case TEXT_VALUE:
		return &r->changed.labels;
	default:
		return &r->changed.comments;
	}
}

static enum err matches(const struct redacting *r, struct str text, bool *ret)
{
	*ret = false;
	return r->pattern ? pattern_match(r->pattern, text, ret) : ERR_OK;
}

static enum err redact_text(void *context, enum text_role role, struct str text, struct str *ret)
{
	struct redacting *r = context;
	struct str shown;
	bool match;

	*ret = text;
	if (role == TEXT_FIXED || !text.n)
		return ERR_OK;
	shown = shorten_paths(r, role, text);
	TRY(buf_error(&r->text));
	TRY(matches(r, shown, &match));
	if (match)
		shown = removed_when_matching(role) ? STR("") : STR(REDACTED_TEXT);
	if (!str_eq(shown, text))
		++*counter(r, role);
	*ret = shown;
	return ERR_OK;
}

static enum err redact_key(void *context, struct str key, bool *ret)
{
	struct redacting *r = context;

	TRY(matches(r, key, ret));
	r->changed.labels += *ret;
	return ERR_OK;
}

static enum err redact_head(struct remap *r, const struct profile *src, struct profile *dst)
{
	for (uint32_t t = 0; t < src->type_count; t++) {
		TRY(remap_string(r, src->types[t].type, &dst->types[t].type));
		TRY(remap_string(r, src->types[t].unit, &dst->types[t].unit));
	}
	dst->type_count = src->type_count;
	dst->derived = src->derived;
	dst->default_type = src->default_type;
	TRY(remap_string(r, src->period_type.type, &dst->period_type.type));
	TRY(remap_string(r, src->period_type.unit, &dst->period_type.unit));
	dst->period = src->period;
	dst->time_ns = src->time_ns;
	dst->duration_ns = src->duration_ns;
	memcpy(dst->profile_id, src->profile_id, sizeof(dst->profile_id));
	TRY(remap_label_set(r, src->resource, &dst->resource));
	TRY(remap_label_set(r, src->attributes, &dst->attributes));
	TRY(remap_text(r, TEXT_NAME, src->scope_name, &dst->scope_name));
	TRY(remap_text(r, TEXT_NAME, src->scope_version, &dst->scope_version));
	TRY(remap_text(r, TEXT_RULE, src->doc_url, &dst->doc_url));
	TRY(remap_text(r, TEXT_RULE, src->drop_frames, &dst->drop_frames));
	return remap_text(r, TEXT_RULE, src->keep_frames, &dst->keep_frames);
}

static enum err redact_comments(struct remap *r, struct redacting *state, const struct profile *src,
				struct profile *dst)
{
	for (size_t i = 0; i < src->comments.n; i++) {
		struct str text = dict_str(src->dict, src->comments.v[i]);
		uint32_t id;

		TRY(redact_text(state, TEXT_ROLE_COUNT, text, &text));
		TRY(dict_string(r->dst, text, &id));
		TRY(vec_push(&dst->comments, id));
	}
	return ERR_OK;
}

static enum err redact_rows(struct remap *r, const struct profile *src, struct profile *dst)
{
	CLEANUP(row_index_release) struct row_index index = {0};

	for (size_t i = 0; i < src->row_count; i++) {
		struct row row = profile_row(src, i);

		TRY(remap_stack(r, row.stack, &row.stack));
		TRY(remap_label_set(r, row.labels, &row.labels));
		TRY(remap_link(r, row.link, &row.link));
		TRY(row_index_add(&index, dst, &row, 0, profile_values(src, i)));
	}
	return ERR_OK;
}

static enum err redact_one(struct remap *r, struct redacting *state, const struct profile *src,
			   struct profile *dst)
{
	TRY(redact_head(r, src, dst));
	TRY(redact_comments(r, state, src, dst));
	for (size_t i = 0; i < src->mappings.n; i++) {
		uint32_t id;

		TRY(remap_mapping(r, src->mappings.v[i], &id));
		TRY(vec_push(&dst->mappings, id));
	}
	return redact_rows(r, src, dst);
}

/* `dst` has as many, all empty. */
static enum err redact_all(struct redacting *state, const struct profile *const *src, size_t n,
			   struct profile *const *dst)
{
	const struct remap_editor editor = {redact_text, redact_key, STR(REDACTED_TEXT), state,
					    state->kept_key};
	CLEANUP(remap_release) struct remap r = {.editor = &editor};

	TRY(remap_begin(&r, src[0]->dict, dst[0]->dict));
	for (size_t i = 0; i < n; i++)
		TRY(redact_one(&r, state, src[i], dst[i]));
	return ERR_OK;
}

static struct str source_of(const struct redact_options *options)
{
	return options->pattern.n ? options->pattern : STR(REDACT_DEFAULT_PATTERN);
}

static enum err redact(const struct profile *const *src, size_t n, struct profile *const *dst,
		       const struct redact_options *options, struct redact_result *ret,
		       struct fault *fault)
{
	struct redacting state = {
		.paths = options->paths, .kept_key = options->kept_key, .text = BUF_INIT(MAX_TEXT)};
	enum err e;

	if (src[0]->dict == dst[0]->dict)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "a redacted profile needs a dictionary of its own");
	if (!options->paths_only)
		TRY(pattern_new(source_of(options), PATTERN_IGNORE_CASE, &state.pattern, fault));
	e = redact_all(&state, src, n, dst);
	pattern_free(state.pattern);
	buf_release(&state.text);
	if (e)
		return e == ERR_TOO_LARGE ? fault_set(fault, e, "a pattern takes too long to match")
					  : e;
	if (ret)
		*ret = state.changed;
	return ERR_OK;
}

enum err redact_is_needed(const struct dict *d, const struct redact_options *options, bool *ret,
			  struct fault *fault)
{
	bool found = options->paths != PATHS_KEEP;
	struct pattern *pattern;
	enum err e = ERR_OK;

	if (!found && !options->paths_only) {
		TRY(pattern_new(source_of(options), PATTERN_IGNORE_CASE, &pattern, fault));
		for (uint32_t i = 1; !e && !found && i < d->strings.n; i++)
			e = pattern_match(pattern, dict_str(d, i), &found);
		pattern_free(pattern);
	}
	if (!e)
		*ret = found;
	return e;
}

enum err profile_redact(const struct profile *src, const struct redact_options *options,
			struct profile *dst, struct redact_result *ret, struct fault *fault)
{
	struct profile result, *list = &result;
	enum err e;

	profile_init(&result, dst->dict);
	e = redact(&src, 1, &list, options, ret, fault);
	if (e) {
		profile_release(&result);
		return e;
	}
	*dst = result;
	return ERR_OK;
}

enum err profile_list_redact(const struct profile_list *src, const struct redact_options *options,
			     struct dict *dict, struct profile_list *dst, struct redact_result *ret,
			     struct fault *fault)
{
	size_t before = dst->n;
	struct profile *p;

	for (size_t i = 0; i < src->n; i++)
		TRY(profile_list_add(dst, dict, &p));
	if (!src->n)
		return ERR_OK;
	return redact((const struct profile *const *)src->v, src->n, dst->v + before, options, ret,
		      fault);
}
