#include "agent/table_space.h"
#include "unwind/table_writer.h"
#include "test.h"
#include "unwind/unwind_format.h"

#define SEGMENTS 4u

static u8 *memory;

static enum err open_space(struct table_space *s)
{
	enum err e;

	memory = mem_zalloc(SEGMENTS, UNWIND_SEGMENT_SIZE);
	if (!memory)
		return ERR_NO_MEMORY;
	e = table_space_init(s, memory, SEGMENTS);
	if (e) {
		table_space_release(s);
		mem_free(memory);
	}
	return e;
}

static void close_space(struct table_space *s)
{
	table_space_release(s);
	mem_free(memory);
}

static u64 random_state;

static u64 draw(u64 below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % below;
}

static bool crosses(struct space_range r)
{
	return r.units && r.unit / UNWIND_UNITS != (r.unit + r.units - 1) / UNWIND_UNITS;
}

TEST(nothing_is_at_unit_zero_and_nothing_crosses_a_segment)
{
	struct table_space s;
	struct space_range r;
	u32 taken = 0;

	CHECK_OK(open_space(&s));
	/* Two of these fit into a segment, with a rest. */
	while (!table_space_take(&s, 400 << 10, &r)) {
		CHECK(r.unit > 0 && !crosses(r));
		taken++;
	}
	CHECK_INT(taken, 2 * SEGMENTS);
	CHECK_INT(s.used_bytes, taken * (400 << 10));
	CHECK_ERR(table_space_take(&s, UNWIND_SEGMENT_SIZE + 1, &r), ERR_NO_SPACE);
	CHECK_ERR(table_space_take(&s, SIZE_MAX, &r), ERR_NO_SPACE);
	close_space(&s);
}

TEST(what_is_given_back_is_used_again_after_two_turns)
{
	struct space_range all[SEGMENTS], r;
	struct table_space s;

	CHECK_OK(open_space(&s));
	for (u32 i = 0; i < SEGMENTS; i++)
		CHECK_OK(table_space_take(&s, UNWIND_SEGMENT_SIZE - UNWIND_UNIT, &all[i]));
	table_space_give(&s, all[1]);
	CHECK_ERR(table_space_take(&s, 4096, &r), ERR_NO_SPACE);
	table_space_settle(&s);
	CHECK_ERR(table_space_take(&s, 4096, &r), ERR_NO_SPACE);
	table_space_settle(&s);
	CHECK_OK(table_space_take(&s, 4096, &r));
	CHECK_INT(r.unit, all[1].unit);
	close_space(&s);
}

TEST(neighbours_join_and_segments_do_not)
{
	static struct space_range list[SEGMENTS * 16];
	struct space_range whole;
	struct table_space s;
	u32 n = 0;

	CHECK_OK(open_space(&s));
	while (n < SEGMENTS * 16 && !table_space_take(&s, UNWIND_SEGMENT_SIZE / 16, &list[n]))
		n++;
	CHECK_INT(n, SEGMENTS * 16 - 1);
	for (u32 i = 0; i < n; i++)
		table_space_give(&s, list[(i * 5) % n]);
	table_space_settle(&s);
	table_space_settle(&s);
	CHECK_INT(s.used_bytes, 0);
	CHECK_INT(s.free.n, SEGMENTS);
	for (u32 i = 1; i < SEGMENTS; i++) {
		CHECK_OK(table_space_take(&s, UNWIND_SEGMENT_SIZE, &whole));
		CHECK(!crosses(whole));
	}
	CHECK_ERR(table_space_take(&s, UNWIND_SEGMENT_SIZE, &whole), ERR_NO_SPACE);
	close_space(&s);
}

