/*
 * Writes folded stacks: one value column, equal stacks added up, lines in the order of their frame
 * names from the root. Function names only; a frame without one is module+0xoffset. Kernel and
 * run-time compiled frames carry FlameGraph's `_[k]` and `_[j]`.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/hash.h"
#include "format/formats_internal.h"

#define NOT_NAMED UINT32_MAX

struct folded_stack {
	uint32_t at, n; /* ranks of its frames, root first, in folded_writer.path */
	int64_t value;
};

struct folded_writer {
	struct writing *in;
	const struct dict *dict;
	int64_t *sums;	       /* by stack id */
	uint32_t *name_of;     /* by frame id: index in names, NOT_NAMED */
	VEC(struct str) names; /* slices of `text`, fixed up once it is complete */
	VEC(size_t) name_at;   /* where each name begins in `text` */
	struct map name_index;
	struct buf text;
	VEC(uint32_t) path;
	VEC(struct folded_stack) stacks;
	bool join; /* the last blank of a leaf's name becomes '_' */
};

static void folded_writer_release(struct folded_writer *w)
{
	mem_free(w->sums);
	mem_free(w->name_of);
	vec_release(&w->names);
	vec_release(&w->name_at);
	map_release(&w->name_index);
	buf_release(&w->text);
	vec_release(&w->path);
	vec_release(&w->stacks);
}

static enum err add(struct folded_writer *w, int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		return fault_set(&w->in->fault, ERR_UNSUPPORTED,
				 "the sum of a stack does not fit in 64 bits");
	return ERR_OK;
}

static void put_type(const struct profile *p, uint32_t type, struct buf *out)
{
	buf_str(out, dict_str(p->dict, p->types[type].type));
	buf_byte(out, '/');
	buf_str(out, dict_str(p->dict, p->types[type].unit));
}

/* Of a note's text, for the names of types that are left out. */
#define LEFT_TYPES_ROOM 80

/* A file has one column, and no name for it. */
static void note_types(struct folded_writer *w, const struct profile *p, int chosen)
{
	CLEANUP(buf_release) struct buf kept = BUF_INIT(40), left = BUF_INIT(4096);
	uint32_t named = 0;

	if (chosen < 0 || p->type_count < 2 || w->in->type >= 0)
		return;
	put_type(p, (uint32_t)chosen, &kept);
	for (uint32_t i = 0; i < p->type_count; i++) {
		size_t before = left.n;

		if ((int)i == chosen)
			continue;
		buf_text(&left, left.n ? ", " : "");
		put_type(p, i, &left);
		if (left.n > LEFT_TYPES_ROOM && named) {
			left.n = before;
			break;
		}
		named++;
	}
	if (named + 1 < p->type_count)
		buf_printf(&left, " and %u more", p->type_count - 1 - named);
	notes_add(&w->in->notes, "folded stacks can store one type: %.*s; not %.*s", (int)kept.n,
		  kept.data, (int)left.n, left.data);
}

static enum err sum_by_stack(struct folded_writer *w)
{
	w->sums = mem_zalloc(w->dict->stacks.entries.n, sizeof(*w->sums));
	if (!w->sums)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < w->in->list->n; i++) {
		const struct profile *p = w->in->list->v[i];
		int type = w->in->type;

		if (type < 0 || (uint32_t)type >= p->type_count)
			type = profile_default_type(p);
		note_types(w, p, type);
		for (size_t row = 0; type >= 0 && row < p->row_count; row++) {
			TRY(add(w, &w->sums[p->stack[row]], profile_values(p, row)[type]));
		}
	}
	return ERR_OK;
}

/* A name must not contain what separates frames and lines. */
static void make_safe(struct folded_writer *w, size_t from)
{
	bool changed = false;

	for (size_t i = from; i < w->text.n; i++) {
		char c = w->text.data[i];

		if (c != ';' && c != '\n' && c != '\r' && c != '\0')
			continue;
		w->text.data[i] = c == ';' ? ':' : ' ';
		changed = true;
	}
	if (changed)
		notes_add(&w->in->notes, "names with ';' or line ends got ':' or blanks instead");
}

