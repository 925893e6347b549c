#include "../test.h"

#include <zstd.h>

#include "format/formats_internal.h"
#include "format/pprof.h"

/* A file made by hand, message by message. */
struct maker {
	struct buf b;
};

static void maker_release(struct maker *m)
{
	buf_release(&m->b);
}

#define MAKER(name) CLEANUP(maker_release) struct maker name = {BUF_INIT(1 << 20)}

static void make_string(struct maker *m, const char *s)
{
	pb_put_bytes(&m->b, PPROF_STRING_TABLE, str_of(s));
}

/* A message of numbers: (field, value) pairs, ended by field 0. */
static void make_numbers(struct maker *m, uint32_t field, const uint64_t *pairs)
{
	size_t mark = pb_begin(&m->b, field);

	for (; pairs[0]; pairs += 2)
		pb_put_uint(&m->b, (uint32_t)pairs[0], pairs[1]);
	pb_end(&m->b, mark);
}
#define NUMBERS(m, field, ...) make_numbers(m, field, (uint64_t[]){__VA_ARGS__, 0})

static void make_location(struct maker *m, uint64_t id, uint64_t function, uint64_t line)
{
	size_t mark = pb_begin(&m->b, PPROF_LOCATION), inner;

	pb_put_uint(&m->b, PPROF_LOCATION_ID, id);
	pb_put_uint(&m->b, PPROF_LOCATION_MAPPING, 1);
	pb_put_uint(&m->b, PPROF_LOCATION_ADDRESS, 0x1000 + id);
	inner = pb_begin(&m->b, PPROF_LOCATION_LINE);
	if (function)
		pb_put_uint(&m->b, PPROF_LINE_FUNCTION, function);
	pb_put_uint(&m->b, PPROF_LINE_LINE, line);
	pb_end(&m->b, inner);
	pb_end(&m->b, mark);
}

static void make_packed(struct maker *m, uint32_t field, const uint64_t *values, size_t n)
{
	size_t mark = pb_begin(&m->b, field);

	for (size_t i = 0; i < n; i++)
		pb_put_varint(&m->b, values[i]);
	pb_end(&m->b, mark);
}

static void make_sample(struct maker *m, const uint64_t *locations, size_t n, int64_t a, int64_t b)
{
	size_t mark = pb_begin(&m->b, PPROF_SAMPLE);

	make_packed(m, PPROF_SAMPLE_LOCATION, locations, n);
	make_packed(m, PPROF_SAMPLE_VALUE, (uint64_t[]){(uint64_t)a, (uint64_t)b}, 2);
	pb_end(&m->b, mark);
}
#define SAMPLE(m, a, b, ...)                      \
	make_sample(m, (uint64_t[]){__VA_ARGS__}, \
		    sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), a, b)

/* Types, one mapping, two functions, two locations, the strings; samples are the test's. */
static void make_tables(struct maker *m)
{
	NUMBERS(m, PPROF_SAMPLE_TYPE, 1, 1, 2, 2);
	NUMBERS(m, PPROF_SAMPLE_TYPE, 1, 3, 2, 4);
	NUMBERS(m, PPROF_MAPPING, 1, 1, 2, 0x1000, 3, 0x9000, 5, 7, 6, 8);
	make_location(m, 1, 1, 10);
	make_location(m, 2, 2, 20);
	NUMBERS(m, PPROF_FUNCTION, 1, 1, 2, 5, 4, 9);
	NUMBERS(m, PPROF_FUNCTION, 1, 2, 2, 6, 4, 9);
	make_string(m, "");
	make_string(m, "samples");
	make_string(m, "count");
	make_string(m, "cpu");
	make_string(m, "nanoseconds");
	make_string(m, "main");
	make_string(m, "work");
	make_string(m, "/bin/app");
	make_string(m, "abcd1234");
	make_string(m, "app.c");
}

struct opened {
	struct dict d;
	struct profile_list list;
	struct reading r;
	enum err e;
};

static void opened_release(struct opened *o)
{
	notes_release(&o->r.notes);
	profile_list_release(&o->list);
	dict_release(&o->d);
}

