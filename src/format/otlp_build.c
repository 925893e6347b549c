/*
 * Tables -> model: profiles and rows.
 *
 * A Profile of OTLP has one sample type; one of ours has several. Profiles of one scope that agree
 * in everything but their type and values (a pprof file that became OTLP) are one group and become
 * one profile with a column each.
 */
#include "format/otlp_builder.h"
#include "format/otlp_groups.h"

/* Profiles of a model in one file: each costs a good deal more than it does in the file. */
#define MAX_PROFILES 200000

static int64_t value_of(const struct otlp_tables *t, const struct otlp_sample *s, uint32_t i)
{
	/* Times alone count one each; a sample with neither is worth nothing. */
	if (s->values.n)
		return t->values.v[s->values.at + i];
	return s->times.n ? 1 : 0;
}

static const struct otlp_any *scope_attribute(const struct otlp_scope *s, struct str key)
{
	for (uint32_t i = 0; i < s->attribute_count; i++)
		if (str_eq(s->attributes[i].key, key))
			return &s->attributes[i].value;
	return NULL;
}

/* pprof.scope.sample_type_order: which column each Profile was in the pprof file. */
static bool read_order(const struct otlp_scope *s, uint32_t n, uint32_t *column)
{
	const struct otlp_any *order = scope_attribute(s, STR(ATTR_TYPE_ORDER));
	uint64_t seen = 0;

	if (!order || order->type != ANY_ARRAY || order->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		int64_t place = order->items[i].number;

		if (order->items[i].type != ANY_INT || place < 0 || place >= n ||
		    seen & (uint64_t)1 << place)
			return false;
		seen |= (uint64_t)1 << place;
		column[i] = (uint32_t)place;
	}
	return true;
}

/* OTLP shows the first Profile, pprof its last type, unless the scope says more. */
static void choose_default(const struct otlp_scope *s, struct profile *p, bool ordered,
			   uint32_t first)
{
	const struct otlp_any *name = scope_attribute(s, STR(ATTR_DEFAULT_TYPE));

	p->default_type = -1;
	for (uint32_t i = 0; name && name->type == ANY_STRING && i < p->type_count; i++)
		if (str_eq(dict_str(p->dict, p->types[i].type), name->text) && p->default_type < 0)
			p->default_type = (int)i;
	if (p->default_type < 0 && p->type_count > 1 && !(ordered && first + 1 == p->type_count))
		p->default_type = (int)first;
}

/* The Profiles that become one: their place in the file and their column. */
struct columns {
	uint32_t n;
	uint32_t members[PROFILE_MAX_TYPES], column[PROFILE_MAX_TYPES];
	bool cpu_time; /* one more is derived */
};

static enum err add_types(struct otlp_builder *b, const struct otlp_scope *scope, struct columns *g,
			  struct profile *p)
{
	uint32_t *column = g->column;
	bool ordered = read_order(scope, g->n, column);

	for (uint32_t i = 0; i < g->n; i++) {
		const struct otlp_profile *src = &b->t->profiles.v[g->members[i]];
		struct value_type *type;

		if (!ordered)
			column[i] = i;
		type = &p->types[column[i]];
		TRY(otlp_string(b, src->sample_type.type, "Profile.sample_type.type_strindex",
				OTLP_PROFILE, g->members[i], &type->type));
		TRY(otlp_string(b, src->sample_type.unit, "Profile.sample_type.unit_strindex",
				OTLP_PROFILE, g->members[i], &type->unit));
	}
	p->type_count = g->n;
	choose_default(scope, p, ordered, column[0]);
	return ERR_OK;
}

/*
 * Counts of CPU samples with the time between them: people want the time. The column is added
 * behind, where pprof's rule makes it the default; otlp_plan leaves it out again.
 */
static enum err add_cpu_time(const struct otlp_scope *scope, struct profile *p, bool *ret)
{
	const struct dict *d = p->dict;

	*ret = p->type_count == 1 && p->period > 0 &&
	       str_eq(dict_str(d, p->types[0].type), STR("samples")) &&
	       str_eq(dict_str(d, p->types[0].unit), STR("count")) &&
	       str_eq(dict_str(d, p->period_type.type), STR("cpu")) &&
	       str_eq(dict_str(d, p->period_type.unit), STR("nanoseconds"));
	if (!*ret)
		return ERR_OK;
	TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	choose_default(scope, p, true, 1);
	return ERR_OK;
}

