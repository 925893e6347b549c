/*
 * The reader has several ways through functions, locations and stacks, by what the processor can do
 * and by how usual an entry is. Whichever it goes, what it finds is the same.
 */
#include "../test.h"

#include "format/pprof.h"

#define STRINGS 40

struct opened {
	struct dict d;
	struct profile_list list;
	enum err e;
};

static void opened_release(struct opened *o)
{
	profile_list_release(&o->list);
	dict_release(&o->d);
}

static void open_with(struct opened *o, struct str bytes, enum pprof_means means)
{
	struct reading r = {.list = &o->list, .limits = LIMITS_DEFAULT};

	*o = (struct opened){0};
	pprof_means = means;
	o->e = dict_init(&o->d, 42);
	if (o->e)
		return;
	r.dict = &o->d;
	o->e = format_read(bytes, &formats[FORMAT_PPROF], &r, NULL);
	notes_release(&r.notes);
	pprof_means = PPROF_EVERYTHING;
}

static bool same_stacks(const struct opened *a, const struct opened *b)
{
	const struct profile *p = a->list.v[0], *q = b->list.v[0];

	if (p->row_count != q->row_count || a->d.stacks.entries.n != b->d.stacks.entries.n)
		return false;
	for (size_t i = 0; i < p->row_count; i++)
		if (p->stack[i] != q->stack[i] || p->values[i] != q->values[i] ||
		    stack_hash(&a->d, p->stack[i]) != stack_hash(&b->d, q->stack[i]))
			return false;
	return true;
}

static bool same_frames(const struct dict *a, const struct dict *b)
{
	if (a->frames.n != b->frames.n || a->functions.n != b->functions.n)
		return false;
	for (size_t i = 0; i < a->frames.n; i++) {
		const struct frame *f = &a->frames.v[i], *g = &b->frames.v[i];

		if (f->address != g->address || f->line != g->line || f->column != g->column ||
		    f->function != g->function || f->mapping != g->mapping || f->flags != g->flags)
			return false;
	}
	for (size_t i = 0; i < a->functions.n; i++) {
		const struct function *f = &a->functions.v[i], *g = &b->functions.v[i];

		if (f->name != g->name || f->system_name != g->system_name || f->file != g->file ||
		    f->start_line != g->start_line)
			return false;
	}
	return true;
}

/* Reads a file every way; they agree, and the content hashes of stacks are those of their frames.
 */
static void check_ways(struct str bytes, bool good)
{
	CLEANUP(opened_release) struct opened best;

	open_with(&best, bytes, PPROF_EVERYTHING);
	CHECK_INT(!best.e, good);
	for (enum pprof_means means = PPROF_PLAIN; means < PPROF_EVERYTHING; means++) {
		CLEANUP(opened_release) struct opened o;

		open_with(&o, bytes, means);
		CHECK_INT(o.e, best.e);
		if (o.e || best.e)
			continue;
		CHECK(same_stacks(&o, &best));
		CHECK(same_frames(&o.d, &best.d));
	}
	for (uint32_t i = 1; !best.e && i < best.d.stacks.entries.n; i++) {
		uint32_t n, id;
		const uint32_t *frames = stack_frames(&best.d, i, &n);

		CHECK_OK(dict_stack(&best.d, frames, n, &id));
		CHECK_INT(id, i);
	}
}

/* Field, value, field, value …, ended by field 0. */
static void put_numbers(struct buf *b, const uint64_t *pairs)
{
	for (; pairs[0]; pairs += 2)
		pb_put_uint(b, (uint32_t)pairs[0], pairs[1]);
}
#define PAIRS(...) ((uint64_t[]){__VA_ARGS__, 0})

static void put_entry(struct buf *b, uint32_t field, const uint64_t *pairs)
{
	size_t mark = pb_begin(b, field);

	put_numbers(b, pairs);
	pb_end(b, mark);
}

/* A location of one line; `behind` is what follows the line. */
static void put_location(struct buf *b, const uint64_t *pairs, const uint64_t *line,
			 const uint64_t *behind)
{
	size_t mark = pb_begin(b, PPROF_LOCATION);

	put_numbers(b, pairs);
	put_entry(b, PPROF_LOCATION_LINE, line);
	put_numbers(b, behind);
	pb_end(b, mark);
}

