#include "../test.h"

#include <math.h>

#include "base/jsonout.h"
#include "format/json.h"

/* A cursor over a text, with what it needs around it. */
struct walk {
	struct reading out;
	struct json j;
};

static void walk_init(struct walk *w, struct str text)
{
	*w = (struct walk){.out.limits = LIMITS_DEFAULT};
	json_init(&w->j, text, "test", w->out.limits.max_nesting, &w->out);
}

static void walk_release(struct walk *w)
{
	json_release(&w->j);
	notes_release(&w->out.notes);
}

#define WALK(w_, text_)                       \
	CLEANUP(walk_release) struct walk w_; \
	walk_init(&w_, text_)

static enum err skip_text(struct str text, struct fault *fault)
{
	WALK(w, text);
	enum err e;

	json_skip(&w.j);
	e = json_finish(&w.j);
	if (fault)
		*fault = w.out.fault;
	return e;
}

#define CHECK_REFUSED(input, code_, message)                                              \
	do {                                                                              \
		struct fault fault_ = {0};                                                \
		CHECK_ERR(skip_text(STR(input), &fault_), code_);                         \
		if (!strstr(fault_.text, message))                                        \
			test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", fault_.text, \
				  message);                                               \
	} while (0)

TEST(cursor_walks_objects_arrays_and_scalars)
{
	WALK(w, STR("\xef\xbb\xbf { \"a\" : [1, -2 ,3.5],\"b\":{}, \"c\":[], \"d\":\"x\", "
		    "\"e\":true,\"f\":null}\n"));
	struct str key, text = {0};
	int64_t sum = 0, value;
	double real = 0;
	bool truth = false;
	unsigned keys = 0;

	CHECK(json_object(&w.j));
	while (json_key(&w.j, &key)) {
		keys++;
		if (str_eq(key, STR("a"))) {
			CHECK(json_array(&w.j) && json_item(&w.j) && json_i64(&w.j, &value));
			sum += value;
			CHECK(json_item(&w.j) && json_i64(&w.j, &value));
			sum += value;
			CHECK(json_item(&w.j) && json_double(&w.j, &real));
			CHECK(!json_item(&w.j));
		} else if (str_eq(key, STR("d"))) {
			CHECK(json_string(&w.j, &text));
		} else if (str_eq(key, STR("e"))) {
			CHECK(json_bool(&w.j, &truth));
		} else {
			json_skip(&w.j);
		}
	}
	CHECK_OK(json_finish(&w.j));
	CHECK_INT(keys, 6);
	CHECK_INT(sum, -1);
	CHECK(real == 3.5 && truth);
	CHECK_STR(text, "x");
}

TEST(null_stands_for_absent)
{
	WALK(w, STR("[null,null,null,null,null]"));
	int64_t number = 7;
	struct str text = STR("kept");
	bool truth = true;

	CHECK(json_array(&w.j));
	CHECK(json_item(&w.j) && json_i64(&w.j, &number) && number == 7);
	CHECK(json_item(&w.j) && json_string(&w.j, &text));
	CHECK_STR(text, "kept");
	CHECK(json_item(&w.j) && json_bool(&w.j, &truth) && truth);
	CHECK(json_item(&w.j) && !json_object(&w.j) && !w.j.error);
	CHECK(json_item(&w.j) && !json_array(&w.j) && !w.j.error);
	CHECK(!json_item(&w.j));
	CHECK_OK(json_finish(&w.j));
}

TEST(what_is_not_json_is_refused_with_the_reason)
{
	CHECK_REFUSED("[NaN]", ERR_CORRUPT, "[0] at byte 1: NaN is not JSON");
	CHECK_REFUSED("[1,-Infinity]", ERR_CORRUPT, "Infinity is not JSON");
	CHECK_REFUSED("{\"a\":Infinity}", ERR_CORRUPT, "a at byte 5: Infinity is not JSON");
	CHECK_REFUSED("[1,]", ERR_CORRUPT, "trailing comma");
	CHECK_REFUSED("{\"a\":1,}", ERR_CORRUPT, "trailing comma");
	CHECK_REFUSED("[1 // one\n]", ERR_CORRUPT, "comments are not JSON");
	CHECK_REFUSED("/* x */[1]", ERR_CORRUPT, "comments are not JSON");
	CHECK_REFUSED("['a']", ERR_CORRUPT, "double quotes");
	CHECK_REFUSED("{a:1}", ERR_CORRUPT, "expected a key in double quotes, found 'a'");
	CHECK_REFUSED("{\"a\" 1}", ERR_CORRUPT, "expected ':', found a number");
	CHECK_REFUSED("[1 2]", ERR_CORRUPT, "expected ',' or ']', found a number");
	CHECK_REFUSED("[1}", ERR_CORRUPT, "expected ',' or ']', found '}'");
	CHECK_REFUSED("{\"a\":[}", ERR_CORRUPT, "expected a value");
	CHECK_REFUSED("[01]", ERR_CORRUPT, "must not begin with a zero");
	CHECK_REFUSED("[1.]", ERR_CORRUPT, "a digit is missing");
	CHECK_REFUSED("[1e]", ERR_CORRUPT, "a digit is missing");
	CHECK_REFUSED("[-]", ERR_CORRUPT, "a digit must follow the minus sign");
	CHECK_REFUSED("[+1]", ERR_CORRUPT, "expected a value, found '+'");
	CHECK_REFUSED("[tru]", ERR_CORRUPT, "expected true or false");
	CHECK_REFUSED("[nul]", ERR_CORRUPT, "expected a value, found null");
	CHECK_REFUSED("[1] 2", ERR_CORRUPT, "text follows the end");
	CHECK_REFUSED("", ERR_TRUNCATED, "at byte 0: the data ends");
	CHECK_REFUSED("\"a\nb\"", ERR_CORRUPT, "control character 0x0a");
	CHECK_REFUSED("[\"abc", ERR_TRUNCATED, "at byte 1: the data ends inside the string");
	CHECK_REFUSED("[\"abc\\", ERR_TRUNCATED, "the data ends inside the string");
	CHECK_REFUSED("[\xff]", ERR_CORRUPT, "found byte 0xff");
}

TEST(huge_numbers_are_refused_or_rounded_never_wrapped)
{
	WALK(w,
	     STR("[9223372036854775807, 18446744073709551615, 99999999999999999999, "
		 "-9223372036854775808, -9223372036854775809, 9007199254740993, 1e3, "
		 "0.1, 123456789012345678901234567890e-20, 1e-999, -0, 2.2250738585072014E-308]"));
	struct json_number n;

	CHECK(json_array(&w.j));
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.kind == JSON_I64 && n.i == INT64_MAX);
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.kind == JSON_U64 && n.u == UINT64_MAX);
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.kind == JSON_REAL && n.d == 1e20);
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.kind == JSON_I64 && n.i == INT64_MIN);
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.kind == JSON_REAL && n.d == -0x1p63);
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.i == 9007199254740993);
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.kind == JSON_REAL && n.d == 1000);
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.d == 0.1);
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.d == 1234567890.1234567890);
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.d == 0);
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.kind == JSON_I64 && n.i == 0);
	CHECK(json_item(&w.j) && json_number(&w.j, &n) && n.d == 2.2250738585072014E-308);
	CHECK(!json_item(&w.j));
	CHECK_REFUSED("[1e999]", ERR_CORRUPT, "the number 1e999 is too large");
	CHECK_REFUSED("[-1e999]", ERR_CORRUPT, "too large");
	CHECK_REFUSED("[1e99999999999999999999]", ERR_CORRUPT, "too large");
}

