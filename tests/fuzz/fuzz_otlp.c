/*
 * OTLP: whatever can be read is written and read again, and both readings say the same: as many
 * profiles, the same types, and per stack and label set the same sums.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "format/formats_internal.h"

struct world {
	struct dict dict;
	struct profile_list list;
	struct reading out;
};

static enum err read_into(struct world *w, struct str bytes)
{
	enum err e;

	*w = (struct world){0};
	w->out = (struct reading){.dict = &w->dict, .list = &w->list, .limits = LIMITS_DEFAULT};
	w->out.plain_bytes = bytes.n;
	e = dict_init(&w->dict, 1);
	return e ? e : otlp_read(bytes, &w->out);
}

static void world_release(struct world *w)
{
	notes_release(&w->out.notes);
	profile_list_release(&w->list);
	dict_release(&w->dict);
}

/* What a profile says, whatever the order of its rows: sums wrap, and that is all right here. */
static uint64_t digest(const struct profile *p)
{
	const struct dict *d = p->dict;
	uint64_t sum = 0, resource = d->label_sets.entries.v[p->resource].hash;

	for (size_t i = 0; i < p->row_count; i++) {
		struct row row = profile_row(p, i);
		uint64_t key = hash_mix(stack_hash(d, row.stack),
					d->label_sets.entries.v[row.labels].hash);

		key = hash_mix(key, d->links.hash.v[row.link]);
		for (uint32_t t = 0; t < p->type_count; t++)
			sum += hash_mix(key, d->strings.hash.v[p->types[t].type]) *
			       (uint64_t)profile_values(p, i)[t];
	}
	return hash_mix(sum, resource ^ p->type_count);
}

/* A key that stands twice among the attributes of one thing is written as a list of its values. */
static bool repeats_a_key(const struct dict *d)
{
	for (uint32_t set = 0; set < d->label_sets.entries.n; set++) {
		uint32_t n;
		const uint32_t *labels = label_set_items(d, set, &n);

		for (uint32_t i = 1; i < n; i++)
			if (d->labels.v[labels[i]].key == d->labels.v[labels[i - 1]].key)
				return true;
	}
	return false;
}

/* Sums at the ends of int64 do not add up, and a key that stands twice may change its kind: such
 * inputs are read, but not compared. */
static bool comparable(const struct world *w)
{
	if (repeats_a_key(&w->dict))
		return false;
	vec_for_each (note, &w->out.notes.list)
		if (strstr(note->text, "two attributes with one key"))
			return false;
	for (size_t i = 0; i < w->list.n; i++) {
		const struct profile *p = w->list.v[i];

		if (!p->type_count)
			return false;
		for (size_t k = 0; k < p->row_count * p->type_count; k++)
			if (p->values[k] > INT64_MAX >> 24 || p->values[k] < INT64_MIN >> 24)
				return false;
	}
	return true;
}

static bool lossy(const struct notes *notes)
{
	vec_for_each (note, &notes->list)
		if (strstr(note->text, "different units") || strstr(note->text, "without a key"))
			return true;
	return false;
}

static void compare(const struct world *a, const struct world *b)
{
	if (a->list.n != b->list.n) {
		fprintf(stderr, "%zu profiles became %zu\n", a->list.n, b->list.n);
		abort();
	}
	for (size_t i = 0; i < a->list.n; i++) {
		if (digest(a->list.v[i]) == digest(b->list.v[i]))
			continue;
		fprintf(stderr, "profile %zu changed\n", i);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = {(const char *)data, size};
	struct buf written = BUF_INIT((size_t)256 << 20);
	struct world a, b = {0};
	struct writing in = {.list = &a.list, .type = -1, .compress = 0};

	(void)otlp_sniff(bytes);
	if (read_into(&a, bytes) == ERR_OK && a.list.n && otlp_write(&in, &written) == ERR_OK) {
		if (read_into(&b, buf_view(&written)) != ERR_OK) {
			fprintf(stderr, "cannot read what was written: %s\n", b.out.fault.text);
			abort();
		}
		if (comparable(&a) && !lossy(&in.notes))
			compare(&a, &b);
	}
	notes_release(&in.notes);
	world_release(&a);
	world_release(&b);
	buf_release(&written);
	return 0;
}
