/*
 * Constant pools: events refer to stacks, threads, methods, classes by keys. A checkpoint holds
 * some entries of some pools:
 *
 *	size, type 1, time, duration, delta to the checkpoint before (0: none), kind (1 byte),
 *	count of pools, and for each: type id, count of entries, (key, value)…
 *
 * An entry is only found and skipped here; values are read when an event asks for one, and what
 * they became in the dictionary is remembered in the entry.
 */
#include "format/jfr.h"

struct kind_description {
	const char *class;
	const char *fields[8];
};

static const struct kind_description kinds[JFR_KIND_COUNT_] = {
	[JFR_KIND_STACK] = {"jdk.types.StackTrace", {"truncated", "frames"}},
	[JFR_KIND_FRAME] = {"jdk.types.StackFrame", {"method", "lineNumber", "type"}},
	[JFR_KIND_METHOD] = {"jdk.types.Method", {"type", "name", "descriptor"}},
	[JFR_KIND_CLASS] = {"java.lang.Class", {"name"}},
	[JFR_KIND_SYMBOL] = {"jdk.types.Symbol", {"string"}},
	[JFR_KIND_THREAD] = {"java.lang.Thread",
			     {"osName", "osThreadId", "javaName", "javaThreadId"}},
	[JFR_KIND_THREAD_STATE] = {"jdk.types.ThreadState", {"name", "description"}},
	[JFR_KIND_FRAME_TYPE] = {"jdk.types.FrameType", {"name", "description"}},
	[JFR_KIND_STRING] = {"java.lang.String", {NULL}},
};

static enum err make_plans(struct jfr_chunk *k)
{
	for (unsigned kind = 1; kind < JFR_KIND_COUNT_; kind++)
		k->plans[kind].class = JFR_NO_CLASS;
	for (uint32_t i = 0; i < k->classes.n; i++) {
		struct jfr_class *class = &k->classes.v[i];

		for (unsigned kind = 1; kind < JFR_KIND_COUNT_; kind++) {
			if (k->plans[kind].class != JFR_NO_CLASS ||
			    !str_eq(str_of(kinds[kind].class), class->name))
				continue;
			class->kind = kind;
			TRY(jfr_plan_make(k, i, kinds[kind].fields, &k->plans[kind]));
		}
	}
	return ERR_OK;
}

struct jfr_pool_entry *jfr_pool_find(struct jfr_chunk *k, enum jfr_kind kind, uint64_t key)
{
	struct jfr_pool *pool = &k->pools[kind];

	MAP_PROBE(&pool->index, hash_mix(key, k->seed), i)
	{
		if (pool->entries.v[i].key == key)
			return &pool->entries.v[i];
	}
	return NULL;
}

static enum err pool_add(struct jfr_chunk *k, enum jfr_kind kind, uint64_t key, uint64_t at)
{
	struct jfr_pool *pool = &k->pools[kind];
	struct jfr_pool_entry entry = {.key = key, .at = at, .memo = JFR_NO_MEMO};

	/* The oldest checkpoint comes first and wins, as in the JDK's own tool. */
	if (jfr_pool_find(k, kind, key))
		return ERR_OK;
	if (pool->entries.n >= UINT32_MAX - 1)
		return ERR_TABLE_FULL;
	TRY(vec_push(&pool->entries, entry));
	return map_put(&pool->index, hash_mix(key, k->seed), (uint32_t)pool->entries.n - 1);
}

static enum err read_pool(struct jfr_chunk *k, struct jfr_cursor *c)
{
	uint64_t id = jfr_long(c);
	uint64_t n = (uint32_t)jfr_int(c);
	uint32_t index = jfr_class_by_id(k, id);
	const struct jfr_class *class;

