#include <stdlib.h>

#include "symbols/address_ranges.h"
#include "symbols/byte_cursor.h"
#include "symbols/name_pool.h"
#include "symbols/section_unpack.h"
#include "symbols/symbols.h"
#include "test.h"

static enum err add(struct address_ranges *r, uint64_t start, uint64_t end, uint32_t value,
		    uint32_t priority)
{
	return address_ranges_add(r, (struct address_range){start, end, value, priority});
}

static int found(const struct address_ranges *r, uint64_t address)
{
	const struct address_range *range = address_ranges_find(r, address);

	return range ? (int)range->value : -1;
}

TEST(later_ranges_win_the_addresses_they_share)
{
	CLEANUP(address_ranges_release) struct address_ranges r = {0};

	CHECK_OK(add(&r, 100, 200, 1, 1));
	CHECK_OK(add(&r, 150, 160, 2, 2));
	CHECK_OK(add(&r, 190, 300, 3, 3));
	CHECK_OK(add(&r, 50, 120, 4, 0));
	CHECK_OK(add(&r, 400, 400, 5, 9));
	CHECK_OK(address_ranges_flatten(&r));
	CHECK_INT(found(&r, 49), -1);
	CHECK_INT(found(&r, 50), 4);
	CHECK_INT(found(&r, 100), 1);
	CHECK_INT(found(&r, 155), 2);
	CHECK_INT(found(&r, 160), 1);
	CHECK_INT(found(&r, 195), 3);
	CHECK_INT(found(&r, 299), 3);
	CHECK_INT(found(&r, 300), -1);
	CHECK_INT(found(&r, 400), -1);
}

/* Against the plainest way to say who owns an address. */
TEST(flattened_ranges_say_what_a_table_of_addresses_says)
{
	srand(1);
	for (int turn = 0; turn < 300; turn++) {
		CLEANUP(address_ranges_release) struct address_ranges r = {0};
		int owner[200], n = 1 + rand() % 40;

		memset(owner, -1, sizeof(owner));
		for (int i = 0; i < n; i++) {
			int start = rand() % 200, end = start + rand() % 60;

			CHECK_OK(add(&r, (uint64_t)start, (uint64_t)end, (uint32_t)i, (uint32_t)i));
			for (int a = start; a < end && a < 200; a++)
				owner[a] = i;
		}
		CHECK_OK(address_ranges_flatten(&r));
		for (int a = 0; a < 200; a++)
			CHECK_INT(found(&r, (uint64_t)a), owner[a]);
		for (size_t i = 1; i < r.n; i++)
			CHECK(r.v[i].start >= r.v[i - 1].end);
	}
}

static enum err flatten_some(void)
{
	CLEANUP(address_ranges_release) struct address_ranges r = {0};

	for (uint32_t i = 0; i < 50; i++)
		TRY(add(&r, i, 100 - i, i, i));
	return address_ranges_flatten(&r);
}

TEST(flattening_copes_without_memory)
{
	ALLOC_SWEEP(flatten_some());
}

