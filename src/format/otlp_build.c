/*
 * Tables -> model: which Profiles of a message become which profiles. Their rows are made in
 * otlp_build_rows.c.
 */
#include "format/otlp_builder.h"
#include "format/otlp_groups.h"

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
	struct otlp_columns g = {0};
	bool taken;

	TRY(otlp_payload(b, first, resource, &taken));
	if (taken || says_nothing(first))
		return ERR_OK;
	for (;; group = &all->groups.v[group->joined - 1]) {
		for (uint32_t i = group->first, n = 0; n < group->n; n++) {
			g.members[g.n++] = i;
			i = otlp_next_member(all, i);
		}
		g.ends[g.groups++] = g.n;
		if (!group->joined)
			return otlp_build_rows(b, scope, &g, resource);
	}
}

/* Errors of this profile only, which do not affect others. */
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
	enum err e = group->follows ? ERR_OK : build_group(b, scope, all, group, resource);
	uint64_t n = group->n;

	if (!is_rejection(b, e))
		return e;
	profile_list_cut(b->out->list, before);
	while (group->joined) {
		group = &all->groups.v[group->joined - 1];
		n += group->n;
	}
	reject(b, n, e);
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
	if (!e)
		e = otlp_groups_join(&all);
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

	/* A message that was accepted in part is not written again. */
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
