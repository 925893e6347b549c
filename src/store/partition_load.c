/*
 * Reading what partition_delta.c writes. Every entry must be new and refer only to what is there:
 * then ids come out as they were, and nothing can be cyclic.
 */
#include "store/callees.h"
#include "store/packing.h"
#include "store/partition.h"
#include "store/varint.h"

#define MAX_BODY   ((size_t)1 << 30)
#define MAX_LENGTH (1u << 20) /* of a stack or a label set */

struct loading {
	struct partition *p;
	struct dict *d;
	struct cursor c;
	struct arena arena;
	struct partition_mark from, to;
};

static bool within(const struct loading *l, uint64_t count)
{
	return !l->c.bad && count <= (uint64_t)(l->c.end - l->c.p);
}

/* The entry must have got the id that it had. */
static enum err expect(uint32_t id, size_t expected)
{
	return id == expected ? ERR_OK : ERR_CORRUPT;
}

static enum err load_strings(struct loading *l)
{
	uint32_t n = l->to.strings - l->from.strings;
	uint64_t *sizes;

	if (!within(l, n))
		return ERR_CORRUPT;
	sizes = arena_zalloc(&l->arena, (size_t)n + 1, sizeof(*sizes));
	if (!sizes)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < n; i++)
		sizes[i] = get_varint(&l->c);
	for (uint32_t i = 0; i < n; i++) {
		struct str s = get_bytes(&l->c, sizes[i]);
		uint32_t id;

		if (l->c.bad)
			return ERR_CORRUPT;
		TRY(dict_string(l->d, s, &id));
		TRY(expect(id, (size_t)l->from.strings + i));
	}
	return ERR_OK;
}

/* Ids above `most` and numbers that do not fit their field are refused. */
#define GET_COLUMN(entries, n, field, most)                                            \
	do {                                                                           \
		uint64_t value_ = 0;                                                   \
		for (uint32_t i_ = 0; i_ < (n); i_++) {                                \
			value_ += (uint64_t)get_zigzag(&l->c);                         \
			if (value_ > (uint64_t)(most))                                 \
				return ERR_CORRUPT;                                    \
			(entries)[i_].field = (__typeof__((entries)[i_].field))value_; \
		}                                                                      \
	} while (0)

/* Room for the new entries of a table, or NULL. */
#define NEW_ENTRIES(type, n) ((type *)arena_zalloc(&l->arena, (size_t)(n) + 1, sizeof(type)))

static enum err load_functions(struct loading *l)
{
	uint32_t n = l->to.functions - l->from.functions, id;
	size_t strings = l->d->strings.n - 1;
	struct function *f;

	if (!within(l, n))
		return ERR_CORRUPT;
	f = NEW_ENTRIES(struct function, n);
	if (!f)
		return ERR_NO_MEMORY;
	GET_COLUMN(f, n, name, strings);
	GET_COLUMN(f, n, system_name, strings);
	GET_COLUMN(f, n, file, strings);
	GET_COLUMN(f, n, start_line, UINT64_MAX);
	for (uint32_t i = 0; !l->c.bad && i < n; i++) {
		TRY(dict_function(l->d, &f[i], &id));
		TRY(expect(id, (size_t)l->from.functions + i));
	}
	return ERR_OK;
}

static enum err load_mappings(struct loading *l)
{
	uint32_t n = l->to.mappings - l->from.mappings, id;
	size_t strings = l->d->strings.n - 1;
	struct mapping *m;

	if (!within(l, n))
		return ERR_CORRUPT;
	m = NEW_ENTRIES(struct mapping, n);
	if (!m)
		return ERR_NO_MEMORY;
	GET_COLUMN(m, n, start, UINT64_MAX);
	GET_COLUMN(m, n, limit, UINT64_MAX);
	GET_COLUMN(m, n, offset, UINT64_MAX);
	GET_COLUMN(m, n, file, strings);
	GET_COLUMN(m, n, build_id, strings);
	GET_COLUMN(m, n, go_build_id, strings);
	GET_COLUMN(m, n, htl_hash, strings);
	GET_COLUMN(m, n, flags, UINT32_MAX);
	for (uint32_t i = 0; !l->c.bad && i < n; i++) {
		TRY(dict_mapping(l->d, &m[i], &id));
		TRY(expect(id, (size_t)l->from.mappings + i));
	}
	return ERR_OK;
}

