#include "cli/view.h"

#include <math.h>

#include "cli/units.h"

const struct option view_table[] = {
	{"type", 't', OPT_TEXT, "TYPE",
	 "which values: cpu, heap, alloc_space … (vestal show lists)",
	 AT(struct view_options, type), NULL},
	{"focus", 0, OPT_TEXT, "RE", "only stacks with a frame that matches RE",
	 AT(struct view_options, focus), NULL},
	{"ignore", 0, OPT_TEXT, "RE", "no stacks with a frame that matches RE",
	 AT(struct view_options, ignore), NULL},
	{"hide", 0, OPT_TEXT, "RE", "remove frames that match RE from the stacks",
	 AT(struct view_options, hide), NULL},
	{"show", 0, OPT_TEXT, "RE", "leave only frames that match RE in the stacks",
	 AT(struct view_options, show), NULL},
	{"show-from", 0, OPT_TEXT, "RE",
	 "cut off the callers of the outermost frame that matches RE",
	 AT(struct view_options, show_from), NULL},
	{"tag", 0, OPT_LIST, "K=V",
	 "only samples with label K=V; also K=~RE, K!=V, K!~RE, K=4kb:1mb, or K alone; all must "
	 "match",
	 AT(struct view_options, tags), NULL},
	{"keep-all", 0, OPT_FLAG, NULL, "also show frames that the profile marks to be dropped",
	 AT(struct view_options, keep_all), NULL},
	{0},
};

static int compile(struct filter_set *f, const char *option, struct str source, unsigned flags,
		   const struct pattern **slot)
{
	struct fault fault = {0};
	enum err e = pattern_new(source, flags, &f->patterns[f->n], &fault);

	if (e == ERR_NO_MEMORY)
		return complain(EXIT_OS, "out of memory");
	if (e)
		return complain(EXIT_USAGE, "--%s: %s", option,
				fault.text[0] ? fault.text : err_text(e));
	*slot = f->patterns[f->n++];
	f->any = true;
	return EXIT_OK;
}

static int compile_tag(struct filter_set *f, const char *text)
{
	struct tag_filter *t = &f->filter.tags[f->filter.tag_count];
	struct str value;
	unsigned flags;

	if (f->filter.tag_count == sizeof(f->filter.tags) / sizeof(f->filter.tags[0]))
		return complain(EXIT_USAGE, "--tag: at most %zu of them",
				sizeof(f->filter.tags) / sizeof(f->filter.tags[0]));
	if (!tag_filter_parse(str_of(text), t, &value, &flags))
		return complain(EXIT_USAGE, "--tag %s: expected K=V, K=~RE, K!=V or K", text);
	f->filter.tag_count++;
	f->any = true;
	return value.p ? compile(f, "tag", value, flags, &t->value) : EXIT_OK;
}

int filter_set_compile(struct filter_set *f, const struct view_options *o)
{
	const struct {
		const char *name, *source;
		const struct pattern **slot;
	} rows[] = {
		{"focus", o->focus, &f->filter.focus},
		{"ignore", o->ignore, &f->filter.ignore},
		{"hide", o->hide, &f->filter.hide},
		{"show", o->show, &f->filter.show},
		{"show-from", o->show_from, &f->filter.show_from},
	};
	int status = EXIT_OK;

	for (size_t i = 0; !status && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].source && rows[i].source[0])
			status = compile(f, rows[i].name, str_of(rows[i].source), 0, rows[i].slot);
	for (size_t i = 0; !status && i < o->tags.n; i++)
		status = compile_tag(f, o->tags.v[i]);
	return status;
}

void filter_set_release(struct filter_set *f)
{
	for (size_t i = 0; i < f->n; i++)
		pattern_free(f->patterns[i]);
}

void view_init(struct view *v, const struct common_options *common,
	       const struct input_options *input)
{
	*v = (struct view){0};
	inputs_init(&v->in, common, input);
}

void view_release(struct view *v)
{
	profile_release(&v->dropped);
	profile_release(&v->narrowed);
	inputs_release(&v->in);
}

static void list_types(const struct profile *p, struct buf *out)
{
	for (uint32_t i = 0; i < p->type_count; i++) {
		if (i)
			buf_text(out, ", ");
		buf_str(out, dict_str(p->dict, p->types[i].type));
	}
}

int view_choose_type(const struct profile *p, const char *name, uint32_t *ret)
{
	CLEANUP(buf_release) struct buf types = BUF_INIT(1 << 16);
	int found = profile_find_type(p, str_of(name));

	if (found >= 0) {
		*ret = (uint32_t)found;
		return EXIT_OK;
	}
	if (!p->type_count)
		return complain(EXIT_BAD_DATA, "the profile has no sample types");
	list_types(p, &types);
	return complain(EXIT_USAGE, "--type %s: the profile has %.*s", name ? name : "",
			(int)types.n, types.data);
}

/* The label pprof puts on the samples it took away (`-diff_base`); 0 when there is none. */
static uint32_t find_base_label(const struct dict *d)
{
	for (uint32_t i = 1; i < d->labels.n; i++) {
		const struct label *l = &d->labels.v[i];

		if (l->type == LABEL_STRING && str_eq(dict_str(d, l->key), STR("pprof::base")) &&
		    str_eq(dict_str(d, (uint32_t)l->value), STR("true")))
			return i;
	}
	return 0;
}

static bool has_label(const struct dict *d, uint32_t set, uint32_t label)
{
	uint32_t n;
	const uint32_t *items = label_set_items(d, set, &n);

	for (uint32_t i = 0; i < n; i++)
		if (items[i] == label)
			return true;
	return false;
}