static enum err check_shape(struct otlp_builder *b, const struct otlp_sample *s, size_t at)
{
	char place[96];

	if (s->values.n == s->times.n || (s->values.n <= 1 && !s->times.n) || !s->values.n) {
		if (!s->values.n && !s->times.n)
			notes_add(&b->out->notes, "a sample with neither value nor time counts 0");
		return ERR_OK;
	}
	otlp_place(b, OTLP_SAMPLE, at, place);
	return fault_set(&b->out->fault, ERR_CORRUPT,
			 "a Sample has %u values and %u timestamps: expected one value, or as many "
			 "values as timestamps%s",
			 s->values.n, s->times.n, place);
}

static enum err count_rows(struct otlp_builder *b, uint64_t n)
{
	b->rows += n;
	if (b->rows > b->out->limits.max_samples)
		return fault_set(&b->out->fault, ERR_TOO_LARGE, "more than %llu samples",
				 (unsigned long long)b->out->limits.max_samples);
	return ERR_OK;
}

/* The sample at the same place in every member of the group: a row per time, or one row. */
static enum err add_sample(struct otlp_builder *b, const struct columns *g, uint32_t i,
			   struct profile *p)
{
	const struct otlp_sample *samples[PROFILE_MAX_TYPES];
	int64_t values[PROFILE_MAX_TYPES];
	size_t at = b->t->profiles.v[g->members[0]].samples.at + i;
	struct row row = {0};
	uint32_t n;

	for (uint32_t m = 0; m < g->n; m++) {
		size_t place = b->t->profiles.v[g->members[m]].samples.at + i;

		samples[m] = &b->t->samples.v[place];
		TRY(check_shape(b, samples[m], place));
	}
	n = samples[0]->times.n ? samples[0]->times.n : 1;
	TRY(otlp_stack(b, samples[0]->stack, at, &row.stack));
	TRY(otlp_sample_labels(b, samples[0], at, &row.labels));
	TRY(otlp_link(b, samples[0]->link, at, &row.link));
	TRY(count_rows(b, n));
	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t m = 0; m < g->n; m++)
			values[g->column[m]] = value_of(b->t, samples[m], k);
		if (g->cpu_time && __builtin_mul_overflow(values[0], p->period, &values[1]))
			values[1] = values[0] < 0 ? INT64_MIN : INT64_MAX;
		row.time = samples[0]->times.n ? b->t->times.v[samples[0]->times.at + k] : 0;
		TRY(profile_add(p, &row, values));
	}
	return ERR_OK;
}

static void note_joined(struct otlp_builder *b, const struct columns *g)
{
	const struct otlp_profile *first = &b->t->profiles.v[g->members[0]];

	for (uint32_t m = 0; m < g->n; m++) {
		const struct otlp_profile *src = &b->t->profiles.v[g->members[m]];

		if (src->dropped_attributes)
			notes_add(&b->out->notes, "a sender dropped attributes of a profile");
		if (m && src->id.n && !str_eq(src->id, first->id))
			notes_add(&b->out->notes, "a profile_id was dropped: profiles were joined");
	}
}

static enum err build_rows(struct otlp_builder *b, const struct otlp_scope *scope,
			   struct columns *g, uint32_t resource)
{
	const struct otlp_profile *first = &b->t->profiles.v[g->members[0]];
	struct profile *p;

	if (b->out->list->n >= MAX_PROFILES)
		return fault_set(&b->out->fault, ERR_TOO_LARGE, "more than %d profiles",
				 MAX_PROFILES);
	TRY(profile_list_add(b->out->list, b->d, &p));
	p->resource = resource;
	TRY(otlp_profile_header(b, first, g->members[0], scope, p));
	TRY(add_types(b, scope, g, p));
	TRY(add_cpu_time(scope, p, &g->cpu_time));
	note_joined(b, g);
	TRY(profile_reserve(p, first->samples.n));
	TRY(otlp_prepare_stacks(b, first->samples));
	for (uint32_t i = 0; i < first->samples.n; i++)
		TRY(add_sample(b, g, i, p));
	return ERR_OK;
}

