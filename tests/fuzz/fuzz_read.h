/*
 * What the targets of the JSON formats share: a read, with what it needs around it.
 */
#pragma once

#include <stdlib.h>

#include "format/formats_internal.h"

struct fuzz_read {
	struct dict dict;
	struct profile_list list;
	struct reading reading;
};

static inline void fuzz_read_release(struct fuzz_read *f)
{
	profile_list_release(&f->list);
	notes_release(&f->reading.notes);
	dict_release(&f->dict);
}

/* Limits are low, so that a fuzzer reaches them. */
static inline enum err fuzz_read(struct fuzz_read *f, const struct format *format, struct str bytes)
{
	*f = (struct fuzz_read){0};
	TRY(dict_init(&f->dict, 1));
	f->reading = (struct reading){.dict = &f->dict, .list = &f->list, .limits = LIMITS_DEFAULT};
	f->reading.limits.max_depth = 64;
	f->reading.limits.max_nesting = 32;
	f->reading.limits.max_entries = 100000;
	(void)format->sniff(bytes);
	return format->read(bytes, &f->reading);
}

/* The sum of everything; false when values are so large that sums may have been cut. */
static inline bool fuzz_total(const struct fuzz_read *f, int64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < f->list.n; i++) {
		const struct profile *p = f->list.v[i];

		for (size_t v = 0; v < p->row_count * p->type_count; v++) {
			if (p->values[v] > INT64_C(1) << 40 || p->values[v] < -(INT64_C(1) << 40))
				return false;
			*ret += p->values[v];
		}
	}
	return true;
}

/* Values that a format of weights cannot hold, or not in one sum. */
static inline bool fuzz_may_be_refused(const struct fuzz_read *f)
{
	for (size_t i = 0; i < f->list.n; i++) {
		const struct profile *p = f->list.v[i];

		for (size_t v = 0; v < p->row_count * p->type_count; v++)
			if (p->values[v] < 0 || p->values[v] > INT64_C(1) << 40)
				return true;
	}
	return false;
}

/* What was read can be written, or is refused for a reason, and what was written reads back to the
 * same totals. */
static inline void fuzz_round_trip(struct fuzz_read *f, const struct format *format)
{
	struct buf out = BUF_INIT((size_t)64 << 20);
	struct writing w = {.list = &f->list, .type = -1, .compress = 0};
	struct fuzz_read again;
	int64_t before, after;
	enum err error = format->write(&w, &out);

	if (error == ERR_UNSUPPORTED && fuzz_may_be_refused(f)) {
		notes_release(&w.notes);
		buf_release(&out);
		return;
	}
	if (error != ERR_OK || fuzz_read(&again, format, buf_view(&out)) != ERR_OK)
		abort();
	if (fuzz_total(f, &before) && fuzz_total(&again, &after) && before != after)
		abort();
	fuzz_read_release(&again);
	notes_release(&w.notes);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
