/*
 * Writing speedscope files: one sampled profile per sample type, a sample per stack.
 */
#include "base/jsonout.h"
#include "format/formats_internal.h"
#include "format/speedscope.h"

#define SUM_TOO_LARGE "the sum of a stack does not fit in 64 bits"

struct scope_writer {
	struct jsonout o;
	const struct profile *p;
	const struct dict *d;
	uint32_t *number; /* frame id -> index in shared.frames + 1 */
	VEC(uint32_t) frames;
	VEC(uint32_t) stacks; /* those that have values, in order of first sight */
	int64_t *sums;	      /* by stack and type, in the order of `stacks` */
};

static void scope_writer_release(struct scope_writer *w)
{
	mem_free(w->number);
	mem_free(w->sums);
	vec_release(&w->frames);
	vec_release(&w->stacks);
}

/* Adds up the rows of each stack: labels, links and times have no place in the format. */
static enum err sum_stacks(struct scope_writer *w, struct writing *in)
{
	const struct profile *p = w->p;
	CLEANUP(mem_free_ptr)
	uint32_t *place = mem_zalloc(w->d->stacks.entries.n + 1, sizeof(*place));

	if (!place)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < p->row_count; i++) {
		if (place[p->stack[i]])
			continue;
		TRY(vec_push(&w->stacks, p->stack[i]));
		place[p->stack[i]] = (uint32_t)w->stacks.n;
	}
	w->sums = mem_zalloc(w->stacks.n + 1, sizeof(*w->sums) * p->type_count);
	if (!w->sums)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < p->row_count; i++) {
		int64_t *sum = w->sums + (size_t)(place[p->stack[i]] - 1) * p->type_count;
		const int64_t *values = profile_values(p, i);

		for (uint32_t t = 0; t < p->type_count; t++)
			if (__builtin_add_overflow(sum[t], values[t], &sum[t]))
				return fault_set(&in->fault, ERR_UNSUPPORTED, SUM_TOO_LARGE);
	}
	return ERR_OK;
}

/* speedscope itself refuses weights below 0. */
static enum err check_sums(const struct scope_writer *w, struct writing *in)
{
	for (size_t i = 0; i < w->stacks.n * w->p->type_count; i++)
		if (w->sums[i] < 0)
			return fault_set(&in->fault, ERR_UNSUPPORTED,
					 "speedscope files cannot store negative values, and a "
					 "stack has one of %s: use pprof or OTLP",
					 dict_str(w->d, w->p->types[i % w->p->type_count].type).p);
	return ERR_OK;
}

static enum err number_frames(struct scope_writer *w)
{
	w->number = mem_zalloc(w->d->frames.n + 1, sizeof(*w->number));
	if (!w->number)
		return ERR_NO_MEMORY;
	vec_for_each (stack, &w->stacks) {
		uint32_t n;
		const uint32_t *frames = stack_frames(w->d, *stack, &n);

		for (uint32_t i = 0; i < n; i++) {
			if (w->number[frames[i]])
				continue;
			TRY(vec_push(&w->frames, frames[i]));
			w->number[frames[i]] = (uint32_t)w->frames.n;
		}
	}
	return ERR_OK;
}

static enum err write_frames(struct scope_writer *w)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(16 << 20);

	jsonout_put_object(&w->o, "shared");
	jsonout_put_array(&w->o, "frames");
	vec_for_each (id, &w->frames) {
		const struct frame *frame = &w->d->frames.v[*id];
		struct str file = frame_file(w->d, *id);

		buf_clear(&name);
		frame_label(w->d, *id, &name);
		TRY(buf_error(&name));
		jsonout_object(&w->o);
		jsonout_put_str(&w->o, "name", buf_view(&name));
		if (file.n)
			jsonout_put_str(&w->o, "file", file);
		if (frame->line > 0)
			jsonout_put_i64(&w->o, "line", frame->line);
		if (frame->column)
			jsonout_put_i64(&w->o, "col", frame->column);
		jsonout_end_object(&w->o);
	}
	jsonout_end_array(&w->o);
	jsonout_end_object(&w->o);
	return ERR_OK;
}

/* speedscope's name for a unit; *ret_factor turns our values into it. */
static const char *scope_unit_name(struct str unit, int64_t *ret_factor)
{
	static const char *const times[] = {"nanoseconds", "microseconds", "milliseconds",
					    "seconds"};
	double factor = 1;
	enum unit_kind kind = unit_kind(unit, &factor);

	*ret_factor = 1;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (str_eq(unit, str_of(times[i])))
			return times[i];
	if (kind == UNIT_BYTES && factor >= 1) {
		*ret_factor = factor < 1e15 ? (int64_t)factor : 1;
		return "bytes";
	}
	return "none";
}

