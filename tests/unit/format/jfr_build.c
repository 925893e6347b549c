#include "jfr_build.h"

#include <stdio.h>

#define MAX_TEXTS 256

const struct t_class jfr_test_types[T_COUNT_ - T_BOOLEAN] = {
	{T_BOOLEAN, "boolean", {{0}}},
	{T_BYTE, "byte", {{0}}},
	{T_CHAR, "char", {{0}}},
	{T_SHORT, "short", {{0}}},
	{T_INT, "int", {{0}}},
	{T_LONG, "long", {{0}}},
	{T_FLOAT, "float", {{0}}},
	{T_DOUBLE, "double", {{0}}},
	{T_STRING, "java.lang.String", {{0}}},
	{T_CLASS, "java.lang.Class", {{"name", T_SYMBOL, true, false, NULL}}},
	{T_SYMBOL, "jdk.types.Symbol", {{"string", T_STRING, false, false, NULL}}},
	{T_METHOD,
	 "jdk.types.Method",
	 {{"type", T_CLASS, true, false, NULL},
	  {"name", T_SYMBOL, true, false, NULL},
	  {"descriptor", T_SYMBOL, true, false, NULL},
	  {"hidden", T_BOOLEAN, false, false, NULL}}},
	{T_FRAME,
	 "jdk.types.StackFrame",
	 {{"method", T_METHOD, true, false, NULL},
	  {"lineNumber", T_INT, false, false, NULL},
	  {"type", T_FRAME_TYPE, true, false, NULL}}},
	{T_STACK,
	 "jdk.types.StackTrace",
	 {{"truncated", T_BOOLEAN, false, false, NULL}, {"frames", T_FRAME, false, true, NULL}}},
	{T_THREAD,
	 "java.lang.Thread",
	 {{"osName", T_STRING, false, false, NULL},
	  {"osThreadId", T_LONG, false, false, NULL},
	  {"javaName", T_STRING, false, false, NULL},
	  {"javaThreadId", T_LONG, false, false, NULL}}},
	{T_STATE, "jdk.types.ThreadState", {{"name", T_STRING, false, false, NULL}}},
	{T_FRAME_TYPE, "jdk.types.FrameType", {{"description", T_STRING, false, false, NULL}}},
	{T_TIMESPAN, "jdk.jfr.Timespan", {{"value", T_STRING, false, false, NULL}}},
	{T_EXECUTION,
	 "jdk.ExecutionSample",
	 {{"startTime", T_LONG, false, false, "TICKS"},
	  {"sampledThread", T_THREAD, true, false, NULL},
	  {"stackTrace", T_STACK, true, false, NULL},
	  {"state", T_STATE, true, false, NULL}}},
	{T_MONITOR,
	 "jdk.JavaMonitorEnter",
	 {{"startTime", T_LONG, false, false, "TICKS"},
	  {"duration", T_LONG, false, false, "MILLISECONDS"},
	  {"eventThread", T_THREAD, true, false, NULL},
	  {"stackTrace", T_STACK, true, false, NULL},
	  {"monitorClass", T_CLASS, true, false, NULL}}},
	{T_SETTING,
	 "jdk.ActiveSetting",
	 {{"id", T_LONG, false, false, NULL},
	  {"name", T_STRING, false, false, NULL},
	  {"value", T_STRING, false, false, NULL}}},
	{T_ODD,
	 "test.Odd",
	 {{"startTime", T_LONG, false, false, NULL},
	  {"parts", T_ODD_PART, false, true, NULL},
	  {"one", T_ODD_PART, false, false, NULL}}},
	{T_ODD_PART,
	 "test.OddPart",
	 {{"b", T_BYTE, false, false, NULL},
	  {"c", T_CHAR, false, false, NULL},
	  {"s", T_SHORT, false, true, NULL},
	  {"f", T_FLOAT, false, false, NULL},
	  {"d", T_DOUBLE, false, false, NULL},
	  {"text", T_STRING, false, false, NULL}}},
	{T_RECORDING, "jdk.ActiveRecording", {{"startTime", T_LONG, false, false, NULL}}},
	{T_MALLOC,
	 "profiler.Malloc",
	 {{"startTime", T_LONG, false, false, "TICKS"},
	  {"eventThread", T_THREAD, true, false, NULL},
	  {"stackTrace", T_STACK, true, false, NULL},
	  {"size", T_LONG, false, false, "BYTES"}}},
};

void jfr_build_release(struct jfr_build *b)
{
	buf_release(&b->out);
}

void put_byte(struct jfr_build *b, uint8_t v)
{
	buf_byte(&b->out, v);
}

void put_be(struct jfr_build *b, uint64_t v, unsigned n)
{
	while (n--)
		put_byte(b, (uint8_t)(v >> (8 * n)));
}

static void put_varint(struct jfr_build *b, uint64_t v)
{
	for (unsigned i = 0; i < 8 && v >= 0x80; i++) {
		put_byte(b, (uint8_t)(v | 0x80));
		v >>= 7;
	}
	put_byte(b, (uint8_t)v);
}