static enum err take_i64(struct str text, int64_t *ret)
{
	WALK(w, text);

	json_i64(&w.j, ret);
	return json_finish(&w.j);
}

static enum err take_u32(struct str text, uint32_t *ret)
{
	WALK(w, text);

	json_u32(&w.j, ret);
	return json_finish(&w.j);
}

TEST(typed_numbers_check_their_range)
{
	int64_t i = 0;
	uint32_t u = 0;

	CHECK_OK(take_i64(STR("5.0"), &i));
	CHECK_INT(i, 5);
	CHECK_OK(take_i64(STR("-9223372036854775808"), &i));
	CHECK(i == INT64_MIN);
	CHECK_ERR(take_i64(STR("9223372036854775808"), &i), ERR_CORRUPT);
	CHECK_ERR(take_i64(STR("1.5"), &i), ERR_CORRUPT);
	CHECK_ERR(take_i64(STR("1e30"), &i), ERR_CORRUPT);
	CHECK_ERR(take_i64(STR("\"5\""), &i), ERR_CORRUPT);
	CHECK_OK(take_u32(STR("4294967295"), &u));
	CHECK(u == UINT32_MAX);
	CHECK_ERR(take_u32(STR("4294967296"), &u), ERR_CORRUPT);
	CHECK_ERR(take_u32(STR("-1"), &u), ERR_CORRUPT);
}

