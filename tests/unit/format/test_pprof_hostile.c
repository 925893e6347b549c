/*
 * pprof files that are wrong, cut or made to hurt.
 */
#include <zstd.h>

#include "pprof_maker.h"

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

/* Also in lists that nothing refers to. */
TEST(reader_rejects_runs_cut_inside_a_number)
{
	static const struct {
		uint32_t sample, field;
		const char *said;
	} cases[] = {
		{0, PPROF_COMMENT, "Profile.comment ends inside a number"},
		{PPROF_SAMPLE, PPROF_SAMPLE_LOCATION, "location_id ends inside number"},
		{PPROF_SAMPLE, PPROF_SAMPLE_VALUE, "value ends inside number"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		MAKER(m);
		size_t sample = 0;

		make_tables(&m);
		if (cases[i].sample)
			sample = pb_begin(&m.b, cases[i].sample);
		pb_put_bytes(&m.b, cases[i].field, STR("\x01\x81"));
		if (cases[i].field == PPROF_SAMPLE_LOCATION && sample)
			pb_put_bytes(&m.b, PPROF_SAMPLE_VALUE, STR("\x01\x01"));
		if (cases[i].sample)
			pb_end(&m.b, sample);
		OPEN(o, buf_view(&m.b));
		CHECK_ERR(o.e, ERR_TRUNCATED);
		CHECK(said(&o, cases[i].said));
	}
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
