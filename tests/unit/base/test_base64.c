#include "test.h"

#include "base/base64.h"

static const struct {
	const char *plain, *padded, *bare;
} vectors[] = {
	{"", "", ""},
	{"f", "Zg==", "Zg"},
	{"fo", "Zm8=", "Zm8"},
	{"foo", "Zm9v", "Zm9v"},
	{"foob", "Zm9vYg==", "Zm9vYg"},
	{"fooba", "Zm9vYmE=", "Zm9vYmE"},
};

TEST(the_vectors_of_rfc_4648_go_both_ways)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		CLEANUP(buf_release) struct buf padded = BUF_INIT(100), bare = BUF_INIT(100);
		uint8_t out[16];
		size_t n;

		base64_put(&padded, str_of(vectors[i].plain), true);
		base64_put(&bare, str_of(vectors[i].plain), false);
		CHECK_STR(buf_view(&padded), vectors[i].padded);
		CHECK_STR(buf_view(&bare), vectors[i].bare);
		CHECK(base64_decode(buf_view(&padded), out, &n));
		CHECK_STR(str_n(out, n), vectors[i].plain);
		CHECK(base64_decode(buf_view(&bare), out, &n));
		CHECK_STR(str_n(out, n), vectors[i].plain);
	}
}

TEST(both_alphabets_are_read)
{
	uint8_t a[4], b[4];
	size_t n;

	CHECK(base64_decode(STR("+/+/"), a, &n) && n == 3);
	CHECK(base64_decode(STR("-_-_"), b, &n) && n == 3);
	CHECK(memcmp(a, b, 3) == 0 && a[0] == 0xfb);
}

TEST(what_is_not_base64_is_refused)
{
	uint8_t out[16];
	size_t n;

	CHECK(!base64_decode(STR("A"), out, &n));
	CHECK(!base64_decode(STR("Zm 9v"), out, &n));
	CHECK(!base64_decode(STR("Zg==="), out, &n));
	CHECK(!base64_decode(STR("Z=g="), out, &n));
}

TEST(a_full_buffer_keeps_what_it_had)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(5);

	buf_text(&b, "ab");
	base64_put(&b, STR("foo"), true);
	CHECK_ERR(buf_error(&b), ERR_TOO_LARGE);
	CHECK_STR(buf_view(&b), "ab");
}
