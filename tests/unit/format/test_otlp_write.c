#include "otlp_message.h"

static enum err write_list(const struct profile_list *list, int compress, struct notes *notes,
			   struct buf *out)
{
	struct writing in = {.list = list, .type = -1, .compress = compress};
	enum err e = format_write(&formats[FORMAT_OTLP], &in, out);

	if (notes)
		*notes = in.notes;
	else
		notes_release(&in.notes);
	return e;
}

/* Writes what `from` holds and reads it into `to`. */
static enum err trip(const struct world *from, struct world *to, struct notes *notes)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 24);

	TRY(write_list(&from->list, -1, notes, &bytes));
	return world_read(to, &bytes);
}

static enum err add_label(struct dict *d, const char *key, enum label_type type, const char *text,
			  int64_t number, const char *unit, uint32_t *ret)
{
	struct label l = {.type = type, .value = number};
	uint32_t id;

	TRY(dict_text(d, key, &l.key));
	if (text) {
		TRY(dict_text(d, text, &id));
		l.value = id;
	}
	if (unit)
		TRY(dict_text(d, unit, &l.unit));
	return dict_label(d, &l, ret);
}

static enum err add_frame(struct dict *d, const char *name, uint64_t address, uint32_t mapping,
			  int64_t line, uint32_t flags, uint32_t *ret)
{
	struct function f = {.start_line = 3};
	struct frame frame = {.address = address, .mapping = mapping, .line = line, .flags = flags};

	if (name) {
		TRY(dict_text(d, name, &f.name));
		TRY(dict_text(d, "x.c", &f.file));
		TRY(dict_function(d, &f, &frame.function));
		frame.flags |= FRAME_HAS_LINE;
		frame.kind = KIND_NATIVE;
		frame.column = 7;
	}
	return dict_frame(d, &frame, ret);
}

/* A profile with everything a pprof file can have. */
static enum err rich_profile(struct world *w)
{
	struct dict *d = &w->dict;
	struct mapping m = {.start = 0x1000,
			    .limit = 0x9000,
			    .offset = 0x10,
			    .flags = MAPPING_HAS_FUNCTIONS | MAPPING_HAS_LINES};
	struct profile *p;
	uint32_t id, frames[4], stacks[2], labels[4];

	TRY(profile_list_add(&w->list, d, &p));
	TRY(profile_add_type(p, STR("alloc_objects"), STR("count")));
	TRY(profile_add_type(p, STR("alloc_space"), STR("bytes")));
	TRY(profile_add_type(p, STR("inuse_space"), STR("bytes")));
	TRY(dict_text(d, "space", &p->period_type.type));
	TRY(dict_text(d, "bytes", &p->period_type.unit));
	p->period = 524288;
	p->time_ns = 1700000000000000000;
	p->duration_ns = 1000000000;
	TRY(dict_text(d, "https://example.org/doc", &p->doc_url));
	TRY(dict_text(d, "malloc|free", &p->drop_frames));
	TRY(dict_text(d, "free_all", &p->keep_frames));
	TRY(dict_text(d, "first comment", &id));
	TRY(vec_push(&p->comments, id));
	TRY(dict_text(d, "second", &id));
	TRY(vec_push(&p->comments, id));
	TRY(dict_text(d, "/bin/shop", &m.file));
	TRY(dict_text(d, "00112233445566778899", &m.build_id));
	TRY(dict_mapping(d, &m, &id));
	TRY(vec_push(&p->mappings, id));
	TRY(add_frame(d, "inlined", 0x1100, id, 5, FRAME_INLINED, &frames[0]));
	TRY(add_frame(d, "outer", 0x1100, id, 9, 0, &frames[1]));
	TRY(add_frame(d, "folded", 0x1200, id, 0, FRAME_FOLDED, &frames[2]));
	TRY(add_frame(d, NULL, 0x1300, id, 0, 0, &frames[3]));
	TRY(dict_stack(d, frames, 4, &stacks[0]));
	TRY(dict_stack(d, frames + 2, 2, &stacks[1]));
	TRY(add_label(d, "size", LABEL_INT, NULL, 4096, "bytes", &labels[0]));
	TRY(add_label(d, "tag", LABEL_STRING, "a", 0, NULL, &labels[1]));
	TRY(add_label(d, "tag", LABEL_STRING, "b", 0, NULL, &labels[2]));
	TRY(add_label(d, "size", LABEL_INT, NULL, 8192, "bytes", &labels[3]));
	TRY(dict_label_set(d, labels, 4, &id));
	TRY(profile_add(p, &(struct row){.stack = stacks[0], .labels = id},
			(int64_t[]){1, 0, 4096}));
	return profile_add(p, &(struct row){.stack = stacks[1]}, (int64_t[]){0, 0, -1});
}

