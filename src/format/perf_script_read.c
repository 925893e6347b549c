/*
 * `perf script` text: for each sample a header, its stack leaf first, and an empty line.
 *
 *	comm 123/124 [000]  1471.154747:    2004008 cpu-clock:ppp:
 *		            11ef leaf+0x1f (/usr/bin/x)
 *		            10ba main+0x2a (/usr/bin/x)
 *
 * or, without call graphs, header and frame on one line. Which fields a header has depends on
 * perf's -F; see perf_header.c and perf_frame.c.
 *
 * Each event is a profile of its own, because counts of different events do not add up. Its types
 * are samples/count and, when periods are there, cpu/nanoseconds for the clocks or the event's own
 * name for others; a tracepoint has one type with its name. Times are perf's (monotonic, not since
 * 1970): they give the duration and are not kept on samples.
 */
#include "format/perf_script.h"

#include "format/formats_internal.h"

#define MAX_EVENTS 256

struct perf_event {
	struct str name;
	struct profile *profile;
	uint64_t first_ns, last_ns;
	bool timed;
};

struct perf_reader {
	struct reading *out;
	struct text_lines lines;
	struct perf_event events[MAX_EVENTS];
	size_t event_count;
	struct text_memo frame_memo, label_memo;
	struct stack_builder stack;
	VEC(struct perf_frame) frames; /* of the sample being read */
	struct perf_header header;
	bool open;   /* a sample is being read */
	bool strong; /* its header is one even without a stack */
	bool deep;   /* it has more frames than the limit */
	uint64_t samples;
};

static bool is_clock(struct str event)
{
	return str_eq(event, STR("cpu-clock")) || str_eq(event, STR("task-clock"));
}

static enum err add_event_types(struct perf_reader *r, struct profile *p)
{
	const struct perf_header *h = &r->header;
	struct str name = perf_event_name(h->event), unit = STR("count");
	struct value_type type;

	if (h->has_period || !name.n)
		TRY(profile_add_type(p, STR("samples"), unit));
	if (!name.n)
		return ERR_OK;
	if (is_clock(name) && h->has_period) {
		name = STR("cpu");
		unit = STR("nanoseconds");
	}
	TRY(text_intern(r->out, name, &type.type));
	TRY(dict_string(r->out->dict, unit, &type.unit));
	p->types[p->type_count++] = type;
	if (h->has_period) {
		p->period_type = p->types[1];
		p->period = h->period <= INT64_MAX ? (int64_t)h->period : 0;
	}
	return ERR_OK;
}

static enum err find_event(struct perf_reader *r, struct perf_event **ret)
{
	struct str name = r->header.event;
	struct perf_event *event;

	/* Few events, and mostly the one of the sample before. */
	for (size_t i = 0; i < r->event_count; i++) {
		if (str_eq(r->events[i].name, name)) {
			*ret = &r->events[i];
			return ERR_OK;
		}
	}
	if (r->event_count == MAX_EVENTS)
		return text_fault(&r->lines, r->out, ERR_TOO_LARGE, "more than %d kinds of events",
				  MAX_EVENTS);
	event = &r->events[r->event_count];
	*event = (struct perf_event){.name = name};
	TRY(profile_list_add(r->out->list, r->out->dict, &event->profile));
	TRY(add_event_types(r, event->profile));
	r->event_count++;
	*ret = event;
	return ERR_OK;
}

static enum err intern_labels(struct perf_reader *r, uint32_t *ret)
{
	const struct perf_header *h = &r->header;
	struct dict *d = r->out->dict;
	uint32_t labels[3], n = 0;
	uint64_t hash;

	*ret = 0;
	if (!h->thread.n)
		return ERR_OK;
	*ret = text_memo_get(&r->label_memo, d, h->thread, &hash);
	if (*ret != MAP_NONE)
		return ERR_OK;
	if (h->comm.n)
		TRY(text_label(r->out, STR("thread.name"), h->comm, &labels[n++]));
	if (h->pid >= 0)
		TRY(text_label_int(d, STR("process.pid"), h->pid, STR(""), &labels[n++]));
	if (h->tid >= 0)
		TRY(text_label_int(d, STR("thread.id"), h->tid, STR(""), &labels[n++]));
	TRY(dict_label_set(d, labels, n, ret));
	return text_memo_put(&r->label_memo, hash, h->thread, *ret);
}

/* A frame that stands alone is known by its line of text; others need their neighbours. */
static enum err intern_frame(struct perf_reader *r, size_t i, uint32_t *ret)
{
	const struct perf_frame *f = &r->frames.v[i];
	const struct perf_frame *outer = i + 1 < r->frames.n ? f + 1 : NULL;
	uint64_t hash;

	if (f->inlined || f->line)
		return perf_frame_intern(r->out, f, outer, ret);
	*ret = text_memo_get(&r->frame_memo, r->out->dict, f->text, &hash);
	if (*ret != MAP_NONE)
		return ERR_OK;
	TRY(perf_frame_intern(r->out, f, NULL, ret));
	return text_memo_put(&r->frame_memo, hash, f->text, *ret);
}

static enum err intern_stack(struct perf_reader *r, uint32_t *ret)
{
	uint32_t frame;

	stack_builder_reset(&r->stack);
	r->stack.cut = r->deep;
	for (size_t i = 0; i < r->frames.n; i++) {
		TRY(intern_frame(r, i, &frame));
		TRY(stack_builder_push(&r->stack, &r->out->limits, frame));
	}
	return stack_builder_finish(&r->stack, r->out, ret);
}