/* Taken and given at random: pieces never overlap, and all comes back. */
TEST(pieces_never_overlap)
{
	static u8 owner[SEGMENTS * UNWIND_UNITS];
	static struct space_range held[300];
	struct table_space s;
	u32 n = 0;

	random_state = 5;
	memset(owner, 0, sizeof(owner));
	CHECK_OK(open_space(&s));
	for (int round = 0; round < 20000; round++) {
		if (n < 300 && draw(2)) {
			if (table_space_take(&s, 1 + draw(draw(4) ? 2000 : 60000), &held[n]))
				continue;
			CHECK(!crosses(held[n]));
			for (u32 i = 0; i < held[n].units; i++)
				CHECK(!owner[held[n].unit + i]++);
			n++;
		} else if (n) {
			u32 at = (u32)draw(n);

			memset(owner + held[at].unit, 0, held[at].units);
			table_space_give(&s, held[at]);
			held[at] = held[--n];
		}
		if (!draw(8))
			table_space_settle(&s);
	}
	while (n)
		table_space_give(&s, held[--n]);
	table_space_settle(&s);
	table_space_settle(&s);
	CHECK_INT(s.used_bytes, 0);
	CHECK_INT(s.free.n, SEGMENTS);
	close_space(&s);
}

/* A table of `pages` pages with `rows` rows each; every third page says nothing. */
static enum err table_make(u32 pages, u32 rows, u32 seed, struct unwind_table *ret)
{
	CLEANUP(table_writer_release) struct table_writer w;
	u32 step = UNWIND_PAGE_SIZE / rows;

	table_writer_init(&w);
	for (u64 page = 0; page < pages; page++) {
		u64 start = page << UNWIND_PAGE_SHIFT;

		if (page % 3 == 2)
			table_writer_row(&w, start, UNWIND_RULE_NONE);
		for (u32 i = 0; page % 3 != 2 && i < rows; i++)
			table_writer_row(&w, start + (u64)i * step,
					 (u32)(page * 131 + i + seed) & 0x7fff);
	}
	return table_writer_finish(&w, ret);
}

static bool same_rules(const struct table_space *s, const struct placed_table *placed,
		       const struct unwind_table *t)
{
	for (u64 address = 0; address < (u64)(t->page_count + 1) << UNWIND_PAGE_SHIFT;
	     address += 509)
		if (table_space_rule(s, placed->pages.unit, placed->page_count, address) !=
		    unwind_table_rule(t, address))
			return false;
	return true;
}

TEST(a_placed_table_says_what_the_table_says)
{
	static const struct {
		u32 pages, rows;
	} shapes[] = {{1, 1}, {2, 100}, {40, 2000}, {300, 300}, {5, 16000}};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct table_space s;
		struct unwind_table t;
		struct placed_table placed;

		CHECK_OK(open_space(&s));
		CHECK_OK(table_make(shapes[i].pages, shapes[i].rows, 7, &t));
		CHECK_OK(table_space_place(&s, &t, &placed));
		CHECK(same_rules(&s, &placed, &t));
		vec_for_each (run, &placed.runs)
			CHECK(!crosses(*run));
		table_space_remove(&s, &placed);
		CHECK_INT(s.used_bytes, 0);
		unwind_table_release(&t);
		close_space(&s);
	}
}

TEST(a_table_that_does_not_fit_leaves_nothing_behind)
{
	struct placed_table first, second;
	struct unwind_table t, large;
	struct table_space s;
	u64 used;

	CHECK_OK(open_space(&s));
	CHECK_OK(table_make(30, 2000, 1, &t));
	CHECK_OK(table_make(900, 2000, 2, &large));
	CHECK_OK(table_space_place(&s, &t, &first));
	used = s.used_bytes;
	CHECK_ERR(table_space_place(&s, &large, &second), ERR_NO_SPACE);
	CHECK_INT(s.used_bytes, used);
	CHECK(same_rules(&s, &first, &t));
	table_space_remove(&s, &first);
	unwind_table_release(&t);
	unwind_table_release(&large);
	close_space(&s);
}

