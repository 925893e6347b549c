/*
 * Matches a selection against the series, types and label sets of a partition.
 */
#include "base/hash.h"
#include "store/answer.h"

bool type_label(struct str name, struct str id, struct str *ret)
{
	static const char *const parts[] = {"__name__", "__type__", "__unit__", "__period_type__",
					    "__period_unit__"};
	struct str part = {0};

	if (str_eq(name, STR("__profile_type__"))) {
		*ret = id;
		return true;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!str_split(&id, ':', &part))
			part = (struct str){0};
		if (!str_eq(name, str_of(parts[i])))
			continue;
		*ret = part;
		return true;
	}
	return false;
}

enum err matcher_takes(const struct matcher *m, struct str value, bool *ret)
{
	bool same;

	switch (m->op) {
	case MATCH_EQUAL:
	case MATCH_NOT_EQUAL:
		same = str_eq(m->value, value);
		break;
	default:
		if (!m->regex)
			return ERR_BAD_ARGUMENT;
		TRY(linear_regex_match(m->regex, value, &same));
	}
	*ret = same == (m->op == MATCH_EQUAL || m->op == MATCH_REGEX);
	return ERR_OK;
}

enum err selection_takes_service(const struct selection *selection, struct str service, bool *ret)
{
	*ret = true;
	for (size_t i = 0; *ret && i < selection->matcher_count; i++)
		if (str_eq(selection->matchers[i].name, STR("service_name")))
			TRY(matcher_takes(&selection->matchers[i], service, ret));
	return ERR_OK;
}

static enum err choose_types(struct choice *c, const struct partition *p)
{
	const struct selection *s = c->selection;

	for (uint32_t t = 0; t < c->type_count; t++) {
		struct str id = type_shown(p->types.v[t].id), part;
		bool takes = !s->type.n || str_eq(s->type, id);

		c->gauges[t / 64] |= (uint64_t)p->types.v[t].gauge << (t % 64);
		for (size_t i = 0; takes && i < s->matcher_count; i++)
			if (type_label(s->matchers[i].name, id, &part))
				TRY(matcher_takes(&s->matchers[i], part, &takes));
		if (!takes)
			continue;
		c->types[t / 64] |= UINT64_C(1) << (t % 64);
		c->matching_types++;
	}
	return ERR_OK;
}

bool samples_have(const struct dict *d, struct str name)
{
	uint32_t key = dict_find_string(d, name);

	for (size_t i = 1; key != MAP_NONE && i < d->labels.n; i++)
		if (d->labels.v[i].key == key)
			return true;
	return false;
}

static const struct label_pair *find_label(const struct series_entry *s, struct str name)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (str_eq(s->labels[i].name, name))
			return &s->labels[i];
	return NULL;
}

/* Decides what the series can decide; `samples` are the matchers that rows may decide otherwise. */
static enum err choose_series(struct choice *c, const struct series_entry *s, uint64_t samples,
			      uint32_t series)
{
	struct str ignored;
	uint64_t open = 0;

	for (size_t i = 0; i < c->selection->matcher_count; i++) {
		const struct matcher *m = &c->selection->matchers[i];
		const struct label_pair *label = find_label(s, m->name);
		bool takes;

		if (type_label(m->name, STR(""), &ignored))
			continue;
		if (!label && samples >> i & 1) {
			open |= UINT64_C(1) << i;
			continue;
		}
		TRY(matcher_takes(m, label ? label->value : STR(""), &takes));
		if (!takes)
			return ERR_OK;
	}
	c->series[series / 64] |= UINT64_C(1) << (series % 64);
	c->open[series] = open;
	c->matching_series++;
	c->all_series &= !open;
	return ERR_OK;
}

static enum err choose(struct choice *c, const struct partition *p)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < c->selection->matcher_count; i++)
		if (samples_have(&p->dict, c->selection->matchers[i].name))
			samples |= UINT64_C(1) << i;
	for (uint32_t s = 0; s < c->series_count; s++)
		TRY(choose_series(c, &p->series.v[s], samples, s));
	c->all_series &= c->matching_series == c->series_count;
	return choose_types(c, p);
}

enum err choice_init(struct choice *c, const struct partition *p, const struct selection *selection)
{
	enum err e;

	*c = (struct choice){.selection = selection, .all_series = true};
	if (selection->matcher_count > MATCHERS_MAX)
		return ERR_TOO_LARGE;
	c->series_count = (uint32_t)p->series.n;
	c->type_count = (uint32_t)p->types.n;
	c->series = arena_zalloc(&c->arena, c->series_count / 64 + 1, sizeof(*c->series));
	c->types = arena_zalloc(&c->arena, c->type_count / 64 + 1, sizeof(*c->types));
	c->gauges = arena_zalloc(&c->arena, c->type_count / 64 + 1, sizeof(*c->gauges));
	c->open = arena_zalloc(&c->arena, (size_t)c->series_count + 1, sizeof(*c->open));
	e = c->series && c->types && c->gauges && c->open ? choose(c, p) : ERR_NO_MEMORY;
	if (e)
		choice_release(c);
	return e;
}

void choice_release(struct choice *c)
{
	arena_release(&c->arena);
	map_release(&c->set_index);
	vec_release(&c->set_masks);
	*c = (struct choice){0};
}

/* The matchers that a label set satisfies by itself. */
static enum err set_mask(const struct selection *s, const struct dict *d, uint32_t set,
			 uint64_t *ret)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
	uint64_t mask = 0;

	if (set >= d->label_sets.entries.n)
		return ERR_BAD_INDEX;
	for (size_t i = 0; i < s->matcher_count; i++) {
		const struct label *label = label_find(d, set, s->matchers[i].name);
		bool takes;

		buf_clear(&text);
		if (label)
			label_value(d, label, &text);
		TRY(buf_error(&text));
		TRY(matcher_takes(&s->matchers[i], buf_view(&text), &takes));
		mask |= (uint64_t)takes << i;
	}
	*ret = mask;
	return ERR_OK;
}

enum err choice_takes_labels(struct choice *c, struct partition *p, uint32_t series,
			     uint32_t label_set, bool *ret)
{
	uint64_t open = series < c->series_count ? c->open[series] : 0, mask;
	uint64_t key = hash_mix(label_set, 1);
	uint32_t known;
	enum err e;

	*ret = true;
	if (!open)
		return ERR_OK;
	MAP_PROBE(&c->set_index, key, id)
	{
		if (c->set_masks.v[id].set == label_set) {
			*ret = !(open & ~c->set_masks.v[id].mask);
			return ERR_OK;
		}
	}
	mutex_lock(&p->lock);
	e = set_mask(c->selection, &p->dict, label_set, &mask);
	mutex_unlock(&p->lock);
	if (e)
		return e;
	known = (uint32_t)c->set_masks.n;
	TRY(vec_push(&c->set_masks, ((struct set_mask){label_set, mask})));
	*ret = !(open & ~mask);
	return map_put(&c->set_index, key, known);
}
