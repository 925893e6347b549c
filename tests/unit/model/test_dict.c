#include "../test.h"

#include "base/buf.h"
#include "model/model.h"

TEST(equal_stacks_get_one_id_and_ids_come_in_order)
{
	CLEANUP(dict_release) struct dict d;
	uint32_t a, b, s1, s2, s3;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_named_frame(&d, STR("main"), &a));
	CHECK_OK(dict_named_frame(&d, STR("work"), &b));
	CHECK_OK(dict_stack(&d, (uint32_t[]){b, a}, 2, &s1));
	CHECK_OK(dict_stack(&d, (uint32_t[]){a, b}, 2, &s2));
	CHECK_OK(dict_stack(&d, (uint32_t[]){b, a}, 2, &s3));
	CHECK_INT(s1, 1);
	CHECK_INT(s2, 2);
	CHECK_INT(s3, s1);
}

TEST(stack_hashes_agree_between_dictionaries)
{
	CLEANUP(dict_release) struct dict d;
	CLEANUP(dict_release) struct dict e;
	uint32_t a, b, x, s1, s2;

	CHECK_OK(dict_init(&d, 7));
	CHECK_OK(dict_init(&e, 7));
	CHECK_OK(dict_named_frame(&e, STR("other"), &x));
	CHECK_OK(dict_named_frame(&d, STR("main"), &a));
	CHECK_OK(dict_named_frame(&d, STR("work"), &b));
	CHECK_OK(dict_stack(&d, (uint32_t[]){b, a}, 2, &s1));
	CHECK_OK(dict_named_frame(&e, STR("work"), &b));
	CHECK_OK(dict_named_frame(&e, STR("main"), &a));
	CHECK_OK(dict_stack(&e, (uint32_t[]){b, a}, 2, &s2));
	CHECK(stack_hash(&d, s1) == stack_hash(&e, s2));
}

static enum err build_small(void)
{
	CLEANUP(dict_release) struct dict d = {0};
	uint32_t a, s, l;

	TRY(dict_init(&d, 1));
	TRY(dict_named_frame(&d, STR("main"), &a));
	TRY(dict_stack(&d, &a, 1, &s));
	TRY(dict_label_text(&d, STR("k"), STR("v"), &l));
	return dict_label_set(&d, &l, 1, &s);
}

TEST(dictionary_survives_any_allocation_failing)
{
	ALLOC_SWEEP(build_small());
}

TEST(a_full_table_refuses_new_entries_and_still_finds_old_ones)
{
	CLEANUP(dict_release) struct dict d;
	uint32_t first, id, stack;
	char name[16];
	enum err e = ERR_OK;

	CHECK_OK(dict_init(&d, 1));
	d.max_ids = 100;
	CHECK_OK(dict_named_frame(&d, STR("first"), &first));
	for (unsigned i = 0; i < 200 && !e; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		e = dict_named_frame(&d, str_of(name), &id);
	}
	CHECK_ERR(e, ERR_TABLE_FULL);
	CHECK(d.strings.n <= 100);
	CHECK_OK(dict_named_frame(&d, STR("first"), &id));
	CHECK_INT(id, first);
	/* The pool of a sequence table is a table too. */
	e = ERR_OK;
	for (unsigned i = 1; i < 100 && !e; i++) {
		uint32_t frames[60];

		for (unsigned k = 0; k < 60; k++)
			frames[k] = 1 + (i + k) % 60;
		e = dict_stack(&d, frames, 60, &stack);
	}
	CHECK_ERR(e, ERR_TABLE_FULL);
	CHECK_INT(d.stacks.entries.n, 2);
}

TEST(id_zero_is_the_empty_entry_of_every_table)
{
	CLEANUP(dict_release) struct dict d;
	uint32_t id, n;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_string(&d, STR(""), &id));
	CHECK_INT(id, 0);
	CHECK_OK(dict_function(&d, &(struct function){0}, &id));
	CHECK_INT(id, 0);
	CHECK_OK(dict_mapping(&d, &(struct mapping){0}, &id));
	CHECK_INT(id, 0);
	CHECK_OK(dict_frame(&d, &(struct frame){0}, &id));
	CHECK_INT(id, 0);
	CHECK_OK(dict_link(&d, &(struct link){0}, &id));
	CHECK_INT(id, 0);
	CHECK_OK(dict_stack(&d, NULL, 0, &id));
	CHECK_INT(id, 0);
	CHECK_OK(dict_label_set(&d, NULL, 0, &id));
	CHECK_INT(id, 0);
	(void)stack_frames(&d, 0, &n);
	CHECK_INT(n, 0);
	CHECK_STR(frame_name(&d, 0), "");
	CHECK_STR(dict_str(&d, KIND_NATIVE), "native");
	CHECK_STR(dict_str(&d, KIND_RUST), "rust");
}

