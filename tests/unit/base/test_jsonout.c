#include "../test.h"

#include <math.h>

#include "base/jsonout.h"

#define OUTPUT(b_, o_, pretty_)                                 \
	CLEANUP(buf_release) struct buf b_ = BUF_INIT(1 << 20); \
	struct jsonout o_ = jsonout_of(&b_, pretty_)

static void write_document(struct jsonout *o)
{
	jsonout_object(o);
	jsonout_put_text(o, "name", "main");
	jsonout_put_array(o, "empty");
	jsonout_end_array(o);
	jsonout_key(o, STR("numbers"));
	jsonout_flat_array(o);
	jsonout_i64(o, INT64_MIN);
	jsonout_array(o);
	jsonout_u64(o, UINT64_MAX);
	jsonout_end_array(o);
	jsonout_bool(o, true);
	jsonout_end_array(o);
	jsonout_put_object(o, "nested");
	jsonout_put_bool(o, "yes", false);
	jsonout_put_text(o, "none", NULL);
	jsonout_end_object(o);
	jsonout_end_object(o);
}

TEST(compact_output_has_no_spaces)
{
	OUTPUT(b, o, false);

	write_document(&o);
	CHECK_OK(buf_error(&b));
	CHECK_STR(buf_view(&b),
		  "{\"name\":\"main\",\"empty\":[],\"numbers\":[-9223372036854775808,"
		  "[18446744073709551615],true],\"nested\":{\"yes\":false,\"none\":null}}");
}

TEST(pretty_output_has_a_value_per_line_and_flat_arrays_on_one)
{
	OUTPUT(b, o, true);

	write_document(&o);
	CHECK_STR(buf_view(&b), "{\n"
				"  \"name\": \"main\",\n"
				"  \"empty\": [],\n"
				"  \"numbers\": [-9223372036854775808, "
				"[18446744073709551615], true],\n"
				"  \"nested\": {\n"
				"    \"yes\": false,\n"
				"    \"none\": null\n"
				"  }\n"
				"}");
}

TEST(many_numbers_read_as_one_by_one)
{
	int64_t values[200];

	for (int i = 0; i < 200; i++)
		values[i] = (int64_t)(UINT64_MAX / 3 * (uint64_t)i) >> i % 64;
	for (int pretty = 0; pretty < 2; pretty++)
		for (size_t n = 0; n <= 200; n += 50) {
			OUTPUT(many, at_once, pretty);
			OUTPUT(single, in_turn, pretty);

			jsonout_array(&at_once);
			jsonout_array(&in_turn);
			jsonout_i64s(&at_once, values, n);
			for (size_t i = 0; i < n; i++)
				jsonout_i64(&in_turn, values[i]);
			jsonout_text(&at_once, "end");
			jsonout_text(&in_turn, "end");
			jsonout_end_array(&at_once);
			jsonout_end_array(&in_turn);
			CHECK(str_eq(buf_view(&many), buf_view(&single)));
		}
}

TEST(whole_doubles_read_as_printf_would_write_them)
{
	static const double values[] = {0,    -0.0,  1,	   -7,	1e14,	  999999999999999,
					1e15, -1e15, 1e22, 0.5, 123456.75};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		OUTPUT(b, o, false);
		char want[40];

		jsonout_double(&o, values[i]);
		snprintf(want, sizeof(want), "%.15g", values[i]);
		CHECK_STR(buf_view(&b), want);
	}
}

TEST(control_characters_quotes_and_backslashes_are_escaped)
{
	OUTPUT(b, o, false);

	jsonout_str(&o, str_n("a\"b\\c\n\t\r\b\f\x01\x7f\0z/", 15));
	CHECK_STR(buf_view(&b), "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\\u007f\\u0000z/\"");
	CHECK_INT(o.replaced, 0);
}

TEST(invalid_utf8_becomes_the_replacement_character_and_is_counted)
{
	OUTPUT(b, o, false);

	jsonout_str(&o, STR("ok \xc3\xa9 \xff \xed\xa0\x80 \xf0\x9f\x98\x80"));
	CHECK_STR(buf_view(&b), "\"ok \xc3\xa9 \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
				" \xf0\x9f\x98\x80\"");
	CHECK_INT(o.replaced, 4);
}

TEST(doubles_are_short_and_what_json_cannot_say_is_null)
{
	OUTPUT(b, o, false);

	jsonout_array(&o);
	jsonout_double(&o, 0.1);
	jsonout_double(&o, 1.0 / 3);
	jsonout_double(&o, -3);
	jsonout_double(&o, 1e300);
	jsonout_double(&o, NAN);
	jsonout_double(&o, -INFINITY);
	jsonout_i64_text(&o, -5);
	jsonout_u64_text(&o, UINT64_MAX);
	jsonout_end_array(&o);
	CHECK_STR(buf_view(&b), "[0.1,0.3333333333333333,-3,1e+300,null,null,\"-5\","
				"\"18446744073709551615\"]");
}

TEST(the_ceiling_of_the_buffer_is_reported_once_at_the_end)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(10);
	struct jsonout o = jsonout_of(&b, true);

	write_document(&o);
	CHECK_ERR(buf_error(&b), ERR_TOO_LARGE);
}

static enum err write_all(void)
{
	OUTPUT(b, o, true);

	write_document(&o);
	return buf_error(&b);
}

TEST(writer_survives_any_allocation_failing)
{
	ALLOC_SWEEP(write_all());
}
