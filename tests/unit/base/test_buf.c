#include "test.h"

#include <stdlib.h>

#include "base/buf.h"

TEST(appended_bytes_are_followed_by_a_nul)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100);

	buf_append(&b, "ab", 2);
	buf_byte(&b, 'c');
	buf_str(&b, STR("de"));
	buf_text(&b, "fg");
	CHECK_OK(buf_error(&b));
	CHECK_STR(buf_view(&b), "abcdefg");
	CHECK(b.data[b.n] == '\0');
}

TEST(the_ceiling_holds_exactly)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4);

	buf_text(&b, "1234");
	CHECK_OK(buf_error(&b));
	buf_append(&b, "", 0);
	CHECK_OK(buf_error(&b));
	buf_byte(&b, '5');
	CHECK_ERR(buf_error(&b), ERR_TOO_LARGE);
	CHECK_STR(buf_view(&b), "1234");
}

TEST(the_first_failure_is_kept_and_later_writes_do_nothing)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4);

	buf_text(&b, "12345");
	buf_text(&b, "1");
	buf_printf(&b, "%d", 1);
	CHECK(!buf_reserve(&b, 1));
	CHECK_ERR(buf_error(&b), ERR_TOO_LARGE);
	CHECK_INT(b.n, 0);
	buf_clear(&b);
	buf_text(&b, "1");
	CHECK_OK(buf_error(&b));
	CHECK_STR(buf_view(&b), "1");
}

TEST(a_buffer_without_a_ceiling_works_and_never_wraps)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(SIZE_MAX);

	buf_text(&b, "x");
	CHECK_OK(buf_error(&b));
	CHECK(!buf_reserve(&b, SIZE_MAX - 1));
	CHECK_ERR(buf_error(&b), ERR_TOO_LARGE);
	buf_clear(&b);
	CHECK(!buf_reserve(&b, SIZE_MAX));
	CHECK_ERR(buf_error(&b), ERR_TOO_LARGE);
}

TEST(a_buffer_with_ceiling_zero_holds_nothing)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(0);

	buf_append(&b, NULL, 0);
	CHECK_OK(buf_error(&b));
	buf_byte(&b, 'x');
	CHECK_ERR(buf_error(&b), ERR_TOO_LARGE);
}

TEST(printf_handles_short_and_long_texts)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(10000);
	CLEANUP(buf_release) struct buf want = BUF_INIT(10000);

	for (int width = 250; width < 260; width++) {
		buf_clear(&b);
		buf_clear(&want);
		buf_printf(&b, "<%*d>", width, 7);
		buf_byte(&want, '<');
		for (int i = 1; i < width; i++)
			buf_byte(&want, ' ');
		buf_text(&want, "7>");
		CHECK(str_eq(buf_view(&b), buf_view(&want)));
		CHECK(b.data[b.n] == '\0');
	}
}

TEST(integers_print_as_printf_would)
{
	static const int64_t values[] = {0, 1, -1, 9, 10, -10, 1234567890123, INT64_MAX, INT64_MIN};
	CLEANUP(buf_release) struct buf b = BUF_INIT(100), want = BUF_INIT(100);

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		buf_clear(&b);
		buf_clear(&want);
		buf_i64(&b, values[i]);
		buf_u64(&b, (uint64_t)values[i]);
		buf_printf(&want, "%lld%llu", (long long)values[i], (unsigned long long)values[i]);
		CHECK(str_eq(buf_view(&b), buf_view(&want)));
	}
	buf_release(&want);
}

TEST(numbers_of_every_length_print_as_printf_would)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100);
	CLEANUP(buf_release) struct buf want = BUF_INIT(100);

	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t ten = 1;

		for (unsigned i = 0; i < bit % 20; i++)
			ten *= 10;
		for (int near = -1; near <= 1; near++) {
			uint64_t two = ((uint64_t)1 << bit) + (uint64_t)near;

			buf_clear(&b);
			buf_clear(&want);
			buf_u64(&b, ten + (uint64_t)near);
			buf_i64(&b, (int64_t)two);
			buf_printf(&want, "%llu%lld", (unsigned long long)(ten + (uint64_t)near),
				   (long long)two);
			CHECK(str_eq(buf_view(&b), buf_view(&want)));
		}
	}
}

TEST(a_byte_stays_below_the_ceiling)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(3);

	buf_expect(&b, 2);
	for (int i = 0; i < 3; i++)
		buf_byte(&b, 'x');
	CHECK_OK(buf_error(&b));
	CHECK_STR(buf_view(&b), "xxx");
	CHECK(b.data[3] == '\0');
	buf_byte(&b, 'x');
	CHECK_ERR(buf_error(&b), ERR_TOO_LARGE);
	CHECK_INT(b.n, 3);
}

TEST(insert_moves_what_follows)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(10);

	buf_text(&b, "abef");
	buf_insert(&b, 2, "cd", 2);
	buf_insert(&b, 6, "g", 1);
	buf_insert(&b, 0, "", 0);
	buf_insert(&b, 0, "_", 1);
	CHECK_STR(buf_view(&b), "_abcdefg");
	buf_insert(&b, 0, "xyz", 3);
	CHECK_ERR(buf_error(&b), ERR_TOO_LARGE);
	CHECK_STR(buf_view(&b), "_abcdefg");
}

TEST(reserve_lets_the_caller_write_in_place)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100);
	char *at = buf_reserve(&b, 50);

	CHECK(at);
	memset(at, 'z', 50);
	b.n += 50;
	buf_byte(&b, '!');
	CHECK_INT(b.n, 51);
	CHECK(b.data[49] == 'z' && b.data[50] == '!');
}

static enum err fill_buf(void)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100000);

	buf_byte(&b, 'x');
	for (int i = 0; i < 100; i++) {
		buf_i64(&b, -i);
		buf_insert(&b, 0, "ab", 2);
		buf_printf(&b, "%300d", i);
		buf_text(&b, "text");
	}
	return buf_error(&b);
}

TEST(every_failing_allocation_is_kept_as_the_error)
{
	ALLOC_SWEEP(fill_buf());
}

TEST(expecting_bytes_changes_nothing_but_the_room)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);
	const char *data;

	buf_text(&b, "abc");
	buf_expect(&b, 500);
	CHECK(b.cap > 500);
	data = b.data;
	CHECK_INT(b.n, 3);
	for (int i = 0; i < 500; i++)
		buf_byte(&b, 'x');
	CHECK(b.data == data);
	/* More than the ceiling is nobody's fault yet. */
	buf_expect(&b, 5000);
	buf_expect(&b, SIZE_MAX);
	CHECK_OK(buf_error(&b));
	CHECK(b.data == data);
	alloc_fail_at(0, false);
	buf_expect(&b, 400);
	alloc_fail_off();
	CHECK_OK(buf_error(&b));
	CHECK_INT(b.n, 503);
}