static bool has_kind(const struct dict *d, uint32_t frame, struct str kind)
{
	return str_eq(dict_str(d, d->frames.v[frame].kind), kind);
}

/* The index of the frame's text among all names; frames with equal text share it. */
static enum err name_frame(struct folded_writer *w, uint32_t frame)
{
	size_t at = w->text.n;
	struct str name;
	uint64_t hash;

	frame_label(w->dict, frame, &w->text);
	if (w->text.n > at && w->text.data[at] == '#') {
		/* A line that begins like this may be a comment. */
		w->text.data[at] = '_';
		notes_add(&w->in->notes, "names that begin with '#' got '_' instead");
	}
	if (has_kind(w->dict, frame, STR("kernel")))
		buf_text(&w->text, "_[k]");
	else if (has_kind(w->dict, frame, STR("jit")))
		buf_text(&w->text, "_[j]");
	TRY(buf_error(&w->text));
	make_safe(w, at);
	name = (struct str){w->text.data + at, w->text.n - at};
	hash = hash_str(name, w->dict->seed);
	MAP_PROBE(&w->name_index, hash, i)
	{
		size_t end = i + 1 < w->name_at.n ? w->name_at.v[i + 1] : at;

		if (str_eq((struct str){w->text.data + w->name_at.v[i], end - w->name_at.v[i]},
			   name)) {
			w->text.n = at;
			w->name_of[frame] = i;
			return ERR_OK;
		}
	}
	w->name_of[frame] = (uint32_t)w->name_at.n;
	TRY(vec_push(&w->name_at, at));
	return map_put(&w->name_index, hash, w->name_of[frame]);
}

static enum err collect_stacks(struct folded_writer *w)
{
	size_t frames = w->dict->frames.n;

	w->name_of = mem_alloc(frames * sizeof(*w->name_of));
	if (!w->name_of)
		return ERR_NO_MEMORY;
	memset(w->name_of, 0xff, frames * sizeof(*w->name_of));
	for (uint32_t stack = 0; stack < w->dict->stacks.entries.n; stack++) {
		struct folded_stack s = {.at = (uint32_t)w->path.n, .value = w->sums[stack]};
		const uint32_t *ids = stack_frames(w->dict, stack, &s.n);

		if (!s.value)
			continue;
		if (s.value < 0)
			return fault_set(&w->in->fault, ERR_UNSUPPORTED,
					 "folded stacks cannot store negative values, and a stack "
					 "has %" PRId64 ": pprof and OTLP hold them",
					 s.value);
		if (w->path.n + s.n >= UINT32_MAX)
			return ERR_TABLE_FULL;
		for (uint32_t i = s.n; i-- > 0;) {
			if (w->name_of[ids[i]] == NOT_NAMED)
				TRY(name_frame(w, ids[i]));
			TRY(vec_push(&w->path, w->name_of[ids[i]]));
		}
		TRY(vec_push(&w->stacks, s));
	}
	return ERR_OK;
}

static int compare_names(const void *a, const void *b, void *context)
{
	const struct folded_writer *w = context;

	return str_cmp(w->names.v[*(const uint32_t *)a], w->names.v[*(const uint32_t *)b]);
}

/* Turns the name indices in `path` into ranks, and `names` into the order of ranks. */
static enum err rank_names(struct folded_writer *w)
{
	size_t n = w->name_at.n;
	CLEANUP(mem_free_ptr) uint32_t *order = mem_zalloc(n + 1, sizeof(*order));
	CLEANUP(mem_free_ptr) uint32_t *rank = mem_zalloc(n + 1, sizeof(*rank));
	CLEANUP(mem_free_ptr) struct str *sorted = mem_zalloc(n + 1, sizeof(*sorted));

	if (!order || !rank || !sorted)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		size_t at = w->name_at.v[i], end = i + 1 < n ? w->name_at.v[i + 1] : w->text.n;

