/* Texts sorted by radix are in the order of str_cmp, whatever they have in common. */
#include "store/text_order.h"

#include <stdlib.h>

#include "base/vec.h"
#include "store_model.h"
#include "test.h"

struct texts {
	VEC(struct str) v;
	VEC(uint32_t) ids;
	struct arena arena;
	uint32_t groups;
};

static void texts_release(struct texts *t)
{
	vec_release(&t->v);
	vec_release(&t->ids);
	arena_release(&t->arena);
}

static struct str text_of(const void *context, uint32_t id)
{
	return ((const struct texts *)context)->v.v[id];
}

static uint32_t group_of(const void *context, uint32_t id)
{
	return id * 7 % ((const struct texts *)context)->groups;
}

static enum err add(struct texts *t, const char *bytes, size_t n)
{
	struct str copy = str_n(arena_copy(&t->arena, str_n(bytes, n)), n);

	TRY(vec_push(&t->ids, (uint32_t)t->v.n));
	return copy.p ? vec_push(&t->v, copy) : ERR_NO_MEMORY;
}

static enum err order(struct texts *t)
{
	const struct text_source from = {t, text_of, t->groups ? group_of : NULL};

	return text_order(&from, t->ids.v, t->ids.n);
}

static int compare(const struct texts *t, uint32_t a, uint32_t b)
{
	uint32_t left = t->groups ? group_of(t, a) : 0, right = t->groups ? group_of(t, b) : 0;

	return left != right ? (left > right) - (left < right) : str_cmp(t->v.v[a], t->v.v[b]);
}

/* Each is there once, and none is before a smaller one. */
static bool is_ordered(const struct texts *t)
{
	size_t sum = 0;

	for (size_t i = 0; i < t->ids.n; i++) {
		sum += t->ids.v[i];
		if (i && compare(t, t->ids.v[i - 1], t->ids.v[i]) > 0)
			return false;
	}
	return sum == t->v.n * (t->v.n - 1) / 2;
}

TEST(names_of_pods_are_sorted)
{
	CLEANUP(texts_release) struct texts t = {0};
	uint64_t state = 1;
	char name[60];

	for (unsigned i = 0; i < 5000; i++) {
		unsigned service = model_next(&state, 40);

		snprintf(name, sizeof(name), "a-long-name-that-many-share-%u-%u-%u", service,
			 model_next(&state, 3) * 1000000, i);
		CHECK_OK(add(&t, name, strlen(name)));
	}
	CHECK_OK(order(&t));
	CHECK(is_ordered(&t));
	t.groups = 5;
	CHECK_OK(order(&t));
	CHECK(is_ordered(&t));
}

TEST(texts_may_be_empty_equal_and_have_any_bytes)
{
	CLEANUP(texts_release) struct texts t = {0};
	uint64_t state = 2;

	CHECK_OK(order(&t));
	for (unsigned i = 0; i < 4000; i++) {
		char bytes[40] = {0};
		size_t n = model_next(&state, sizeof(bytes));

		/* Most are zeros: a key does not show where such a text ends. */
		for (size_t k = 0; k < n; k++)
			bytes[k] = model_next(&state, 9) ? 0 : (char)model_next(&state, 256);
		CHECK_OK(add(&t, bytes, n));
	}
	CHECK_OK(order(&t));
	CHECK(is_ordered(&t));
}

static enum err order_copy(const struct texts *t)
{
	CLEANUP(texts_release) struct texts copy = {0};

	vec_for_each (text, &t->v)
		TRY(add(&copy, text->p, text->n));
	return order(&copy);
}

TEST(memory_may_be_short)
{
	CLEANUP(texts_release) struct texts t = {0};
	char name[30];

	for (unsigned i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "%u-and-more-%u", i % 2, i);
		CHECK_OK(add(&t, name, strlen(name)));
	}
	ALLOC_SWEEP(order_copy(&t));
}