static enum err load_frames(struct loading *l)
{
	uint32_t n = l->to.frames - l->from.frames, id;
	struct frame *f;

	if (!within(l, n))
		return ERR_CORRUPT;
	f = NEW_ENTRIES(struct frame, n);
	if (!f)
		return ERR_NO_MEMORY;
	GET_COLUMN(f, n, address, UINT64_MAX);
	GET_COLUMN(f, n, line, UINT64_MAX);
	GET_COLUMN(f, n, function, l->d->functions.n - 1);
	GET_COLUMN(f, n, mapping, l->d->mappings.n - 1);
	GET_COLUMN(f, n, column, UINT32_MAX);
	GET_COLUMN(f, n, kind, l->d->strings.n - 1);
	GET_COLUMN(f, n, flags, UINT32_MAX);
	for (uint32_t i = 0; !l->c.bad && i < n; i++) {
		TRY(dict_frame(l->d, &f[i], &id));
		TRY(expect(id, (size_t)l->from.frames + i));
	}
	return ERR_OK;
}

static bool label_valid(const struct dict *d, const struct label *l)
{
	bool text = l->type == LABEL_STRING || l->type == LABEL_BYTES || l->type == LABEL_JSON;

	return !text || (l->value >= 0 && (uint64_t)l->value < d->strings.n);
}

static enum err load_labels(struct loading *l)
{
	uint32_t n = l->to.labels - l->from.labels, id;
	size_t strings = l->d->strings.n - 1;
	struct label *labels;

	if (!within(l, n))
		return ERR_CORRUPT;
	labels = NEW_ENTRIES(struct label, n);
	if (!labels)
		return ERR_NO_MEMORY;
	GET_COLUMN(labels, n, key, strings);
	GET_COLUMN(labels, n, unit, strings);
	GET_COLUMN(labels, n, type, LABEL_JSON);
	GET_COLUMN(labels, n, value, UINT64_MAX);
	for (uint32_t i = 0; !l->c.bad && i < n; i++) {
		if (!label_valid(l->d, &labels[i]))
			return ERR_CORRUPT;
		TRY(dict_label(l->d, &labels[i], &id));
		TRY(expect(id, (size_t)l->from.labels + i));
	}
	return ERR_OK;
}

static enum err load_label_sets(struct loading *l)
{
	for (uint32_t set = l->from.label_sets; !l->c.bad && set < l->to.label_sets; set++) {
		uint32_t n = (uint32_t)get_bounded(&l->c, MAX_LENGTH), id, *items;

		if (!within(l, n))
			return ERR_CORRUPT;
		items = arena_zalloc(&l->arena, (size_t)n + 1, sizeof(*items));
		if (!items)
			return ERR_NO_MEMORY;
		for (uint32_t i = 0; i < n; i++)
			items[i] = (uint32_t)get_bounded(&l->c, l->d->labels.n - 1);
		if (l->c.bad)
			return ERR_CORRUPT;
		TRY(dict_label_set(l->d, items, n, &id));
		TRY(expect(id, set));
	}
	return ERR_OK;
}

struct stack_buffer {
	VEC(uint32_t) frames;
	struct callees callees;
};

static void stack_buffer_release(struct stack_buffer *b)
{
	vec_release(&b->frames);
	callees_release(&b->callees);
}

/* The frames it shares with an earlier stack, which are those towards the root. */
static enum err load_beginning(struct loading *l, uint32_t stack, const uint32_t **ret,
			       uint32_t *ret_n)
{
	uint64_t back = get_bounded(&l->c, stack);
	uint32_t n;

	*ret_n = 0;
	*ret = NULL;
	if (!back)
		return ERR_OK;
	*ret = stack_frames(l->d, stack - (uint32_t)back, &n);
	*ret_n = (uint32_t)get_bounded(&l->c, n);
	if (l->c.bad || !n)
		return ERR_CORRUPT;
	*ret += n - *ret_n;
	return ERR_OK;
}

