/* Spans and labels of include/vestal.h. A sample may be taken between any two lines here, by this
 * very thread: the context is marked while it is not whole. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "sdk/label_sets.h"
#include "sdk/last_error.h"
#include "sdk/own_threads.h"
#include "sdk/span_ends.h"
#include "vestal.h"

static void begin_change(struct own_thread *t)
{
	t->stable = 0;
	atomic_signal_fence(memory_order_seq_cst);
}

static void end_change(struct own_thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->stable = 1;
}

/* Read by others while this thread is stopped: must never be seen half written. */
static void share(struct own_thread *t)
{
	struct thread_record *r = &t->record;
	u32 length = t->context.name_length;

	r->valid = 0;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(r->trace_id, t->context.trace_id, sizeof(r->trace_id));
	memcpy(r->span_id, t->context.span_id, sizeof(r->span_id));
	r->key = CONTEXT_KEY_SPAN_NAME;
	r->length = (u8)length;
	r->size = (u16)(length ? 2 + length : 0);
	memcpy(r->text, t->context.name, SPAN_NAME_SIZE);
	otel_thread_ctx_v1 = r;
	atomic_signal_fence(memory_order_seq_cst);
	r->valid = t->depth > 0;
}

/* Samples of the span wait for this, where there are any. */
static void tell_end(const struct own_thread *t, bool failed)
{
	struct span_end e = {.from = t->began[t->depth],
			     .thread = threads_number(t),
			     .failed = failed,
			     .outermost = !t->depth};

	if (t->sampled < e.from)
		return;
	e.to = clock_monotonic_ns();
	span_ends_add(&e);
}

void vestal_span_enter(const uint8_t trace_id[16], const uint8_t span_id[8], const char *name)
{
	struct own_thread *t = threads_self();
	size_t n = name ? strnlen(name, SPAN_NAME_SIZE - 1) : 0;

	if (!t || t->depth++ >= SPAN_DEPTH)
		return;
	t->began[t->depth - 1] = span_ends_wanted ? clock_monotonic_ns() : 0;
	begin_change(t);
	t->outer[t->depth - 1] = t->context;
	memcpy(t->context.trace_id, trace_id, sizeof(t->context.trace_id));
	memcpy(t->context.span_id, span_id, sizeof(t->context.span_id));
	/* Equal contexts are equal in every byte. */
	memset(t->context.name, 0, sizeof(t->context.name));
	if (n)
		memcpy(t->context.name, name, n);
	t->context.name_length = (u32)n;
	share(t);
	end_change(t);
}

void vestal_span_exit(int failed)
{
	struct own_thread *t = threads_known();
	u32 labels;

	if (!t || !t->depth || t->depth-- > SPAN_DEPTH)
		return;
	if (span_ends_wanted && t->began[t->depth])
		tell_end(t, failed);
	begin_change(t);
	/* Labels are the thread's, not the span's. */
	labels = t->context.label_set;
	t->context = t->outer[t->depth];
	t->context.label_set = labels;
	share(t);
	end_change(t);
}

int vestal_label_set(const char *key, const char *value)
{
	struct own_thread *t = threads_self();
	struct fault fault = {0};
	u32 set = 0;
	enum err e = t ? ERR_OK : ERR_NO_MEMORY;

	if (!e)
		e = label_sets_with(t->context.label_set, str_of(key), str_of(value), &set, &fault);
	if (e)
		return last_error_set(&fault, e);
	begin_change(t);
	t->context.label_set = set;
	end_change(t);
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False for letters that are no digits, and for zero, which means "none". */
static bool read_hex(const char *text, uint8_t *ret, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		int high = hex_digit(text[2 * i]), low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
		any = any || ret[i];
	}
	return any;
}

int vestal_traceparent_parse(const char *text, uint8_t trace_id[16], uint8_t span_id[8])
{
	enum { LENGTH = 55 };
	struct fault fault = {0};
	uint8_t trace[16], span[8];

	/* Later versions may be longer, with more fields after a dash. */
	if (!text || strnlen(text, LENGTH) < LENGTH || hex_digit(text[0]) < 0 ||
	    hex_digit(text[1]) < 0 || !strncmp(text, "ff", 2) || text[2] != '-' ||
	    text[35] != '-' || text[52] != '-' || hex_digit(text[53]) < 0 ||
	    hex_digit(text[54]) < 0 ||
	    (text[LENGTH] && (text[LENGTH] != '-' || !strncmp(text, "00", 2))) ||
	    !read_hex(text + 3, trace, 16) || !read_hex(text + 36, span, 8)) {
		fault_set(&fault, ERR_CORRUPT, "this is no traceparent");
		return last_error_set(&fault, ERR_CORRUPT);
	}
	memcpy(trace_id, trace, sizeof(trace));
	memcpy(span_id, span, sizeof(span));
	return 0;
}
