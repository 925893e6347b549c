/*
 * V8's CPU profile (.cpuprofile: Chrome, Node.js, Deno).
 *
 *	{"nodes": [{"id", "callFrame": {"functionName", "url", "lineNumber", "columnNumber"},
 *	            "hitCount", "children": [id …] or "parent": id} …],
 *	 "samples": [id …], "timeDeltas": [µs …], "startTime": µs, "endTime": µs}
 * or, older: {"head": {"functionName" …, "children": [node …]}, "samples", "timestamps" (µs),
 *	       "startTime", "endTime" (seconds)}
 *
 * Time as DevTools counts it: delta i is the time from sample i-1 (the start, for the first) to
 * sample i, and a sample stands for the time until the next one: delta i+1; the last one until
 * endTime. Clocks may step back (V8 writes negative deltas): such a sample stands for nothing
 * until time has caught up. The file's clock starts anywhere, so the profile has no date.
 *
 * Firefox Profiler files come in through the same door (firefox_read.c).
 */
#include <math.h>

#include "format/firefox.h"
#include "format/formats_internal.h"
#include "format/json_kind.h"
#include "format/v8_nodes.h"

enum { VALUE_SAMPLES, VALUE_CPU };

struct cpuprofile {
	struct json j;
	struct v8_nodes nodes;
	struct stack_nodes stacks;
	struct json_mark samples, deltas, timestamps;
	double start, end; /* µs */
	bool has_end, nested;
	/* While samples are walked: */
	double clock, latest; /* µs since the start; the highest so far */
	uint32_t previous;    /* node of the sample before, 0 = none */
	uint64_t sample_count, backward;
};

static void cpuprofile_release(struct cpuprofile *c)
{
	json_release(&c->j);
	v8_nodes_release(&c->nodes);
	stack_nodes_release(&c->stacks);
}

static void take_nodes(struct cpuprofile *c, bool nested, struct reading *out)
{
	c->nodes.list.n = c->nodes.children.n = 0;
	c->nested = nested;
	if (nested)
		v8_nodes_nested(&c->nodes, &c->j, out);
	else
		v8_nodes_flat(&c->nodes, &c->j, out);
}

/* Samples may come before the nodes they name: they are marked and walked at the end. */
static void take_top_level(struct cpuprofile *c, struct reading *out)
{
	struct json *j = &c->j;
	struct str key;

	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		if (str_eq(key, STR("nodes")) || str_eq(key, STR("head"))) {
			take_nodes(c, key.p[0] == 'h', out);
		} else if (str_eq(key, STR("samples"))) {
			json_mark_skip(j, &c->samples);
		} else if (str_eq(key, STR("timeDeltas"))) {
			json_mark_skip(j, &c->deltas);
		} else if (str_eq(key, STR("timestamps"))) {
			json_mark_skip(j, &c->timestamps);
		} else if (str_eq(key, STR("startTime"))) {
			json_double(j, &c->start);
		} else if (str_eq(key, STR("endTime"))) {
			c->has_end = json_peek(j) == JSON_NUMBER;
			json_double(j, &c->end);
		} else {
			json_skip(j);
		}
	}
}

static int64_t nanoseconds(double us)
{
	return us >= 9e15 ? INT64_MAX : us <= 0 ? 0 : llround(us * 1000);
}

/* The time since the sample before belongs to that one. */
static void advance(struct cpuprofile *c, double to)
{
	if (to < c->clock)
		c->backward++;
	c->clock = to;
	if (to <= c->latest)
		to = c->latest;
	if (c->previous)
		stack_nodes_count(&c->stacks, c->previous, VALUE_CPU,
				  nanoseconds(to) - nanoseconds(c->latest));
	c->latest = to;
}

static void take_samples(struct cpuprofile *c, struct json *times, bool deltas)
{
	struct json *j = &c->j;
	double time = 0, first = NAN;

	if (!json_array(j))
		return;
	while (json_item(j)) {
		size_t offset = json_offset(j);
		int64_t id = 0;
		uint32_t node;

		if (!json_i64(j, &id))
			return;
		node = v8_nodes_find(&c->nodes, id);
		if (node == MAP_NONE) {
			json_fail_at(j, offset, ERR_BAD_INDEX,
				     "the sample's node %lld is not in the file", (long long)id);
			return;
		}
		if (times && (!json_item(times) || !json_double(times, &time))) {
			json_fail(j, ERR_CORRUPT, "there are fewer times than samples");
			return;
		}
		if (isnan(first))
			first = time;
		if (times)
			advance(c, deltas ? c->clock + time : time - first);
		stack_nodes_count(&c->stacks, node + 1, VALUE_SAMPLES, 1);
		c->previous = node + 1;
		c->sample_count++;
	}
}