static bool says_nothing(const struct otlp_profile *p)
{
	return !p->samples.n && !p->payload.n && !p->attributes.n && !p->comments.n &&
	       !p->sample_type.type && !p->time && !p->id.n;
}

static enum err build_group(struct otlp_builder *b, const struct otlp_scope *scope,
			    const struct otlp_grouping *all, const struct otlp_group *group,
			    uint32_t resource)
{
	const struct otlp_profile *first = &b->t->profiles.v[group->first];
	struct columns g = {0};
	bool taken;

	TRY(otlp_payload(b, first, resource, &taken));
	if (taken || says_nothing(first))
		return ERR_OK;
	for (uint32_t i = group->first; g.n < group->n; i = otlp_next_member(all, i))
		g.members[g.n++] = i;
	return build_rows(b, scope, &g, resource);
}

/* What the file itself is to blame for, and no other profile of it. */
static bool is_rejection(const struct otlp_builder *b, enum err e)
{
	return b->out->rejects && e && !err_retry(e) && e != ERR_TABLE_FULL && e != ERR_INTERNAL;
}

static void reject(struct otlp_builder *b, uint64_t n, enum err e)
{
	struct rejects *rejects = b->out->rejects;

	if (!b->out->fault.text[0])
		(void)fault_set(&b->out->fault, e, "%s", err_text(e));
	if (!rejects->n)
		rejects->reason = b->out->fault;
	rejects->n += n;
	b->out->fault = (struct fault){0};
}

static enum err take_group(struct otlp_builder *b, const struct otlp_scope *scope,
			   const struct otlp_grouping *all, const struct otlp_group *group,
			   uint32_t resource)
{
	size_t before = b->out->list->n;
	enum err e = build_group(b, scope, all, group, resource);

	if (!is_rejection(b, e))
		return e;
	profile_list_cut(b->out->list, before);
	reject(b, group->n, e);
	return ERR_OK;
}

static enum err build_scope(struct otlp_builder *b, const struct otlp_scope *scope,
			    uint32_t resource)
{
	struct otlp_grouping all = {.t = b->t, .seed = b->d->seed, .profiles = scope->profiles};
	enum err e = ERR_OK;

	all.next = mem_zalloc((size_t)scope->profiles.n + 1, sizeof(*all.next));
	if (!all.next)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; !e && i < scope->profiles.n; i++)
		e = otlp_group_add(&all, scope->profiles.at + i);
	for (size_t i = 0; !e && i < all.groups.n; i++)
		e = take_group(b, scope, &all, &all.groups.v[i], resource);
	otlp_grouping_release(&all);
	return e;
}

static void note_dropped(struct otlp_builder *b, const struct otlp_resource *r)
{
	bool schema = r->schema_url.n != 0, dropped = r->dropped_attributes != 0;

	for (uint32_t i = 0; i < r->scopes.n; i++) {
		schema |= b->t->scopes.v[r->scopes.at + i].schema_url.n != 0;
		dropped |= b->t->scopes.v[r->scopes.at + i].dropped_attributes != 0;
	}
	if (schema)
		notes_add(&b->out->notes, "schema URLs are not kept");
	if (dropped)
		notes_add(&b->out->notes, "a sender dropped attributes of a resource or scope");
	if (r->entity_refs)
		notes_add(&b->out->notes, "entity references are not kept");
}

static uint64_t profiles_of(const struct otlp_builder *b, const struct otlp_resource *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->scopes.n; i++)
		n += b->t->scopes.v[r->scopes.at + i].profiles.n;
	return n;
}

static enum err build_resource(struct otlp_builder *b, const struct otlp_resource *r)
{
	uint32_t resource;
	enum err e;

	note_dropped(b, r);
	e = otlp_pair_labels(b, r->attributes, r->attribute_count, &resource);
	if (is_rejection(b, e)) {
		reject(b, profiles_of(b, r), e);
		return ERR_OK;
	}
	TRY(e);
	for (uint32_t i = 0; i < r->scopes.n; i++)
		TRY(build_scope(b, &b->t->scopes.v[r->scopes.at + i], resource));
	return ERR_OK;
}

/* With one profile in the message its mappings are those of the file, in their order. */
static enum err keep_mapping_order(struct otlp_builder *b, size_t before)
{
	struct profile *p;
	uint32_t id;

