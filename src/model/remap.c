#include "model/remap.h"

#include "base/hash.h"

enum err memo_set(struct memo *m, uint32_t epoch, size_t count, uint32_t id, uint32_t value)
{
	if (id >= m->n) {
		TRY(mem_grow(&m->v, &m->cap, count, sizeof(*m->v), VEC_CEILING));
		memset(m->v + m->n, 0, (m->cap - m->n) * sizeof(*m->v));
		m->n = m->cap;
	}
	m->v[id] = (uint64_t)epoch << 32 | value;
	return ERR_OK;
}

void memo_release(struct memo *m)
{
	mem_free(m->v);
	*m = (struct memo){0};
}

void remap_release(struct remap *r)
{
	struct memo *memos[] = {&r->functions,	&r->mappings, &r->frames, &r->labels,
				&r->label_sets, &r->links,    &r->stacks};

	for (size_t i = 0; i < sizeof(memos) / sizeof(memos[0]); i++)
		memo_release(memos[i]);
	for (size_t i = 0; i < TEXT_ROLE_COUNT; i++)
		memo_release(&r->strings[i]);
	vec_release(&r->scratch);
	map_release(&r->mapping_index);
	*r = (struct remap){0};
}

/* Id 0 is the empty entry of every dictionary. */
static bool known(const struct remap *r, const struct memo *m, uint32_t id, uint32_t *ret)
{
	bool has_address = m == &r->mappings || m == &r->frames || m == &r->stacks;

	if (id == 0 || (r->src == r->dst && !(has_address && r->moves))) {
		*ret = id;
		return true;
	}
	return memo_get(m, r->epoch, id, ret);
}

enum err remap_text(struct remap *r, enum text_role role, uint32_t id, uint32_t *ret)
{
	struct memo *memo = &r->strings[r->editor ? role : TEXT_FIXED];
	struct str text;

	if (known(r, memo, id, ret))
		return ERR_OK;
	text = dict_str(r->src, id);
	if (r->editor)
		TRY(r->editor->text(r->editor->context, role, text, &text));
	TRY(dict_string(r->dst, text, ret));
	return memo_set(memo, r->epoch, r->src->strings.n, id, *ret);
}

enum err remap_function(struct remap *r, uint32_t id, uint32_t *ret)
{
	struct function f;

	if (known(r, &r->functions, id, ret))
		return ERR_OK;
	f = r->src->functions.v[id];
	TRY(remap_text(r, TEXT_NAME, f.name, &f.name));
	TRY(remap_text(r, TEXT_NAME, f.system_name, &f.system_name));
	TRY(remap_text(r, TEXT_FILE, f.file, &f.file));
	TRY(dict_function(r->dst, &f, ret));
	return memo_set(&r->functions, r->epoch, r->src->functions.n, id, *ret);
}

#define PAGE UINT64_C(0x1000)

/* The size in pages: what one loader rounds up another does not. */
static uint64_t mapping_pages(const struct mapping *m)
{
	uint64_t size = m->limit - m->start;

	return size / PAGE + (size % PAGE != 0);
}

static uint32_t mapping_identity(const struct mapping *m)
{
	return m->build_id ? m->build_id : m->file;
}

/* The same part of the same file, perhaps at another address: what pprof takes as one mapping. */
static bool same_content(const struct mapping *a, const struct mapping *b)
{
	return mapping_pages(a) == mapping_pages(b) && a->offset == b->offset &&
	       mapping_identity(a) == mapping_identity(b);
}

static uint64_t content_hash(uint64_t seed, const struct mapping *m)
{
	return hash_mix(hash_mix(mapping_pages(m) ^ seed, m->offset ^ seed), mapping_identity(m));
}

/* The first mapping of dst with this content, or MAP_NONE. */
static uint32_t find_mapping(const struct remap *r, const struct mapping *m)
{
	uint32_t first = MAP_NONE;

	MAP_PROBE(&r->mapping_index, content_hash(r->dst->seed, m), id)
	{
		if (id < first && same_content(&r->dst->mappings.v[id], m))
			first = id;
	}
	return first;
}

static enum err index_mappings(struct remap *r)
{
	if (!r->mappings_indexed)
		r->mappings_indexed = 1;
	for (; r->mappings_indexed < r->dst->mappings.n; r->mappings_indexed++) {
		const struct mapping *m = &r->dst->mappings.v[r->mappings_indexed];

		if (find_mapping(r, m) != MAP_NONE)
			r->moves = true;
		else
			TRY(map_put(&r->mapping_index, content_hash(r->dst->seed, m),
				    r->mappings_indexed));
	}
	return ERR_OK;
}

enum err remap_begin(struct remap *r, const struct dict *src, struct dict *dst)
{
	r->src = src;
	r->dst = dst;
	r->epoch++;
	return r->editor || r->exact ? ERR_OK : index_mappings(r);
}

enum err remap_joins_mappings(const struct dict *d, bool *ret)
{
	CLEANUP(map_release) struct map seen = {0};

	*ret = false;
	for (uint32_t i = 1; !*ret && i < d->mappings.n; i++) {
		const struct mapping *m = &d->mappings.v[i];
		uint64_t hash = content_hash(d->seed, m);

		MAP_PROBE(&seen, hash, id)
		{
			*ret |= same_content(&d->mappings.v[id], m);
		}
		TRY(map_put(&seen, hash, i));
	}
	return ERR_OK;
}

