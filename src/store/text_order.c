#include "store/text_order.h"

#include <stdlib.h>

#include "base/vec.h"

#define KEY_BYTES 8
#define FEW	  64 /* fewer texts than that are sorted by insertion */

struct keyed_id {
	uint64_t key;
	uint32_t id;
};

/* Texts that have the first `depth` bytes in common. */
struct text_run {
	size_t at, n, depth;
};

struct ordering {
	const struct text_source *from;
	struct keyed_id *v, *spare;
	VEC(struct text_run) runs;
};

static void ordering_release(struct ordering *o)
{
	mem_free(o->v);
	mem_free(o->spare);
	vec_release(&o->runs);
}

static struct str text_of(const struct ordering *o, const struct keyed_id *one)
{
	return o->from->text(o->from->context, one->id);
}

/* ------------------------------------------------------------------ by number */

static void radix_pass(const struct keyed_id *from, struct keyed_id *to, size_t n, unsigned shift,
		       const uint32_t *counts)
{
	size_t starts[256], sum = 0;

	for (unsigned i = 0; i < 256; i++) {
		starts[i] = sum;
		sum += counts[i];
	}
	for (size_t i = 0; i < n; i++)
		to[starts[from[i].key >> shift & 255]++] = from[i];
}

/* Passes over bytes in which all are equal are left out. */
static void sort_by_key(struct keyed_id *v, struct keyed_id *spare, size_t n)
{
	uint32_t counts[KEY_BYTES][256] = {0};
	struct keyed_id *from = v, *to = spare, *swapped;

	for (size_t i = 0; i < n; i++)
		for (unsigned b = 0; b < KEY_BYTES; b++)
			counts[b][v[i].key >> 8 * b & 255]++;
	for (unsigned b = 0; b < KEY_BYTES; b++) {
		if (counts[b][v[0].key >> 8 * b & 255] == n)
			continue;
		radix_pass(from, to, n, 8 * b, counts[b]);
		swapped = from;
		from = to;
		to = swapped;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
}

/* Calls for texts with equal keys, which are adjacent. */
static enum err push_equal(struct ordering *o, const struct text_run *run, size_t depth)
{
	size_t end = run->at + run->n, n;

	for (size_t i = run->at; i < end; i += n) {
		for (n = 1; i + n < end && o->v[i + n].key == o->v[i].key;)
			n++;
		if (n > 1)
			TRY(vec_push(&o->runs, ((struct text_run){i, n, depth})));
	}
	return ERR_OK;
}

/* ------------------------------------------------------------------ by text */

/* How many bytes the texts of a run have in common. */
static size_t common_prefix(const struct ordering *o, const struct text_run *run)
{
	struct str first = text_of(o, &o->v[run->at]);
	size_t common = first.n;

	for (size_t i = 1; i < run->n && common > run->depth; i++) {
		struct str text = text_of(o, &o->v[run->at + i]);
		size_t at = run->depth;

		while (at < common && at < text.n && text.p[at] == first.p[at])
			at++;
		common = at;
	}
	return common;
}

static uint64_t key_at(struct str text, size_t at)
{
	uint64_t key = 0;

	for (size_t i = 0; i < KEY_BYTES; i++)
		key = key << 8 | (at + i < text.n ? (uint8_t)text.p[at + i] : 0);
	return key;
}

static void insertion_sort(const struct ordering *o, const struct text_run *run)
{
	struct keyed_id *v = o->v + run->at;

	for (size_t i = 1; i < run->n; i++) {
		struct keyed_id one = v[i];
		struct str text = text_of(o, &one);
		size_t at = i;

		for (; at > 0 && str_cmp(text_of(o, &v[at - 1]), text) > 0; at--)
			v[at] = v[at - 1];
		v[at] = one;
	}
}

struct text_id {
	struct str text;
	uint32_t id;
};

static int by_text(const void *left, const void *right)
{
	return str_cmp(((const struct text_id *)left)->text, ((const struct text_id *)right)->text);
}

static enum err sort_plainly(const struct ordering *o, const struct text_run *run)
{
	struct text_id *texts = mem_zalloc(run->n, sizeof(*texts));

	if (!texts)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < run->n; i++)
		texts[i] = (struct text_id){text_of(o, &o->v[run->at + i]), o->v[run->at + i].id};
	qsort(texts, run->n, sizeof(*texts), by_text);
	for (size_t i = 0; i < run->n; i++)
		o->v[run->at + i].id = texts[i].id;
	mem_free(texts);
	return ERR_OK;
}

/* Keys are padded with zeros: those of a text that has ended and of one with such bytes are alike. */
static bool any_ends(const struct ordering *o, const struct text_run *run)
{
	for (size_t i = 0; i < run->n; i++)
		if (text_of(o, &o->v[run->at + i]).n < run->depth)
			return true;
	return false;
}

static enum err sort_run(struct ordering *o, const struct text_run *run)
{
	size_t depth;

	if (run->n < FEW) {
		insertion_sort(o, run);
		return ERR_OK;
	}
	if (any_ends(o, run))
		return sort_plainly(o, run);
	depth = common_prefix(o, run);
	for (size_t i = run->at; i < run->at + run->n; i++)
		o->v[i].key = key_at(text_of(o, &o->v[i]), depth);
	sort_by_key(o->v + run->at, o->spare, run->n);
	return push_equal(o, run, depth + KEY_BYTES);
}

/* The texts as one run, or a run for each group. */
static enum err begin(struct ordering *o, size_t n)
{
	struct text_run all = {0, n, 0};

	if (!o->from->group)
		return vec_push(&o->runs, all);
	for (size_t i = 0; i < n; i++)
		o->v[i].key = o->from->group(o->from->context, o->v[i].id);
	sort_by_key(o->v, o->spare, n);
	return push_equal(o, &all, 0);
}

enum err text_order(const struct text_source *from, uint32_t *ids, size_t n)
{
	CLEANUP(ordering_release) struct ordering o = {.from = from};

	if (n < 2)
		return ERR_OK;
	o.v = mem_zalloc(n, sizeof(*o.v));
	o.spare = mem_zalloc(n, sizeof(*o.spare));
	if (!o.v || !o.spare)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		o.v[i].id = ids[i];
	TRY(begin(&o, n));
	while (o.runs.n) {
		struct text_run run = o.runs.v[--o.runs.n];

		TRY(sort_run(&o, &run));
	}
	for (size_t i = 0; i < n; i++)
		ids[i] = o.v[i].id;
	return ERR_OK;
}
