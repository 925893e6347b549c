/*
 * The two kinds of speedscope profiles: samples with weights, and frames that open and close.
 */
#include "format/speedscope.h"
#include "format/stack_nodes.h"

/* A stack, root first in the file, leaf first in the dictionary. */
static enum err take_stack(struct scope *s, uint32_t *ret)
{
	uint32_t max = s->out->limits.max_depth, frame;

	s->path.n = 0;
	if (!json_array(&s->j))
		return s->j.error ? s->j.error : json_fail(&s->j, ERR_CORRUPT, "expected a stack");
	while (json_item(&s->j)) {
		if (!scope_frame(s, &frame))
			return s->j.error;
		if (s->path.n >= max)
			return json_fail(&s->j, ERR_TOO_DEEP, "the stack has more than %u frames",
					 max);
		TRY(vec_push(&s->path, frame));
	}
	for (size_t i = 0, k = s->path.n; i + 1 < k; i++) {
		uint32_t swapped = s->path.v[i];

		s->path.v[i] = s->path.v[--k];
		s->path.v[k] = swapped;
	}
	TRY(s->j.error);
	return dict_stack(s->out->dict, s->path.v, (uint32_t)s->path.n, ret);
}

static enum err take_samples(struct scope *s, struct json *weights, const struct scope_unit *unit)
{
	uint64_t count = 0;

	while (json_item(&s->j)) {
		int64_t weight = unit->factor;
		uint32_t stack = 0;
		double rest = 0;

		TRY(take_stack(s, &stack));
		if (weights) {
			if (!json_item(weights))
				return weights->error
					       ? weights->error
					       : json_fail(&s->j, ERR_CORRUPT,
							   "there are fewer weights than samples");
			if (!scope_weight(weights, unit, &weight, &rest))
				return weights->error;
		}
		s->negative += weight < 0;
		if (++count > s->out->limits.max_samples)
			return json_fail(&s->j, ERR_TOO_LARGE, "more than %llu samples",
					 (unsigned long long)s->out->limits.max_samples);
		TRY(scope_add(s, stack, weight, rest));
	}
	if (!s->j.error && weights && json_item(weights))
		json_fail(weights, ERR_CORRUPT, "there are more weights than samples");
	return s->j.error;
}

enum err scope_read_sampled(struct scope *s, const struct scope_profile *p)
{
	struct json weights;
	enum err e = ERR_OK;

	if (!p->samples.p)
		return json_fail_at(&s->j, p->offset, ERR_CORRUPT,
				    "the profile has no \"samples\"");
	json_seek(&s->j, &p->samples);
	if (!json_array(&s->j))
		return s->j.error;
	if (!p->weights.p)
		return take_samples(s, NULL, p->unit);
	weights = json_fork(&s->j, &p->weights);
	if (json_array(&weights))
		e = take_samples(s, &weights, p->unit);
	json_join(&s->j, &weights);
	return e ? e : s->j.error;
}

/* The frames that are open while events are walked. */
struct open_frames {
	struct stack_nodes nodes;
	VEC(uint32_t) open; /* nodes */
	int64_t clock;
};

struct event {
	char type;
	uint32_t frame;
	int64_t at;
	size_t offset;
};

static void open_frames_release(struct open_frames *f)
{
	stack_nodes_release(&f->nodes);
	vec_release(&f->open);
}

static uint32_t innermost(const struct open_frames *f)
{
	return f->open.n ? f->open.v[f->open.n - 1] : 0;
}

/* What is open has been running until `at`; time when nothing is open is nobody's. */
static enum err run_until(struct scope *s, struct open_frames *f, int64_t at, size_t offset)
{
	int64_t length;

	if (at < f->clock)
		return json_fail_at(&s->j, offset, ERR_CORRUPT,
				    "the event is earlier than the one before");
	if (__builtin_sub_overflow(at, f->clock, &length))
		return json_fail_at(&s->j, offset, ERR_CORRUPT, "the times are too far apart");
	if (f->open.n && length)
		stack_nodes_count(&f->nodes, innermost(f), 0, length);
	f->clock = at;
	return ERR_OK;
}

static enum err take_event(struct scope *s, const struct scope_unit *unit, struct event *ret)
{
	struct json *j = &s->j;
	bool has_frame = false, has_at = false;
	struct str key, type = {NULL, 0};

	*ret = (struct event){.offset = json_offset(j)};
	if (!json_object(j))
		return j->error ? j->error : json_fail(j, ERR_CORRUPT, "expected an event");
	while (json_key(j, &key)) {
		if (str_eq(key, STR("type"))) {
			if (json_string(j, &type))
				ret->type = type.n == 1 ? type.p[0] : 0;
		} else if (str_eq(key, STR("frame"))) {
			has_frame = scope_frame(s, &ret->frame);
		} else if (str_eq(key, STR("at"))) {
			has_at = scope_value(j, unit, &ret->at);
		} else {
			json_skip(j);
		}
	}
	if (!j->error && (!has_frame || !has_at || (ret->type != 'O' && ret->type != 'C')))
		json_fail_at(
			j, ret->offset, ERR_CORRUPT,
			"an event needs a type of \"O\" or \"C\", a frame and a time (\"at\")");
	return j->error;
}

static enum err apply_event(struct scope *s, struct open_frames *f, const struct event *event)
{
	uint32_t node = innermost(f);

	TRY(run_until(s, f, event->at, event->offset));
	if (event->type == 'C') {
		if (!node)
			return json_fail_at(&s->j, event->offset, ERR_CORRUPT,
					    "a frame is closed but none is open");
		if (f->nodes.list.v[node].frame != event->frame)
			return json_fail_at(&s->j, event->offset, ERR_CORRUPT,
					    "a frame is closed that is not the innermost open one");
		f->open.n--;
		return ERR_OK;
	}
	if (f->open.n >= s->out->limits.max_depth)
		return json_fail_at(&s->j, event->offset, ERR_TOO_DEEP,
				    "more than %u frames are open", s->out->limits.max_depth);
	TRY(stack_nodes_child(&f->nodes, node, event->frame, &node));
	return vec_push(&f->open, node);
}

static enum err take_events(struct scope *s, const struct scope_profile *p, struct open_frames *f)
{
	struct event event = {0};
	bool first = true;
	int64_t end = 0;

	json_seek(&s->j, &p->events);
	if (!json_array(&s->j))
		return s->j.error;
	while (json_item(&s->j)) {
		TRY(take_event(s, p->unit, &event));
		if (first)
			f->clock = event.at;
		first = false;
		TRY(apply_event(s, f, &event));
	}
	TRY(s->j.error);
	if (!f->open.n)
		return ERR_OK;
	notes_add(&s->out->notes, "%zu frames were still open at the end and were closed there",
		  f->open.n);
	if (!p->end.p)
		return ERR_OK;
	json_seek(&s->j, &p->end);
	if (!scope_value(&s->j, p->unit, &end))
		return s->j.error;
	return end > f->clock ? run_until(s, f, end, event.offset) : ERR_OK;
}

enum err scope_read_evented(struct scope *s, const struct scope_profile *p)
{
	CLEANUP(open_frames_release) struct open_frames f = {0};

	if (!p->events.p)
		return json_fail_at(&s->j, p->offset, ERR_CORRUPT, "the profile has no \"events\"");
	TRY(stack_nodes_init(&f.nodes, s->out->dict->seed));
	TRY(take_events(s, p, &f));
	return stack_nodes_rows(&f.nodes, s->target->profile, s->labels, s->out);
}