static enum err find_or_add_mapping(struct remap *r, const struct mapping *m, uint32_t *ret)
{
	TRY(index_mappings(r));
	*ret = find_mapping(r, m);
	return *ret == MAP_NONE ? dict_mapping(r->dst, m, ret) : ERR_OK;
}

enum err remap_mapping(struct remap *r, uint32_t id, uint32_t *ret)
{
	struct mapping m;

	if (known(r, &r->mappings, id, ret))
		return ERR_OK;
	m = r->src->mappings.v[id];
	TRY(remap_text(r, TEXT_FILE, m.file, &m.file));
	TRY(remap_text(r, TEXT_ID, m.build_id, &m.build_id));
	TRY(remap_text(r, TEXT_ID, m.go_build_id, &m.go_build_id));
	TRY(remap_text(r, TEXT_ID, m.htl_hash, &m.htl_hash));
	/* Edited names prove nothing about what is mapped. */
	if (r->editor || r->exact)
		TRY(dict_mapping(r->dst, &m, ret));
	else
		TRY(find_or_add_mapping(r, &m, ret));
	return memo_set(&r->mappings, r->epoch, r->src->mappings.n, id, *ret);
}

enum err remap_frame(struct remap *r, uint32_t id, uint32_t *ret)
{
	struct frame f;
	uint64_t start;

	if (known(r, &r->frames, id, ret))
		return ERR_OK;
	f = r->src->frames.v[id];
	start = r->src->mappings.v[f.mapping].start;
	TRY(remap_function(r, f.function, &f.function));
	TRY(remap_mapping(r, f.mapping, &f.mapping));
	TRY(remap_string(r, f.kind, &f.kind));
	if (f.address)
		f.address += r->dst->mappings.v[f.mapping].start - start;
	TRY(dict_frame(r->dst, &f, ret));
	return memo_set(&r->frames, r->epoch, r->src->frames.n, id, *ret);
}

static bool label_holds_string(const struct label *l)
{
	return l->type == LABEL_STRING || l->type == LABEL_BYTES || l->type == LABEL_JSON;
}

static enum err remap_value(struct remap *r, struct label *l)
{
	bool hidden = false;
	uint32_t text;

	if (r->editor && r->editor->kept_key.n && label_holds_string(l) &&
	    str_eq(dict_str(r->src, l->key), r->editor->kept_key)) {
		TRY(remap_string(r, (uint32_t)l->value, &text));
		l->value = text;
		return ERR_OK;
	}
	if (r->editor)
		TRY(r->editor->hides_key(r->editor->context, dict_str(r->src, l->key), &hidden));
	if (hidden) {
		TRY(dict_string(r->dst, r->editor->instead, &text));
		l->type = LABEL_STRING;
	} else if (label_holds_string(l)) {
		TRY(remap_text(r, TEXT_VALUE, (uint32_t)l->value, &text));
	} else {
		return ERR_OK;
	}
	l->value = text;
	return ERR_OK;
}

enum err remap_label(struct remap *r, uint32_t id, uint32_t *ret)
{
	struct label l;

	if (known(r, &r->labels, id, ret))
		return ERR_OK;
	l = r->src->labels.v[id];
	TRY(remap_value(r, &l));
	TRY(remap_string(r, l.key, &l.key));
	TRY(remap_string(r, l.unit, &l.unit));
	TRY(dict_label(r->dst, &l, ret));
	return memo_set(&r->labels, r->epoch, r->src->labels.n, id, *ret);
}

enum err remap_label_set(struct remap *r, uint32_t id, uint32_t *ret)
{
	const uint32_t *items;
	uint32_t n;

	if (known(r, &r->label_sets, id, ret))
		return ERR_OK;
	items = label_set_items(r->src, id, &n);
	r->scratch.n = 0;
	TRY(vec_reserve(&r->scratch, n));
	for (uint32_t i = 0; i < n; i++)
		TRY(remap_label(r, items[i], &r->scratch.v[i]));
	TRY(dict_label_set(r->dst, r->scratch.v, n, ret));
	return memo_set(&r->label_sets, r->epoch, r->src->label_sets.entries.n, id, *ret);
}

enum err remap_link(struct remap *r, uint32_t id, uint32_t *ret)
{
	if (known(r, &r->links, id, ret))
		return ERR_OK;
	TRY(dict_link(r->dst, &r->src->links.v[id], ret));
	return memo_set(&r->links, r->epoch, r->src->links.n, id, *ret);
}

enum err remap_stack(struct remap *r, uint32_t id, uint32_t *ret)
{
	const uint32_t *frames;
	uint32_t n;

	if (known(r, &r->stacks, id, ret))
		return ERR_OK;
	/* With one seed the hash is the stack's name in both: nothing to look at or intern. */
	*ret = MAP_NONE;
	if (r->src->seed == r->dst->seed && r->src != r->dst && !r->editor)
		*ret = dict_find_stack(r->dst, stack_hash(r->src, id));
	if (*ret == MAP_NONE) {
		frames = stack_frames(r->src, id, &n);
		r->scratch.n = 0;
		TRY(vec_reserve(&r->scratch, n));
		for (uint32_t i = 0; i < n; i++)
			if (!memo_get(&r->frames, r->epoch, frames[i], &r->scratch.v[i]))
				TRY(remap_frame(r, frames[i], &r->scratch.v[i]));
		TRY(dict_stack(r->dst, r->scratch.v, n, ret));
	}
	return memo_set(&r->stacks, r->epoch, r->src->stacks.entries.n, id, *ret);
}
