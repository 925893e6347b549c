/*
 * `perf script` text: for each sample a header, its stack leaf first, and an empty line.
 *
 *	comm 123/124 [000]  1471.154747:    2004008 cpu-clock:ppp:
 *		            11ef leaf+0x1f (/usr/bin/x)
 *		            10ba main+0x2a (/usr/bin/x)
 *
 * or, without call graphs, header and frame on one line. The fields of a header depend on perf's
 * -F; see perf_header.c and perf_frame.c.
 *
 * Each event becomes a profile of its own, because counts of different events must not be added.
 * Its types are samples/count and, if there are periods, cpu/nanoseconds for the first clock or the
 * event's own name for others; a tracepoint has one type with its name. The first of several events
 * has `samples`, the others `<event>_samples`, so that merging does not add them up. Times are
 * perf's (monotonic, not since 1970): they give the duration and are not stored with samples.
 */
#include "format/perf_script.h"

#include "format/formats_internal.h"

struct perf_reader {
	struct reading *out;
	struct text_lines lines;
	struct perf_layout layout;
	struct perf_event events[PERF_MAX_EVENTS];
	size_t event_count;
	struct text_memo frame_memo, label_memo;
	struct stack_builder stack;
	VEC(struct perf_frame) frames; /* of the sample being read */
	struct perf_header header;
	bool open;	      /* a sample is being read */
	bool strong;	      /* its header is one even without a stack */
	bool deep;	      /* it has more frames than the limit */
	bool inline_frame;    /* its frame stood on the line of the header, or seemed to */
	bool headers;	      /* samples of this file have headers */
	bool comments;	      /* within perf's description of the file */
	struct str described; /* the event of a file whose description has one */
	unsigned descriptions;
	size_t header_line; /* of the sample being read */
	uint64_t samples;
	uint64_t unread; /* lines that could not be read */
	size_t unread_line;
};

static void cannot_read(struct perf_reader *r, size_t line)
{
	if (!r->unread++)
		r->unread_line = line;
}

static enum err find_event(struct perf_reader *r, struct perf_event **ret)
{
	struct str name = r->header.event;
	struct perf_event *event;

	if (!name.n && r->descriptions == 1)
		name = r->described;
	/* Few events, and mostly the one of the sample before. */
	for (size_t i = 0; i < r->event_count; i++) {
		if (str_eq(r->events[i].name, name) &&
		    r->events[i].has_period == r->header.has_period) {
			*ret = &r->events[i];
			return ERR_OK;
		}
	}
	if (r->event_count == PERF_MAX_EVENTS)
		return text_fault(&r->lines, r->out, ERR_TOO_LARGE, "more than %d kinds of events",
				  PERF_MAX_EVENTS);
	event = &r->events[r->event_count];
	*event = (struct perf_event){.name = name, .has_period = r->header.has_period};
	TRY(perf_event_open(r->out, event));
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
		cannot_read(r, r->header_line);
		return ERR_OK;
	}
	if (h->has_period && h->period > INT64_MAX)
		return text_fault(&r->lines, r->out, ERR_CORRUPT,
				  "the period before it does not fit in 63 bits");
	TRY(find_event(r, &event));
	if (h->has_time)
		perf_event_time(event, h->time_ns);
	values[1] = h->has_period ? (int64_t)h->period : 0;
	if (!event->profile->row_count)
		event->profile->period = values[1];
	else if (values[1] != event->profile->period)
		event->profile->period = 0;
	TRY(intern_labels(r, &row.labels));
	TRY(intern_stack(r, &row.stack));
	r->samples++;
	return text_add_row(r->out, event->profile, &row, values);
}

