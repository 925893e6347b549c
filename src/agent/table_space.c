#include "agent/table_space.h"

/* Free space required in addition to a free segment before that is released. */
#define SPARE_UNITS (UNWIND_UNITS / 2)

/* Unit 0 stays unused: 0 means "nothing" in page tables. */
static struct space_range all_of(u32 segment)
{
	struct space_range range = {segment * UNWIND_UNITS, UNWIND_UNITS};

	if (!segment) {
		range.unit++;
		range.units--;
	}
	return range;
}

static enum err add_segment(struct table_space *s, u32 segment)
{
	TRY(vec_push(&s->free, all_of(segment)));
	s->here |= 1ull << segment;
	return ERR_OK;
}

enum err table_space_init(struct table_space *s, u8 *memory, u32 segments)
{
	*s = (struct table_space){.memory = memory, .segments = segments};
	if (segments > TABLE_SEGMENTS_MAX)
		return ERR_BAD_ARGUMENT;
	for (u32 i = 0; i < segments; i++)
		TRY(add_segment(s, i));
	return ERR_OK;
}

void table_space_grows(struct table_space *s, void *context,
		       enum err (*grow)(void *context, u32 segment),
		       void (*shrink)(void *context, u32 segment))
{
	s->context = context;
	s->grow = grow;
	s->shrink = shrink;
	s->here = s->free.n = 0;
}

static enum err grow(struct table_space *s)
{
	for (u32 i = 0; s->grow && i < s->segments; i++) {
		if (s->here >> i & 1)
			continue;
		TRY(vec_reserve(&s->free, 1));
		TRY(s->grow(s->context, i));
		return add_segment(s, i);
	}
	return ERR_NO_SPACE;
}

/* One at a time: what was just freed may be wanted at once. */
static void give_segment_back(struct table_space *s)
{
	struct space_range *whole = NULL;
	u64 units = 0;

	vec_for_each (range, &s->free) {
		u32 segment = range->unit / UNWIND_UNITS;

		units += range->units;
		if (range->units == all_of(segment).units)
			whole = range;
	}
	if (!s->shrink || !whole || units < UNWIND_UNITS + SPARE_UNITS)
		return;
	s->here &= ~(1ull << whole->unit / UNWIND_UNITS);
	s->shrink(s->context, whole->unit / UNWIND_UNITS);
	*whole = s->free.v[--s->free.n];
}

void table_space_release(struct table_space *s)
{
	vec_release(&s->free);
	vec_release(&s->retired);
	vec_release(&s->retiring);
}

static struct space_range *smallest(struct table_space *s, u32 units)
{
	struct space_range *best = NULL;

	vec_for_each (range, &s->free)
		if (range->units >= units && (!best || range->units < best->units))
			best = range;
	return best;
}

enum err table_space_take(struct table_space *s, size_t bytes, struct space_range *ret)
{
	u32 units = (u32)((bytes + UNWIND_UNIT - 1) / UNWIND_UNIT);
	struct space_range *best;

	if (bytes > UNWIND_SEGMENT_SIZE)
		return ERR_NO_SPACE;
	while (!(best = smallest(s, units)))
		TRY(grow(s));
	*ret = (struct space_range){best->unit, units};
	best->unit += units;
	best->units -= units;
	if (!best->units)
		*best = s->free.v[--s->free.n];
	s->used_bytes += (u64)units * UNWIND_UNIT;
	return ERR_OK;
}

static bool joins(const struct space_range *a, const struct space_range *b)
{
	return a->unit + a->units == b->unit && b->unit % UNWIND_UNITS != 0;
}

/* Puts a range back, joined with its neighbours. */
static void free_range(struct table_space *s, struct space_range range)
{
	for (size_t i = 0; i < s->free.n;) {
		struct space_range *other = &s->free.v[i];

		if (joins(other, &range)) {
			range.unit = other->unit;
			range.units += other->units;
		} else if (joins(&range, other)) {
			range.units += other->units;
		} else {
			i++;
			continue;
		}
		*other = s->free.v[--s->free.n];
		i = 0;
	}
	/* Without memory for the list the range is lost until the agent starts again. */
	if (vec_push(&s->free, range) != ERR_OK)
		return;
}

void table_space_give(struct table_space *s, struct space_range range)
{
	if (!range.units)
		return;
	s->used_bytes -= (u64)range.units * UNWIND_UNIT;
	if (vec_push(&s->retiring, range) != ERR_OK)
		return;
}

void table_space_settle(struct table_space *s)
{
	vec_for_each (range, &s->retired)
		free_range(s, *range);
	s->retired.n = 0;
	if (vec_append(&s->retired, s->retiring.v, s->retiring.n) == ERR_OK)
		s->retiring.n = 0;
	give_segment_back(s);
}

/* Blocks are copied in runs: one per block would leave the memory in splinters. */
#define RUN_BYTES ((size_t)64 << 10)

static size_t block_end(const struct unwind_table *t, u32 page)
{
	for (u32 next = page + 1; next < t->page_count; next++)
		if (t->pages[next])
			return t->pages[next] - 1;
	return t->blocks.n;
}

static enum err place_run(struct table_space *s, const struct unwind_table *t, u32 first,
			  u32 *ret_next, struct placed_table *out)
{
	u32 *pages = table_space_at(s, out->pages.unit), page;
	size_t from = t->pages[first] - 1, end = block_end(t, first);
	struct space_range run;
	enum err e;

	for (page = first + 1; page < t->page_count; page++) {
		if (!t->pages[page])
			continue;
		if (block_end(t, page) - from > RUN_BYTES)
			break;
		end = block_end(t, page);
	}
	TRY(table_space_take(s, end - from, &run));
	e = vec_push(&out->runs, run);
	if (e) {
		table_space_give(s, run);
		return e;
	}
	memcpy(table_space_at(s, run.unit), t->blocks.data + from, end - from);
	for (u32 i = first; i < page; i++)
		if (t->pages[i])
			pages[i] = run.unit + (u32)((t->pages[i] - 1 - from) / UNWIND_UNIT);
	*ret_next = page;
	return ERR_OK;
}

enum err table_space_place(struct table_space *s, const struct unwind_table *table,
			   struct placed_table *ret)
{
	struct placed_table out = {.page_count = table->page_count};
	enum err e = table_space_take(s, (size_t)table->page_count * 4 + UNWIND_UNIT, &out.pages);

	if (e)
		return e;
	memset(table_space_at(s, out.pages.unit), 0, (size_t)out.pages.units * UNWIND_UNIT);
	for (u32 page = 0; !e && page < table->page_count;) {
		if (table->pages[page])
			e = place_run(s, table, page, &page, &out);
		else
			page++;
	}
	if (e) {
		table_space_remove(s, &out);
		return e;
	}
	out.number = ++s->placed;
	*ret = out;
	return ERR_OK;
}

void table_space_remove(struct table_space *s, struct placed_table *t)
{
	vec_for_each (run, &t->runs)
		table_space_give(s, *run);
	table_space_give(s, t->pages);
	vec_release(&t->runs);
	*t = (struct placed_table){0};
}

/* The kernel side's own search, over the same memory. */
static _Thread_local const struct table_space *searched;

static const void *unwind_segment(u32 index)
{
	return index < searched->segments && searched->here >> index & 1
		       ? searched->memory + (size_t)index * UNWIND_SEGMENT_SIZE
		       : NULL;
}

#define unwind_hide(x) ((void)(x))
#include "unwind/unwind_search.h"

u32 table_space_rule(const struct table_space *s, u32 pages, u32 page_count, u64 address)
{
	searched = s;
	return unwind_find_rule(pages, page_count, address);
}