	if (c->failed || index == JFR_NO_CLASS)
		return ERR_CORRUPT;
	class = &k->classes.v[index];
	if (class->layout != JFR_LAYOUT_DONE)
		return ERR_CORRUPT;
	for (uint64_t i = 0; i < n && !c->failed; i++) {
		uint64_t key = jfr_long(c), at = c->at;

		if (class->primitive == JFR_STRING)
			jfr_skip_string(c);
		else if (class->primitive != JFR_STRUCT)
			c->failed = true; /* pools do not contain numbers */
		else
			jfr_skip(k, c, class->skip);
		if (class->kind && !c->failed)
			TRY(pool_add(k, class->kind, key, at));
	}
	return c->failed ? ERR_CORRUPT : ERR_OK;
}

/* Opens a checkpoint: the cursor is after `delta`. */
static bool open_checkpoint(const struct jfr_chunk *k, uint64_t at, struct jfr_cursor *c,
			    int64_t *ret_delta, uint64_t *ret_end)
{
	uint64_t type, end = at;

	if (!jfr_next_event(k, &end, c, &type) || type != 1)
		return false;
	jfr_long(c); /* time */
	jfr_long(c); /* duration */
	*ret_delta = (int64_t)jfr_long(c);
	*ret_end = end;
	return !c->failed;
}

static enum err bad_checkpoint(const struct jfr_chunk *k, uint64_t at, struct fault *fault)
{
	return fault_set(
		fault, ERR_CORRUPT,
		"the JFR checkpoint at byte %llu is not valid: expected an event of type 1 "
		"with pools of types the metadata describes",
		(unsigned long long)(k->file_offset + at));
}

/* Follows the chain backwards. Each must end before the last begins, so it ends. */
static enum err follow_chain(struct jfr_chunk *k, struct fault *fault)
{
	uint64_t at = k->header.pool_offset, before = k->size;

	for (;;) {
		struct jfr_cursor c;
		int64_t delta;
		uint64_t end;

		if (!open_checkpoint(k, at, &c, &delta, &end) || end > before)
			return bad_checkpoint(k, at, fault);
		TRY(vec_push(&k->checkpoints, at));
		if (!delta)
			return ERR_OK;
		if (delta > 0 || (uint64_t) - (delta + 1) + 1 > at)
			return bad_checkpoint(k, at, fault);
		before = at;
		at -= (uint64_t)-delta;
	}
}

static enum err read_checkpoint(struct jfr_chunk *k, uint64_t at)
{
	struct jfr_cursor c;
	int64_t delta;
	uint64_t end, n;

	if (!open_checkpoint(k, at, &c, &delta, &end))
		return ERR_CORRUPT;
	jfr_integer(&c, JFR_BYTE);
	n = (uint32_t)jfr_int(&c);
	for (uint64_t i = 0; i < n && !c.failed; i++)
		TRY(read_pool(k, &c));
	return c.failed ? ERR_CORRUPT : ERR_OK;
}

enum err jfr_pools_read(struct jfr_chunk *k, struct fault *fault)
{
	TRY(make_plans(k));
	if (k->complete)
		TRY(follow_chain(k, fault));
	for (size_t i = k->checkpoints.n; i--;) {
		enum err e = read_checkpoint(k, k->checkpoints.v[i]);

		if (e == ERR_CORRUPT)
			return bad_checkpoint(k, k->checkpoints.v[i], fault);
		TRY(e);
	}
	return ERR_OK;
}

bool jfr_object(struct jfr_chunk *k, const struct jfr_value *v, enum jfr_kind kind,
		struct jfr_value *slots, struct jfr_pool_entry **ret_entry)
{
	struct jfr_cursor c;

	*ret_entry = NULL;
	if ((v->kind != JFR_REF && v->kind != JFR_OBJECT) || k->plans[kind].class != v->class ||
	    v->class == JFR_NO_CLASS)
		return false;
	if (v->kind == JFR_REF) {
		*ret_entry = jfr_pool_find(k, kind, v->number);
		if (!*ret_entry)
			return false;
		if ((*ret_entry)->memo != JFR_NO_MEMO)
			return true;
	}
	c = jfr_at(k, *ret_entry ? (*ret_entry)->at : v->number);
	jfr_peek_fields(k, &c, &k->plans[kind], slots);
	return !c.failed;
}