/* Saturating, so that the shares of a profile with absurd values are not absurd as well. */
static int64_t magnitude(const struct profile *p, uint32_t type)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->row_count; i++)
		if (__builtin_add_overflow(sum, magnitude_of(profile_values(p, i)[type]), &sum))
			return INT64_MAX;
	return sum;
}

static int step_failed(const char *what, enum err e, const struct fault *fault)
{
	return complain(status_of(e), "%s: %s", what, fault->text[0] ? fault->text : err_text(e));
}

static int drop_frames(struct view *v)
{
	struct fault fault = {0};
	enum err e;

	if (!v->profile->drop_frames)
		return EXIT_OK;
	profile_init(&v->dropped, v->profile->dict);
	e = profile_drop_frames(v->profile, &v->dropped, &fault);
	if (e)
		return step_failed("the profile's own filter (disable it with --keep-all)",
				   e == ERR_BAD_ARGUMENT ? ERR_CORRUPT : e, &fault);
	v->profile = &v->dropped;
	return EXIT_OK;
}

static int apply_filters(struct view *v, const struct view_options *o)
{
	struct filter_set f = {0};
	struct fault fault = {0};
	int status = filter_set_compile(&f, o);

	if (!status && f.any) {
		enum err e;

		profile_init(&v->narrowed, v->profile->dict);
		e = profile_filter(v->profile, &f.filter, &v->narrowed, &v->kept, &fault);
		if (e)
			status = step_failed("filter", e, &fault);
		else
			v->profile = &v->narrowed;
		v->filtered = true;
	}
	filter_set_release(&f);
	return status;
}

/* The type to look at when all values of the chosen one are 0; one of the same unit, if any. */
static uint32_t type_with_values(const struct profile *p, uint32_t chosen)
{
	uint32_t best = chosen;

	for (uint32_t i = 0; i < p->type_count; i++) {
		bool same_unit = p->types[i].unit == p->types[chosen].unit;

		if (i == chosen || (best != chosen && !same_unit) || !magnitude(p, i))
			continue;
		best = i;
		if (same_unit)
			break;
	}
	return best;
}

/* A gperftools heap profile at exit has no live memory: show allocations instead. */
static void say_where_values_are(const struct view *v)
{
	const struct profile *p = v->profile;
	uint32_t other = type_with_values(p, v->type);
	struct str name = dict_str(p->dict, p->types[other].type);

	if (other != v->type)
		say(v->in.common, "all values of %.*s are 0; --type %.*s has others",
		    (int)v->type_name.n, v->type_name.p, (int)name.n, name.p);
}

/* The denominator of shares: the total, or for a difference that of the base, as in pprof. */
static int64_t total_of(const struct profile *p, uint32_t type)
{
	uint32_t base = find_base_label(p->dict);
	int64_t sum = 0;

	for (size_t i = 0; base && i < p->row_count; i++)
		if (has_label(p->dict, p->labels[i], base) &&
		    __builtin_add_overflow(sum, magnitude_of(profile_values(p, i)[type]), &sum))
			return INT64_MAX;
	return sum ? sum : magnitude(p, type);
}

void view_refresh(struct view *v)
{
	const struct value_type *t = &v->profile->types[v->type];

	v->type_name = dict_str(v->profile->dict, t->type);
	v->unit = dict_str(v->profile->dict, t->unit);
}

int view_narrow(struct view *v, struct profile *p, const struct view_options *o)
{
	int status;

	v->profile = p;
	status = view_choose_type(p, o->type, &v->type);
	if (!status && !o->keep_all)
		status = drop_frames(v);
	if (status)
		return status;
	v->total = total_of(v->profile, v->type);
	status = apply_filters(v, o);
	view_refresh(v);
	if (!status && v->filtered && !v->profile->row_count)
		say(v->in.common, "no sample is left by the filters");
	else if (!status && !v->total)
		say_where_values_are(v);
	return status;
}

struct amount view_amount(const struct view *v, int64_t total)
{
	const struct source *only = v->in.sources.n == 1 ? &v->in.sources.v[0] : NULL;
	int64_t length = v->profile->duration_ns;
	struct amount a = {.total = (double)total,
			   .whole = total,
			   .covered_ns = length > 0 ? length : AMOUNT_UNKNOWN,
			   .range_ns = length,
			   .gauge = type_is_gauge(v->type_name, v->unit)};

	if (only && only->stored && only->covered_ns >= 0) {
		a.covered_ns = only->covered_ns;
		a.range_ns = only->until_ns - only->from_ns;
		/* Without coverage the total is unknown, not 0. */
		if (!total && !a.covered_ns)
			a.total = NAN;
	}
	return a;
}

/* All data came from a server, which returned only the requested type. */
static bool type_is_settled(const struct inputs *in)
{
	vec_for_each (s, &in->sources)
		if (!s->stored)
			return false;
	return in->list.v[0]->type_count == 1;
}

int view_load(struct view *v, const struct text_list *names, const struct view_options *o)
{
	struct view_options rest = *o;
	int status;

	/* The first of several inputs determines the default type. */
	v->in.first_type_only = o->one_type && !str_of(o->type).n && names->n == 1;
	v->in.type = o->type;
	status = inputs_read_merged(&v->in, names);
	if (status)
		return status;
	if (type_is_settled(&v->in))
		rest.type = NULL;
	return view_narrow(v, v->in.list.v[0], &rest);
}
