/*
 * Groups frames to rows of a table, as in pprof: at the granularity of functions the name alone
 * counts (not the file, not the module), at that of lines name, file and line. Frames without a
 * name are told apart by module and offset, so that nothing unsymbolised is lumped together.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "model/frame_order.h"
#include "model/top.h"
#include "model/values.h"

static uint32_t name_id(const struct dict *d, uint32_t frame)
{
	const struct function *f = &d->functions.v[d->frames.v[frame].function];

	return f->name ? f->name : f->system_name;
}

static uint32_t file_id(const struct dict *d, uint32_t frame)
{
	return d->functions.v[d->frames.v[frame].function].file;
}

uint64_t frame_offset(const struct dict *d, uint32_t frame)
{
	const struct frame *f = &d->frames.v[frame];
	const struct mapping *m = &d->mappings.v[f->mapping];

	return m->file ? f->address - m->start + m->offset : f->address;
}

static bool same_place(const struct dict *d, uint32_t a, uint32_t b)
{
	const struct mapping *m = &d->mappings.v[d->frames.v[a].mapping];
	const struct mapping *n = &d->mappings.v[d->frames.v[b].mapping];

	return m->file == n->file && m->build_id == n->build_id &&
	       frame_offset(d, a) == frame_offset(d, b);
}

static bool same_line(const struct dict *d, uint32_t a, uint32_t b)
{
	return d->frames.v[a].line == d->frames.v[b].line && name_id(d, a) == name_id(d, b) &&
	       file_id(d, a) == file_id(d, b);
}

static bool same_key(const struct dict *d, uint32_t a, uint32_t b)
{
	uint32_t name = name_id(d, a);

	if (name != name_id(d, b))
		return false;
	return name ? same_line(d, a, b) : same_place(d, a, b);
}

/* Lines and offsets are what a file says: the seed keeps them from meeting the constants. */
static uint64_t key_hash(const struct dict *d, uint32_t frame)
{
	const struct mapping *m = &d->mappings.v[d->frames.v[frame].mapping];
	uint32_t name = name_id(d, frame);
	uint64_t line = (uint64_t)d->frames.v[frame].line;

	if (name)
		return hash_mix(hash_mix(name, file_id(d, frame)), line ^ d->seed);
	return hash_mix(hash_mix(m->file, m->build_id), frame_offset(d, frame) ^ d->seed);
}

/* The key of a frame that is known by more than its name. */
static enum err key_by_content(const struct dict *d, struct frame_keys *k, struct map *seen,
			       uint32_t frame)
{
	uint64_t hash = key_hash(d, frame);
	uint32_t key = (uint32_t)k->representative.n;

	MAP_PROBE(seen, hash, id)
	{
		if (same_key(d, k->representative.v[id], frame)) {
			k->keys[frame] = id;
			return ERR_OK;
		}
	}
	TRY(vec_push(&k->representative, frame));
	k->keys[frame] = key;
	return map_put(seen, hash, key);
}

/* String ids are as good as strings: one array lookup finds the key of a name. */
static enum err key_by_name(struct frame_keys *k, uint32_t *by_name, uint32_t name, uint32_t frame)
{
	if (!by_name[name]) {
		TRY(vec_push(&k->representative, frame));
		by_name[name] = (uint32_t)k->representative.n;
	}
	k->keys[frame] = by_name[name] - 1;
	return ERR_OK;
}

/* `used` is a byte per frame, or NULL: all. */
static enum err assign_keys(const struct dict *d, bool lines, const uint8_t *used,
			    struct frame_keys *k, uint32_t *by_name, struct map *seen)
{
	for (uint32_t frame = 0; frame < d->frames.n; frame++) {
		uint32_t name = name_id(d, frame);

		if (used && !used[frame])
			k->keys[frame] = UINT32_MAX;
		else if (name && !lines)
			TRY(key_by_name(k, by_name, name, frame));
		else
			TRY(key_by_content(d, k, seen, frame));
	}
	return ERR_OK;
}

