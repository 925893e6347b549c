#include "sdk/answers.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "format/format.h"
#include "sdk/background_state.h"
#include "sdk/live_objects.h"

#define SYMBOLS_MAX 512

/* ------------------------------------------------------------------ profiles */

/* The settings but for the columns. They are large, and this thread's stack is not. */
static enum err write_profile(struct background *b, const struct tally *t, const struct ask *a,
			      const struct harvest_window *time, struct buf *ret)
{
	struct sdk_settings *s = mem_alloc(sizeof(*s));
	struct profile_list list = {0};
	struct writing w = {.list = &list, .type = -1, .compress = 1};
	struct profile *one = NULL;
	struct dict d = {0};
	enum err e = s ? dict_init(&d, (u64)time->start_ns) : ERR_NO_MEMORY;

	if (!e)
		e = profile_list_add(&list, &d, &one);
	if (!e) {
		*s = b->settings;
		s->types = a->types;
		e = harvest_one(t, &b->windows.names, s, time, one);
	}
	if (!e) {
		/* The default type: the last, such as live objects; of waits, lock waits. */
		one->default_type = a->only == SAMPLE_LOCK ? 1 : (int)one->type_count - 1;
		e = pprof_write(&w, ret);
	}
	place_names_end(&b->windows.names);
	notes_release(&w.notes);
	profile_list_release(&list);
	dict_release(&d);
	mem_free(s);
	return e;
}

struct live_copy {
	const struct tally *from;
	struct tally *to;
	u32 nobody;
	enum err error;
};

static void copy_live(void *context, u32 number, s64 count, s64 bytes)
{
	struct live_copy *c = context;
	const struct tally_stack *s;
	u32 stack;

	if (c->error || number >= c->from->stacks.n)
		return;
	s = &c->from->stacks.v[number];
	c->error = tally_stack(c->to, c->from->places.v + s->at, s->n, &stack);
	if (!c->error)
		tally_add(c->to, SAMPLE_LIVE, stack, c->nobody, count, bytes);
}

/* Waits by holder belong to the profile of lock waits. */
static bool is_wanted(const struct ask *a, u8 kind)
{
	return a->only < 0 || a->only == kind || (a->only == SAMPLE_LOCK && kind == SAMPLE_HELD);
}

static enum err since_start(struct background *b, const struct ask *a, struct tally *t)
{
	static const struct span_context none;
	struct live_copy live = {.from = &b->intake.tally, .to = t};

	for (u8 kind = 0; kind < SAMPLE_KINDS; kind++)
		if (is_wanted(a, kind))
			TRY(tally_copy(t, &b->intake.totals, kind));
	if (a->types & SDK_THREADS) {
		/* Their current stacks, also while sampling is paused. */
		b->wall.silent = false;
		wall_count(&b->wall);
		TRY(tally_copy(t, &b->intake.tally, SAMPLE_THREADS));
	}
	if (!(a->types & SDK_HEAP))
		return ERR_OK;
	TRY(tally_context(t, &none, &live.nobody));
	live_each(copy_live, &live);
	return live.error;
}

static enum err answer_since_start(struct background *b, struct ask *a)
{
	struct harvest_window time = {b->start_wall, clock_wall_ns() - b->start_wall};
	struct tally t;
	enum err e;

	tally_init(&t, UINT32_MAX);
	e = since_start(b, a, &t);
	if (!e)
		e = write_profile(b, &t, a, &time, &a->answer);
	tally_release(&t);
	return e;
}

/* Samples of every kind were counted meanwhile. */
static enum err answer_capture(struct background *b, struct ask *a)
{
	struct harvest_window time = {a->start_wall, clock_monotonic_ns() - a->start};
	struct tally t;
	enum err e;

	if (a->only < 0)
		return write_profile(b, &a->capture, a, &time, &a->answer);
	tally_init(&t, UINT32_MAX);
	e = ERR_OK;
	for (u8 kind = 0; !e && kind < SAMPLE_KINDS; kind++)
		if (is_wanted(a, kind))
			e = tally_copy(&t, &a->capture, kind);
	if (!e)
		e = write_profile(b, &t, a, &time, &a->answer);
	tally_release(&t);
	return e;
}

/* ------------------------------------------------------------------ names */

static enum err name_of(struct background *b, u64 address, struct dict *d, struct buf *ret)
{
	struct place_names *names = &b->windows.names;
	uint32_t frames[SYMBOL_FRAMES_MAX];
	size_t n;

	TRY(place_frames(names, intake_place(&b->intake, address), frames, SYMBOL_FRAMES_MAX, &n));
	for (size_t i = n; i-- > 0;) {
		struct str name = frame_name(d, frames[i]);

		buf_printf(ret, "%s%.*s", i + 1 < n ? "--" : "", (int)name.n, name.p);
	}
	return ERR_OK;
}

/* "0x1234+0x5678", as pprof sends it; a line for each that is known. */
static enum err answer_symbols(struct background *b, struct ask *a)
{
	struct str list = str_of(a->text), one;
	struct dict d = {0};
	enum err e = dict_init(&d, 1);

	place_names_begin(&b->windows.names, &d);
	for (u32 i = 0; !e && i < SYMBOLS_MAX && str_split(&list, '+', &one); i++) {
		struct buf name = BUF_INIT(65536);
		uint64_t address;

		one = str_trim(one);
		if (str_starts(one, STR("0x")) &&
		    str_to_u64(str_skip(one, 2), 16, &address) == ERR_OK) {
			e = name_of(b, address, &d, &name);
			if (!e && name.n)
				buf_printf(&a->answer, "%.*s\t%.*s\n", (int)one.n, one.p,
					   (int)name.n, name.data);
		}
		buf_release(&name);
	}
	place_names_end(&b->windows.names);
	dict_release(&d);
	return e ? e : buf_error(&a->answer);
}

enum err answer_ask(struct background *b, struct ask *a)
{
	switch (a->kind) {
	case ASK_SINCE_START:
		return answer_since_start(b, a);
	case ASK_CAPTURE:
		return answer_capture(b, a);
	case ASK_SYMBOLS:
		return answer_symbols(b, a);
	case ASK_THREADS_BORN:
		return answer_threads_born(b, a);
	}
	return ERR_INTERNAL;
}
