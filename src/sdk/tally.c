#include "sdk/tally.h"

#include "base/hash.h"

/* Nothing of a process lies on its first page. */
#define ADDRESSES_FROM 4096

void tally_init(struct tally *t, u32 max_rows)
{
	*t = (struct tally){.max_rows = max_rows};
}

void tally_release(struct tally *t)
{
	vec_release(&t->places);
	vec_release(&t->stacks);
	vec_release(&t->contexts);
	vec_release(&t->rows);
	map_release(&t->stack_index);
	map_release(&t->context_index);
	map_release(&t->row_index);
}

enum err tally_stack(struct tally *t, const u64 *places, u32 n, u32 *ret)
{
	u64 hash = hash_bytes(places, n * sizeof(*places), 0);
	struct tally_stack fresh = {hash, (u32)t->places.n, n};

	MAP_PROBE(&t->stack_index, hash, id)
	{
		const struct tally_stack *s = &t->stacks.v[id];

		if (s->n != n || memcmp(t->places.v + s->at, places, n * sizeof(*places)) != 0)
			continue;
		*ret = id;
		return ERR_OK;
	}
	if (t->stacks.n >= TALLY_STACKS_MAX)
		return ERR_TOO_LARGE;
	TRY(vec_append(&t->places, places, n));
	TRY(vec_push(&t->stacks, fresh));
	TRY(map_put(&t->stack_index, hash, (u32)t->stacks.n - 1));
	*ret = (u32)t->stacks.n - 1;
	return ERR_OK;
}

static bool is_context(const struct tally *t, u32 id, const struct span_context *wanted)
{
	return id < t->contexts.n && memcmp(&t->contexts.v[id], wanted, sizeof(*wanted)) == 0;
}

enum err tally_context(struct tally *t, const struct span_context *context, u32 *ret)
{
	u64 hash;

	if (is_context(t, t->last_context, context)) {
		*ret = t->last_context;
		return ERR_OK;
	}
	hash = hash_bytes(context, sizeof(*context), 0);
	MAP_PROBE(&t->context_index, hash, id)
	{
		if (!is_context(t, id, context))
			continue;
		*ret = t->last_context = id;
		return ERR_OK;
	}
	TRY(vec_push(&t->contexts, *context));
	TRY(map_put(&t->context_index, hash, (u32)t->contexts.n - 1));
	*ret = t->last_context = (u32)t->contexts.n - 1;
	return ERR_OK;
}

static struct tally_row *find_row(struct tally *t, u64 hash, const struct tally_row *wanted)
{
	MAP_PROBE(&t->row_index, hash, id)
	{
		struct tally_row *r = &t->rows.v[id];

		if (r->kind == wanted->kind && r->stack == wanted->stack &&
		    r->context == wanted->context && r->about == wanted->about)
			return r;
	}
	return NULL;
}

void tally_add(struct tally *t, u8 kind, u32 stack, u32 context, s64 count, s64 value)
{
	tally_add_about(t, kind, stack, context, 0, count, value);
}

void tally_add_about(struct tally *t, u8 kind, u32 stack, u32 context, u64 about, s64 count,
		     s64 value)
{
	bool crowded = t->rows.n >= t->max_rows / 2 && about >= ADDRESSES_FROM &&
		       !(about >> PLACE_MODULE_SHIFT);
	u64 said = crowded ? 0 : about;
	u64 hash = hash_mix((u64)stack << 32 | context, hash_mix(said, kind));
	struct tally_row fresh = {hash, stack, context, kind, said, count, value};
	struct tally_row *row = find_row(t, hash, &fresh);

	if (row) {
		row->count += count;
		row->value += value;
		return;
	}
	if (t->rows.n >= t->max_rows || vec_push(&t->rows, fresh)) {
		t->lost++;
		return;
	}
	if (map_put(&t->row_index, hash, (u32)t->rows.n - 1)) {
		t->rows.n--;
		t->lost++;
	}
}

void tally_clear(struct tally *t)
{
	t->rows.n = t->contexts.n = 0;
	map_clear(&t->row_index);
	map_clear(&t->context_index);
}

void tally_clear_stacks(struct tally *t)
{
	t->places.n = t->stacks.n = 0;
	map_clear(&t->stack_index);
}

enum err tally_copy(struct tally *to, const struct tally *from, u8 kind)
{
	vec_for_each (row, &from->rows) {
		const struct tally_stack *s = &from->stacks.v[row->stack];
		u32 stack, context;

		if (row->kind != kind)
			continue;
		TRY(tally_stack(to, from->places.v + s->at, s->n, &stack));
		TRY(tally_context(to, &from->contexts.v[row->context], &context));
		tally_add_about(to, kind, stack, context, row->about, row->count, row->value);
	}
	return ERR_OK;
}