/* The last sample lasts until the end; if that is unknown, as long as the others. */
static void finish_samples(struct cpuprofile *c)
{
	double length = c->end - c->start;

	if (c->has_end && length > c->latest)
		advance(c, length);
	else if (!c->has_end && c->sample_count > 1)
		advance(c, c->latest + c->latest / (double)(c->sample_count - 1));
}

static void walk_samples(struct cpuprofile *c)
{
	bool deltas = c->deltas.p != NULL;
	const struct json_mark *mark = deltas ? &c->deltas : &c->timestamps;
	struct json times;

	json_seek(&c->j, &c->samples);
	if (!mark->p) {
		take_samples(c, NULL, false);
		return;
	}
	times = json_fork(&c->j, mark);
	if (json_array(&times)) {
		take_samples(c, &times, deltas);
		if (!c->j.error && json_item(&times))
			json_fail(&times, ERR_CORRUPT, "there are more times than samples");
		finish_samples(c);
	}
	json_join(&c->j, &times);
}

/* Without times all samples have the same share of the total. */
static void share_time(struct cpuprofile *c)
{
	double length = c->has_end ? c->end - c->start : 0, hits = 0;

	vec_for_each (node, &c->stacks.list)
		hits += (double)node->values[VALUE_SAMPLES];
	if (!(length > 0) || !(hits > 0))
		return;
	vec_for_each (node, &c->stacks.list)
		node->values[VALUE_CPU] =
			nanoseconds(length * ((double)node->values[VALUE_SAMPLES] / hits));
	c->latest = length;
}

static void count_hits(struct cpuprofile *c)
{
	for (uint32_t i = 0; i < c->nodes.list.n; i++) {
		int64_t hits = c->nodes.list.v[i].hits;

		if (hits <= 0)
			continue;
		stack_nodes_count(&c->stacks, i + 1, VALUE_SAMPLES, hits);
		c->sample_count += (uint64_t)hits;
	}
}

static enum err build(struct cpuprofile *c, struct reading *out)
{
	struct profile *p;

	TRY(profile_list_add(out->list, out->dict, &p));
	TRY(profile_add_type(p, STR("samples"), STR("count")));
	TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	p->period_type = p->types[1];
	p->duration_ns = c->has_end ? nanoseconds(c->end - c->start) : nanoseconds(c->latest);
	if (c->sample_count)
		p->period = p->duration_ns / (int64_t)c->sample_count;
	if (c->backward)
		notes_add(&out->notes, "the clock of the file steps back %llu times",
			  (unsigned long long)c->backward);
	json_note_replaced(&c->j, out);
	return stack_nodes_rows(&c->stacks, p, 0, out);
}

static enum err read_v8(struct str bytes, struct reading *out)
{
	CLEANUP(cpuprofile_release) struct cpuprofile c = {0};

	/* The older shape nests a node two levels deeper than its parent. */
	json_init(&c.j, bytes, "cpuprofile", out->limits.max_depth * 2 + 16, out);
	TRY(stack_nodes_init(&c.stacks, out->dict->seed));
	take_top_level(&c, out);
	TRY(json_finish(&c.j));
	if (!c.nodes.list.n)
		return fault_set(&out->fault, ERR_CORRUPT,
				 "cpuprofile: there is neither \"nodes\" nor \"head\" in the file");
	if (c.nested) {
		c.start *= 1e6;
		c.end *= 1e6;
	}
	TRY(v8_nodes_link(&c.nodes, &c.j, out, &c.stacks));
	if (c.samples.p)
		walk_samples(&c);
	else
		count_hits(&c);
	if (c.j.error)
		return c.j.error;
	if (!c.deltas.p && !c.timestamps.p)
		share_time(&c);
	out->variant = c.nested ? "V8 CPU profile, nested" : "V8 CPU profile";
	return build(&c, out);
}

enum err cpuprofile_read(struct str bytes, struct reading *out)
{
	return json_kind(bytes) == JSON_KIND_FIREFOX ? firefox_read(bytes, out)
						     : read_v8(bytes, out);
}
