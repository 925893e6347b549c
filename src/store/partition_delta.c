/*
 * The dictionary of a partition as bytes: what was added to each table since some moment.
 *
 *	0  u8   version
 *	1  u8   0
 *	2  u32  checksum of all that follows
 *	6       where each table begins and ends (10 numbers twice), size of the plain body,
 *	        size of the packed body or 0 when it is plain
 *	   body table by table, column by column; ids as differences to the entry before
 *
 * Stacks are written from the root: how far back the stack with the most frames in common is (0 =
 * none), how many these are, how many follow, and those. A frame that followed the same caller
 * recently is a number below RECENT, because a call tree repeats itself; any other is its id +
 * RECENT.
 */
#include "store/callees.h"
#include "store/packing.h"
#include "store/partition.h"
#include "store/varint.h"

#define MAX_BODY ((size_t)1 << 30)

struct partition_mark partition_mark(const struct partition *p)
{
	const struct dict *d = &p->dict;

	return (struct partition_mark){
		.strings = (uint32_t)d->strings.n,
		.functions = (uint32_t)d->functions.n,
		.mappings = (uint32_t)d->mappings.n,
		.frames = (uint32_t)d->frames.n,
		.labels = (uint32_t)d->labels.n,
		.label_sets = (uint32_t)d->label_sets.entries.n,
		.stacks = (uint32_t)d->stacks.entries.n,
		.series = (uint32_t)p->series.n,
		.types = (uint32_t)p->types.n,
		.pairs = (uint32_t)p->pairs.n,
	};
}