static void put_sample(struct buf *b, const uint64_t *ids, size_t n)
{
	size_t mark = pb_begin(b, PPROF_SAMPLE), run = pb_begin(b, PPROF_SAMPLE_LOCATION);

	for (size_t i = 0; i < n; i++)
		pb_put_varint(b, ids[i]);
	pb_end(b, run);
	run = pb_begin(b, PPROF_SAMPLE_VALUE);
	pb_put_varint(b, n + 1);
	pb_end(b, run);
	pb_end(b, mark);
}

/* Each location once alone, then all in one stack. */
static void put_samples(struct buf *b, uint64_t count)
{
	uint64_t ids[64];

	for (uint64_t id = 1; id <= count; id++)
		put_sample(b, &id, 1);
	for (uint64_t i = 0; i < 64; i++)
		ids[i] = 1 + i % count;
	put_sample(b, ids, 64);
}

/* The sample type, mappings 1 to 3, and behind everything else the strings. */
static void put_head(struct buf *b)
{
	put_entry(b, PPROF_SAMPLE_TYPE, PAIRS(1, 1, 2, 2));
	for (uint64_t id = 1; id <= 3; id++)
		put_entry(b, PPROF_MAPPING,
			  PAIRS(PPROF_MAPPING_ID, id, PPROF_MAPPING_START, id << 20));
}

static void put_strings(struct buf *b)
{
	char text[16];

	for (unsigned i = 0; i < STRINGS; i++) {
		snprintf(text, sizeof(text), "string%u", i);
		pb_put_bytes(b, PPROF_STRING_TABLE, i ? str_of(text) : STR(""));
	}
}

TEST(entries_of_the_same_lengths_but_other_fields_are_told_apart)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
	CLEANUP(opened_release) struct opened o;
	uint64_t none[] = {0};

	put_head(&b);
	put_samples(&b, 6);
	put_location(&b, PAIRS(1, 1, 2, 2), PAIRS(1, 1, 2, 7), none);
	put_location(&b, PAIRS(1, 2, 3, 2), PAIRS(1, 1, 2, 7), none);  /* address, not mapping */
	put_location(&b, PAIRS(1, 3, 2, 2), PAIRS(1, 1, 3, 7), none);  /* column, not line */
	put_location(&b, PAIRS(1, 4, 2, 2), PAIRS(2, 9, 1, 1), none);  /* the other way round */
	put_location(&b, PAIRS(1, 5, 2, 2), PAIRS(1, 1), PAIRS(5, 1)); /* folded */
	put_location(&b, PAIRS(2, 3, 1, 6), PAIRS(1, 2, 2, 7), none);
	put_entry(&b, PPROF_FUNCTION, PAIRS(1, 1, 2, 5, 4, 6));
	put_entry(&b, PPROF_FUNCTION, PAIRS(1, 2, 2, 5, 3, 6)); /* a system name, not a file */
	put_strings(&b);
	check_ways(buf_view(&b), true);
	open_with(&o, buf_view(&b), PPROF_EVERYTHING);
	CHECK_OK(o.e);
	CHECK_INT(o.d.frames.n, 7);
	CHECK_INT(o.d.frames.v[1].line, 7);
	CHECK_INT(o.d.frames.v[1].address, 0);
	CHECK_INT(o.d.frames.v[2].address, 2);
	CHECK_INT(o.d.frames.v[2].mapping, 0);
	CHECK_INT(o.d.frames.v[3].column, 7);
	CHECK_INT(o.d.frames.v[3].line, 0);
	CHECK_INT(o.d.frames.v[4].line, 9);
	CHECK_INT(o.d.frames.v[5].flags, FRAME_HAS_LINE | FRAME_FOLDED);
	CHECK_INT(o.d.frames.v[6].function, 2);
	CHECK(o.d.functions.v[1].file && !o.d.functions.v[1].system_name);
	CHECK(!o.d.functions.v[2].file && o.d.functions.v[2].system_name);
}