static void begin_sample(struct perf_reader *r, const struct perf_header *h, bool strong)
{
	r->header = *h;
	r->header_line = r->lines.number;
	r->open = true;
	r->strong = strong;
	r->deep = r->inline_frame = false;
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

/* `-F brstackinsn`: `<tab>address<tab>instruction`, below an empty line. */
static bool is_instruction(struct str line)
{
	struct str rest = str_skip(line, 1), word;
	uint64_t address;

	return text_word(&rest, &word) && word.n == 16 && text_hex(word, &address) &&
	       word.p == line.p + 1 && rest.n && rest.p[0] == '\t';
}

static enum err read_stack_line(struct perf_reader *r, struct str line)
{
	struct perf_header none = {.pid = -1, .tid = -1};
	struct perf_frame f;

	if (is_instruction(line))
		return ERR_OK;
	/* Without a header above it a stack is a sample only where none has any. */
	if ((!r->open && r->headers) || !perf_frame_parse(line, &r->layout, &f)) {
		cannot_read(r, r->lines.number);
		return ERR_OK;
	}
	if (!r->open)
		begin_sample(r, &none, false);
	/* What looked like a frame beside the header were other fields. */
	if (r->inline_frame)
		r->frames.n = 0;
	r->inline_frame = false;
	return add_frame(r, &f);
}

/* A frame on the line itself, where stacks are not told or this event has none. */
static bool find_frame(const struct perf_reader *r, struct str text, struct perf_frame *f)
{
	size_t at;

	if (perf_frame_find(text, f, &at))
		return true;
	text = str_trim(text);
	return text.n && text.p[text.n - 1] == ')' && perf_frame_parse(text, NULL, f) &&
	       (!r->layout.stacks || r->header.event.n);
}

/* A sample on one line: what stands before the frame, each of it optional, is the header. */
static enum err read_both(struct perf_reader *r, struct str line, size_t at,
			  const struct perf_frame *f)
{
	struct perf_header h;
	bool strong;

	line.n = at;
	strong = perf_header_parse(line, &r->layout, &h);
	r->headers |= str_trim(line).n > 0;
	begin_sample(r, &h, strong);
	r->inline_frame = true;
	return add_frame(r, f);
}

static enum err read_header(struct perf_reader *r, struct str line)
{
	struct perf_header h;
	struct perf_frame f;
	bool strong = perf_header_parse(line, &r->layout, &h);
	size_t at;

	TRY(finish_sample(r));
	if (h.record)
		return ERR_OK;
	if (!r->layout.stacks && perf_frame_find(line, &f, &at))
		return read_both(r, line, at, &f);
	r->headers = true;
	begin_sample(r, &h, strong);
	if (!find_frame(r, h.rest, &f))
		return ERR_OK;
	r->inline_frame = true;
	return add_frame(r, &f);
}

/* Of perf's description, `# event : name = cpu-clock, , id = …`. */
static void read_comment(struct perf_reader *r, struct str line)
{
	static const struct str event = {"# event : name = ", 17};
	size_t end;

	if (str_eq(line, STR("# ========")))
		r->comments = !r->comments;
	if (!str_starts(line, event))
		return;
	line = str_skip(line, event.n);
	end = str_search(line, STR(", "));
	r->described = (struct str){line.p, end};
	r->descriptions++;
}

/* Whether the line has what no frame and no comment has. */
static bool is_strong(const struct perf_reader *r, struct str line)
{
	struct perf_header h;

	perf_header_parse(line, &r->layout, &h);
	return h.record || h.fields & (PERF_HAS_TIME | PERF_HAS_EVENT | PERF_HAS_PERIOD);
}

static bool is_comment(const struct perf_reader *r, struct str line)
{
	struct text_lines ahead = r->lines;
	struct str next;

	if (line.p[0] == '|' && line.n > 1 && text_is_digit(line.p[1]))
		return true; /* a line of source, of -F srccode */
	if (line.p[0] != '#')
		return false;
	if (r->comments || line.n == 1)
		return true;
	/* A thread may be called `#x`. */
	if (is_strong(r, line) || (text_line(&ahead, &next) && next.n && next.p[0] == '\t'))
		return false;
	return true;
}

static bool is_header(const struct perf_reader *r, struct str line)
{
	bool indented = text_is_space(line.p[0]);
	struct perf_header h;

	/* Directly below a stack there are other fields of its sample: ` insn: 55`. */
	if (r->layout.tabs && r->open && r->frames.n) {
		perf_header_parse(line, &r->layout, &h);
		return h.record || h.has_time;
	}
	if (!r->layout.stacks || (!r->open && (r->layout.tabs || !indented)))
		return true;
	return is_strong(r, line) || !indented;
}

static enum err read_line(struct perf_reader *r, struct str line)
{
	if (!str_trim(line).n)
		return finish_sample(r);
	if (line.p[0] != '#')
		r->comments = false;
	if (is_comment(r, line)) {
		read_comment(r, line);
		return ERR_OK;
	}
	if (line.p[0] == '\t')
		return read_stack_line(r, line);
	if (r->open && r->frames.n && perf_is_source(line) && !is_strong(r, line)) {
		if (!r->deep)
			perf_frame_source(&r->frames.v[r->frames.n - 1], line);
		return ERR_OK;
	}
	if (is_header(r, line))
		return read_header(r, line);
	/* Below a stack there may be registers, branches and other fields of the sample. */
	if (r->open && r->frames.n && r->layout.tabs)
		return ERR_OK;
	return read_stack_line(r, line);
}

static void tell(struct perf_reader *r)
{
	if (r->unread == 1)
		notes_add(&r->out->notes, "line %zu could not be read and was left out",
			  r->unread_line);
	else if (r->unread)
		notes_add(&r->out->notes,
			  "%llu lines could not be read and were left out, the first is line %zu",
			  (unsigned long long)r->unread, r->unread_line);
}

static enum err read_all(struct perf_reader *r, struct str bytes)
{
	struct str line;

	perf_layout_find(bytes, &r->layout);
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
	tell(r);
	return perf_events_finish(r->out, r->events, r->event_count);
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
