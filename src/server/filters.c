#include "server/filters.h"

#define MAX_TEXT 1000

enum kind { FOCUS, IGNORE, HIDE, SHOW, SHOW_FROM, TAG, KINDS };

static const char *const names[KINDS] = {"focus", "ignore", "hide", "show", "show_from", "tag"};

struct collecting {
	struct filters *f;
	struct fault *fault;
	/* Of the kinds of which one match is enough. */
	struct str texts[KINDS][FILTERS_EACH];
	size_t n[KINDS];
};

static enum err refuse(struct fault *fault, enum err error, enum kind kind,
		       const struct fault *reason)
{
	if (error == ERR_NO_MEMORY)
		return error;
	return fault_set(fault, error, "%s: %s", names[kind],
			 reason->text[0] ? reason->text : err_text(error));
}

static enum err compile(struct filters *f, enum kind kind, struct str source, unsigned flags,
			const struct pattern **ret, struct fault *fault)
{
	struct fault reason = {0};
	enum err error = pattern_new(source, flags, &f->patterns[f->n], &reason);

	if (error != ERR_OK)
		return refuse(fault, error, kind, &reason);
	*ret = f->patterns[f->n++];
	f->any = true;
	return ERR_OK;
}

static void add_label(struct filters *f, struct str name)
{
	for (size_t i = 0; i < f->label_count; i++)
		if (str_eq(f->labels[i], name))
			return;
	f->labels[f->label_count++] = name;
}

static enum err add_tag(struct filters *f, struct str text, struct fault *fault)
{
	struct tag_filter *t = &f->filter.tags[f->filter.tag_count];
	struct str value;
	unsigned flags;

	if (!tag_filter_parse(text, t, &value, &flags))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "tag=%.*s: expected K=V, K=~RE, K!=V or K",
				 (int)(text.n < 60 ? text.n : 60), text.p);
	f->filter.tag_count++;
	f->any = true;
	add_label(f, t->key);
	return value.p ? compile(f, TAG, value, flags, &t->value, fault) : ERR_OK;
}

static enum err collect(void *context, struct str name, struct str value)
{
	struct collecting *c = context;
	struct filters *f = c->f;
	enum kind kind = 0;
	const struct pattern *alone;

	while (kind < KINDS && !str_eq(name, str_of(names[kind])))
		kind++;
	if (kind == KINDS || !value.n)
		return ERR_OK;
	if (value.n > MAX_TEXT)
		return fault_set(c->fault, ERR_BAD_ARGUMENT, "%s has more than %d bytes",
				 names[kind], MAX_TEXT);
	if (c->n[kind] == FILTERS_EACH)
		return fault_set(c->fault, ERR_BAD_ARGUMENT, "more than %d times %s", FILTERS_EACH,
				 names[kind]);
	c->texts[kind][c->n[kind]++] = value;
	if (kind == TAG)
		return add_tag(f, value, c->fault);
	/* Each must be an expression by itself before they are joined. */
	TRY(compile(f, kind, value, 0, &alone, c->fault));
	if (kind == FOCUS)
		f->focus[f->focus_count++] = alone;
	return ERR_OK;
}

/* One expression that matches where one of several does. */
static enum err join(struct collecting *c, enum kind kind, const struct pattern **ret)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT((size_t)64 << 10);

	if (!c->n[kind])
		return ERR_OK;
	for (size_t i = 0; i < c->n[kind]; i++) {
		buf_text(&all, i ? "|(?:" : "(?:");
		buf_str(&all, c->texts[kind][i]);
		buf_byte(&all, ')');
	}
	TRY(buf_error(&all));
	return compile(c->f, kind, buf_view(&all), 0, ret, c->fault);
}

enum err filters_read(struct request *r, struct filters *ret, struct fault *fault)
{
	struct collecting c = {.f = ret, .fault = fault};

	*ret = (struct filters){0};
	TRY(http_params(r->x, r->x->query, collect, &c));
	TRY(join(&c, IGNORE, &ret->filter.ignore));
	TRY(join(&c, HIDE, &ret->filter.hide));
	TRY(join(&c, SHOW, &ret->filter.show));
	return join(&c, SHOW_FROM, &ret->filter.show_from);
}

void filters_release(struct filters *f)
{
	for (size_t i = 0; i < f->n; i++)
		pattern_free(f->patterns[i]);
}

static enum err apply(const struct filter *filter, struct profile *p, struct fault *fault)
{
	struct profile left;
	enum err error;

	profile_init(&left, p->dict);
	error = profile_filter(p, filter, &left, NULL, fault);
	if (error != ERR_OK) {
		profile_release(&left);
		/* The pattern is what is too much, not the data. */
		return error == ERR_TOO_LARGE
			       ? fault_set(fault, ERR_BAD_ARGUMENT,
					   "a pattern takes too long to match; make it simpler")
			       : error;
	}
	profile_release(p);
	*p = left;
	return ERR_OK;
}

enum err filters_apply(const struct filters *f, struct profile *p, struct fault *fault)
{
	struct filter last = f->filter;

	if (!f->any)
		return ERR_OK;
	/* Frames are looked for before any is hidden. */
	for (size_t i = 1; i < f->focus_count; i++)
		TRY(apply(&(struct filter){.focus = f->focus[i]}, p, fault));
	last.focus = f->focus_count ? f->focus[0] : NULL;
	return apply(&last, p, fault);
}
