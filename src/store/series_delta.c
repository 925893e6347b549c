/*
 * The index of a day's series as bytes: what a service's partition has between two marks.
 *
 *	0  u8   version
 *	1  u8   0
 *	2  u32  checksum of all that follows
 *	6       where types, series, pairs and labels begin and end (4 numbers twice), size of the
 *	        plain body, size of the packed body or 0 when it is plain
 *	   body per type its id; per series its labels; pairs of series and type, column by column;
 *	        per label of rows its name and its value as text
 */
#include "store/packing.h"
#include "store/series_index.h"
#include "store/varint.h"

#define MAX_BODY   ((size_t)1 << 30)
#define MAX_LENGTH (1u << 20)
#define PACK_FROM  512 /* smaller ones do not become much smaller */

/* ------------------------------------------------------------------ writing */

static void put_text(struct buf *out, struct str s)
{
	put_varint(out, s.n);
	buf_str(out, s);
}

static void put_mark(struct buf *out, const struct series_mark *m)
{
	put_varint(out, m->types);
	put_varint(out, m->series);
	put_varint(out, m->pairs);
	put_varint(out, m->labels);
}

static void write_pairs(const struct partition *p, uint32_t from, uint32_t to, struct buf *out)
{
	int64_t before = 0;

	for (uint32_t i = from; i < to; i++) {
		put_zigzag(out, (int64_t)p->pairs.v[i].series - before);
		before = p->pairs.v[i].series;
	}
	for (uint32_t i = from; i < to; i++)
		put_varint(out, p->pairs.v[i].type);
}

static enum err write_labels(const struct dict *d, uint32_t from, uint32_t to, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

	for (uint32_t i = from; i < to; i++) {
		const struct label *label = &d->labels.v[i];

		buf_clear(&text);
		label_value(d, label, &text);
		TRY(buf_error(&text));
		put_text(out, dict_str(d, label->key));
		put_text(out, buf_view(&text));
	}
	return ERR_OK;
}

static enum err write_body(const struct partition *p, const struct series_mark *from,
			   const struct series_mark *to, struct buf *out)
{
	for (uint32_t i = from->types; i < to->types; i++)
		put_text(out, p->types.v[i].id);
	for (uint32_t i = from->series; i < to->series; i++) {
		const struct series_entry *s = &p->series.v[i];

		put_varint(out, s->n);
		for (uint32_t l = 0; l < s->n; l++) {
			put_text(out, s->labels[l].name);
			put_text(out, s->labels[l].value);
		}
	}
	write_pairs(p, from->pairs, to->pairs, out);
	TRY(write_labels(&p->dict, from->labels, to->labels, out));
	return buf_error(out);
}

enum err series_delta_encode(const struct partition *p, const struct series_mark *from,
			     const struct series_mark *to, int level, struct buf *out)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(MAX_BODY);
	CLEANUP(buf_release) struct buf packed = BUF_INIT(MAX_BODY);
	size_t at = out->n;

	if (series_mark_equal(from, to))
		return ERR_OK;
	TRY(write_body(p, from, to, &body));
	if (level > 0 && body.n >= PACK_FROM)
		TRY(pack(buf_view(&body), level, &packed));
	buf_append(out, (char[BLOB_HEAD]){0}, BLOB_HEAD);
	put_mark(out, from);
	put_mark(out, to);
	put_varint(out, body.n);
	put_varint(out, packed.n);
	buf_str(out, packed.n ? buf_view(&packed) : buf_view(&body));
	blob_seal(out, at, SERIES_DELTA_VERSION);
	if (out->error)
		out->n = at;
	return buf_error(out);
}

/* ------------------------------------------------------------------ reading */

struct applying {
	struct series_index *x;
	struct index_service *service;
	struct cursor c;
	struct series_mark from, to;
};

static void get_mark(struct cursor *c, struct series_mark *m)
{
	m->types = (uint32_t)get_bounded(c, UINT32_MAX - 1);
	m->series = (uint32_t)get_bounded(c, UINT32_MAX - 1);
	m->pairs = (uint32_t)get_bounded(c, UINT32_MAX - 1);
	m->labels = (uint32_t)get_bounded(c, UINT32_MAX - 1);
}

static bool reaches(const struct series_mark *a, const struct series_mark *b)
{
	return a->types >= b->types && a->series >= b->series && a->pairs >= b->pairs &&
	       a->labels >= b->labels;
}

/* Every entry takes a byte at least. */
static bool fits(const struct applying *a)
{
	uint64_t left = (uint64_t)(a->c.end - a->c.p);

	return (uint64_t)(a->to.types - a->from.types) + (a->to.series - a->from.series) +
		       2 * (uint64_t)(a->to.pairs - a->from.pairs) +
		       2 * (uint64_t)(a->to.labels - a->from.labels) <=
	       left;
}

static enum err get_text(struct applying *a, uint32_t *ret)
{
	struct str text = get_bytes(&a->c, get_varint(&a->c));

	return a->c.bad ? ERR_CORRUPT : series_index_add_text(a->x, text, ret);
}

static enum err get_label(struct applying *a, uint32_t *ret)
{
	struct index_label label;

	TRY(get_text(a, &label.name));
	TRY(get_text(a, &label.value));
	return series_index_add_label(a->x, label, ret);
}

