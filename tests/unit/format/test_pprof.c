#include "pprof_maker.h"

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