static void note_time(struct perf_event *event, const struct perf_header *h)
{
	if (!h->has_time)
		return;
	if (!event->timed || h->time_ns < event->first_ns)
		event->first_ns = h->time_ns;
	if (!event->timed || h->time_ns > event->last_ns)
		event->last_ns = h->time_ns;
	event->timed = true;
}

static enum err finish_sample(struct perf_reader *r)
{
	const struct perf_header *h = &r->header;
	struct perf_event *event = NULL;
	int64_t values[2] = {1, 0};
	struct row row = {0};

	if (!r->open)
		return ERR_OK;
	r->open = false;
	if (!r->frames.n && !r->strong) {
		notes_add(&r->out->notes, "lines that belong to no sample were left out");
		return ERR_OK;
	}
	if (h->has_period && h->period > INT64_MAX)
		return text_fault(&r->lines, r->out, ERR_CORRUPT,
				  "the period before it does not fit in 63 bits");
	TRY(find_event(r, &event));
	note_time(event, h);
	values[1] = h->has_period ? (int64_t)h->period : 0;
	if (event->profile->type_count > 1 && values[1] != event->profile->period)
		event->profile->period = 0;
	TRY(intern_labels(r, &row.labels));
	TRY(intern_stack(r, &row.stack));
	r->samples++;
	return text_add_row(r->out, event->profile, &row, values);
}

static void begin_sample(struct perf_reader *r, const struct perf_header *h, bool strong)
{
	r->header = *h;
	r->open = true;
	r->strong = strong;
	r->deep = false;
	r->frames.n = 0;
}

static enum err add_frame(struct perf_reader *r, const struct perf_frame *f)
{
	if (r->frames.n >= r->out->limits.max_depth) {
		r->deep = true;
		return ERR_OK;
	}
	return vec_push(&r->frames, *f);
}

static enum err read_stack_line(struct perf_reader *r, struct str line)
{
	struct perf_header none = {.pid = -1, .tid = -1};
	struct perf_frame f;

	if (!perf_frame_parse(line, &f)) {
		notes_add(&r->out->notes, "stack lines without an address were left out");
		return ERR_OK;
	}
	if (!r->open)
		begin_sample(r, &none, false);
	return add_frame(r, &f);
}

static enum err read_header(struct perf_reader *r, struct str line)
{
	struct perf_header h;
	struct perf_frame f;
	bool strong = perf_header_parse(line, &h);

	TRY(finish_sample(r));
	if (h.record)
		return ERR_OK;
	begin_sample(r, &h, strong);
	/* A frame on the line itself; the fields of a tracepoint seldom look like one. */
	if (!h.rest.n || h.rest.p[h.rest.n - 1] != ')' || !perf_frame_parse(h.rest, &f))
		return ERR_OK;
	TRY(add_frame(r, &f));
	return finish_sample(r);
}

static enum err read_line(struct perf_reader *r, struct str line)
{
	if (!str_trim(line).n)
		return finish_sample(r);
	if (line.p[0] == '#' && !r->open)
		return ERR_OK;
	if (line.p[0] == '\t')
		return read_stack_line(r, line);
	if (text_is_space(line.p[0]) && r->open && r->frames.n) {
		if (!r->deep)
			perf_frame_source(&r->frames.v[r->frames.n - 1], line);
		return ERR_OK;
	}
	return read_header(r, line);
}

static enum err read_all(struct perf_reader *r, struct str bytes)
{
	struct str line;

	text_lines_init(&r->lines, bytes);
	while (text_line(&r->lines, &line)) {
		TRY(read_line(r, line));
		reading_tick(r->out, (size_t)(line.p - bytes.p), bytes.n);
	}
	TRY(finish_sample(r));
	if (!r->samples)
		return fault_set(&r->out->fault, ERR_CORRUPT,
				 "no sample found: expected lines such as \"comm 123 4.567890: "
				 "1 cycles:\" with a stack below");
	for (size_t i = 0; i < r->event_count; i++) {
		const struct perf_event *e = &r->events[i];

		if (e->last_ns - e->first_ns <= INT64_MAX)
			e->profile->duration_ns = (int64_t)(e->last_ns - e->first_ns);
	}
	return ERR_OK;
}

enum err perf_script_read(struct str bytes, struct reading *out)
{
	struct perf_reader *r = mem_zalloc(1, sizeof(*r));
	enum err e;

	if (!r)
		return ERR_NO_MEMORY;
	r->out = out;
	e = read_all(r, bytes);
	text_memo_release(&r->frame_memo);
	text_memo_release(&r->label_memo);
	stack_builder_release(&r->stack);
	vec_release(&r->frames);
	mem_free(r);
	return e;
}

static bool is_stack_line(struct str line)
{
	struct perf_frame f;

	return line.n && line.p[0] == '\t' && perf_frame_parse(line, &f);
}

int perf_script_sniff(struct str head)
{
	struct text_lines lines;
	struct perf_header h;
	struct perf_frame f;
	struct str line, next = {0};
	bool strong;

	if (!text_looks_plain(head))
		return 0;
	if (str_starts(head, STR("# ========\n# captured on")))
		return 95;
	text_lines_init(&lines, head);
	do {
		if (!text_line(&lines, &line))
			return 0;
	} while (!str_trim(line).n || line.p[0] == '#');
	if (is_stack_line(line))
		return 50;
	strong = perf_header_parse(line, &h);
	if (strong && h.has_time && h.record)
		return 70;
	if (strong && h.has_time && h.rest.n && perf_frame_parse(h.rest, &f))
		return 80;
	if (!text_line(&lines, &next) || !is_stack_line(next))
		return strong && h.has_time && h.event.n ? 70 : 0;
	return strong && h.has_time ? 90 : 60;
}