static enum err take_string(struct str text, struct buf *ret, uint64_t *ret_replaced)
{
	WALK(w, text);
	struct str s = {0};

	json_string(&w.j, &s);
	buf_clear(ret);
	if (!w.j.error)
		buf_str(ret, s);
	*ret_replaced = w.j.replaced;
	return json_finish(&w.j);
}

TEST(strings_are_decoded_with_escapes_and_surrogate_pairs)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);
	uint64_t replaced;

	CHECK_OK(take_string(STR("\"plain \xc3\xa9\""), &b, &replaced));
	CHECK_STR(buf_view(&b), "plain \xc3\xa9");
	CHECK_OK(take_string(STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20AC\\ud83d\\ude00!\""), &b,
			     &replaced));
	CHECK_STR(buf_view(&b), "\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80!");
	CHECK_INT(replaced, 0);
	CHECK_OK(take_string(STR("\"a\\u0000b\""), &b, &replaced));
	CHECK_INT(b.n, 3);
	CHECK_ERR(take_string(STR("\"\\x\""), &b, &replaced), ERR_CORRUPT);
	CHECK_ERR(take_string(STR("\"\\u12g4\""), &b, &replaced), ERR_CORRUPT);
	CHECK_ERR(take_string(STR("\"\\u12"), &b, &replaced), ERR_TRUNCATED);
}

TEST(lone_surrogates_and_invalid_utf8_become_the_replacement_character)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);
	uint64_t replaced;

	CHECK_OK(take_string(STR("\"\\ud83d\""), &b, &replaced));
	CHECK_STR(buf_view(&b), "\xef\xbf\xbd");
	CHECK_OK(take_string(STR("\"\\ude00\\ud83dx\\ud83d\\ud83d\\ude00\""), &b, &replaced));
	CHECK_STR(buf_view(&b), "\xef\xbf\xbd\xef\xbf\xbdx\xef\xbf\xbd\xf0\x9f\x98\x80");
	CHECK_INT(replaced, 3);
	CHECK_OK(take_string(STR("\"a\xff\xc3\""), &b, &replaced));
	CHECK_STR(buf_view(&b), "a\xef\xbf\xbd\xef\xbf\xbd");
	CHECK_INT(replaced, 2);
}

TEST(strings_without_escapes_are_not_copied)
{
	struct str text = STR("[\"abc\", \"d\\n\"]"), s;

	WALK(w, text);
	CHECK(json_array(&w.j) && json_item(&w.j) && json_string(&w.j, &s));
	CHECK(s.p == text.p + 2);
	CHECK(json_item(&w.j) && json_string(&w.j, &s));
	CHECK(s.p == w.j.scratch.data);
}

TEST(strings_longer_than_the_limit_are_refused_but_may_be_skipped)
{
	static char text[1 << 21];
	struct str s;

	memset(text, 'x', sizeof(text));
	text[0] = text[sizeof(text) - 1] = '"';
	WALK(w, str_n(text, sizeof(text)));
	CHECK(!json_string(&w.j, &s));
	CHECK_ERR(w.j.error, ERR_TOO_LARGE);
	CHECK_STR(str_of(w.out.fault.text),
		  "test: at byte 0: the string is longer than 1048576 bytes");
	CHECK_OK(skip_text(str_n(text, sizeof(text)), NULL));
	text[5] = '\\';
	CHECK_OK(skip_text(str_n(text, sizeof(text)), NULL));
	WALK(again, str_n(text, sizeof(text)));
	CHECK(!json_string(&again.j, &s));
	CHECK_ERR(again.j.error, ERR_TOO_LARGE);
}

TEST(a_million_brackets_are_refused_at_the_nesting_limit)
{
	static char text[1000000];
	struct fault fault = {0};

	memset(text, '[', sizeof(text));
	CHECK_ERR(skip_text(str_n(text, sizeof(text)), &fault), ERR_TOO_DEEP);
	CHECK(strstr(fault.text, "at byte 128: nested deeper than 128 levels"));
	memset(text, ']', sizeof(text));
	CHECK_ERR(skip_text(str_n(text, sizeof(text)), &fault), ERR_CORRUPT);
	for (size_t i = 0; i + 5 <= sizeof(text); i += 5)
		memcpy(text + i, "{\"a\":", 5);
	CHECK_ERR(skip_text(str_n(text, sizeof(text)), &fault), ERR_TOO_DEEP);
}