static void open_bytes(struct opened *o, struct str bytes)
{
	*o = (struct opened){0};
	o->e = dict_init(&o->d, 42);
	if (o->e)
		return;
	o->r = (struct reading){.dict = &o->d, .list = &o->list, .limits = LIMITS_DEFAULT};
	o->e = format_read(bytes, &formats[FORMAT_PPROF], &o->r, NULL);
}

#define OPEN(name, bytes)                           \
	CLEANUP(opened_release) struct opened name; \
	open_bytes(&name, bytes)

static bool said(const struct opened *o, const char *words)
{
	return strstr(o->r.fault.text, words);
}

static bool noted(const struct opened *o, const char *words)
{
	vec_for_each (note, &o->r.notes.list)
		if (strstr(note->text, words))
			return true;
	return false;
}

TEST(reader_reads_stacks_values_and_mappings)
{
	MAKER(m);
	const uint32_t *frames;
	uint32_t n;

	make_tables(&m);
	SAMPLE(&m, 3, 30, 2, 1);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	CHECK_INT(o.list.n, 1);
	CHECK_INT(o.list.v[0]->row_count, 1);
	CHECK_INT(profile_values(o.list.v[0], 0)[1], 30);
	frames = stack_frames(&o.d, o.list.v[0]->stack[0], &n);
	CHECK_INT(n, 2);
	CHECK_STR(frame_name(&o.d, frames[0]), "work");
	CHECK_STR(frame_name(&o.d, frames[1]), "main");
	CHECK_INT(o.d.frames.v[frames[0]].line, 20);
	CHECK_STR(dict_str(&o.d, o.d.mappings.v[o.d.frames.v[frames[0]].mapping].build_id),
		  "abcd1234");
}

TEST(reader_finds_stacks_by_content_across_files)
{
	MAKER(m);
	struct profile_list second = {0};

	make_tables(&m);
	SAMPLE(&m, 3, 30, 2, 1);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	o.r.list = &second;
	CHECK_OK(format_read(buf_view(&m.b), &formats[FORMAT_PPROF], &o.r, NULL));
	CHECK_INT(second.v[0]->stack[0], o.list.v[0]->stack[0]);
	CHECK_INT(o.d.stacks.entries.n, 2);
	profile_list_release(&second);
}

TEST(reader_accepts_unpacked_numbers)
{
	MAKER(m);
	size_t mark;

	make_tables(&m);
	mark = pb_begin(&m.b, PPROF_SAMPLE);
	pb_put_uint(&m.b, PPROF_SAMPLE_LOCATION, 2);
	pb_put_uint(&m.b, PPROF_SAMPLE_VALUE, 3);
	pb_put_uint(&m.b, PPROF_SAMPLE_LOCATION, 1);
	pb_put_uint(&m.b, PPROF_SAMPLE_VALUE, 30);
	pb_end(&m.b, mark);
	SAMPLE(&m, 5, 50, 2, 1);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	CHECK_INT(o.list.v[0]->stack[0], o.list.v[0]->stack[1]);
	CHECK_INT(profile_values(o.list.v[0], 0)[1], 30);
}

TEST(reader_accepts_locations_behind_labels)
{
	MAKER(m);
	size_t mark;

	make_tables(&m);
	mark = pb_begin(&m.b, PPROF_SAMPLE);
	make_packed(&m, PPROF_SAMPLE_LOCATION, (uint64_t[]){2}, 1);
	make_packed(&m, PPROF_SAMPLE_VALUE, (uint64_t[]){3, 30}, 2);
	NUMBERS(&m, PPROF_SAMPLE_LABEL, 1, 5, 2, 6);
	make_packed(&m, PPROF_SAMPLE_LOCATION, (uint64_t[]){1}, 1);
	pb_end(&m.b, mark);
	SAMPLE(&m, 5, 50, 2, 1);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	CHECK_INT(o.list.v[0]->stack[0], o.list.v[0]->stack[1]);
}

