/*
 * The binary CPU profile of gperftools: words of 32 or 64 bits in either byte order,
 *
 *	0  3  0  period in µs  0		header; the third word is 1 for Java
 *	count  n  address × n			leaf first, again and again
 *	0  1  0					end of samples
 *
 * then the memory map as text (for Java: the names of locations).
 */
#include "format/legacy.h"

struct words {
	struct str bytes;
	size_t at;
	size_t size;
	bool big;
};

static bool take_word(struct words *w, uint64_t *ret)
{
	uint64_t value = 0;

	if (w->bytes.n - w->at < w->size)
		return false;
	for (size_t i = 0; i < w->size; i++) {
		size_t from = w->big ? i : w->size - 1 - i;

		value = value << 8 | (unsigned char)w->bytes.p[w->at + from];
	}
	w->at += w->size;
	*ret = value;
	return true;
}

static bool take_header(struct words *w, uint64_t *ret_period, bool *ret_java)
{
	uint64_t h[5];

	for (size_t i = 0; i < 5; i++)
		if (!take_word(w, &h[i]))
			return false;
	if (h[0] != 0 || h[1] != 3 || h[2] > 1 || !h[3] || h[3] > INT64_MAX / 1000 || h[4] != 0)
		return false;
	*ret_period = h[3];
	*ret_java = h[2] == 1;
	return true;
}

static bool find_words(struct str bytes, struct words *ret, uint64_t *ret_period, bool *ret_java)
{
	for (unsigned i = 0; i < 4; i++) {
		struct words w = {.bytes = bytes, .size = i < 2 ? 4 : 8, .big = i & 1};

		if (!take_header(&w, ret_period, ret_java))
			continue;
		*ret = w;
		return true;
	}
	return false;
}

bool legacy_is_cpu(struct str bytes)
{
	struct words w;
	uint64_t period;
	bool java;

	return find_words(bytes, &w, &period, &java);
}

/* One sample, or the end of them. */
static enum err read_sample(struct legacy *l, struct words *w, bool *ret_end)
{
	uint64_t count, n, address = 0;
	int64_t period = l->profile->period;
	size_t begin = w->at;
	struct legacy_sample *s;

	if (!take_word(w, &count) || !take_word(w, &n) || n > (w->bytes.n - w->at) / w->size)
		return fault_set(&l->out->fault, ERR_TRUNCATED,
				 "CPU profile: the sample at byte %zu goes beyond the end of the "
				 "file",
				 begin);
	TRY(legacy_begin_sample(l, &s));
	for (uint64_t i = 0; i < n; i++) {
		(void)take_word(w, &address);
		TRY(legacy_push(l, address - (i > 0 && !l->java)));
	}
	*ret_end = count == 0 && n == 1 && address == 0;
	if (*ret_end) {
		l->samples.n--;
		return ERR_OK;
	}
	s = &l->samples.v[l->samples.n - 1];
	if (count > INT64_MAX || __builtin_mul_overflow((int64_t)count, period, &s->values[1]))
		return fault_set(&l->out->fault, ERR_CORRUPT,
				 "CPU profile: count times period of the sample at byte %zu does "
				 "not fit in 64 bits",
				 begin);
	s->values[0] = (int64_t)count;
	return ERR_OK;
}

/* The second address of more than half of the samples, if there is one (it must be counted). */
static uint64_t majority(const struct legacy *l)
{
	uint64_t candidate = 0;
	size_t lead = 0;

	for (size_t i = 0; i < l->samples.n; i++) {
		const struct legacy_sample *s = &l->samples.v[i];

		if (s->n < 2)
			continue;
		if (!lead)
			candidate = l->addresses.v[s->at + 1];
		lead += l->addresses.v[s->at + 1] == candidate ? 1 : (size_t)-1;
	}
	return candidate;
}

/*
 * A second frame that nearly all samples share is the signal handler's, not the program's: up to
 * two of them are removed, as google/pprof does.
 */
static void remove_handler_frames(struct legacy *l)
{
	size_t n = l->samples.n;

	for (int round = 0; round < 2; round++) {
		uint64_t address = majority(l);
		size_t count = 0;

		vec_for_each (s, &l->samples)
			count += s->n > 1 && l->addresses.v[s->at + 1] == address;
		if (!count || count < n - n / 32)
			return;
		vec_for_each (s, &l->samples)
			if (s->n > 1 && l->addresses.v[s->at + 1] == address)
				legacy_drop_second(l, s);
	}
}

static enum err add_types(struct legacy *l, uint64_t period)
{
	struct profile *p = l->profile;

	TRY(profile_add_type(p, STR("samples"), STR("count")));
	TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	p->period = (int64_t)period * 1000;
	p->period_type = p->types[1];
	return ERR_OK;
}

enum err legacy_cpu(struct legacy *l)
{
	struct words w;
	uint64_t period;
	bool end = false;

	l->out->variant = "legacy CPU";
	if (!find_words(l->lines.all, &w, &period, &l->java))
		return fault_set(&l->out->fault, ERR_CORRUPT,
				 "CPU profile: expected the words 0, 3, 0, period, 0");
	TRY(add_types(l, period));
	while (!end && w.at < w.bytes.n)
		TRY(read_sample(l, &w, &end));
	l->lines.at = w.at;
	if (l->java)
		return legacy_java_locations(l);
	remove_handler_frames(l);
	legacy_drop_doubled_leaves(l);
	return legacy_read_maps(l, false);
}
