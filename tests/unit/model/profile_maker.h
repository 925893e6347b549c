/*
 * Profiles made from folded text for the tests of src/model: "main;work;leaf", root first. A frame
 * may be "name@file:line", "name~" (inlined into the frame before it) or "0x1234" (no function).
 */
#pragma once

#include "../test.h"

#include "model/model.h"

static inline enum err maker_frame(struct dict *d, struct str text, uint32_t *ret)
{
	struct function function = {0};
	struct frame f = {.flags = FRAME_HAS_LINE};
	size_t at = str_find(text, '@');
	struct str place = at < text.n ? str_skip(text, at + 1) : STR("");

	text.n = at;
	if (text.n && text.p[text.n - 1] == '~') {
		f.flags |= FRAME_INLINED;
		text.n--;
	}
	if (str_starts(text, STR("0x"))) {
		f.flags = 0;
		TRY(str_to_u64(str_skip(text, 2), 16, &f.address));
		return dict_frame(d, &f, ret);
	}
	if (place.n) {
		size_t colon = str_rfind(place, ':');

		TRY(str_to_i64(str_skip(place, colon + 1), &f.line));
		TRY(dict_string(d, str_n(place.p, colon), &function.file));
	}
	TRY(dict_string(d, text, &function.name));
	TRY(dict_function(d, &function, &f.function));
	return dict_frame(d, &f, ret);
}

static inline enum err maker_stack(struct dict *d, const char *folded, uint32_t *ret)
{
	uint32_t frames[256], n = 0;
	struct str rest = str_of(folded), part;

	while (n < 256 && str_split(&rest, ';', &part)) {
		TRY(maker_frame(d, part, &frames[255 - n]));
		n++;
	}
	return dict_stack(d, frames + 256 - n, n, ret);
}

static inline enum err maker_labels(struct dict *d, const char *text, uint32_t *ret)
{
	uint32_t labels[16], n = 0;
	struct str rest = str_of(text), part;

	while (n < 16 && str_split(&rest, ',', &part)) {
		size_t equals = str_find(part, '=');

		TRY(dict_label_text(d, str_n(part.p, equals), str_skip(part, equals + 1),
				    &labels[n++]));
	}
	return dict_label_set(d, labels, n, ret);
}

/* One row; `labels` as "k=v,k2=v2" or "". */
static inline enum err maker_add(struct profile *p, const char *folded, const char *labels,
				 const int64_t *values)
{
	struct row row = {0};

	TRY(maker_stack(p->dict, folded, &row.stack));
	TRY(maker_labels(p->dict, labels, &row.labels));
	return profile_add(p, &row, values);
}

static inline enum err maker_row(struct profile *p, const char *folded, int64_t value)
{
	int64_t values[PROFILE_MAX_TYPES] = {0};

	for (uint32_t t = 0; t < p->type_count; t++)
		values[t] = value;
	return maker_add(p, folded, "", values);
}

/* A dictionary with one profile of samples/count. */
struct made {
	struct dict dict;
	struct profile p;
};

static inline enum err made_init(struct made *m, uint64_t seed)
{
	TRY(dict_init(&m->dict, seed));
	profile_init(&m->p, &m->dict);
	return profile_add_type(&m->p, STR("samples"), STR("count"));
}

static inline void made_release(struct made *m)
{
	profile_release(&m->p);
	dict_release(&m->dict);
}

#define MADE(name) CLEANUP(made_release) struct made name = {0}

/* Small, fast, the same everywhere. */
static inline uint32_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* `rows` random stacks over `names` functions, at most `depth` deep, values from low to high. */
static inline enum err maker_random(struct profile *p, uint64_t *state, uint32_t rows,
				    uint32_t names, uint32_t depth, int64_t low, int64_t high)
{
	for (uint32_t i = 0; i < rows; i++) {
		uint32_t n = random_next(state) % (depth + 1), frames[64];
		int64_t values[PROFILE_MAX_TYPES];
		struct row row = {0};
		char label[24];

		for (uint32_t j = 0; j < n; j++) {
			char name[24];

			snprintf(name, sizeof(name), "f%u", random_next(state) % names);
			TRY(dict_named_frame(p->dict, str_of(name), &frames[j]));
		}
		TRY(dict_stack(p->dict, frames, n, &row.stack));
		snprintf(label, sizeof(label), "k=v%u", random_next(state) % 3);
		TRY(maker_labels(p->dict, label, &row.labels));
		for (uint32_t t = 0; t < p->type_count; t++)
			values[t] =
				low + (int64_t)(random_next(state) % (uint64_t)(high - low + 1));
		TRY(profile_add(p, &row, values));
	}
	return ERR_OK;
}
