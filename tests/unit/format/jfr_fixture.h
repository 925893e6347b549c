/*
 * Recordings made by hand, and what the reader makes of them.
 */
#pragma once

#include "../test.h"
#include "format/format.h"
#include "jfr_build.h"

#define TYPES	   jfr_test_types
#define TYPE_COUNT (sizeof(jfr_test_types) / sizeof(jfr_test_types[0]))

/* A dictionary and what was read into it. */
struct read {
	struct dict d;
	struct profile_list list;
	struct reading r;
};

static inline void read_release(struct read *x)
{
	profile_list_release(&x->list);
	notes_release(&x->r.notes);
	dict_release(&x->d);
}

static inline enum err read_bytes(struct read *x, struct str bytes)
{
	*x = (struct read){.r.limits = LIMITS_DEFAULT};
	x->r.dict = &x->d;
	x->r.list = &x->list;
	TRY(dict_init(&x->d, 1));
	return format_read(bytes, &formats[FORMAT_JFR], &x->r, NULL);
}

static inline bool has_note(const struct read *x, const char *part)
{
	for (size_t i = 0; i < x->r.notes.list.n; i++)
		if (strstr(x->r.notes.list.v[i].text, part))
			return true;
	return false;
}

static inline struct str label_of(const struct profile *p, size_t row, const char *key)
{
	const struct label *l = label_find(p->dict, p->labels[row], str_of(key));

	return l && l->type == LABEL_STRING ? dict_str(p->dict, (uint32_t)l->value) : STR("");
}

static inline void put_odd_part(struct jfr_build *b)
{
	put_byte(b, 9);
	if (b->plain)
		put_be(b, 'x', 2);
	else
		put_int(b, 'x');
	put_int(b, 2);
	for (unsigned i = 0; i < 2; i++) {
		if (b->plain)
			put_be(b, 5, 2);
		else
			put_int(b, 5);
	}
	put_be(b, 0, 4);
	put_be(b, 0, 8);
	put_string(b, "odd");
}

static inline void put_odd(struct jfr_build *b)
{
	event_begin(b, T_ODD);
	put_long(b, 1000);
	put_int(b, 3);
	for (unsigned i = 0; i < 4; i++)
		put_odd_part(b);
	event_end(b);
}

/* Three samples of 10 ms, one wait for a lock, one event nobody knows. */
static inline void put_events(struct jfr_build *b)
{
	put_setting(b, T_EXECUTION, "period", "10 ms");
	put_sample(b, 1500, 5, 1);
	put_odd(b);
	put_sample(b, 2500, 6, 1);
	put_sample(b, 3000, 5, 2);
	put_wait(b, 3);
}

static inline void put_chunk(struct jfr_build *b)
{
	chunk_begin(b);
	put_events(b);
	put_test_pools(b);
	put_metadata(b, TYPES, TYPE_COUNT);
	chunk_end(b);
}

static inline void check_chunk(const struct read *x)
{
	const struct profile *cpu = x->list.v[0], *lock = x->list.v[1];
	const uint32_t *frames;
	uint32_t n;

	CHECK_INT(x->list.n, 2);
	CHECK_INT(cpu->row_count, 3);
	CHECK_STR(dict_str(&x->d, cpu->types[1].type), "cpu");
	CHECK_INT(profile_total(cpu, 1), 30000000);
	CHECK_INT(cpu->period, 10000000);
	CHECK_INT(cpu->time[0], 1700000000000500000);
	CHECK_INT(cpu->duration_ns, 2000000000);
	CHECK_STR(label_of(cpu, 0, "thread.name"), "main");
	CHECK_STR(label_of(cpu, 1, "thread.name"), "GC Thread#0");
	CHECK_STR(label_of(cpu, 0, "thread.state"), "STATE_RUNNABLE");
	CHECK_INT(label_find(&x->d, cpu->labels[1], STR("thread.id"))->value, 78);
	frames = stack_frames(&x->d, cpu->stack[0], &n);
	CHECK_INT(n, 2);
	CHECK_STR(frame_name(&x->d, frames[0]), "a.B.one");
	CHECK_STR(frame_name(&x->d, frames[1]), "a.B.two");
	CHECK_INT(x->d.frames.v[frames[0]].line, 42);
	CHECK_INT(x->d.frames.v[frames[1]].line, 0);
	CHECK_INT(x->d.frames.v[frames[0]].kind, KIND_JVM);
	CHECK_STR(dict_str(&x->d, x->d.functions.v[x->d.frames.v[frames[0]].function].system_name),
		  "a.B.one()V");
	frames = stack_frames(&x->d, cpu->stack[2], &n);
	CHECK_STR(frame_name(&x->d, frames[0]), "java.lang.String[].three");
	CHECK(has_note(x, "1 stack was cut at depth 1"));
	CHECK_INT(lock->row_count, 1);
	CHECK_INT(profile_total(lock, 1), 3000000);
	CHECK_STR(label_of(lock, 0, "class"), "int[][]");
}