TEST(strings_may_hold_any_bytes)
{
	CLEANUP(dict_release) struct dict d;
	uint32_t a, b, c;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_string(&d, str_n("a\0b", 3), &a));
	CHECK_OK(dict_string(&d, str_n("a\0c", 3), &b));
	CHECK_OK(dict_string(&d, str_n("a", 1), &c));
	CHECK(a != b && b != c && a != c);
	CHECK_INT(dict_str(&d, a).n, 3);
	CHECK(memcmp(dict_str(&d, b).p, "a\0c", 4) == 0);
}

TEST(entries_differ_by_every_field)
{
	CLEANUP(dict_release) struct dict d;
	struct frame frames[] = {
		{.address = 1}, {.line = 1},	   {.function = 1}, {.mapping = 1},
		{.column = 1},	{.kind = KIND_GO}, {.flags = 1},    {.flags = 2},
	};
	struct mapping mappings[] = {
		{.start = 9},	 {.limit = 9},	     {.offset = 9},   {.file = 1},
		{.build_id = 1}, {.go_build_id = 1}, {.htl_hash = 1}, {.flags = 1},
	};
	uint32_t id, function, mapping;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_function(&d, &(struct function){.name = 1}, &function));
	CHECK_OK(dict_mapping(&d, &(struct mapping){.start = 1}, &mapping));
	for (uint32_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		CHECK_OK(dict_frame(&d, &frames[i], &id));
		CHECK_INT(id, i + 1);
		CHECK_OK(dict_frame(&d, &frames[i], &id));
		CHECK_INT(id, i + 1);
	}
	for (uint32_t i = 0; i < sizeof(mappings) / sizeof(mappings[0]); i++) {
		CHECK_OK(dict_mapping(&d, &mappings[i], &id));
		CHECK_INT(id, i + 2);
	}
	CHECK_OK(dict_function(&d, &(struct function){.system_name = 1}, &id));
	CHECK_INT(id, 2);
	CHECK_OK(dict_function(&d, &(struct function){.file = 1}, &id));
	CHECK_INT(id, 3);
	CHECK_OK(dict_function(&d, &(struct function){.start_line = -1}, &id));
	CHECK_INT(id, 4);
}

/* Many labels go another way than few; both must agree. */
TEST(long_label_sets_are_sorted_as_short_ones)
{
	enum { KEYS = 100 };
	CLEANUP(dict_release) struct dict d;
	uint32_t labels[KEYS * 2], set, n;
	const uint32_t *items;

	CHECK_OK(dict_init(&d, 1));
	for (uint32_t i = 0; i < KEYS * 2; i++) {
		char key[16], value[16];

		snprintf(key, sizeof(key), "k%03u", KEYS - 1 - i % KEYS);
		snprintf(value, sizeof(value), "%u", i / KEYS);
		CHECK_OK(dict_label_text(&d, str_of(key), str_of(value), &labels[i]));
	}
	CHECK_OK(dict_label_set(&d, labels, KEYS * 2, &set));
	items = label_set_items(&d, set, &n);
	CHECK_INT(n, KEYS * 2);
	for (uint32_t i = 0; i < n; i++) {
		const struct label *l = &d.labels.v[items[i]];
		char key[16];

		snprintf(key, sizeof(key), "k%03u", i / 2);
		CHECK_STR(dict_str(&d, l->key), key);
		CHECK_STR(dict_str(&d, (uint32_t)l->value), i % 2 ? "1" : "0");
	}
}