/* The same shape as the usual one, but the line ends before the location does, or behind it. */
TEST(a_line_that_is_not_the_rest_of_its_location_is_not_taken_for_it)
{
	static const struct {
		uint8_t bytes[12];
		bool good;
	} cases[] = {
		{{8, 1, 16, 1, 24, 9, 34, 4, 8, 1, 16, 5}, true},
		{{8, 1, 16, 1, 24, 9, 34, 2, 8, 1, 40, 0}, true},
		{{8, 1, 16, 1, 24, 9, 34, 5, 8, 1, 16, 5}, false},
		{{8, 1, 16, 1, 24, 9, 8, 1, 8, 1, 16, 1}, true}, /* no line; ids again and again */
		{{8, 1, 16, 1, 24, 9, 34, 4, 8, 2, 16, 5}, false}, /* no such function */
		{{8, 1, 16, 4, 24, 9, 34, 4, 8, 1, 16, 5}, false}, /* no such mapping */
		{{8, 0, 16, 1, 24, 9, 34, 4, 8, 1, 16, 5}, false},
	};

	/* Also behind one of the usual shape, which is then known. */
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
		const uint8_t *bytes = cases[i / 2].bytes;

		put_head(&b);
		put_samples(&b, 1);
		if (i % 2)
			put_location(&b, PAIRS(1, 2, 2, 1, 3, 7), PAIRS(1, 1, 2, 7), PAIRS(0));
		pb_put_bytes(&b, PPROF_LOCATION, str_n(bytes, sizeof(cases[0].bytes)));
		put_entry(&b, PPROF_FUNCTION, PAIRS(1, 1, 2, 5, 4, 6));
		put_strings(&b);
		check_ways(buf_view(&b), cases[i / 2].good);
	}
}

/* Numbers of one to ten bytes in every field, so that there are more shapes than are learnt. */
TEST(entries_of_many_shapes_are_read_alike)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
	uint64_t count = 600, r = 1;

	put_head(&b);
	put_samples(&b, count);
	for (uint64_t id = 1; id <= count; id++) {
		uint64_t address, line;

		r = r * 6364136223846793005u + 1442695040888963407u;
		address = r >> (r >> 58);
		line = (r * 31) >> (r >> 52 & 63);
		if (id % 7)
			put_location(&b, PAIRS(1, id, 2, 1 + id % 3, 3, address),
				     PAIRS(1, 1 + r % count, 2, line), PAIRS(0));
		else
			put_location(&b, PAIRS(1, id, 3, address), PAIRS(1, 1 + r % count),
				     PAIRS(0));
	}
	for (uint64_t id = 1; id <= count; id++) {
		r = r * 6364136223846793005u + 1442695040888963407u;
		put_entry(&b, PPROF_FUNCTION,
			  PAIRS(1, id, 2, r % STRINGS, 3, id % STRINGS, 4, (r >> 9) % STRINGS, 5,
				(r * 7) >> (r >> 52 & 63)));
	}
	put_strings(&b);
	check_ways(buf_view(&b), true);
}

/* A file of `count` locations, all of one line, and one sample with this run of ids. */
static void put_plain_file(struct buf *b, uint64_t count, struct str run)
{
	size_t mark;

	put_head(b);
	mark = pb_begin(b, PPROF_SAMPLE);
	pb_put_bytes(b, PPROF_SAMPLE_LOCATION, run);
	pb_put_bytes(b, PPROF_SAMPLE_VALUE, STR("\x01"));
	pb_end(b, mark);
	for (uint64_t id = 1; id <= count; id++)
		put_location(b, PAIRS(1, id, 2, 1, 3, id), PAIRS(1, 1, 2, id), PAIRS(0));
	put_entry(b, PPROF_FUNCTION, PAIRS(1, 1, 2, 5));
	put_strings(b);
}

/* Runs of any number of bytes, so that numbers lie across every border between blocks. */
TEST(runs_of_ids_of_every_length_are_decoded_alike)
{
	for (unsigned n = 0; n < 150; n++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
		CLEANUP(buf_release) struct buf run = BUF_INIT(1 << 20);
		CLEANUP(opened_release) struct opened o;
		const uint32_t *frames;
		uint32_t depth;

		for (uint64_t i = 0; i < n; i++)
			pb_put_varint(&run, 1 + (i * i * 37 + n) % (i % 5 ? 300 : 120));
		put_plain_file(&b, 300, buf_view(&run));
		check_ways(buf_view(&b), true);
		open_with(&o, buf_view(&b), PPROF_EVERYTHING);
		CHECK_OK(o.e);
		frames = stack_frames(&o.d, o.list.v[0]->stack[0], &depth);
		CHECK_INT(depth, n);
		for (uint64_t i = 0; i < n; i++)
			CHECK_INT(o.d.frames.v[frames[i]].address,
				  1 + (i * i * 37 + n) % (i % 5 ? 300 : 120));
	}
}