TEST(reader_accepts_sparse_ids)
{
	MAKER(m);
	uint32_t n;

	make_tables(&m);
	make_location(&m, 0xfffffffffffffffe, 1, 30);
	make_location(&m, 1ull << 40, 2, 31);
	SAMPLE(&m, 1, 10, 1ull << 40, 0xfffffffffffffffe, 1);
	SAMPLE(&m, 1, 10, 1ull << 40, 0xfffffffffffffffe, 1);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	stack_frames(&o.d, o.list.v[0]->stack[0], &n);
	CHECK_INT(n, 3);
	CHECK_INT(o.list.v[0]->stack[0], o.list.v[0]->stack[1]);
}

TEST(reader_rejects_location_id_that_no_location_has)
{
	MAKER(m);

	make_tables(&m);
	SAMPLE(&m, 1, 10, 1);
	SAMPLE(&m, 1, 10, 99, 1);
	OPEN(o, buf_view(&m.b));
	CHECK_ERR(o.e, ERR_BAD_INDEX);
	CHECK(said(&o, "sample 1"));
	CHECK(said(&o, "99"));
	CHECK(said(&o, "(byte "));
}

TEST(reader_rejects_function_id_that_no_function_has)
{
	MAKER(m);

	make_tables(&m);
	make_location(&m, 3, 77, 1);
	OPEN(o, buf_view(&m.b));
	CHECK_ERR(o.e, ERR_BAD_INDEX);
	CHECK(said(&o, "Line.function_id 77"));
}

TEST(reader_rejects_string_index_out_of_table)
{
	MAKER(m);

	make_tables(&m);
	NUMBERS(&m, PPROF_FUNCTION, 1, 3, 2, 1000);
	OPEN(o, buf_view(&m.b));
	CHECK_ERR(o.e, ERR_BAD_INDEX);
	CHECK(said(&o, "Function.name is 1000"));
}

TEST(reader_rejects_negative_string_index)
{
	MAKER(m);

	make_tables(&m);
	NUMBERS(&m, PPROF_MAPPING, 1, 3, 5, (uint64_t)-1);
	OPEN(o, buf_view(&m.b));
	CHECK_ERR(o.e, ERR_BAD_INDEX);
	CHECK(said(&o, "Mapping.filename is -1"));
}

TEST(reader_rejects_duplicate_ids)
{
	MAKER(m);

	make_tables(&m);
	make_location(&m, 2, 1, 1);
	OPEN(o, buf_view(&m.b));
	CHECK_ERR(o.e, ERR_CORRUPT);
	CHECK(said(&o, "two locations have id 2"));
}

TEST(reader_rejects_id_zero)
{
	MAKER(m);

	make_tables(&m);
	NUMBERS(&m, PPROF_FUNCTION, 2, 5);
	OPEN(o, buf_view(&m.b));
	CHECK_ERR(o.e, ERR_CORRUPT);
	CHECK(said(&o, "has id 0"));
}

/* Ids are numbers of their own per table: a function and a location with the same id, or a
 * function that has the id of the location it stands in, refer to nothing but their own table. */
TEST(reader_keeps_the_ids_of_tables_apart)
{
	MAKER(m);
	uint32_t n;
	const uint32_t *frames;

	make_tables(&m);
	NUMBERS(&m, PPROF_FUNCTION, 1, 3, 2, 3);
	make_location(&m, 3, 3, 1);
	SAMPLE(&m, 1, 1, 3);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	frames = stack_frames(&o.d, o.list.v[0]->stack[0], &n);
	CHECK_STR(frame_name(&o.d, frames[0]), "cpu");
}

TEST(reader_notes_missing_zero_string_and_lines_without_function)
{
	MAKER(m);

	NUMBERS(&m, PPROF_SAMPLE_TYPE, 1, 1);
	make_string(&m, "not empty");
	make_string(&m, "samples");
	NUMBERS(&m, PPROF_MAPPING, 1, 1);
	make_location(&m, 1, 0, 5);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	CHECK(noted(&o, "string 0 is not empty"));
	CHECK(noted(&o, "no function"));
}

