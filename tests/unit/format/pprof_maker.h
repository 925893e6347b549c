/*
 * pprof files made by hand, message by message, and what the reader makes of them.
 */
#pragma once

#include "../test.h"
#include "format/formats_internal.h"
#include "format/pprof.h"

/* A file made by hand, message by message. */
struct maker {
	struct buf b;
};

static inline void maker_release(struct maker *m)
{
	buf_release(&m->b);
}

#define MAKER(name) CLEANUP(maker_release) struct maker name = {BUF_INIT(1 << 20)}

static inline void make_string(struct maker *m, const char *s)
{
	pb_put_bytes(&m->b, PPROF_STRING_TABLE, str_of(s));
}

/* A message of numbers: (field, value) pairs, ended by field 0. */
static inline void make_numbers(struct maker *m, uint32_t field, const uint64_t *pairs)
{
	size_t mark = pb_begin(&m->b, field);

	for (; pairs[0]; pairs += 2)
		pb_put_uint(&m->b, (uint32_t)pairs[0], pairs[1]);
	pb_end(&m->b, mark);
}
#define NUMBERS(m, field, ...) make_numbers(m, field, (uint64_t[]){__VA_ARGS__, 0})

static inline void make_location(struct maker *m, uint64_t id, uint64_t function, uint64_t line)
{
	size_t mark = pb_begin(&m->b, PPROF_LOCATION), inner;

	pb_put_uint(&m->b, PPROF_LOCATION_ID, id);
	pb_put_uint(&m->b, PPROF_LOCATION_MAPPING, 1);
	pb_put_uint(&m->b, PPROF_LOCATION_ADDRESS, 0x1000 + id);
	inner = pb_begin(&m->b, PPROF_LOCATION_LINE);
	if (function)
		pb_put_uint(&m->b, PPROF_LINE_FUNCTION, function);
	pb_put_uint(&m->b, PPROF_LINE_LINE, line);
	pb_end(&m->b, inner);
	pb_end(&m->b, mark);
}

static inline void make_packed(struct maker *m, uint32_t field, const uint64_t *values, size_t n)
{
	size_t mark = pb_begin(&m->b, field);

	for (size_t i = 0; i < n; i++)
		pb_put_varint(&m->b, values[i]);
	pb_end(&m->b, mark);
}

static inline void make_sample(struct maker *m, const uint64_t *locations, size_t n, int64_t a,
			       int64_t b)
{
	size_t mark = pb_begin(&m->b, PPROF_SAMPLE);

	make_packed(m, PPROF_SAMPLE_LOCATION, locations, n);
	make_packed(m, PPROF_SAMPLE_VALUE, (uint64_t[]){(uint64_t)a, (uint64_t)b}, 2);
	pb_end(&m->b, mark);
}
#define SAMPLE(m, a, b, ...)                      \
	make_sample(m, (uint64_t[]){__VA_ARGS__}, \
		    sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), a, b)

/* Types, one mapping, two functions, two locations, the strings; samples are the test's. */
static inline void make_tables(struct maker *m)
{
	NUMBERS(m, PPROF_SAMPLE_TYPE, 1, 1, 2, 2);
	NUMBERS(m, PPROF_SAMPLE_TYPE, 1, 3, 2, 4);
	NUMBERS(m, PPROF_MAPPING, 1, 1, 2, 0x1000, 3, 0x9000, 5, 7, 6, 8);
	make_location(m, 1, 1, 10);
	make_location(m, 2, 2, 20);
	NUMBERS(m, PPROF_FUNCTION, 1, 1, 2, 5, 4, 9);
	NUMBERS(m, PPROF_FUNCTION, 1, 2, 2, 6, 4, 9);
	make_string(m, "");
	make_string(m, "samples");
	make_string(m, "count");
	make_string(m, "cpu");
	make_string(m, "nanoseconds");
	make_string(m, "main");
	make_string(m, "work");
	make_string(m, "/bin/app");
	make_string(m, "abcd1234");
	make_string(m, "app.c");
}

struct opened {
	struct dict d;
	struct profile_list list;
	struct reading r;
	enum err e;
};

static inline void opened_release(struct opened *o)
{
	notes_release(&o->r.notes);
	profile_list_release(&o->list);
	dict_release(&o->d);
}

static inline void open_bytes(struct opened *o, struct str bytes)
{
	*o = (struct opened){0};
	o->e = dict_init(&o->d, 42);
	if (o->e)
		return;
	o->r = (struct reading){.dict = &o->d, .list = &o->list, .limits = LIMITS_DEFAULT};
	o->e = format_read(bytes, &formats[FORMAT_PPROF], &o->r, NULL);
}

#define OPEN(name, bytes)                           \
	CLEANUP(opened_release) struct opened name; \
	open_bytes(&name, bytes)

static inline bool said(const struct opened *o, const char *words)
{
	return strstr(o->r.fault.text, words);
}

static inline bool noted(const struct opened *o, const char *words)
{
	vec_for_each (note, &o->r.notes.list)
		if (strstr(note->text, words))
			return true;
	return false;
}