static enum err load_stack(struct loading *l, struct stack_buffer *b, uint32_t stack)
{
	uint32_t same, fresh, caller = 0, id, *frames;
	const uint32_t *beginning;

	TRY(load_beginning(l, stack, &beginning, &same));
	fresh = (uint32_t)get_bounded(&l->c, MAX_LENGTH);
	if (!within(l, fresh) || same + fresh > MAX_LENGTH)
		return ERR_CORRUPT;
	b->frames.n = 0;
	TRY(vec_reserve(&b->frames, (size_t)same + fresh + 1));
	frames = b->frames.v;
	if (same) {
		memcpy(frames + fresh, beginning, same * sizeof(*frames));
		caller = frames[fresh];
	}
	for (uint32_t i = fresh; i-- > 0;) {
		uint64_t frame = callees_frame(&b->callees, caller, get_varint(&l->c));

		if (frame >= l->d->frames.n)
			return ERR_CORRUPT;
		callees_note(&b->callees, caller, (uint32_t)frame);
		caller = (uint32_t)frame;
		frames[i] = caller;
	}
	if (l->c.bad)
		return ERR_CORRUPT;
	TRY(dict_stack(l->d, frames, same + fresh, &id));
	return expect(id, stack);
}

static enum err load_stacks(struct loading *l)
{
	CLEANUP(stack_buffer_release) struct stack_buffer b = {0};
	uint32_t count = l->to.stacks - l->from.stacks;

	if (!count)
		return ERR_OK;
	TRY(callees_init(&b.callees, l->d->frames.n, count));
	for (uint32_t i = 0; i < count; i++)
		TRY(load_stack(l, &b, l->from.stacks + i));
	return ERR_OK;
}

static struct str get_text(struct cursor *c)
{
	return get_bytes(c, get_varint(c));
}

static enum err load_one_series(struct loading *l, uint32_t series)
{
	uint32_t n = (uint32_t)get_bounded(&l->c, MAX_LENGTH), id;
	struct label_pair *labels;

	if (!within(l, n))
		return ERR_CORRUPT;
	labels = arena_zalloc(&l->arena, (size_t)n + 1, sizeof(*labels));
	if (!labels)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < n; i++) {
		labels[i].name = get_text(&l->c);
		labels[i].value = get_text(&l->c);
	}
	if (l->c.bad)
		return ERR_CORRUPT;
	TRY(partition_series(l->p, labels, n, NULL, &id, NULL));
	TRY(expect(id, series));
	/* The times of its profiles are in their blocks: later ones do not narrow the range. */
	l->p->series.v[id].first_ns = INT64_MIN;
	l->p->series.v[id].last_ns = INT64_MAX;
	return ERR_OK;
}

static enum err load_series(struct loading *l)
{
	uint32_t n = l->to.pairs - l->from.pairs, id;
	struct series_type *pairs;

	for (uint32_t i = l->from.types; i < l->to.types; i++) {
		struct str text = get_text(&l->c);

		if (l->c.bad)
			return ERR_CORRUPT;
		TRY(partition_type(l->p, text, &id));
		TRY(expect(id, i));
	}
	for (uint32_t i = l->from.series; i < l->to.series; i++)
		TRY(load_one_series(l, i));
	if (!within(l, n) || (n && (!l->p->series.n || !l->p->types.n)))
		return ERR_CORRUPT;
	pairs = NEW_ENTRIES(struct series_type, n);
	if (!pairs)
		return ERR_NO_MEMORY;
	GET_COLUMN(pairs, n, series, l->p->series.n - 1);
	GET_COLUMN(pairs, n, type, l->p->types.n - 1);
	for (uint32_t i = 0; !l->c.bad && i < n; i++) {
		TRY(partition_pair(l->p, pairs[i].series, pairs[i].type));
		TRY(expect((uint32_t)l->p->pairs.n - 1, (size_t)l->from.pairs + i));
	}
	return ERR_OK;
}