TEST(reader_rejects_samples_without_types_and_wrong_value_counts)
{
	MAKER(m);
	MAKER(untyped);

	make_tables(&m);
	NUMBERS(&m, PPROF_SAMPLE_TYPE, 1, 1, 2, 2);
	SAMPLE(&m, 1, 10, 1);
	OPEN(o, buf_view(&m.b));
	CHECK_ERR(o.e, ERR_CORRUPT);
	CHECK(said(&o, "has 2 values, expected 3"));

	make_string(&untyped, "");
	SAMPLE(&untyped, 1, 2, 1);
	OPEN(u, buf_view(&untyped.b));
	CHECK_ERR(u.e, ERR_CORRUPT);
	CHECK(said(&u, "no sample_type"));
}

TEST(reader_keeps_negative_and_extreme_values)
{
	MAKER(m);

	make_tables(&m);
	SAMPLE(&m, -7, INT64_MIN, 1);
	SAMPLE(&m, 7, INT64_MAX, 1);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	CHECK_INT(profile_values(o.list.v[0], 0)[0], -7);
	CHECK_INT(profile_values(o.list.v[0], 0)[1], INT64_MIN);
	CHECK_INT(profile_total(o.list.v[0], 0), 0);
}

TEST(reader_refuses_gigabyte_lengths_in_small_files)
{
	static const char sample[] = "\x12\xff\xff\xff\xff\x07\x0a\x00";
	static const char string[] = "\x32\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
	OPEN(o, str_n(sample, sizeof(sample) - 1));
	OPEN(p, str_n(string, sizeof(string) - 1));

	CHECK_ERR(o.e, ERR_TRUNCATED);
	CHECK(said(&o, "(byte 0)"));
	CHECK_ERR(p.e, ERR_TRUNCATED);
}

TEST(reader_survives_a_file_cut_at_any_byte)
{
	MAKER(m);
	size_t whole;

	SAMPLE(&m, 1, 10, 2, 1);
	make_tables(&m);
	SAMPLE(&m, 1, 10, 1);
	whole = m.b.n;
	for (size_t n = 0; n < whole; n++) {
		/* A copy of its own, so that the address sanitizer sees a byte too many. */
		char *copy = mem_strndup(m.b.data, n);

		CHECK(copy);
		{
			OPEN(o, str_n(copy, n));
			CHECK(o.e == ERR_OK || o.r.fault.text[0]);
		}
		mem_free(copy);
	}
}

TEST(reader_survives_any_byte_changed)
{
	MAKER(m);

	SAMPLE(&m, 1, 10, 2, 1);
	make_tables(&m);
	for (size_t i = 0; i < m.b.n; i++) {
		for (unsigned flip = 1; flip < 256; flip = flip * 2 + 1) {
			m.b.data[i] = (char)(m.b.data[i] ^ flip);
			{
				OPEN(o, buf_view(&m.b));
				CHECK(o.e == ERR_OK || o.r.fault.text[0]);
			}
			m.b.data[i] = (char)(m.b.data[i] ^ flip);
		}
	}
}

TEST(reader_cuts_stacks_deeper_than_the_limit_and_says_so)
{
	MAKER(m);
	uint64_t ids[300];
	uint32_t n;

	for (size_t i = 0; i < 300; i++)
		ids[i] = 1 + i % 2;
	make_tables(&m);
	make_sample(&m, ids, 300, 1, 1);
	CLEANUP(opened_release) struct opened o = {0};
	CHECK_OK(dict_init(&o.d, 1));
	o.r = (struct reading){.dict = &o.d, .list = &o.list, .limits = LIMITS_DEFAULT};
	o.r.limits.max_depth = 100;
	CHECK_OK(format_read(buf_view(&m.b), &formats[FORMAT_PPROF], &o.r, NULL));
	stack_frames(&o.d, o.list.v[0]->stack[0], &n);
	CHECK_INT(n, 100);
	CHECK(noted(&o, "deeper than 100"));
}

/* A location of `lines` inlined functions, two bytes each. */
static void make_inlined(struct maker *m, uint64_t id, uint32_t lines)
{
	size_t mark = pb_begin(&m->b, PPROF_LOCATION);

	pb_put_uint(&m->b, PPROF_LOCATION_ID, id);
	for (uint32_t i = 0; i < lines; i++)
		pb_put_bytes(&m->b, PPROF_LOCATION_LINE, STR(""));
	pb_end(&m->b, mark);
}

