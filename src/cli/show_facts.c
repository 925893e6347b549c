#include "cli/show_facts.h"

#include "base/hash.h"

/* Sets of small ids. */
struct marks {
	uint8_t *v;
	size_t n;
};

static enum err marks_init(struct marks *m, size_t n)
{
	m->v = mem_zalloc(n + 1, 1);
	m->n = n;
	return m->v ? ERR_OK : ERR_NO_MEMORY;
}

static void marks_release(struct marks *m)
{
	mem_free(m->v);
}

/* True the first time. */
static bool mark(struct marks *m, uint32_t id)
{
	if (m->v[id])
		return false;
	m->v[id] = 1;
	return true;
}

struct gathering {
	struct facts *f;
	const struct dict *d;
	struct marks stacks, functions, mappings, label_sets, labels, links;
	struct map rows;	      /* to see rows that repeat */
	uint64_t depths[4097];	      /* distinct stacks by depth, without inlined frames */
	VEC(uint64_t) label_set_rows; /* rows per label set */
};

static enum err count_row(struct gathering *g, size_t i)
{
	const struct profile *p = g->f->p;
	struct row row = profile_row(p, i);
	const int64_t *values = profile_values(p, i);
	uint64_t hash = hash_mix(hash_mix(row.stack, row.labels), hash_mix(row.link, row.time));

	for (uint32_t t = 0; t < p->type_count; t++) {
		g->f->types[t].negative += values[t] < 0;
		g->f->types[t].nonzero += values[t] != 0;
	}
	g->f->empty_rows += row.stack == 0;
	g->f->linked_rows += row.link != 0;
	if (row.link)
		g->f->links += mark(&g->links, row.link);
	g->label_set_rows.v[row.labels]++;
	if (map_get(&g->rows, hash) != MAP_NONE)
		g->f->repeated_rows++;
	else
		return map_put(&g->rows, hash, 0);
	return ERR_OK;
}

static void count_time(struct facts *f, int64_t time)
{
	const struct profile *p = f->p;

	if (!time)
		return;
	f->timed_rows++;
	if (!f->first_time || time < f->first_time)
		f->first_time = time;
	if (time > f->last_time)
		f->last_time = time;
	if (p->time_ns && p->duration_ns > 0 &&
	    (time < p->time_ns || time - p->time_ns > p->duration_ns))
		f->outside_window++;
}

static enum err count_frame(struct gathering *g, uint32_t id)
{
	const struct frame *frame = &g->d->frames.v[id];
	const struct function *function = &g->d->functions.v[frame->function];

	g->f->frames++;
	if (!frame_name(g->d, id).n)
		g->f->frames_without_function++;
	if (frame->function && mark(&g->functions, frame->function)) {
		g->f->functions++;
		g->f->functions_without_file += !function->file;
	}
	if (frame->mapping && mark(&g->mappings, frame->mapping))
		return vec_push(&g->f->mappings, frame->mapping);
	return ERR_OK;
}

static enum err count_stack(struct gathering *g, uint32_t stack)
{
	uint32_t n, depth = 0;
	const uint32_t *frames = stack_frames(g->d, stack, &n);

	g->f->stacks++;
	for (uint32_t i = 0; i < n; i++) {
		depth += !(g->d->frames.v[frames[i]].flags & FRAME_INLINED);
		TRY(count_frame(g, frames[i]));
	}
	if (n > g->f->deepest)
		g->f->deepest = n;
	g->depths[depth < 4096 ? depth : 4096]++;
	return ERR_OK;
}

static struct label_fact *label_fact_of(struct facts *f, uint32_t key)
{
	vec_for_each (fact, &f->labels)
		if (fact->key == key)
			return fact;
	if (f->labels.n == 1000 || vec_push(&f->labels, ((struct label_fact){.key = key})))
		return NULL;
	return &f->labels.v[f->labels.n - 1];
}

static enum err count_label_set(struct gathering *g, uint32_t set)
{
	uint32_t n;
	const uint32_t *items = label_set_items(g->d, set, &n);

	for (uint32_t i = 0; i < n; i++) {
		struct label_fact *fact = label_fact_of(g->f, g->d->labels.v[items[i]].key);

		if (!fact)
			return ERR_OK; /* enough keys to make the point */
		fact->rows += g->label_set_rows.v[set];
		if (mark(&g->labels, items[i]))
			TRY(vec_push(&fact->values, items[i]));
	}
	return ERR_OK;
}

/* A profiler that cuts stacks leaves many at one depth and none deeper. */
static void find_cut(struct gathering *g)
{
	static const uint32_t usual[] = {16,  32,  50,	62,  63,  64,	100,  127,  128,
					 200, 255, 256, 500, 512, 1000, 1023, 1024, 2048};
	uint32_t last = 4095;
	bool is_usual = false;

	while (last && !g->depths[last])
		last--;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		is_usual |= usual[i] == last;
	if (g->depths[4096] || last < 16 || g->depths[last] < 3)
		return;
	if (g->depths[last] < (is_usual ? 2 : 8) * (g->depths[last - 1] + 1))
		return;
	g->f->cut_depth = last;
	g->f->cut_stacks = g->depths[last];
}

static enum err gather(struct gathering *g)
{
	const struct profile *p = g->f->p;

	TRY(marks_init(&g->stacks, g->d->stacks.entries.n));
	TRY(marks_init(&g->functions, g->d->functions.n));
	TRY(marks_init(&g->mappings, g->d->mappings.n));
	TRY(marks_init(&g->label_sets, g->d->label_sets.entries.n));
	TRY(marks_init(&g->labels, g->d->labels.n));
	TRY(marks_init(&g->links, g->d->links.n));
	TRY(vec_reserve(&g->label_set_rows, g->d->label_sets.entries.n + 1));
	memset(g->label_set_rows.v, 0, (g->d->label_sets.entries.n + 1) * sizeof(uint64_t));
	for (uint32_t t = 0; t < p->type_count; t++)
		g->f->types[t].total = profile_total(p, t);
	for (size_t i = 0; i < p->row_count; i++) {
		TRY(count_row(g, i));
		if (p->time)
			count_time(g->f, (int64_t)p->time[i]);
		if (mark(&g->stacks, p->stack[i]))
			TRY(count_stack(g, p->stack[i]));
	}
	for (size_t i = 0; i < p->row_count; i++)
		if (mark(&g->label_sets, p->labels[i]))
			TRY(count_label_set(g, p->labels[i]));
	find_cut(g);
	if (p->type_count)
		return profile_broken_share(p, (uint32_t)profile_default_type(p),
					    &g->f->broken_share);
	return ERR_OK;
}

enum err facts_gather(const struct profile *p, struct facts *ret)
{
	struct gathering *g = mem_zalloc(1, sizeof(*g));
	enum err e;

	*ret = (struct facts){.p = p};
	if (!g)
		return ERR_NO_MEMORY;
	g->f = ret;
	g->d = p->dict;
	e = gather(g);
	marks_release(&g->stacks);
	marks_release(&g->functions);
	marks_release(&g->mappings);
	marks_release(&g->label_sets);
	marks_release(&g->labels);
	marks_release(&g->links);
	map_release(&g->rows);
	vec_release(&g->label_set_rows);
	mem_free(g);
	if (e)
		facts_release(ret);
	return e;
}

void facts_release(struct facts *f)
{
	vec_for_each (fact, &f->labels)
		vec_release(&fact->values);
	vec_release(&f->labels);
	vec_release(&f->mappings);
}

double facts_unsymbolised(const struct facts *f)
{
	return f->frames ? (double)f->frames_without_function / (double)f->frames : 0;
}