	/* Who takes part of a message does not write it again. */
	if (b->out->list->n != before + 1 || b->t->profiles.n == 0 || b->out->rejects)
		return ERR_OK;
	p = b->out->list->v[before];
	if (p->mappings.n) /* the payload brought its own */
		return ERR_OK;
	for (size_t i = 1; i < b->t->mappings.n && i <= INT32_MAX; i++) {
		TRY(otlp_mapping(b, (int32_t)i, 0, &id));
		TRY(vec_push(&p->mappings, id));
	}
	return ERR_OK;
}

static uint32_t *memo(struct otlp_builder *b, size_t n)
{
	uint32_t *array = arena_alloc(&b->arena, (n ? n : 1) * sizeof(*array));

	if (array)
		memset(array, 0xff, n * sizeof(*array));
	return array;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Entries may be orphans: no more are expected than something could refer to. */
static enum err expect_entries(struct otlp_builder *b, size_t packed_bytes)
{
	const struct otlp_tables *t = b->t;
	size_t references = packed_bytes + t->indices.n;
	struct dict_sizes coming = {
		.stacks = smaller(t->stacks.n, t->samples.n),
		.frames = smaller(t->locations.n, references),
		.functions = smaller(t->functions.n, t->lines.n),
		.strings = smaller(t->strings.n, t->functions.n * 3),
		/* Most indices of a file with many locations take two bytes or three. */
		.stack_frames = t->indices.n + packed_bytes / 2,
	};

	return dict_expect(b->d, &coming);
}

static enum err builder_init(struct otlp_builder *b)
{
	const struct otlp_tables *t = b->t;
	size_t packed = 0;

	b->strings = memo(b, t->strings.n);
	b->functions = memo(b, t->functions.n);
	b->mappings = memo(b, t->mappings.n);
	b->links = memo(b, t->links.n);
	b->stacks = memo(b, t->stacks.n);
	b->attributes = (struct otlp_range *)memo(b, t->attributes.n * 2);
	b->single_sets = memo(b, t->attributes.n);
	b->string_hashes = arena_zalloc(&b->arena, t->strings.n + 1, sizeof(uint64_t));
	b->function_hashes = arena_zalloc(&b->arena, t->functions.n + 1, sizeof(uint64_t));
	b->location_frames = memo(b, t->locations.n);
	b->locations = arena_zalloc(&b->arena, t->locations.n + 1, sizeof(*b->locations));
	b->location_hashes = arena_zalloc(&b->arena, t->locations.n + 1, sizeof(uint64_t));
	if (!b->strings || !b->functions || !b->mappings || !b->links || !b->stacks ||
	    !b->attributes || !b->single_sets || !b->locations || !b->string_hashes ||
	    !b->function_hashes || !b->location_hashes || !b->location_frames)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < t->packed_stacks.n; i++)
		packed += t->packed_stacks.v[i].n;
	b->frame_budget = ((uint64_t)t->indices.n + packed) * 64 + 1000000;
	b->text_budget = ((uint64_t)256 << 20) + (uint64_t)b->out->plain_bytes * 8;
	return expect_entries(b, packed);
}

static void builder_release(struct otlp_builder *b)
{
	arena_release(&b->arena);
	vec_release(&b->frames);
	vec_release(&b->frame_hashes);
	vec_release(&b->labels);
	vec_release(&b->scratch);
	vec_release(&b->stack_scratch);
	vec_release(&b->sets);
	map_release(&b->set_index);
}

static enum err build(struct otlp_builder *b)
{
	size_t before = b->out->list->n;

	TRY(builder_init(b));
	if (b->t->samples.n && !b->t->has_dictionary)
		return fault_set(&b->out->fault, ERR_CORRUPT,
				 "the message has samples but no dictionary (field 2)");
	if (b->t->samples.n)
		otlp_note_zero_entries(b);
	for (size_t i = 0; i < b->t->resources.n; i++)
		TRY(build_resource(b, &b->t->resources.v[i]));
	return keep_mapping_order(b, before);
}

enum err otlp_build(const struct otlp_tables *t, struct reading *out)
{
	struct otlp_builder b = {.t = t, .out = out, .d = out->dict};
	enum err e;

	arena_init(&b.arena, 0);
	e = build(&b);
	builder_release(&b);
	return e;
}