void put_int(struct jfr_build *b, int64_t v)
{
	if (b->plain)
		put_be(b, (uint64_t)v, 4);
	else
		put_varint(b, (uint32_t)v);
}

void put_long(struct jfr_build *b, uint64_t v)
{
	if (b->plain)
		put_be(b, v, 8);
	else
		put_varint(b, v);
}

void put_string(struct jfr_build *b, const char *s)
{
	if (!s) {
		put_byte(b, 0);
		return;
	}
	put_byte(b, *s ? 3 : 1);
	if (!*s)
		return;
	put_int(b, (int64_t)strlen(s));
	buf_text(&b->out, s);
}

void chunk_begin(struct jfr_build *b)
{
	if (!b->out.ceiling)
		buf_init(&b->out, 1 << 24);
	b->chunk = b->out.n;
	buf_append(&b->out, "FLR", 4);
	put_be(b, 2, 2);
	put_be(b, 1, 2);
	for (unsigned i = 0; i < 60; i++)
		put_byte(b, 0);
}

static void patch(struct jfr_build *b, size_t at, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		b->out.data[b->chunk + at + i] = (char)(v >> (8 * (n - 1 - i)));
}

void chunk_end(struct jfr_build *b)
{
	patch(b, 8, b->out.n - b->chunk, 8);
	patch(b, 16, b->pool_at, 8);
	patch(b, 24, b->metadata_at, 8);
	patch(b, 32, 1700000000000000000, 8);
	patch(b, 40, 2000000000, 8);
	patch(b, 48, 1000, 8);
	patch(b, 56, 1000000, 8); /* a tick is a microsecond */
	patch(b, 64, b->plain ? 0 : 1, 4);
}

void event_begin(struct jfr_build *b, uint64_t type)
{
	b->event = b->out.n;
	put_be(b, 0, 4);
	put_long(b, type);
}

void event_end(struct jfr_build *b)
{
	uint64_t size = b->out.n - b->event;
	char *p = b->out.data + b->event;

	for (unsigned i = 0; i < 4; i++)
		p[i] = b->plain ? (char)(size >> (24 - 8 * i))
				: (char)((size >> (7 * i) & 0x7f) | (i < 3 ? 0x80 : 0));
}

/* The strings of the metadata, in order of their index. */
struct texts {
	const char *v[MAX_TEXTS];
	int n;
};

static int text_index(struct texts *t, const char *s)
{
	for (int i = 0; i < t->n; i++)
		if (strcmp(t->v[i], s) == 0)
			return i;
	t->v[t->n] = s;
	return t->n++;
}

static void put_element(struct jfr_build *b, struct texts *t, const char *name, int attributes)
{
	put_int(b, text_index(t, name));
	put_int(b, attributes);
}

static void put_attribute(struct jfr_build *b, struct texts *t, const char *key, const char *value)
{
	put_int(b, text_index(t, key));
	put_int(b, text_index(t, value));
}

/* Numbers as text that outlives the call. */
static const char *number(int n)
{
	static char texts[128][8];

	snprintf(texts[n & 127], sizeof(texts[0]), "%d", n);
	return texts[n & 127];
}

static void put_field(struct jfr_build *b, struct texts *t, const struct t_field *f)
{
	put_element(b, t, "field", 2 + f->pooled + f->array);
	put_attribute(b, t, "name", f->name);
	put_attribute(b, t, "class", number(f->type));
	if (f->pooled)
		put_attribute(b, t, "constantPool", "true");
	if (f->array)
		put_attribute(b, t, "dimension", "1");
	put_int(b, f->unit ? 1 : 0);
	if (!f->unit)
		return;
	put_element(b, t, "annotation", 2);
	put_attribute(b, t, "class", number(T_TIMESPAN));
	put_attribute(b, t, "value", f->unit);
	put_int(b, 0);
}

static void put_tree(struct jfr_build *b, struct texts *t, const struct t_class *types, size_t n)
{
	put_element(b, t, "root", 0);
	put_int(b, 2);
	put_element(b, t, "metadata", 0);
	put_int(b, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		int fields = 0;

		while (fields < 6 && types[i].fields[fields].name)
			fields++;
		put_element(b, t, "class", 2);
		put_attribute(b, t, "id", number(types[i].id));
		put_attribute(b, t, "name", types[i].name);
		put_int(b, fields);
		for (int j = 0; j < fields; j++)
			put_field(b, t, &types[i].fields[j]);
	}
	put_element(b, t, "region", 1);
	put_attribute(b, t, "locale", "de_CH");
	put_int(b, 0);
}

