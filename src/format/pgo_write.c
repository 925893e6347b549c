/*
 * A profile for `go build -pgo=`: pprof with what the Go compiler looks at and no more.
 *
 * It wants samples/count or cpu/nanoseconds, and of each frame the function's name, its start line
 * and the line of the call; the difference of the two is how it finds the call again in changed
 * source. So mappings, labels and times go, and stacks that are equal without them become one.
 * Addresses stay: by them it tells the calls of a recursion apart, and a call from a place to
 * itself is one it drops.
 */
#include "format/formats_internal.h"

#define NOT_SEEN UINT32_MAX

struct pgo {
	const struct dict *from;
	struct dict to;
	struct profile profile; /* over `to` */
	uint32_t *frames;	/* by frame of `from`: frame of `to` */
	uint32_t *stacks;	/* by stack of `from`: stack of `to` */
	VEC(uint32_t) scratch;
	VEC(int64_t) sums; /* by stack of `to` */
	bool start_lines;
	bool calls; /* some stack has two frames */
};

static bool is_cpu_type(const struct dict *d, struct value_type t)
{
	struct str type = dict_str(d, t.type), unit = dict_str(d, t.unit);

	return (str_eq(type, STR("samples")) && str_eq(unit, STR("count"))) ||
	       (str_eq(type, STR("cpu")) && str_eq(unit, STR("nanoseconds")));
}

/* The column asked for, else the first of those the compiler takes; -1 when there is none. */
static int choose_type(const struct profile *p, int asked)
{
	if (asked >= 0 && (uint32_t)asked < p->type_count && is_cpu_type(p->dict, p->types[asked]))
		return asked;
	for (uint32_t i = 0; i < p->type_count; i++)
		if (is_cpu_type(p->dict, p->types[i]))
			return (int)i;
	return -1;
}

static enum err copy_string(struct pgo *g, uint32_t id, uint32_t *ret)
{
	return dict_string(&g->to, dict_str(g->from, id), ret);
}

static enum err copy_frame(struct pgo *g, uint32_t id, uint32_t *ret)
{
	const struct frame *from = &g->from->frames.v[id];
	const struct function *function = &g->from->functions.v[from->function];
	struct frame frame = {
		.address = from->address,
		.line = from->line,
		.flags = (from->flags & FRAME_INLINED) | FRAME_HAS_LINE,
	};
	struct function copy = {.start_line = function->start_line};

	if (g->frames[id] != NOT_SEEN) {
		*ret = g->frames[id];
		return ERR_OK;
	}
	TRY(copy_string(g, function->name ? function->name : function->system_name, &copy.name));
	TRY(copy_string(g, function->file, &copy.file));
	TRY(dict_function(&g->to, &copy, &frame.function));
	TRY(dict_frame(&g->to, &frame, ret));
	g->start_lines |= copy.start_line != 0;
	g->frames[id] = *ret;
	return ERR_OK;
}

static enum err copy_stack(struct pgo *g, uint32_t id, uint32_t *ret)
{
	uint32_t n, frame;
	const uint32_t *frames = stack_frames(g->from, id, &n);

	if (g->stacks[id] != NOT_SEEN) {
		*ret = g->stacks[id];
		return ERR_OK;
	}
	g->scratch.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		TRY(copy_frame(g, frames[i], &frame));
		TRY(vec_push(&g->scratch, frame));
	}
	g->calls |= n > 1;
	TRY(dict_stack(&g->to, g->scratch.v, n, ret));
	while (g->sums.n <= *ret)
		TRY(vec_push(&g->sums, 0));
	g->stacks[id] = *ret;
	return ERR_OK;
}

static enum err add_profile(struct pgo *g, const struct profile *p, int type, struct fault *fault)
{
	for (size_t row = 0; row < p->row_count; row++) {
		int64_t value = profile_values(p, row)[type];
		uint32_t stack;

		if (!value)
			continue;
		TRY(copy_stack(g, p->stack[row], &stack));
		if (__builtin_add_overflow(g->sums.v[stack], value, &g->sums.v[stack]))
			return fault_set(fault, ERR_UNSUPPORTED,
					 "the sum of a stack does not fit in 64 bits");
	}
	return ERR_OK;
}

static enum err begin(struct pgo *g, const struct profile *p, int type)
{
	size_t frames = g->from->frames.n, stacks = g->from->stacks.entries.n;

	TRY(dict_init(&g->to, g->from->seed));
	profile_init(&g->profile, &g->to);
	TRY(profile_add_type(&g->profile, dict_str(g->from, p->types[type].type),
			     dict_str(g->from, p->types[type].unit)));
	TRY(copy_string(g, p->period_type.type, &g->profile.period_type.type));
	TRY(copy_string(g, p->period_type.unit, &g->profile.period_type.unit));
	g->profile.period = p->period;
	g->profile.time_ns = p->time_ns;
	g->profile.duration_ns = p->duration_ns;
	g->frames = mem_alloc(frames * sizeof(*g->frames));
	g->stacks = mem_alloc(stacks * sizeof(*g->stacks));
	if (!g->frames || !g->stacks)
		return ERR_NO_MEMORY;
	memset(g->frames, 0xff, frames * sizeof(*g->frames));
	memset(g->stacks, 0xff, stacks * sizeof(*g->stacks));
	return ERR_OK;
}

static enum err build(struct pgo *g, struct writing *in)
{
	const struct profile_list *list = in->list;

	for (size_t i = 0; i < list->n; i++) {
		int type = choose_type(list->v[i], in->type);

		if (type < 0)
			continue;
		if (!g->from) {
			g->from = list->v[i]->dict;
			TRY(begin(g, list->v[i], type));
		}
		TRY(add_profile(g, list->v[i], type, &in->fault));
	}
	if (!g->from)
		return fault_set(&in->fault, ERR_UNSUPPORTED,
				 "Go's PGO takes a CPU profile (samples/count or cpu/nanoseconds), "
				 "and this is none");
	if (!g->start_lines || !g->calls)
		return fault_set(&in->fault, ERR_UNSUPPORTED,
				 "%s: Go's PGO takes the CPU profile of a Go program built with "
				 "Go 1.20 or newer",
				 g->start_lines ? "no stack has a call"
						: "no function has a start line");
	for (uint32_t stack = 0; stack < g->sums.n; stack++) {
		struct row row = {.stack = stack};

		if (g->sums.v[stack] < 0)
			return fault_set(&in->fault, ERR_UNSUPPORTED,
					 "Go's PGO takes no negative values, and a stack has one");
		if (g->sums.v[stack])
			TRY(profile_add(&g->profile, &row, &g->sums.v[stack]));
	}
	return ERR_OK;
}

enum err pgo_write(struct writing *in, struct buf *out)
{
	struct pgo g = {0};
	struct profile *one = &g.profile;
	struct profile_list list = {.v = &one, .n = 1};
	struct writing pprof = {.list = &list, .type = -1, .compress = in->compress};
	enum err e = build(&g, in);

	if (!e)
		e = pprof_write(&pprof, out);
	if (e && pprof.fault.text[0])
		in->fault = pprof.fault;
	notes_release(&pprof.notes);
	profile_release(&g.profile);
	dict_release(&g.to);
	mem_free(g.frames);
	mem_free(g.stacks);
	vec_release(&g.scratch);
	vec_release(&g.sums);
	return e;
}