TEST(cursor_stays_bad_and_inside)
{
	struct byte_cursor c = cursor_over(STR("\xe5\x8e\x26\x7f\x80"));

	CHECK_INT(cursor_uleb(&c), 624485);
	CHECK_INT(cursor_sleb(&c), -1);
	CHECK_INT(cursor_uleb(&c), 0);
	CHECK(c.bad);
	CHECK_INT(cursor_u8(&c), 0);
	CHECK_INT(cursor_left(&c), 0);
	c = cursor_at(STR("abc"), 4);
	CHECK(c.bad);
	c = cursor_over(STR("abc"));
	CHECK_INT(cursor_text(&c).n, 0);
	CHECK(c.bad);
	c = cursor_over(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01"));
	CHECK_INT(cursor_uleb(&c), -1);
	CHECK_INT(cursor_u8(&c), 1);
}

TEST(pool_keeps_each_name_once_and_its_ceiling)
{
	CLEANUP(name_pool_release) struct name_pool p;
	uint32_t a, b, c;

	name_pool_init(&p, 1000);
	CHECK_OK(name_pool_add(&p, STR("one"), &a));
	CHECK_OK(name_pool_add(&p, STR("two"), &b));
	CHECK_OK(name_pool_add(&p, STR("one"), &c));
	CHECK_INT(a, c);
	CHECK(a != b);
	CHECK(strcmp(name_pool_get(&p, b), "two") == 0);
	CHECK_OK(name_pool_add(&p, STR(""), &c));
	CHECK_INT(c, 0);
	CHECK(strcmp(name_pool_get(&p, 77), "") == 0);
	for (int i = 0; i < 200; i++) {
		char name[32];

		snprintf(name, sizeof(name), "name number %d", i);
		enum err error = name_pool_add(&p, str_of(name), &a);

		if (error == ERR_TOO_LARGE)
			return;
		CHECK_OK(error);
	}
	CHECK(false);
}

static bool demangles(const char *name, enum symbol_names names, const char *want)
{
	char out[SYMBOL_NAME_MAX];

	if (!symbol_demangle(name, names, out, sizeof(out)) || strcmp(out, want) != 0) {
		printf("# %s is %s\n", name, out);
		return false;
	}
	return true;
}

TEST(cpp_and_rust_names_are_demangled)
{
	CHECK(demangles("_ZN3app4workERKSt6vectorIiSaIiEE", SYMBOL_NAMES_FULL,
			"app::work(std::vector<int, std::allocator<int> > const&)"));
	CHECK(demangles("_ZN3app4workERKSt6vectorIiSaIiEE", SYMBOL_NAMES_SIMPLE, "app::work"));
	CHECK(demangles("_ZN3appltERKNS_3BoxIiEES3_", SYMBOL_NAMES_SIMPLE, "app::operator<"));
	CHECK(demangles("_ZlsRSoRK1A", SYMBOL_NAMES_SIMPLE, "operator<<"));
	CHECK(demangles("_ZN12_GLOBAL__N_11fEv", SYMBOL_NAMES_SIMPLE, "(anonymous namespace)::f"));
	CHECK(demangles("_ZZ4mainENKUliiE_clEii", SYMBOL_NAMES_SIMPLE,
			"main::{lambda#1}::operator()"));
	CHECK(demangles("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", SYMBOL_NAMES_FULL,
			"core::ptr::drop_in_place"));
	CHECK(demangles("_RNvC7mycrate3foo", SYMBOL_NAMES_FULL, "mycrate::foo"));
	CHECK(demangles("_RINvC7mycrate3foolE", SYMBOL_NAMES_FULL, "mycrate::foo::<i32>"));
	CHECK(demangles("_RINvC7mycrate3foolE", SYMBOL_NAMES_SIMPLE, "mycrate::foo"));
	CHECK(demangles("_ZN38_$LT$p..Square$u20$as$u20$p..Shape$GT$4area17h0123456789abcdefE",
			SYMBOL_NAMES_SIMPLE, "<p::Square as p::Shape>::area"));
}

TEST(names_that_are_not_mangled_stay)
{
	static const char *const plain[] = {"main", "", "_", "_Z", "Zebra", "_ZN", "_R", "foo@plt"};
	char out[16];

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		CHECK(!symbol_demangle(plain[i], SYMBOL_NAMES_FULL, out, sizeof(out)));
		CHECK(strcmp(out, plain[i]) == 0);
	}
	CHECK(!symbol_demangle("_ZN3app1fEv", SYMBOL_NAMES_RAW, out, sizeof(out)));
	CHECK(strcmp(out, "_ZN3app1fEv") == 0);
}

/* Each argument refers twice to the one before: the name doubles with every step. */
TEST(a_name_that_unfolds_without_end_is_cut)
{
	char out[SYMBOL_NAME_MAX], name[1200] = "_Z1fI";
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = 5;

	n += (size_t)snprintf(name + n, sizeof(name) - n, "1aIiiE");
	for (int i = 0; i < 34; i++)
		n += (size_t)snprintf(name + n, sizeof(name) - n, "1aIS%.*s_S%.*s_E", i ? 1 : 0,
				      &digits[i ? i - 1 : 0], i ? 1 : 0, &digits[i ? i - 1 : 0]);
	snprintf(name + n, sizeof(name) - n, "Evv");
	(void)symbol_demangle(name, SYMBOL_NAMES_FULL, out, sizeof(out));
	CHECK(strlen(out) < sizeof(out));
	memset(name, 'P', sizeof(name) - 1);
	memcpy(name, "_Z1f", 4);
	name[sizeof(name) - 1] = 0;
	(void)symbol_demangle(name, SYMBOL_NAMES_FULL, out, sizeof(out));
}

TEST(a_name_of_the_longest_length_fits_the_stack)
{
	char out[SYMBOL_NAME_MAX], *name = mem_alloc(8192);

	CHECK(name);
	for (size_t length = 900; length < 8192; length += 97) {
		memset(name, 'P', length);
		memcpy(name, "_Z1f", 4);
		memcpy(name + length - 2, "i", 2);
		(void)symbol_demangle(name, SYMBOL_NAMES_FULL, out, sizeof(out));
		memset(name, 'N', length - 1);
		memcpy(name, "_ZN", 3);
		(void)symbol_demangle(name, SYMBOL_NAMES_SIMPLE, out, sizeof(out));
	}
	mem_free(name);
}

TEST(packed_sections_of_impossible_size_are_refused)
{
	void *out = NULL;
	size_t size;

	CHECK_ERR(unpack_section(1, STR("x"), (uint64_t)1 << 40, &out), ERR_CORRUPT);
	CHECK_ERR(unpack_section(9, STR("xxxxxxxx"), 10, &out), ERR_UNSUPPORTED);
	CHECK_ERR(unpack_section(1, STR("xxxxxxxx"), 10, &out), ERR_CORRUPT);
	CHECK_ERR(unpack_section(2, STR("xxxxxxxx"), 10, &out), ERR_CORRUPT);
	CHECK_ERR(unpack_xz(STR("not xz at all"), 100, &out, &size), ERR_CORRUPT);
}