static enum err apply_types(struct applying *a)
{
	for (uint32_t i = a->from.types; i < a->to.types; i++) {
		struct str id = get_bytes(&a->c, get_varint(&a->c));
		uint32_t type;

		if (a->c.bad)
			return ERR_CORRUPT;
		TRY(series_index_add_type(a->x, id, &type));
		TRY(vec_push(&a->service->types, type));
	}
	return ERR_OK;
}

static enum err apply_one_series(struct applying *a, uint32_t local)
{
	struct series_index *x = a->x;
	struct index_series s = {.labels_at = (uint32_t)x->label_pool.n, .local = local};

	s.label_count = (uint32_t)get_bounded(&a->c, MAX_LENGTH);
	if (x->label_pool.n > UINT32_MAX - MAX_LENGTH)
		return ERR_TABLE_FULL;
	x->scratch.n = 0;
	for (uint32_t i = 0; i < s.label_count; i++) {
		uint32_t label;

		TRY(get_label(a, &label));
		TRY(vec_push(&x->label_pool, label));
		TRY(vec_push(&x->scratch,
			     ((struct label_pair){x->texts.v[x->labels.v[label].name],
						  x->texts.v[x->labels.v[label].value]})));
	}
	s.hash = series_hash(x->scratch.v, s.label_count, x->seed);
	/* When its profiles were is not said here: at any time. */
	s.first_ns = INT64_MIN;
	s.last_ns = INT64_MAX;
	TRY(vec_push(&x->series, s));
	return vec_push(&a->service->series, (uint32_t)x->series.n - 1);
}

static enum err apply_pairs(struct applying *a)
{
	uint32_t n = a->to.pairs - a->from.pairs;
	CLEANUP(mem_free_ptr) uint32_t *series = mem_zalloc((size_t)n + 1, sizeof(*series));
	int64_t before = 0;

	if (!series)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < n; i++) {
		before += get_zigzag(&a->c);
		if (a->c.bad || before < 0 || (uint64_t)before >= a->service->series.n)
			return ERR_CORRUPT;
		series[i] = a->service->series.v[before];
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t type = get_varint(&a->c);
		uint32_t *set = &a->x->series.v[series[i]].type_set;

		if (a->c.bad || type >= a->service->types.n)
			return ERR_CORRUPT;
		TRY(series_index_add_to_set(a->x, *set, a->service->types.v[type], set));
	}
	return ERR_OK;
}

/* A few are remembered. Of a service with more, its labels say it. */
static enum err note_name(struct index_service *s, uint32_t name)
{
	vec_for_each (known, &s->names)
		if (*known == name)
			return ERR_OK;
	s->more_names = s->names.n >= INDEX_NAMES_MAX;
	return s->more_names ? ERR_OK : vec_push(&s->names, name);
}

static enum err apply_labels(struct applying *a)
{
	for (uint32_t i = a->from.labels; i < a->to.labels; i++) {
		uint32_t label;

		TRY(get_label(a, &label));
		TRY(vec_push(&a->service->labels, label));
		TRY(note_name(a->service, a->x->labels.v[label].name));
	}
	return ERR_OK;
}

static enum err apply_body(struct applying *a)
{
	if (!fits(a))
		return ERR_CORRUPT;
	TRY(apply_types(a));
	for (uint32_t i = a->from.series; i < a->to.series; i++)
		TRY(apply_one_series(a, i));
	TRY(apply_pairs(a));
	TRY(apply_labels(a));
	if (a->c.bad || a->c.p != a->c.end)
		return ERR_CORRUPT;
	a->service->end = a->to;
	return ERR_OK;
}

static size_t bytes_of(const struct index_service *s)
{
	return (s->series.cap + s->types.cap + s->labels.cap + s->names.cap) * sizeof(*s->series.v);
}

static enum err apply_packed(struct applying *a)
{
	size_t plain = get_bounded(&a->c, MAX_BODY), packed = get_bounded(&a->c, MAX_BODY);
	struct str body = get_bytes(&a->c, packed ? packed : plain);
	CLEANUP(mem_free_ptr) char *bytes = NULL;
	size_t before = bytes_of(a->service);
	enum err e;

	if (a->c.bad || a->c.p != a->c.end)
		return ERR_CORRUPT;
	if (packed) {
		bytes = mem_alloc(plain ? plain : 1);
		if (!bytes)
			return ERR_NO_MEMORY;
		TRY(unpack(body, bytes, plain));
		body = str_n(bytes, plain);
	}
	a->c = cursor_of(body);
	e = apply_body(a);
	a->x->service_bytes += bytes_of(a->service) - before;
	return e;
}

enum err series_delta_apply(struct series_index *x, uint32_t id, struct str bytes)
{
	struct applying a = {.x = x};
	struct str rest;

	TRY(blob_verify(bytes, SERIES_DELTA_VERSION, &rest));
	a.c = cursor_of(rest);
	get_mark(&a.c, &a.from);
	get_mark(&a.c, &a.to);
	if (a.c.bad || !reaches(&a.to, &a.from))
		return ERR_CORRUPT;
	TRY(series_index_add_service(x, id, &a.service));
	if (reaches(&a.service->end, &a.to))
		return ERR_OK;
	if (!series_mark_equal(&a.service->end, &a.from))
		return ERR_CORRUPT;
	return apply_packed(&a);
}