void put_metadata(struct jfr_build *b, const struct t_class *types, size_t n)
{
	struct jfr_build tree = {.plain = b->plain};
	struct texts t = {.n = 0};

	buf_init(&tree.out, 1 << 20);
	put_tree(&tree, &t, types, n);
	b->metadata_at = b->out.n - b->chunk;
	event_begin(b, 0);
	put_long(b, 1000);
	put_long(b, 0);
	put_long(b, 1);
	put_int(b, t.n);
	for (int i = 0; i < t.n; i++)
		put_string(b, t.v[i]);
	buf_str(&b->out, buf_view(&tree.out));
	event_end(b);
	buf_release(&tree.out);
}

void checkpoint_begin(struct jfr_build *b, int64_t delta, int pools)
{
	b->pool_at = b->out.n - b->chunk;
	event_begin(b, 1);
	put_long(b, 1000);
	put_long(b, 0);
	put_long(b, (uint64_t)delta);
	put_byte(b, 0);
	put_int(b, pools);
}

void pool_begin(struct jfr_build *b, int type, int entries)
{
	put_long(b, (uint64_t)type);
	put_int(b, entries);
}

static void put_symbols(struct jfr_build *b)
{
	static const char *const symbols[] = {
		"a/B", "[Ljava/lang/String;", "one", "two", "three", "()V", "[[I"};

	pool_begin(b, T_SYMBOL, 7);
	for (unsigned i = 0; i < 7; i++) {
		put_long(b, i + 1);
		put_string(b, symbols[i]);
	}
}

static void put_methods(struct jfr_build *b)
{
	pool_begin(b, T_CLASS, 3);
	for (unsigned i = 0; i < 3; i++) {
		put_long(b, i + 1);
		put_long(b, i < 2 ? i + 1 : 7);
	}
	pool_begin(b, T_METHOD, 3);
	for (unsigned i = 0; i < 3; i++) {
		put_long(b, i + 1);
		put_long(b, i < 2 ? 1 : 2);
		put_long(b, i + 3);
		put_long(b, 6);
		put_byte(b, 0);
	}
}

/* Stack 1: one < two; stack 2: three, cut off. */
static void put_stacks(struct jfr_build *b)
{
	pool_begin(b, T_STACK, 2);
	put_long(b, 1);
	put_byte(b, 0);
	put_int(b, 2);
	for (unsigned i = 0; i < 2; i++) {
		put_long(b, i + 1);
		put_int(b, i ? -1 : 42);
		put_long(b, 1);
	}
	put_long(b, 2);
	put_byte(b, 1);
	put_int(b, 1);
	put_long(b, 3);
	put_int(b, 7);
	put_long(b, 1);
}

static void put_threads(struct jfr_build *b)
{
	pool_begin(b, T_THREAD, 2);
	put_long(b, 5);
	put_string(b, "os");
	put_long(b, 77);
	put_string(b, "main");
	put_long(b, 1);
	put_long(b, 6);
	put_string(b, "GC Thread#0");
	put_long(b, 78);
	put_string(b, NULL);
	put_long(b, 0);
	pool_begin(b, T_STATE, 3);
	put_long(b, JFR_RUNNABLE);
	put_string(b, "STATE_RUNNABLE");
	put_long(b, JFR_SLEEPING);
	put_string(b, "STATE_SLEEPING");
	put_long(b, JFR_DEFAULT);
	put_string(b, "STATE_DEFAULT");
	pool_begin(b, T_FRAME_TYPE, 1);
	put_long(b, 1);
	put_string(b, "Interpreted");
}

void put_test_pools(struct jfr_build *b)
{
	checkpoint_begin(b, 0, 7);
	put_symbols(b);
	put_methods(b);
	put_stacks(b);
	put_threads(b);
	event_end(b);
}

void put_setting(struct jfr_build *b, int type, const char *name, const char *value)
{
	event_begin(b, T_SETTING);
	put_long(b, (uint64_t)type);
	put_string(b, name);
	put_string(b, value);
	event_end(b);
}

void put_sample_of(struct jfr_build *b, uint64_t thread, uint64_t stack, uint64_t state)
{
	event_begin(b, T_EXECUTION);
	put_long(b, 2000);
	put_long(b, thread);
	put_long(b, stack);
	put_long(b, state);
	event_end(b);
}

void put_sample(struct jfr_build *b, uint64_t ticks, uint64_t thread, uint64_t stack)
{
	event_begin(b, T_EXECUTION);
	put_long(b, ticks);
	put_long(b, thread);
	put_long(b, stack);
	put_long(b, JFR_RUNNABLE);
	event_end(b);
}

void put_malloc(struct jfr_build *b, uint64_t size)
{
	event_begin(b, T_MALLOC);
	put_long(b, 4000);
	put_long(b, 5);
	put_long(b, 1);
	put_long(b, size);
	event_end(b);
}

void put_wait(struct jfr_build *b, uint64_t milliseconds)
{
	event_begin(b, T_MONITOR);
	put_long(b, 4000);
	put_long(b, milliseconds);
	put_long(b, 5);
	put_long(b, 1);
	put_long(b, 3);
	event_end(b);
}