static enum err build(const struct dict *d, bool lines, const uint8_t *used, struct frame_keys *ret)
{
	CLEANUP(mem_free_ptr) uint32_t *by_name = mem_zalloc(d->strings.n, sizeof(*by_name));
	CLEANUP(map_release) struct map seen = {0};
	struct frame_keys k = {.keys = mem_alloc(d->frames.n * sizeof(*k.keys))};
	enum err e = ERR_NO_MEMORY;

	if (by_name && k.keys)
		e = assign_keys(d, lines, used, &k, by_name, &seen);
	if (e) {
		frame_keys_release(&k);
		return e;
	}
	*ret = k;
	return ERR_OK;
}

enum err frame_keys_build(const struct dict *d, bool lines, struct frame_keys *ret)
{
	return build(d, lines, NULL, ret);
}

enum err frame_keys_of_sums(const struct stack_sums *sums, bool lines, struct frame_keys *ret)
{
	const struct dict *d = sums->dict;
	CLEANUP(mem_free_ptr) uint8_t *used = mem_zalloc(d->frames.n, 1);

	if (!used)
		return ERR_NO_MEMORY;
	for (uint32_t s = 0; s < sums->stacks; s++) {
		uint32_t n = 0;
		const uint32_t *frames = stack_sums_any(sums, s) ? stack_frames(d, s, &n) : NULL;

		for (uint32_t i = 0; i < n; i++)
			used[frames[i]] = 1;
	}
	return build(d, lines, used, ret);
}

void frame_keys_release(struct frame_keys *k)
{
	mem_free(k->keys);
	k->keys = NULL;
	vec_release(&k->representative);
}

#define NAME_PARTS 4

struct printed_name {
	char number[32];
	struct str part[NAME_PARTS];
};

static void print_place(const struct dict *d, uint32_t frame, struct printed_name *out)
{
	struct str file = dict_str(d, d->mappings.v[d->frames.v[frame].mapping].file);
	size_t slash = str_rfind(file, '/');
	int n = snprintf(out->number, sizeof(out->number), "0x%" PRIx64, frame_offset(d, frame));

	out->part[0] = slash < file.n ? str_skip(file, slash + 1) : file;
	if (file.n)
		out->part[1] = STR("+");
	out->part[2] = str_n(out->number, (size_t)n);
}

static void print_frame(const struct dict *d, uint32_t frame, bool lines, struct printed_name *out)
{
	int64_t line = d->frames.v[frame].line;

	memset(out->part, 0, sizeof(out->part));
	out->part[0] = frame_name(d, frame);
	if (!out->part[0].n) {
		print_place(d, frame, out);
		return;
	}
	if (!lines)
		return;
	out->part[2] = frame_file(d, frame);
	if (out->part[2].n || line)
		out->part[1] = STR(" ");
	if (line)
		out->part[3] = str_n(out->number, (size_t)snprintf(out->number, sizeof(out->number),
								   ":%" PRId64, line));
}

/* Compares the concatenation of the parts. */
static int compare_parts(const struct str *a, const struct str *b)
{
	size_t i = 0, j = 0, at = 0, bt = 0;

	for (;;) {
		size_t n;
		int order;

		while (i < NAME_PARTS && at == a[i].n)
			i++, at = 0;
		while (j < NAME_PARTS && bt == b[j].n)
			j++, bt = 0;
		if (i == NAME_PARTS || j == NAME_PARTS)
			return (i < NAME_PARTS) - (j < NAME_PARTS);
		n = a[i].n - at < b[j].n - bt ? a[i].n - at : b[j].n - bt;
		order = memcmp(a[i].p + at, b[j].p + bt, n);
		if (order)
			return order;
		at += n;
		bt += n;
	}
}

int frame_compare(const struct dict *d, uint32_t a, uint32_t b, bool lines)
{
	struct printed_name left, right;

	if (!lines && name_id(d, a) && name_id(d, b))
		return str_cmp(frame_name(d, a), frame_name(d, b));
	print_frame(d, a, lines, &left);
	print_frame(d, b, lines, &right);
	return compare_parts(left.part, right.part);
}