static int64_t weight_of(const struct scope_writer *w, size_t stack, uint32_t type, int64_t factor)
{
	return w->sums[stack * w->p->type_count + type] * factor;
}

/* Whether all sums of a type, in another unit, and their total fit. */
static bool fits(const struct scope_writer *w, uint32_t type, int64_t factor)
{
	int64_t total = 0, value;

	for (size_t i = 0; i < w->stacks.n; i++)
		if (__builtin_mul_overflow(w->sums[i * w->p->type_count + type], factor, &value) ||
		    __builtin_add_overflow(total, value, &total))
			return false;
	return true;
}

static void write_stack(struct scope_writer *w, uint32_t stack)
{
	uint32_t n;
	const uint32_t *frames = stack_frames(w->d, stack, &n);

	jsonout_flat_array(&w->o);
	while (n--)
		jsonout_u64(&w->o, w->number[frames[n]] - 1);
	jsonout_end_array(&w->o);
}

static enum err write_profile(struct scope_writer *w, uint32_t type, struct fault *fault)
{
	struct value_type vt = w->p->types[type];
	int64_t factor, total = 0;
	const char *unit = scope_unit_name(dict_str(w->d, vt.unit), &factor);

	if (!fits(w, type, factor))
		return fault_set(fault, ERR_UNSUPPORTED, SUM_TOO_LARGE);
	jsonout_object(&w->o);
	jsonout_put_text(&w->o, "type", "sampled");
	jsonout_put_str(&w->o, "name", dict_str(w->d, vt.type));
	jsonout_put_text(&w->o, "unit", unit);
	jsonout_put_i64(&w->o, "startValue", 0);
	jsonout_put_array(&w->o, "samples");
	for (size_t i = 0; i < w->stacks.n; i++)
		if (weight_of(w, i, type, factor))
			write_stack(w, w->stacks.v[i]);
	jsonout_end_array(&w->o);
	jsonout_put_array(&w->o, "weights");
	for (size_t i = 0; i < w->stacks.n; i++) {
		int64_t weight = weight_of(w, i, type, factor);

		if (!weight)
			continue;
		jsonout_i64(&w->o, weight);
		total += weight;
	}
	jsonout_end_array(&w->o);
	jsonout_put_i64(&w->o, "endValue", total);
	jsonout_end_object(&w->o);
	return ERR_OK;
}

static void note_losses(struct writing *in, const struct profile *p)
{
	bool labels = false;

	for (size_t i = 0; i < p->row_count && !labels; i++)
		labels = p->labels[i] != 0;
	if (labels)
		notes_add(&in->notes, "labels are left out: speedscope files have none");
	if (p->link)
		notes_add(&in->notes, "trace links are left out: speedscope files have none");
	if (p->time)
		notes_add(&in->notes, "times of samples are left out: equal stacks are added up");
}

static enum err write_file(struct scope_writer *w, struct writing *in)
{
	int type = in->type >= 0 ? in->type : profile_default_type(w->p);

	jsonout_object(&w->o);
	jsonout_put_text(&w->o, "$schema", SPEEDSCOPE_SCHEMA);
	jsonout_put_text(&w->o, "exporter", "vestal");
	if (in->title)
		jsonout_put_text(&w->o, "name", in->title);
	jsonout_put_i64(&w->o, "activeProfileIndex", type > 0 ? type : 0);
	TRY(write_frames(w));
	jsonout_put_array(&w->o, "profiles");
	for (uint32_t t = 0; t < w->p->type_count; t++)
		TRY(write_profile(w, t, &in->fault));
	jsonout_end_array(&w->o);
	jsonout_end_object(&w->o);
	buf_byte(w->o.b, '\n');
	return buf_error(w->o.b);
}

enum err speedscope_write(struct writing *in, struct buf *out)
{
	CLEANUP(scope_writer_release) struct scope_writer w = {.o = jsonout_of(out, false)};

	if (in->list->n != 1)
		return fault_set(&in->fault, ERR_BAD_ARGUMENT,
				 "a speedscope file is written from one profile, not from %zu",
				 in->list->n);
	w.p = in->list->v[0];
	w.d = w.p->dict;
	TRY(sum_stacks(&w, in));
	TRY(check_sums(&w, in));
	TRY(number_frames(&w));
	note_losses(in, w.p);
	return write_file(&w, in);
}