TEST(reader_cuts_a_stack_of_many_inlined_functions_before_it_grows)
{
	MAKER(m);
	uint64_t ids[30];
	uint32_t n;

	for (size_t i = 0; i < 30; i++)
		ids[i] = 3;
	make_tables(&m);
	make_inlined(&m, 3, 20000);
	make_sample(&m, ids, 30, 1, 1);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	stack_frames(&o.d, o.list.v[0]->stack[0], &n);
	CHECK_INT(n, LIMITS_DEFAULT.max_depth);
	CHECK(noted(&o, "deeper than"));
}

TEST(reader_refuses_stacks_that_expand_without_end)
{
	MAKER(m);

	make_tables(&m);
	make_inlined(&m, 3, 10000);
	for (unsigned i = 0; i < 200; i++)
		SAMPLE(&m, 1, 1, 3);
	OPEN(o, buf_view(&m.b));
	CHECK_ERR(o.e, ERR_TOO_LARGE);
	CHECK(said(&o, "more inlined frames than an honest file"));
}

TEST(reader_refuses_strings_above_the_limit)
{
	MAKER(m);

	make_tables(&m);
	CLEANUP(opened_release) struct opened o = {0};
	CHECK_OK(dict_init(&o.d, 1));
	o.r = (struct reading){.dict = &o.d, .list = &o.list, .limits = LIMITS_DEFAULT};
	o.r.limits.max_string = 10;
	CHECK_ERR(format_read(buf_view(&m.b), &formats[FORMAT_PPROF], &o.r, NULL), ERR_TOO_LARGE);
	CHECK(said(&o, "string 4 has 11 bytes"));
}

TEST(reader_keeps_invalid_utf8_and_says_so)
{
	MAKER(m);

	make_tables(&m);
	NUMBERS(&m, PPROF_FUNCTION, 1, 3, 2, 10);
	make_string(&m, "bad\xff\xfename");
	make_location(&m, 3, 3, 1);
	SAMPLE(&m, 1, 1, 3);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	CHECK(noted(&o, "not valid UTF-8"));
}

/* Blocks of different sizes: the last one is taken while the output is nearly full. */
TEST(zstd_is_unpacked_to_its_end_whatever_its_blocks)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT(1 << 20);
	CLEANUP(buf_release) struct buf packed = BUF_INIT(1 << 20);
	CLEANUP(buf_release) struct buf out = BUF_INIT(0);
	struct limits limits = LIMITS_DEFAULT;
	ZSTD_CCtx *c = ZSTD_createCCtx();
	const char *name;
	ZSTD_inBuffer in;
	ZSTD_outBuffer to;

	for (unsigned i = 0; i < 40000; i++)
		buf_u64(&plain, (uint64_t)i * i * 2654435761u);
	plain.n = 220 << 10;
	to = (ZSTD_outBuffer){buf_reserve(&packed, 1 << 19), 1 << 19, 0};
	CHECK(c && to.dst);
	in = (ZSTD_inBuffer){plain.data, 100 << 10, 0};
	CHECK_INT(ZSTD_compressStream2(c, &to, &in, ZSTD_e_flush), 0);
	in = (ZSTD_inBuffer){plain.data, plain.n, 100 << 10};
	CHECK_INT(ZSTD_compressStream2(c, &to, &in, ZSTD_e_end), 0);
	ZSTD_freeCCtx(c);
	packed.n = to.pos;
	CHECK_OK(decompress(buf_view(&packed), &limits, &out, &name, NULL));
	CHECK_INT(out.n, plain.n);
	CHECK(str_eq(buf_view(&out), buf_view(&plain)));
}

