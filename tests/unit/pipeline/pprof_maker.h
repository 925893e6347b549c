/*
 * pprof bytes for tests, made with the format's own writer from a short description.
 */
#pragma once

#include "../test.h"

#include "format/format.h"

struct maker {
	struct dict d;
	struct profile_list list;
	struct profile *p;
	struct buf out;
};

static inline enum err maker_init(struct maker *m)
{
	*m = (struct maker){.out = BUF_INIT((size_t)16 << 20)};
	TRY(dict_init(&m->d, 3));
	TRY(profile_list_add(&m->list, &m->d, &m->p));
	m->p->time_ns = 1700000000000000000;
	m->p->duration_ns = 15000000000;
	return ERR_OK;
}

static inline void maker_release(struct maker *m)
{
	profile_list_release(&m->list);
	dict_release(&m->d);
	buf_release(&m->out);
}

/* "cpu nanoseconds": the words of a type. */
static inline void maker_type(struct maker *m, const char *words)
{
	struct str unit = str_of(words), type;

	str_split(&unit, ' ', &type);
	if (profile_add_type(m->p, type, unit))
		test_fail(__FILE__, __LINE__, "type");
}

static inline void maker_period(struct maker *m, const char *type, const char *unit, int64_t period)
{
	m->p->period = period;
	if (dict_text(&m->d, type, &m->p->period_type.type) ||
	    dict_text(&m->d, unit, &m->p->period_type.unit))
		test_fail(__FILE__, __LINE__, "period");
}

/* "main;work" "k=v,n=#12" (a number), values by column. */
static inline void maker_row(struct maker *m, const char *stack, const char *labels,
			     const int64_t *values)
{
	uint32_t frames[32], ids[16], n = 0, label_count = 0;
	struct str rest = str_of(stack), part, key;
	struct row row = {0};

	while (rest.n && n < 32) {
		size_t at = str_rfind(rest, ';');
		struct str name = at < rest.n ? str_skip(rest, at + 1) : rest;

		if (dict_named_frame(&m->d, name, &frames[n++]))
			test_fail(__FILE__, __LINE__, "frame");
		rest.n = at < rest.n ? at : 0;
	}
	rest = str_of(labels);
	while (str_split(&rest, ',', &part)) {
		str_split(&part, '=', &key);
		if (part.n && part.p[0] == '#') {
			struct label l = {.type = LABEL_INT};

			if (str_to_i64(str_skip(part, 1), &l.value) ||
			    dict_string(&m->d, key, &l.key) ||
			    dict_label(&m->d, &l, &ids[label_count++]))
				test_fail(__FILE__, __LINE__, "number");
		} else if (dict_label_text(&m->d, key, part, &ids[label_count++])) {
			test_fail(__FILE__, __LINE__, "label");
		}
	}
	if (dict_stack(&m->d, frames, n, &row.stack) ||
	    dict_label_set(&m->d, ids, label_count, &row.labels) || profile_add(m->p, &row, values))
		test_fail(__FILE__, __LINE__, "row");
}
#define ROW(m, stack, labels, ...) maker_row(m, stack, labels, (const int64_t[]){__VA_ARGS__})

static inline struct str maker_bytes(struct maker *m, int compress)
{
	struct writing w = {.list = &m->list, .type = -1, .compress = compress};

	buf_clear(&m->out);
	if (format_write(&formats[FORMAT_PPROF], &w, &m->out))
		test_fail(__FILE__, __LINE__, "%s", w.fault.text);
	notes_release(&w.notes);
	return buf_view(&m->out);
}

/* samples and cpu, two stacks: what a Go program sends. */
static inline enum err maker_cpu(struct maker *m)
{
	TRY(maker_init(m));
	maker_type(m, "samples count");
	maker_type(m, "cpu nanoseconds");
	maker_period(m, "cpu", "nanoseconds", 10000000);
	ROW(m, "main;work", "", 3, 30000000);
	ROW(m, "main;idle", "", 1, 10000000);
	return ERR_OK;
}