TEST(label_sets_are_sorted_by_key_and_keep_the_order_of_values)
{
	CLEANUP(dict_release) struct dict d;
	CLEANUP(buf_release) struct buf text = BUF_INIT(100);
	uint32_t z, a1, a2, one, two, other, n;
	const uint32_t *items;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_label_text(&d, STR("z"), STR("1"), &z));
	CHECK_OK(dict_label_text(&d, STR("a"), STR("2"), &a2));
	CHECK_OK(dict_label_text(&d, STR("a"), STR("1"), &a1));
	CHECK_OK(dict_label_set(&d, (uint32_t[]){z, a2, a1}, 3, &one));
	CHECK_OK(dict_label_set(&d, (uint32_t[]){a2, z, a1}, 3, &two));
	CHECK_OK(dict_label_set(&d, (uint32_t[]){a1, z, a2}, 3, &other));
	CHECK_INT(one, two);
	CHECK(one != other);
	items = label_set_items(&d, one, &n);
	CHECK_INT(n, 3);
	CHECK_INT(items[0], a2);
	CHECK_INT(items[2], z);
	label_value(&d, label_find(&d, one, STR("a")), &text);
	CHECK_STR(buf_view(&text), "2");
	CHECK(label_find(&d, one, STR("b")) == NULL);
}

TEST(label_values_of_every_type_are_text)
{
	CLEANUP(dict_release) struct dict d;
	CLEANUP(buf_release) struct buf text = BUF_INIT(200);
	struct label number = {.type = LABEL_DOUBLE};
	double value = 0.5;

	CHECK_OK(dict_init(&d, 1));
	memcpy(&number.value, &value, sizeof(value));
	label_value(&d, &(struct label){.type = LABEL_INT, .value = INT64_MIN}, &text);
	buf_byte(&text, ' ');
	label_value(&d, &(struct label){.type = LABEL_BOOL, .value = 1}, &text);
	buf_byte(&text, ' ');
	label_value(&d, &number, &text);
	buf_byte(&text, ' ');
	label_value(&d, &(struct label){.type = LABEL_JSON, .value = KIND_GO}, &text);
	CHECK_STR(buf_view(&text), "-9223372036854775808 true 0.5 go");
}

TEST(frames_without_a_function_are_called_by_module_and_offset)
{
	CLEANUP(dict_release) struct dict d;
	CLEANUP(buf_release) struct buf text = BUF_INIT(200);
	struct mapping m = {.start = 0x400000, .offset = 0x1000};
	struct frame f = {.address = 0x400010};
	uint32_t bare, inside, named;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_frame(&d, &f, &bare));
	CHECK_OK(dict_text(&d, "/usr/lib/libc.so.6", &m.file));
	CHECK_OK(dict_mapping(&d, &m, &f.mapping));
	CHECK_OK(dict_frame(&d, &f, &inside));
	CHECK_OK(dict_named_frame(&d, STR("main"), &named));
	frame_label(&d, bare, &text);
	buf_byte(&text, ' ');
	frame_label(&d, inside, &text);
	buf_byte(&text, ' ');
	frame_label(&d, named, &text);
	CHECK_STR(buf_view(&text), "0x400010 libc.so.6+0x1010 main");
}

TEST(system_name_stands_in_for_a_missing_name)
{
	CLEANUP(dict_release) struct dict d;
	struct function f = {0};
	struct frame frame = {0};
	uint32_t id;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_text(&d, "_ZN3fooEv", &f.system_name));
	CHECK_OK(dict_function(&d, &f, &frame.function));
	CHECK_OK(dict_frame(&d, &frame, &id));
	CHECK_STR(frame_name(&d, id), "_ZN3fooEv");
}

TEST(stacks_deeper_than_the_multipliers_are_told_apart)
{
	CLEANUP(dict_release) struct dict d;
	CLEANUP(mem_free_ptr) uint32_t *frames = mem_alloc(20000 * sizeof(*frames));
	uint32_t a, b, one, two, three;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_named_frame(&d, STR("a"), &a));
	CHECK_OK(dict_named_frame(&d, STR("b"), &b));
	for (int i = 0; i < 20000; i++)
		frames[i] = a;
	CHECK_OK(dict_stack(&d, frames, 20000, &one));
	frames[19999] = b;
	CHECK_OK(dict_stack(&d, frames, 20000, &two));
	frames[19999] = a;
	frames[19998] = b;
	CHECK_OK(dict_stack(&d, frames, 20000, &three));
	CHECK(one != two && two != three && one != three);
	CHECK_INT(dict_find_stack(&d, stack_hash(&d, two)), two);
	CHECK_INT(dict_find_stack(&d, 12345), MAP_NONE);
}