TEST(reader_refuses_decompression_bombs)
{
	CLEANUP(buf_release) struct buf zeros = BUF_INIT(64 << 20);
	CLEANUP(buf_release) struct buf packed = BUF_INIT(64 << 20);
	struct limits limits = LIMITS_DEFAULT;
	struct buf out;
	const char *name;
	struct fault fault = {0};
	char *at = buf_reserve(&zeros, 32 << 20);

	CHECK(at);
	memset(at, 0, 32 << 20);
	zeros.n = 32 << 20;
	CHECK_OK(compress_zstd(buf_view(&zeros), 19, &packed));
	CHECK_ERR(decompress(buf_view(&packed), &limits, &out, &name, &fault), ERR_TOO_LARGE);
	CHECK(strstr(fault.text, "bomb"));
	buf_clear(&packed);
	CHECK_OK(compress_gzip(buf_view(&zeros), 9, &packed));
	limits.max_bytes = 16 << 20;
	CHECK_ERR(decompress(buf_view(&packed), &limits, &out, &name, &fault), ERR_TOO_LARGE);
	CHECK(strstr(fault.text, "16 MiB"));
}

/* Everything pprof can hold, in one file. */
static void make_everything(struct maker *m)
{
	size_t mark, inner;

	make_tables(m);
	make_string(m, "bytes");      /* 10 */
	make_string(m, "drop_me.*");  /* 11 */
	make_string(m, "keep_me.*");  /* 12 */
	make_string(m, "a comment");  /* 13 */
	make_string(m, "http://doc"); /* 14 */
	make_string(m, "_Zmain");     /* 15 */
	NUMBERS(m, PPROF_FUNCTION, 1, 3, 2, 5, 3, 15, 4, 9, 5, 7);
	NUMBERS(m, PPROF_MAPPING, 1, 2, 2, 0x10000, 3, 0x20000, 4, 0x500, 5, 9, 7, 1, 8, 1, 9, 1,
		10, 1);
	/* An inlined call: innermost first. */
	mark = pb_begin(&m->b, PPROF_LOCATION);
	pb_put_uint(&m->b, PPROF_LOCATION_ID, 3);
	pb_put_uint(&m->b, PPROF_LOCATION_MAPPING, 2);
	pb_put_uint(&m->b, PPROF_LOCATION_ADDRESS, 0x10100);
	for (uint64_t i = 3; i > 1; i--) {
		inner = pb_begin(&m->b, PPROF_LOCATION_LINE);
		pb_put_uint(&m->b, PPROF_LINE_FUNCTION, i);
		pb_put_uint(&m->b, PPROF_LINE_LINE, 100 - i);
		pb_put_uint(&m->b, PPROF_LINE_COLUMN, i);
		pb_end(&m->b, inner);
	}
	pb_put_uint(&m->b, PPROF_LOCATION_IS_FOLDED, 1);
	pb_end(&m->b, mark);
	NUMBERS(m, PPROF_LOCATION, 1, 4, 2, 2, 3, 0x10200); /* not symbolised */
	mark = pb_begin(&m->b, PPROF_SAMPLE);
	make_packed(m, PPROF_SAMPLE_LOCATION, (uint64_t[]){3, 4, 1}, 3);
	make_packed(m, PPROF_SAMPLE_VALUE, (uint64_t[]){3, 30}, 2);
	NUMBERS(m, PPROF_SAMPLE_LABEL, 1, 5, 2, 6);
	NUMBERS(m, PPROF_SAMPLE_LABEL, 1, 5, 2, 7);
	NUMBERS(m, PPROF_SAMPLE_LABEL, 1, 10, 3, 512, 4, 10);
	NUMBERS(m, PPROF_SAMPLE_LABEL, 1, 6, 3, (uint64_t)-5);
	pb_end(&m->b, mark);
	pb_put_uint(&m->b, PPROF_DROP_FRAMES, 11);
	pb_put_uint(&m->b, PPROF_KEEP_FRAMES, 12);
	pb_put_uint(&m->b, PPROF_TIME_NANOS, 1700000000000000000);
	pb_put_uint(&m->b, PPROF_DURATION_NANOS, 5000000000);
	NUMBERS(m, PPROF_PERIOD_TYPE, 1, 3, 2, 4);
	pb_put_uint(&m->b, PPROF_PERIOD, 10000000);
	pb_put_uint(&m->b, PPROF_COMMENT, 13);
	pb_put_uint(&m->b, PPROF_DEFAULT_SAMPLE_TYPE, 1);
	pb_put_uint(&m->b, PPROF_DOC_URL, 14);
}