TEST(skipping_remembers_which_bracket_closes_at_every_level)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100000);
	CLEANUP(walk_release) struct walk w;
	struct jsonout o = jsonout_of(&b, false);

	for (int i = 0; i < 300; i++) {
		if (i % 3) {
			jsonout_array(&o);
		} else {
			jsonout_object(&o);
			jsonout_key(&o, STR("k"));
		}
	}
	jsonout_i64(&o, 1);
	for (int i = 299; i >= 0; i--) {
		if (i % 3)
			jsonout_end_array(&o);
		else
			jsonout_end_object(&o);
	}
	walk_init(&w, buf_view(&b));
	w.j.max_depth = 1000;
	json_skip(&w.j);
	CHECK_OK(json_finish(&w.j));
	b.data[b.n - 150] = b.data[b.n - 150] == ']' ? '}' : ']';
	CHECK_ERR(skip_text(buf_view(&b), NULL), ERR_TOO_DEEP);
}

TEST(every_cut_of_a_document_is_refused)
{
	static const char text[] =
		"{\"a\":[1,2.5e3,-7,true,false,null,\"x\\u00e9y\"],\"b\":{\"c\":[]}}";

	CHECK_OK(skip_text(STR(text), NULL));
	for (size_t n = 0; n < sizeof(text) - 1; n++)
		CHECK(skip_text(str_n(text, n), NULL) != ERR_OK);
}

TEST(messages_name_the_path_and_the_byte)
{
	WALK(w, STR("{\"profiles\":[{},{\"weights\":[1,\"x\"]}]}"));
	struct str key;
	int64_t value;

	CHECK(json_object(&w.j) && json_key(&w.j, &key) && json_array(&w.j) && json_item(&w.j));
	json_skip(&w.j);
	CHECK(json_item(&w.j) && json_object(&w.j) && json_key(&w.j, &key) && json_array(&w.j));
	CHECK(json_item(&w.j) && json_i64(&w.j, &value) && json_item(&w.j));
	CHECK(!json_i64(&w.j, &value) && !json_item(&w.j) && !json_key(&w.j, &key));
	CHECK_STR(str_of(w.out.fault.text),
		  "test: profiles[1].weights[1] at byte 30: expected a number, found a string");
}

TEST(messages_do_not_carry_bytes_that_steer_a_terminal)
{
	struct fault fault = {0};

	CHECK_ERR(skip_text(STR("{\"\xc2\x9b\x7f\\u001b[2J\":{\"k\":x}}"), &fault), ERR_CORRUPT);
	CHECK_STR(str_of(fault.text),
		  "test: ???\\u001b[2J.k at byte 21: expected a value, found 'x'");
}

TEST(paths_of_any_length_fit_a_message)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 << 16);
	struct fault fault = {0};

	for (int i = 0; i < 20; i++)
		buf_text(&b, "{\"a key of quite some length, so that eight of them do not fit\":");
	CHECK_ERR(skip_text(buf_view(&b), &fault), ERR_TRUNCATED);
	CHECK(strstr(fault.text, "test: a key of quite some length"));
	CHECK(strstr(fault.text, ": the data ends where a value was expected"));
}

TEST(marks_lead_back_and_forks_walk_beside)
{
	WALK(w, STR("{\"w\":[10,20,30],\"s\":[1,2,3]}"));
	struct json_mark weights = {0}, samples = {0};
	struct json side;
	struct str key;
	int64_t sum = 0, a = 0, b = 0;

	CHECK(json_object(&w.j));
	while (json_key(&w.j, &key))
		json_mark_skip(&w.j, str_eq(key, STR("w")) ? &weights : &samples);
	CHECK_OK(json_finish(&w.j));
	json_seek(&w.j, &samples);
	side = json_fork(&w.j, &weights);
	CHECK(json_array(&w.j) && json_array(&side));
	while (json_item(&w.j) && json_item(&side)) {
		CHECK(json_i64(&w.j, &a) && json_i64(&side, &b));
		sum += a * b;
	}
	json_join(&w.j, &side);
	CHECK_INT(sum, 140);
}

static enum err walk_with_escapes(void)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct str s = {0};

	WALK(w, STR("[\"a\\nb\",\"c\\td\"]"));
	if (json_array(&w.j))
		while (json_item(&w.j))
			json_string_keep(&w.j, &arena, &s);
	return json_finish(&w.j);
}

TEST(cursor_survives_any_allocation_failing)
{
	ALLOC_SWEEP(walk_with_escapes());
}