static void get_mark(struct cursor *c, struct partition_mark *m)
{
	uint32_t *counts[] = {&m->strings,    &m->functions, &m->mappings, &m->frames, &m->labels,
			      &m->label_sets, &m->stacks,    &m->series,   &m->types,  &m->pairs};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		*counts[i] = (uint32_t)get_bounded(c, UINT32_MAX - 1);
}

static bool marks_grow(const struct partition_mark *a, const struct partition_mark *b)
{
	return a->strings <= b->strings && a->functions <= b->functions &&
	       a->mappings <= b->mappings && a->frames <= b->frames && a->labels <= b->labels &&
	       a->label_sets <= b->label_sets && a->stacks <= b->stacks && a->series <= b->series &&
	       a->types <= b->types && a->pairs <= b->pairs && a->stacks && a->strings;
}

/* Tables that grow step by step would be hashed again and again. What the delta claims to hold is
 * believed as far as it has bytes. */
static enum err reserve_tables(struct loading *l)
{
	uint64_t most = (uint64_t)(l->c.end - l->c.p);

	if (most < l->to.strings - l->from.strings || most < l->to.functions - l->from.functions ||
	    most < l->to.frames - l->from.frames || most < l->to.stacks - l->from.stacks)
		return ERR_CORRUPT;
	TRY(map_reserve(&l->d->strings.index, l->to.strings));
	TRY(map_reserve(&l->d->functions.index, l->to.functions));
	TRY(map_reserve(&l->d->frames.index, l->to.frames));
	return map_reserve(&l->d->stacks.index, l->to.stacks);
}

static enum err load_body(struct loading *l)
{
	size_t plain = get_bounded(&l->c, MAX_BODY), packed = get_bounded(&l->c, MAX_BODY);
	struct str body = get_bytes(&l->c, packed ? packed : plain);
	char *bytes;

	if (l->c.bad || l->c.p != l->c.end)
		return ERR_CORRUPT;
	if (packed) {
		bytes = arena_alloc(&l->arena, plain);
		if (!bytes)
			return ERR_NO_MEMORY;
		TRY(unpack(body, bytes, plain));
		body = str_n(bytes, plain);
	}
	l->c = cursor_of(body);
	TRY(reserve_tables(l));
	TRY(load_strings(l));
	TRY(load_functions(l));
	TRY(load_mappings(l));
	TRY(load_frames(l));
	TRY(load_labels(l));
	TRY(load_label_sets(l));
	TRY(load_stacks(l));
	TRY(load_series(l));
	return l->c.bad || l->c.p != l->c.end ? ERR_CORRUPT : ERR_OK;
}

enum err partition_delta_range(struct str bytes, struct partition_mark *ret_from,
			       struct partition_mark *ret_to)
{
	struct partition_mark from, to;
	struct cursor c;
	struct str body;

	TRY(blob_verify(bytes, DELTA_VERSION, &body));
	c = cursor_of(body);
	get_mark(&c, &from);
	get_mark(&c, &to);
	if (c.bad || !marks_grow(&from, &to))
		return ERR_CORRUPT;
	*ret_from = from;
	*ret_to = to;
	return ERR_OK;
}

enum err partition_delta_apply(struct partition *p, struct str bytes)
{
	struct partition_mark have = partition_mark(p);
	struct loading l = {.p = p, .d = &p->dict};
	struct str body;
	enum err e;

	TRY(blob_verify(bytes, DELTA_VERSION, &body));
	l.c = cursor_of(body);
	get_mark(&l.c, &l.from);
	get_mark(&l.c, &l.to);
	if (l.c.bad || !marks_grow(&l.from, &l.to) || !partition_mark_equal(&l.from, &have))
		return ERR_CORRUPT;
	e = load_body(&l);
	arena_release(&l.arena);
	if (!e)
		p->persisted = p->prepared = l.to;
	return e;
}