/* Content equal? Ids may differ: hashes of stacks and texts of labels do not. */
static void check_same_profile(const struct profile *a, const struct profile *b)
{
	CLEANUP(buf_release) struct buf x = BUF_INIT(1 << 16);
	CLEANUP(buf_release) struct buf y = BUF_INIT(1 << 16);
	uint32_t n, m;
	const uint32_t *la, *lb;

	CHECK_INT(a->row_count, b->row_count);
	CHECK_INT(a->type_count, b->type_count);
	CHECK_INT(a->default_type, b->default_type);
	CHECK_INT(a->period, b->period);
	CHECK_INT(a->time_ns, b->time_ns);
	CHECK_INT(a->duration_ns, b->duration_ns);
	CHECK_INT(a->comments.n, b->comments.n);
	CHECK_INT(a->mappings.n, b->mappings.n);
	CHECK(str_eq(dict_str(a->dict, a->drop_frames), dict_str(b->dict, b->drop_frames)));
	CHECK(str_eq(dict_str(a->dict, a->keep_frames), dict_str(b->dict, b->keep_frames)));
	CHECK(str_eq(dict_str(a->dict, a->doc_url), dict_str(b->dict, b->doc_url)));
	for (size_t i = 0; i < a->row_count; i++) {
		CHECK(stack_hash(a->dict, a->stack[i]) == stack_hash(b->dict, b->stack[i]));
		CHECK_INT(profile_values(a, i)[0], profile_values(b, i)[0]);
		la = label_set_items(a->dict, a->labels[i], &n);
		lb = label_set_items(b->dict, b->labels[i], &m);
		CHECK_INT(n, m);
		for (uint32_t k = 0; k < n; k++) {
			buf_clear(&x);
			buf_clear(&y);
			label_value(a->dict, &a->dict->labels.v[la[k]], &x);
			label_value(b->dict, &b->dict->labels.v[lb[k]], &y);
			CHECK(str_eq(buf_view(&x), buf_view(&y)));
		}
	}
}

TEST(everything_in_a_file_survives_reading_and_writing)
{
	MAKER(m);
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	const struct profile *p;

	make_everything(&m);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	p = o.list.v[0];
	CHECK_INT(p->default_type, 0);
	CHECK_INT(o.d.label_sets.entries.v[p->labels[0]].n, 4);
	for (int compress = 0; compress < 3; compress++) {
		struct writing w = {.list = &o.list, .type = -1, .compress = compress};

		buf_clear(&out);
		CHECK_OK(format_write(&formats[FORMAT_PPROF], &w, &out));
		OPEN(again, buf_view(&out));
		CHECK_OK(again.e);
		check_same_profile(p, again.list.v[0]);
		if (test_failed())
			return;
	}
}

TEST(inlined_functions_stay_one_location)
{
	MAKER(m);
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	struct pb c;
	unsigned locations = 0;

	make_everything(&m);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	CHECK_OK(pprof_encode(o.list.v[0], &out));
	c = pb_of(buf_view(&out));
	while (pb_next(&c))
		locations += c.field == PPROF_LOCATION;
	CHECK_INT(locations, 3);
}

static enum err read_everything(struct str bytes)
{
	OPEN(o, bytes);

	return o.e;
}

TEST(reader_survives_any_allocation_failing)
{
	MAKER(m);

	make_everything(&m);
	ALLOC_SWEEP(read_everything(buf_view(&m.b)));
}

static enum err write_everything(const struct profile_list *list)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
	struct writing w = {.list = list, .type = -1, .compress = 0};

	return format_write(&formats[FORMAT_PPROF], &w, &out);
}

TEST(writer_survives_any_allocation_failing)
{
	MAKER(m);

	make_everything(&m);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	ALLOC_SWEEP(write_everything(&o.list));
}

TEST(an_empty_file_of_samples_is_read_as_an_empty_profile)
{
	MAKER(m);

	make_tables(&m);
	OPEN(o, buf_view(&m.b));
	CHECK_OK(o.e);
	CHECK_INT(o.list.v[0]->row_count, 0);
	CHECK_INT(o.list.v[0]->type_count, 2);
}