		TRY(vec_push(&w->names, ((struct str){w->text.data + at, end - at})));
		order[i] = (uint32_t)i;
	}
	qsort_r(order, n, sizeof(*order), compare_names, w);
	for (size_t i = 0; i < n; i++) {
		rank[order[i]] = (uint32_t)i;
		sorted[i] = w->names.v[order[i]];
	}
	if (n)
		memcpy(w->names.v, sorted, n * sizeof(*sorted));
	vec_for_each (step, &w->path)
		*step = rank[*step];
	return ERR_OK;
}

static int compare_stacks(const void *a, const void *b, void *context)
{
	const struct folded_writer *w = context;
	const struct folded_stack *x = a, *y = b;

	for (uint32_t i = 0; i < x->n && i < y->n; i++) {
		uint32_t left = w->path.v[x->at + i], right = w->path.v[y->at + i];

		if (left != right)
			return left < right ? -1 : 1;
	}
	return x->n < y->n ? -1 : x->n > y->n;
}

static void join_last_word(char *end, size_t n)
{
	for (size_t i = 1; i <= n; i++) {
		if (end[-(ptrdiff_t)i] == ' ' || end[-(ptrdiff_t)i] == '\t') {
			end[-(ptrdiff_t)i] = '_';
			return;
		}
	}
}

/* Names of a line at once: text is much longer than what it is made from. */
static void put_names(const struct folded_writer *w, const struct folded_stack *s, struct buf *out)
{
	const uint32_t *path = w->path.v + s->at;
	size_t bytes = s->n;
	char *at;

	for (uint32_t i = 0; i < s->n; i++)
		bytes += w->names.v[path[i]].n;
	at = buf_reserve(out, bytes);
	if (!at)
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		struct str name = w->names.v[path[i]];

		memcpy(at, name.p, name.n);
		at += name.n;
		*at++ = ';';
	}
	if (w->join)
		join_last_word(at - 1, w->names.v[path[s->n - 1]].n);
	/* The last frame is followed by the value. */
	at[-1] = ' ';
	*at = '\0';
	out->n += bytes;
}

static void put_line(const struct folded_writer *w, const struct folded_stack *s, int64_t value,
		     struct buf *out)
{
	if (s->n)
		put_names(w, s, out);
	else
		buf_text(out, "[unknown] ");
	buf_i64(out, value);
	buf_byte(out, '\n');
}

static enum err put_stacks(struct folded_writer *w, struct buf *out)
{
	for (size_t i = 0; i < w->stacks.n;) {
		const struct folded_stack *s = &w->stacks.v[i];
		int64_t value = 0;

		for (; i < w->stacks.n && compare_stacks(s, &w->stacks.v[i], w) == 0; i++)
			TRY(add(w, &value, w->stacks.v[i].value));
		put_line(w, s, value, out);
	}
	return buf_error(out);
}

static enum err write_lines(struct folded_writer *w, struct buf *out)
{
	size_t begin = out->n;

	TRY(sum_by_stack(w));
	TRY(collect_stacks(w));
	TRY(rank_names(w));
	if (!w->stacks.n)
		return buf_error(out);
	qsort_r(w->stacks.v, w->stacks.n, sizeof(*w->stacks.v), compare_stacks, w);
	TRY(put_stacks(w, out));
	/* Names that all end in a number would be read as a column of numbers. */
	w->join = folded_has_two_columns(str_skip(buf_view(out), begin));
	if (!w->join)
		return ERR_OK;
	notes_add(&w->in->notes, "names that end in a number got '_' before it");
	out->n = begin;
	return put_stacks(w, out);
}

enum err folded_write(struct writing *in, struct buf *out)
{
	struct folded_writer w = {.in = in, .text = BUF_INIT((size_t)1 << 32)};
	enum err e;

	if (!in->list->n)
		return ERR_OK;
	w.dict = in->list->v[0]->dict;
	e = write_lines(&w, out);
	folded_writer_release(&w);
	return e;
}