bool partition_mark_equal(const struct partition_mark *a, const struct partition_mark *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* A column of ids or numbers: differences are small because things come in order. */
#define PUT_COLUMN(table, first, until, field)                                                \
	do {                                                                                  \
		uint64_t before_ = 0;                                                         \
		for (size_t i_ = (first); i_ < (until); i_++) {                               \
			put_zigzag(out, (int64_t)((uint64_t)(table)->v[i_].field - before_)); \
			before_ = (uint64_t)(table)->v[i_].field;                             \
		}                                                                             \
	} while (0)

static void put_text(struct buf *out, struct str s)
{
	put_varint(out, s.n);
	buf_str(out, s);
}

static void write_strings(const struct dict *d, uint32_t from, uint32_t to, struct buf *out)
{
	for (size_t i = from; i < to; i++)
		put_varint(out, d->strings.v[i].n);
	for (size_t i = from; i < to; i++)
		buf_str(out, dict_str(d, (uint32_t)i));
}

static void write_tables(const struct dict *d, const struct partition_mark *from,
			 const struct partition_mark *to, struct buf *out)
{
	PUT_COLUMN(&d->functions, from->functions, to->functions, name);
	PUT_COLUMN(&d->functions, from->functions, to->functions, system_name);
	PUT_COLUMN(&d->functions, from->functions, to->functions, file);
	PUT_COLUMN(&d->functions, from->functions, to->functions, start_line);
	PUT_COLUMN(&d->mappings, from->mappings, to->mappings, start);
	PUT_COLUMN(&d->mappings, from->mappings, to->mappings, limit);
	PUT_COLUMN(&d->mappings, from->mappings, to->mappings, offset);
	PUT_COLUMN(&d->mappings, from->mappings, to->mappings, file);
	PUT_COLUMN(&d->mappings, from->mappings, to->mappings, build_id);
	PUT_COLUMN(&d->mappings, from->mappings, to->mappings, go_build_id);
	PUT_COLUMN(&d->mappings, from->mappings, to->mappings, htl_hash);
	PUT_COLUMN(&d->mappings, from->mappings, to->mappings, flags);
	PUT_COLUMN(&d->frames, from->frames, to->frames, address);
	PUT_COLUMN(&d->frames, from->frames, to->frames, line);
	PUT_COLUMN(&d->frames, from->frames, to->frames, function);
	PUT_COLUMN(&d->frames, from->frames, to->frames, mapping);
	PUT_COLUMN(&d->frames, from->frames, to->frames, column);
	PUT_COLUMN(&d->frames, from->frames, to->frames, kind);
	PUT_COLUMN(&d->frames, from->frames, to->frames, flags);
	PUT_COLUMN(&d->labels, from->labels, to->labels, key);
	PUT_COLUMN(&d->labels, from->labels, to->labels, unit);
	PUT_COLUMN(&d->labels, from->labels, to->labels, type);
	PUT_COLUMN(&d->labels, from->labels, to->labels, value);
}

static void write_label_sets(const struct dict *d, uint32_t from, uint32_t to, struct buf *out)
{
	for (size_t set = from; set < to; set++) {
		uint32_t n;
		const uint32_t *items = label_set_items(d, (uint32_t)set, &n);

		put_varint(out, n);
		for (uint32_t i = 0; i < n; i++)
			put_varint(out, items[i]);
	}
}

/* Frames two stacks have in common, counted from the root. */
static uint32_t common_frames(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
	uint32_t same = 0;

	while (same < n && same < m && a[n - 1 - same] == b[m - 1 - same])
		same++;
	return same;
}

/* Finds the stack that begins with the same frames, by a hash of every beginning; of so many that
 * memory stays far below that of the stacks themselves. */
#define BEGINNINGS_MAX (4u << 20)

struct beginnings {
	struct map map;
};

static void beginnings_release(struct beginnings *b)
{
	map_release(&b->map);
}

/* The stack of this delta with the longest beginning in common, or MAP_NONE; then it knows this
 * one's too. */
static enum err beginnings_find(struct beginnings *b, const uint32_t *frames, uint32_t n,
				uint32_t stack, uint32_t *ret)
{
	uint64_t hash = 0;
	uint32_t known = 0, found;

	*ret = MAP_NONE;
	for (; known < n; known++) {
		uint64_t longer = hash_mix(hash, frames[n - 1 - known]);

		found = map_get(&b->map, longer);
		if (found == MAP_NONE)
			break;
		*ret = found;
		hash = longer;
	}
	for (; known < n && b->map.n < BEGINNINGS_MAX; known++) {
		hash = hash_mix(hash, frames[n - 1 - known]);
		TRY(map_put(&b->map, hash, stack));
	}
	return ERR_OK;
}

static enum err write_stack(const struct dict *d, uint32_t stack, struct beginnings *beginnings,
			    struct callees *callees, struct buf *out)
{
	uint32_t n, m, like, caller = 0, same = 0;
	const uint32_t *frames = stack_frames(d, stack, &n), *other;

	TRY(beginnings_find(beginnings, frames, n, stack, &like));
	put_varint(out, like == MAP_NONE ? 0 : stack - like);
	if (like != MAP_NONE) {
		other = stack_frames(d, like, &m);
		same = common_frames(frames, n, other, m);
		put_varint(out, same);
	}
	put_varint(out, n - same);
	if (same)
		caller = frames[n - same];
	for (uint32_t i = same; i < n; i++) {
		uint32_t frame = frames[n - 1 - i];

		put_varint(out, callees_code(callees, caller, frame));
		callees_note(callees, caller, frame);
		caller = frame;
	}
	return ERR_OK;
}

static enum err write_stacks(const struct dict *d, const struct partition_mark *from,
			     const struct partition_mark *to, struct buf *out)
{
	CLEANUP(callees_release) struct callees callees = {0};
	CLEANUP(beginnings_release) struct beginnings beginnings = {0};

	if (from->stacks == to->stacks)
		return ERR_OK;
	TRY(callees_init(&callees, to->frames, to->stacks - from->stacks));
	for (size_t stack = from->stacks; stack < to->stacks; stack++)
		TRY(write_stack(d, (uint32_t)stack, &beginnings, &callees, out));
	return ERR_OK;
}

static void write_series(const struct partition *p, const struct partition_mark *from,
			 const struct partition_mark *to, struct buf *out)
{
	for (size_t i = from->types; i < to->types; i++)
		put_text(out, p->types.v[i].id);
	for (size_t i = from->series; i < to->series; i++) {
		const struct series_entry *s = &p->series.v[i];

		put_varint(out, s->n);
		for (uint32_t l = 0; l < s->n; l++) {
			put_text(out, s->labels[l].name);
			put_text(out, s->labels[l].value);
		}
	}
	PUT_COLUMN(&p->pairs, from->pairs, to->pairs, series);
	PUT_COLUMN(&p->pairs, from->pairs, to->pairs, type);
}

static void put_mark(struct buf *out, const struct partition_mark *m)
{
	const uint32_t counts[] = {m->strings,	  m->functions, m->mappings, m->frames, m->labels,
				   m->label_sets, m->stacks,	m->series,   m->types,	m->pairs};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		put_varint(out, counts[i]);
}

enum err partition_delta_body(const struct partition *p, const struct partition_mark *from,
			      const struct partition_mark *to, struct buf *body)
{
	body->ceiling = MAX_BODY;
	write_strings(&p->dict, from->strings, to->strings, body);
	write_tables(&p->dict, from, to, body);
	write_label_sets(&p->dict, from->label_sets, to->label_sets, body);
	TRY(write_stacks(&p->dict, from, to, body));
	write_series(p, from, to, body);
	return buf_error(body);
}

enum err partition_delta_seal(struct str body, const struct partition_mark *from,
			      const struct partition_mark *to, int level, struct buf *out)
{
	CLEANUP(buf_release) struct buf packed = BUF_INIT(MAX_BODY);
	size_t at = out->n;

	if (level > 0)
		TRY(pack(body, level, &packed));
	buf_append(out, (char[BLOB_HEAD]){0}, BLOB_HEAD);
	put_mark(out, from);
	put_mark(out, to);
	put_varint(out, body.n);
	put_varint(out, packed.n);
	buf_str(out, packed.n ? buf_view(&packed) : body);
	blob_seal(out, at, DELTA_VERSION);
	if (out->error)
		out->n = at;
	return buf_error(out);
}

enum err partition_delta_encode(const struct partition *p, const struct partition_mark *from,
				int level, struct buf *out)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(MAX_BODY);
	struct partition_mark to = partition_mark(p);

	TRY(partition_delta_body(p, from, &to, &body));
	return partition_delta_seal(buf_view(&body), from, &to, level, out);
}