TEST(many_entries_are_all_found_again)
{
	CLEANUP(dict_release) struct dict d;
	char name[24];
	uint32_t id;

	CHECK_OK(dict_init(&d, 1));
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 20000; i++) {
			snprintf(name, sizeof(name), "function_%u", i);
			CHECK_OK(dict_named_frame(&d, str_of(name), &id));
			CHECK_INT(id, i + 1);
		}
	}
	CHECK_STR(frame_name(&d, 12346), "function_12345");
}

static enum err expect_many(struct dict *d)
{
	struct dict_sizes coming = {100, 200, 300, 400, 5000};

	TRY(dict_init(d, 1));
	return dict_expect(d, &coming);
}

static enum err expect_and_forget(void)
{
	CLEANUP(dict_release) struct dict d;

	return expect_many(&d);
}

TEST(a_dictionary_that_expects_entries_numbers_them_as_any_other)
{
	CLEANUP(dict_release) struct dict d;
	const uint32_t *pool;
	uint32_t id, stack;
	char name[24];

	CHECK_OK(expect_many(&d));
	pool = d.stacks.pool.v;
	for (uint32_t i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		CHECK_OK(dict_named_frame(&d, str_of(name), &id));
		CHECK_INT(id, i + 1);
		CHECK_OK(dict_stack(&d, &id, 1, &stack));
		CHECK_INT(stack, i + 1);
	}
	CHECK(d.stacks.pool.v == pool);
	ALLOC_SWEEP(expect_and_forget());
}

static enum err fill_code(struct dict *d)
{
	uint32_t frames[3], id;

	TRY(dict_init(d, 7));
	for (uint32_t i = 0; i < 40; i++) {
		char name[24];

		snprintf(name, sizeof(name), "function_%u", i);
		TRY(dict_named_frame(d, str_of(name), &frames[i % 3]));
		if (i > 2)
			TRY(dict_stack(d, frames, 3, &id));
	}
	TRY(dict_label_text(d, STR("secret"), STR("value"), &id));
	return dict_label_set(d, &id, 1, &id);
}

static enum err copy_and_forget(const struct dict *from)
{
	CLEANUP(dict_release) struct dict d;

	TRY(dict_init(&d, from->seed));
	return dict_copy_code(&d, from);
}

TEST(a_copy_has_the_code_under_the_same_ids_and_no_labels)
{
	CLEANUP(dict_release) struct dict from = {0};
	CLEANUP(dict_release) struct dict to = {0};
	CLEANUP(dict_release) struct dict other = {0};
	uint32_t id, n;

	CHECK_OK(fill_code(&from));
	CHECK_OK(dict_init(&to, 7));
	CHECK(dict_is_empty(&to) && !dict_is_empty(&from));
	CHECK_OK(dict_copy_code(&to, &from));
	CHECK_INT(to.stacks.entries.n, from.stacks.entries.n);
	for (uint32_t s = 0; s < from.stacks.entries.n; s++) {
		CHECK(stack_hash(&to, s) == stack_hash(&from, s));
		CHECK_INT(dict_find_stack(&to, stack_hash(&from, s)), s);
		const uint32_t *a = stack_frames(&to, s, &n), *b = stack_frames(&from, s, &n);

		CHECK(!n || memcmp(a, b, n * sizeof(*a)) == 0);
	}
	CHECK_INT(to.labels.n, 1);
	CHECK_INT(to.label_sets.entries.n, 1);
	/* Both go on as they were. */
	CHECK_OK(dict_named_frame(&to, STR("function_5"), &id));
	CHECK_INT(id, 6);
	CHECK_OK(dict_named_frame(&to, STR("new"), &id));
	CHECK_INT(id, from.frames.n);
	CHECK_STR(frame_name(&to, id), "new");
	CHECK_INT(dict_find_string(&from, STR("new")), MAP_NONE);
	CHECK_ERR(dict_copy_code(&to, &from), ERR_BAD_ARGUMENT);
	CHECK_OK(dict_init(&other, 8));
	CHECK_ERR(dict_copy_code(&other, &from), ERR_BAD_ARGUMENT);
	ALLOC_SWEEP(copy_and_forget(&from));
}