static bool same_text(const struct world *a, uint32_t x, const struct world *b, uint32_t y)
{
	return str_eq(dict_str(&a->dict, x), dict_str(&b->dict, y));
}

static void check_same_rows(const struct world *a, const struct world *b)
{
	CHECK_INT(b->list.n, a->list.n);
	for (size_t i = 0; i < a->list.n; i++) {
		const struct profile *p = a->list.v[i], *q = b->list.v[i];

		CHECK_INT(q->type_count, p->type_count);
		CHECK_INT(q->default_type, p->default_type);
		for (uint32_t t = 0; t < p->type_count; t++) {
			CHECK(same_text(a, p->types[t].type, b, q->types[t].type));
			CHECK(same_text(a, p->types[t].unit, b, q->types[t].unit));
		}
		CHECK_INT(q->row_count, p->row_count);
		for (size_t r = 0; r < p->row_count; r++) {
			CHECK(stack_hash(&a->dict, p->stack[r]) ==
			      stack_hash(&b->dict, q->stack[r]));
			CHECK(a->dict.label_sets.entries.v[p->labels[r]].hash ==
			      b->dict.label_sets.entries.v[q->labels[r]].hash);
			CHECK(memcmp(profile_values(p, r), profile_values(q, r),
				     p->type_count * sizeof(int64_t)) == 0);
		}
	}
}

TEST(everything_a_pprof_has_survives)
{
	CLEANUP(world_release) struct world a;
	CLEANUP(world_release) struct world b;
	const struct profile *p, *q;

	CHECK_OK(world_init(&a));
	CHECK_OK(world_init(&b));
	CHECK_OK(rich_profile(&a));
	CHECK_OK(trip(&a, &b, NULL));
	CHECK_INT(b.out.notes.list.n, 0);
	check_same_rows(&a, &b);
	p = a.list.v[0];
	q = b.list.v[0];
	CHECK_INT(q->period, p->period);
	CHECK(same_text(&a, p->period_type.type, &b, q->period_type.type));
	CHECK_INT(q->time_ns, p->time_ns);
	CHECK_INT(q->duration_ns, p->duration_ns);
	CHECK(same_text(&a, p->doc_url, &b, q->doc_url));
	CHECK(same_text(&a, p->drop_frames, &b, q->drop_frames));
	CHECK(same_text(&a, p->keep_frames, &b, q->keep_frames));
	CHECK_INT(q->comments.n, 2);
	CHECK(same_text(&a, p->comments.v[1], &b, q->comments.v[1]));
	CHECK_INT(q->mappings.n, 1);
	CHECK_INT(b.dict.mappings.v[q->mappings.v[0]].flags,
		  MAPPING_HAS_FUNCTIONS | MAPPING_HAS_LINES);
	CHECK_STR(dict_str(&b.dict, b.dict.mappings.v[q->mappings.v[0]].build_id),
		  "00112233445566778899");
	CHECK_INT(q->attributes, 0);
}

TEST(the_default_type_survives_wherever_it_is)
{
	for (int type = -1; type < 3; type++) {
		CLEANUP(world_release) struct world a;
		CLEANUP(world_release) struct world b;

		CHECK_OK(world_init(&a));
		CHECK_OK(world_init(&b));
		CHECK_OK(rich_profile(&a));
		a.list.v[0]->default_type = type;
		CHECK_OK(trip(&a, &b, NULL));
		check_same_rows(&a, &b);
		if (test_failed())
			return;
	}
}