TEST(runs_with_odd_numbers_are_judged_alike)
{
	static const struct {
		struct str run;
		bool good;
	} cases[] = {
		{{"\x01\x02", sizeof("\x01\x02") - 1}, true},
		{{"\x81\x00", sizeof("\x81\x00") - 1}, true}, /* 1 in two bytes, and in three */
		{{"\x81\x80\x00", sizeof("\x81\x80\x00") - 1}, true},
		{{"\x00", sizeof("\x00") - 1}, false}, /* no location has id 0 */
		{{"\x01\x00\x02", sizeof("\x01\x00\x02") - 1}, false},
		{{"\x80\x00", sizeof("\x80\x00") - 1}, false},
		{{"\x01\x81", sizeof("\x01\x81") - 1}, false}, /* cut */
		{{"\x15", sizeof("\x15") - 1}, false},	       /* one more than there are */
		{{"\x14", sizeof("\x14") - 1}, true},
		{{"\x81\x80\x80\x80\x10", sizeof("\x81\x80\x80\x80\x10") - 1},
		 false}, /* 2^32 + 1 */
		{{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		  sizeof("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") - 1},
		 false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Also behind so many usual ones that it lies in another block. */
		for (unsigned before = 0; before < 70; before += 3) {
			CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
			CLEANUP(buf_release) struct buf run = BUF_INIT(1 << 20);

			for (unsigned k = 0; k < before; k++)
				pb_put_varint(&run, 1 + k % 20);
			buf_str(&run, cases[i].run);
			put_plain_file(&b, 20, buf_view(&run));
			check_ways(buf_view(&b), cases[i].good);
		}
	}
}

/* A second file with a stack of known frames in a new order, and one with a frame that is nearly
 * one of them. */
TEST(frames_of_new_stacks_are_found_by_content_and_not_confused)
{
	struct profile_list list = {0};
	struct dict d;
	uint64_t lines[][2] = {{7, 8}, {8, 7}, {7, 9}, {7, 8}};
	size_t frames[] = {3, 3, 4, 4}, stacks[] = {2, 3, 4, 4};

	CHECK_OK(dict_init(&d, 42));
	for (unsigned i = 0; i < 4; i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 20);
		struct reading r = {.dict = &d, .list = &list, .limits = LIMITS_DEFAULT};
		uint64_t ids[] = {1, 2};

		put_head(&b);
		put_sample(&b, ids, 2);
		for (uint64_t id = 1; id <= 2; id++)
			put_location(&b, PAIRS(1, id, 2, 1, 3, 0x2000),
				     PAIRS(1, 1, 2, lines[i][id - 1]), PAIRS(0));
		put_entry(&b, PPROF_FUNCTION, PAIRS(1, 1, 2, 5, 4, 6));
		put_strings(&b);
		CHECK_OK(format_read(buf_view(&b), &formats[FORMAT_PPROF], &r, NULL));
		CHECK_INT(d.frames.n, frames[i]);
		CHECK_INT(d.stacks.entries.n, stacks[i]);
		notes_release(&r.notes);
	}
	CHECK_INT(list.v[3]->stack[0], list.v[0]->stack[0]);
	profile_list_release(&list);
	dict_release(&d);
}

/* Ids of up to three bytes, and more new stacks than a reader looks at before it makes room. */
TEST(stacks_of_very_many_locations_are_read_alike)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 24);
	uint64_t count = 40000, r = 1, ids[90];

	for (unsigned bad = 0; bad < 2; bad++) {
		buf_clear(&b);
		put_head(&b);
		for (unsigned i = 0; i < 2500; i++) {
			size_t n = i % 90;

			for (size_t k = 0; k < n; k++) {
				r = r * 6364136223846793005u + 1442695040888963407u;
				ids[k] = 1 + (r >> 33) % (count >> (r >> 20) % 12);
			}
			/* No such location, and a number of four bytes. */
			if (bad && i == 2000)
				ids[n / 2] = 1 << 21;
			put_sample(&b, ids, n);
		}
		for (uint64_t id = 1; id <= count; id++)
			put_location(&b, PAIRS(1, id, 2, 1, 3, id << 4), PAIRS(1, 1, 2, id % 50),
				     PAIRS(0));
		put_entry(&b, PPROF_FUNCTION, PAIRS(1, 1, 2, 5, 4, 6));
		put_strings(&b);
		CHECK_OK(buf_error(&b));
		check_ways(buf_view(&b), !bad);
	}
}