TEST(expecting_what_may_be_there_already_changes_nothing)
{
	CLEANUP(dict_release) struct dict d;
	struct dict_sizes coming = {1, 1, 1, 1, 1000}, none = {0};
	size_t cap;

	CHECK_OK(dict_init(&d, 1));
	cap = d.stacks.pool.cap;
	CHECK_OK(dict_expect(&d, &coming));
	CHECK_OK(dict_expect(&d, &none));
	CHECK_INT(d.stacks.pool.cap, cap);
}

TEST(entries_added_by_their_hash_are_those_that_are_found_without)
{
	CLEANUP(dict_release) struct dict d;
	struct function f = {.start_line = 12};
	struct frame frame = {.address = 77, .line = 3, .flags = FRAME_HAS_LINE};
	uint64_t hash;
	uint32_t first, second;

	CHECK_OK(dict_init(&d, 9));
	CHECK_OK(dict_text(&d, "work", &f.name));
	hash = content_function(content_string(&d, STR("work")), d.strings.hash.v[0],
				d.strings.hash.v[0], 12);
	CHECK_OK(dict_hashed_function(&d, &f, hash, &first));
	CHECK_OK(dict_function(&d, &f, &second));
	CHECK_INT(second, first);
	CHECK_OK(dict_hashed_function(&d, &f, hash, &second));
	CHECK_INT(second, first);
	frame.function = first;
	hash = content_frame(&frame, hash, d.mappings.hash.v[0], d.strings.hash.v[0]);
	CHECK(dict_find_frame(&d, hash) == MAP_NONE);
	CHECK_OK(dict_add_frame(&d, hash, &frame, &first));
	CHECK_INT(dict_find_frame(&d, hash), first);
	CHECK_OK(dict_frame(&d, &frame, &second));
	CHECK_INT(second, first);
	d.max_ids = d.frames.n;
	CHECK_ERR(dict_add_frame(&d, hash + 1, &frame, &second), ERR_TABLE_FULL);
}

TEST(a_frame_has_the_names_that_are_known_of_it)
{
	CLEANUP(dict_release) struct dict d;
	struct code_name name = {.function = "inner()",
				 .linkage = "_Z5innerv",
				 .file = "a.cc",
				 .line = 7,
				 .column = 2,
				 .start_line = 5,
				 .inlined = true};
	struct mapping span = {.start = 0x1000, .limit = 0x3000, .offset = 0x400};
	struct frame f = {.address = 0x1234, .kind = KIND_NATIVE};
	const struct function *function;
	uint32_t id, again;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_module(&d, STR("/bin/a"), "c0ffee", span, &f.mapping));
	CHECK_OK(dict_module(&d, STR("/bin/a"), "c0ffee", span, &again));
	CHECK_INT(again, f.mapping);
	CHECK_STR(dict_str(&d, d.mappings.v[again].file), "/bin/a");
	CHECK_STR(dict_str(&d, d.mappings.v[again].build_id), "c0ffee");
	CHECK(d.mappings.v[again].start == 0x1000 && d.mappings.v[again].limit == 0x3000 &&
	      d.mappings.v[again].offset == 0x400 &&
	      d.mappings.v[again].flags == MAPPING_HAS_FUNCTIONS);
	CHECK_OK(dict_code_frame(&d, f, &name, &id));
	function = &d.functions.v[d.frames.v[id].function];
	CHECK_STR(frame_name(&d, id), "inner()");
	CHECK_STR(dict_str(&d, function->system_name), "_Z5innerv");
	CHECK_STR(frame_file(&d, id), "a.cc");
	CHECK(function->start_line == 5 && d.frames.v[id].line == 7 && d.frames.v[id].column == 2 &&
	      d.frames.v[id].flags == (FRAME_HAS_LINE | FRAME_INLINED) &&
	      d.frames.v[id].mapping == f.mapping && d.frames.v[id].address == 0x1234);
	/* The linker's name is the function's own where there is no other. */
	name.linkage = "";
	CHECK_OK(dict_code_frame(&d, f, &name, &id));
	CHECK_STR(dict_str(&d, d.functions.v[d.frames.v[id].function].system_name), "inner()");
	/* Without a name it is an address. */
	CHECK_OK(dict_code_frame(&d, f, NULL, &id));
	name.function = "";
	CHECK_OK(dict_code_frame(&d, f, &name, &again));
	CHECK(id == again && !d.frames.v[id].function && !d.frames.v[id].flags &&
	      d.frames.v[id].address == 0x1234);
}