TEST(a_second_trip_writes_the_same_bytes)
{
	CLEANUP(world_release) struct world a;
	CLEANUP(world_release) struct world b;
	CLEANUP(buf_release) struct buf one = BUF_INIT(1 << 20);
	CLEANUP(buf_release) struct buf two = BUF_INIT(1 << 20);

	CHECK_OK(world_init(&a));
	CHECK_OK(world_init(&b));
	CHECK_OK(rich_profile(&a));
	CHECK_OK(write_list(&a.list, 0, NULL, &one));
	CHECK_OK(world_read(&b, &one));
	CHECK_OK(write_list(&b.list, 0, NULL, &two));
	CHECK(str_eq(buf_view(&one), buf_view(&two)));
}

TEST(attributes_of_all_types_survive)
{
	CLEANUP(world_release) struct world a;
	CLEANUP(world_release) struct world b;
	struct dict *d = &a.dict;
	struct profile *p;
	uint32_t l[8];
	double half = 0.5;
	int64_t bits;

	memcpy(&bits, &half, sizeof(bits));
	CHECK_OK(world_init(&a));
	CHECK_OK(world_init(&b));
	CHECK_OK(profile_list_add(&a.list, d, &p));
	CHECK_OK(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(add_label(d, "a.text", LABEL_STRING, "x", 0, NULL, &l[0]));
	CHECK_OK(add_label(d, "b.bool", LABEL_BOOL, NULL, 1, NULL, &l[1]));
	CHECK_OK(add_label(d, "c.int", LABEL_INT, NULL, -5, NULL, &l[2]));
	CHECK_OK(add_label(d, "d.double", LABEL_DOUBLE, NULL, bits, NULL, &l[3]));
	CHECK_OK(add_label(d, "e.bytes", LABEL_BYTES, "\xff\x01", 0, NULL, &l[4]));
	CHECK_OK(add_label(d, "f.json", LABEL_JSON, "[1,\"a\",{\"k\":null}]", 0, NULL, &l[5]));
	CHECK_OK(add_label(d, "otel.scope.g", LABEL_INT, NULL, 1, NULL, &l[6]));
	CHECK_OK(add_label(d, "z", LABEL_STRING, "", 0, NULL, &l[7]));
	CHECK_OK(dict_label_set(d, l, 6, &p->resource));
	CHECK_OK(dict_label_set(d, l, 8, &p->attributes));
	CHECK_OK(profile_add(p, &(struct row){.labels = p->resource}, (int64_t[]){1}));
	CHECK_OK(trip(&a, &b, NULL));
	check_same_rows(&a, &b);
	CHECK(d->label_sets.entries.v[p->resource].hash ==
	      b.dict.label_sets.entries.v[b.list.v[0]->resource].hash);
	CHECK(d->label_sets.entries.v[p->attributes].hash ==
	      b.dict.label_sets.entries.v[b.list.v[0]->attributes].hash);
}

/* Rows with times; `step` between them, the stack alternates. */
static enum err timed_profile(struct world *w, int64_t value, unsigned rows)
{
	struct profile *p;
	uint32_t frames[2], stacks[2];

	TRY(profile_list_add(&w->list, &w->dict, &p));
	TRY(profile_add_type(p, STR("samples"), STR("count")));
	TRY(dict_text(&w->dict, "cpu", &p->period_type.type));
	TRY(dict_text(&w->dict, "nanoseconds", &p->period_type.unit));
	p->period = 1000;
	p->time_ns = 5000;
	p->duration_ns = 10;
	TRY(dict_named_frame(&w->dict, STR("f"), &frames[0]));
	TRY(dict_named_frame(&w->dict, STR("g"), &frames[1]));
	TRY(dict_stack(&w->dict, &frames[0], 1, &stacks[0]));
	TRY(dict_stack(&w->dict, &frames[1], 1, &stacks[1]));
	for (unsigned i = 0; i < rows; i++)
		TRY(profile_add(p, &(struct row){.stack = stacks[i % 2], .time = 4000 + i * 100},
				&value));
	return ERR_OK;
}

TEST(times_are_kept_and_the_window_grows_to_hold_them)
{
	CLEANUP(world_release) struct world a;
	CLEANUP(world_release) struct world b;
	CLEANUP(notes_release) struct notes notes = {0};
	const struct profile *q;

	CHECK_OK(world_init(&a));
	CHECK_OK(world_init(&b));
	CHECK_OK(timed_profile(&a, 1, 20));
	CHECK_OK(trip(&a, &b, &notes));
	CHECK(has_note(&notes, "widened"));
	q = b.list.v[0];
	CHECK_INT(q->row_count, 20);
	CHECK_INT(q->time_ns, 4000);
	CHECK_INT(q->duration_ns, 5900 - 4000 + 1);
	CHECK_INT(q->time[0], 4000);
	CHECK_INT(q->time[1], 4200); /* rows of one stack stand together */
	CHECK_INT(q->time[19], 5900);
	CHECK_INT(profile_total(q, 0), 20);
}

TEST(cpu_time_made_from_counts_is_not_written)
{
	CLEANUP(world_release) struct world a;
	CLEANUP(world_release) struct world b;
	CLEANUP(world_release) struct world c;
	CLEANUP(buf_release) struct buf one = BUF_INIT(1 << 20);
	CLEANUP(buf_release) struct buf two = BUF_INIT(1 << 20);

	CHECK_OK(world_init(&a));
	CHECK_OK(world_init(&b));
	CHECK_OK(world_init(&c));
	CHECK_OK(timed_profile(&a, 1, 4));
	CHECK_OK(write_list(&a.list, 0, NULL, &one));
	CHECK_OK(world_read(&b, &one));
	CHECK_INT(b.list.v[0]->type_count, 2);
	CHECK_INT(profile_total(b.list.v[0], 1), 4000);
	CHECK_OK(write_list(&b.list, 0, NULL, &two));
	CHECK(str_eq(buf_view(&one), buf_view(&two)));
	/* A column that is anything else is. */
	b.list.v[0]->values[1]++;
	buf_clear(&two);
	CHECK_OK(write_list(&b.list, 0, NULL, &two));
	CHECK_OK(world_read(&c, &two));
	CHECK_INT(c.list.n, 1);
	CHECK_INT(profile_total(c.list.v[0], 1), 4001);
	CHECK_INT(c.list.v[0]->row_count, 4);
}

/* One of them could be left out, and would then not be read back beside the other. */
TEST(cpu_time_of_a_resource_is_written_whole_or_not_at_all)
{
	CLEANUP(world_release) struct world from, to;
	int64_t cpu = 0;

	CHECK_OK(world_init(&from));
	CHECK_OK(world_init(&to));
	for (int i = 0; i < 2; i++) {
		int64_t values[2] = {3, i ? 31 : 30};
		struct row row = {.time = 1700000000000000001};
		struct profile *p;

		CHECK_OK(profile_list_add(&from.list, &from.dict, &p));
		CHECK_OK(profile_add_type(p, STR("samples"), STR("count")));
		CHECK_OK(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
		p->period_type = p->types[1];
		p->period = 10;
		p->time_ns = 1700000000000000000 + i;
		p->duration_ns = 1000000000;
		CHECK_OK(profile_add(p, &row, values));
	}
	CHECK_OK(trip(&from, &to, NULL));
	for (size_t i = 0; i < to.list.n; i++)
		for (uint32_t t = 0; t < to.list.v[i]->type_count; t++)
			if (str_eq(dict_str(&to.dict, to.list.v[i]->types[t].type), STR("cpu")))
				cpu += profile_total(to.list.v[i], t);
	CHECK_INT(cpu, 61);
}

TEST(values_with_times_survive)
{
	CLEANUP(world_release) struct world a;
	CLEANUP(world_release) struct world b;

	CHECK_OK(world_init(&a));
	CHECK_OK(world_init(&b));
	CHECK_OK(timed_profile(&a, 3, 5));
	CHECK_OK(trip(&a, &b, NULL));
	CHECK_INT(b.list.v[0]->row_count, 5);
	CHECK_INT(profile_total(b.list.v[0], 0), 15);
}

TEST(text_that_is_not_utf8_is_written_replaced)
{
	CLEANUP(world_release) struct world a;
	CLEANUP(world_release) struct world b;
	CLEANUP(notes_release) struct notes notes = {0};
	struct profile *p;
	uint32_t frame, stack, n;

	CHECK_OK(world_init(&a));
	CHECK_OK(world_init(&b));
	CHECK_OK(profile_list_add(&a.list, &a.dict, &p));
	CHECK_OK(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	CHECK_OK(dict_named_frame(&a.dict, STR("a\x80z"), &frame));
	CHECK_OK(dict_stack(&a.dict, &frame, 1, &stack));
	CHECK_OK(profile_add(p, &(struct row){.stack = stack}, (int64_t[]){1}));
	CHECK_OK(trip(&a, &b, &notes));
	CHECK(has_note(&notes, "not UTF-8"));
	CHECK_STR(frame_name(&b.dict, stack_frames(&b.dict, b.list.v[0]->stack[0], &n)[0]),
		  "a\xef\xbf\xbdz");
}

TEST(equal_rows_are_added_up)
{
	CLEANUP(world_release) struct world a;
	CLEANUP(world_release) struct world b;

	CHECK_OK(world_init(&a));
	CHECK_OK(world_init(&b));
	CHECK_OK(timed_profile(&a, 2, 6));
	mem_free(a.list.v[0]->time);
	a.list.v[0]->time = NULL;
	CHECK_OK(trip(&a, &b, NULL));
	CHECK_INT(b.list.v[0]->row_count, 2);
	CHECK_INT(profile_values(b.list.v[0], 0)[0], 6);
}

TEST(resources_stay_apart_and_equal_ones_are_written_once)
{
	CLEANUP(world_release) struct world a;
	CLEANUP(world_release) struct world b;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 20);
	struct pb c;
	unsigned resources = 0;
	uint32_t label;

	CHECK_OK(world_init(&a));
	CHECK_OK(world_init(&b));
	for (int i = 0; i < 3; i++)
		CHECK_OK(timed_profile(&a, 1, 2));
	CHECK_OK(add_label(&a.dict, "service.name", LABEL_STRING, "shop", 0, NULL, &label));
	CHECK_OK(dict_label_set(&a.dict, &label, 1, &a.list.v[2]->resource));
	CHECK_OK(write_list(&a.list, -1, NULL, &bytes));
	c = pb_of(buf_view(&bytes));
	while (pb_next(&c))
		resources += c.field == DATA_RESOURCE_PROFILES;
	CHECK_INT(resources, 2);
	CHECK_OK(world_read(&b, &bytes));
	CHECK_INT(b.list.n, 3);
	CHECK_INT(b.list.v[1]->resource, 0);
	CHECK(label_find(&b.dict, b.list.v[2]->resource, STR("service.name")));
}

TEST(output_is_compressed_when_asked)
{
	CLEANUP(world_release) struct world a;

	CHECK_OK(world_init(&a));
	CHECK_OK(rich_profile(&a));
	for (int compress = 0; compress <= 2; compress++) {
		static const char *const names[] = {"none", "gzip", "zstd"};
		CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 20);
		CLEANUP(world_release) struct world b;
		const struct format *found = NULL;

		CHECK_OK(world_init(&b));
		CHECK_OK(write_list(&a.list, compress, NULL, &bytes));
		CHECK_OK(format_read(buf_view(&bytes), NULL, &b.out, &found));
		CHECK(found == &formats[FORMAT_OTLP]);
		CHECK_STR(str_of(b.out.compression), names[compress]);
	}
}

static enum err write_rich(const struct world *w)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 20);

	return write_list(&w->list, -1, NULL, &bytes);
}

TEST(writer_survives_any_allocation_failing)
{
	CLEANUP(world_release) struct world a;

	CHECK_OK(world_init(&a));
	CHECK_OK(rich_profile(&a));
	CHECK_OK(timed_profile(&a, 2, 4));
	ALLOC_SWEEP(write_rich(&a));
}