/* What the kernel side keeps of the first must not be found for the second. */
TEST(a_table_at_the_place_of_another_has_a_number_of_its_own)
{
	struct placed_table first, second;
	struct unwind_table t;
	struct table_space s;
	u32 unit, number;

	CHECK_OK(open_space(&s));
	CHECK_OK(table_make(30, 2000, 1, &t));
	CHECK_OK(table_space_place(&s, &t, &first));
	unit = first.pages.unit;
	number = first.number;
	table_space_remove(&s, &first);
	table_space_settle(&s);
	table_space_settle(&s);
	CHECK_OK(table_space_place(&s, &t, &second));
	CHECK_INT(second.pages.unit, unit);
	CHECK(number && second.number && second.number != number);
	table_space_remove(&s, &second);
	unwind_table_release(&t);
	close_space(&s);
}

static enum err sweep(const struct unwind_table *t)
{
	struct placed_table placed;
	struct table_space s;
	enum err e = open_space(&s);

	if (e)
		return e;
	e = table_space_place(&s, t, &placed);
	if (!e)
		table_space_remove(&s, &placed);
	table_space_settle(&s);
	table_space_settle(&s);
	close_space(&s);
	return e;
}

TEST(no_memory_is_said)
{
	struct unwind_table t;

	CHECK_OK(table_make(40, 1000, 3, &t));
	ALLOC_SWEEP(sweep(&t));
	unwind_table_release(&t);
}

/* Segments that are made when they are needed. */
struct growing {
	u32 made, gone;
	u64 here;
	bool refuse;
};

static enum err make_segment(void *context, u32 segment)
{
	struct growing *g = context;

	if (g->refuse)
		return ERR_NO_MEMORY;
	g->made++;
	g->here |= 1ull << segment;
	return ERR_OK;
}

static void drop_segment(void *context, u32 segment)
{
	struct growing *g = context;

	g->gone++;
	g->here &= ~(1ull << segment);
}

TEST(segments_come_when_they_are_needed_and_go_when_they_are_free)
{
	CLEANUP(table_space_release) struct table_space s = {0};
	u8 *room = mem_zalloc(3, UNWIND_SEGMENT_SIZE);
	struct space_range a, b, c, d;
	struct growing g = {0};

	CHECK(room);
	CHECK_OK(table_space_init(&s, room, 3));
	table_space_grows(&s, &g, make_segment, drop_segment);
	CHECK_INT(g.made, 0);
	CHECK_OK(table_space_take(&s, 1000, &a));
	CHECK(g.made == 1 && a.unit);
	/* It fits. */
	CHECK_OK(table_space_take(&s, UNWIND_SEGMENT_SIZE / 2, &b));
	CHECK_INT(g.made, 1);
	CHECK_OK(table_space_take(&s, UNWIND_SEGMENT_SIZE, &c));
	CHECK(g.made == 2 && c.unit == UNWIND_UNITS);
	g.refuse = true;
	CHECK_ERR(table_space_take(&s, UNWIND_SEGMENT_SIZE, &d), ERR_NO_MEMORY);
	g.refuse = false;
	CHECK_OK(table_space_take(&s, UNWIND_SEGMENT_SIZE, &d));
	CHECK_ERR(table_space_take(&s, UNWIND_SEGMENT_SIZE, &d), ERR_NO_SPACE);
	CHECK_INT(g.made, 3);
	/* Given back while a program may still read it; then one turn after the other. */
	table_space_give(&s, c);
	table_space_settle(&s);
	CHECK_INT(g.gone, 0);
	/* All that is free is this one and less than half of another: kept. */
	table_space_settle(&s);
	CHECK_INT(g.gone, 0);
	table_space_give(&s, b);
	table_space_settle(&s);
	table_space_settle(&s);
	CHECK_INT(g.gone, 1);
	CHECK_INT(g.here, 1ull << 0 | 1ull << 2);
	/* Nothing is found where nothing is. */
	CHECK_INT(table_space_rule(&s, UNWIND_UNITS + 5, 1, 0), table_space_rule(&s, 0, 0, 0));
	/* And made again. */
	CHECK_OK(table_space_take(&s, UNWIND_SEGMENT_SIZE, &c));
	CHECK(g.made == 4 && c.unit == UNWIND_UNITS);
	mem_free(room);
}
