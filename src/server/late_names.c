#include "server/late_names.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/work_scope.h"
#include "server/late_stacks.h"

/* Limit of the time that a slow file may delay a query. */
#define PATIENCE_NS (10 * NS_PER_S)
#define LOOKS	    256 /* between two reads of the clock */

void late_names_release(struct late_names *l)
{
	vec_release(&l->frames);
	arena_release(&l->arena);
}

/* A frame to be named. */
struct nameless {
	uint32_t frame, build_id; /* ids of the dictionary */
	uint32_t mapping;
	uint64_t address;
};

struct naming {
	struct symbol_sources *sources;
	struct str tenant;
	struct profile *profile;
	struct dict *dict;
	const atomic_bool *cancelled;
	int64_t deadline_ns;
	bool over; /* no more time */
	VEC(struct nameless) nameless;
	struct late_stacks stacks;
	struct late_names *ret;
	struct buf scratch;
};

/* Neither a function, or one without file and line, as tables of symbols give it. */
static bool lacks_name(const struct dict *d, const struct frame *f)
{
	const struct function *function = &d->functions.v[f->function];

	if (!f->mapping || !d->mappings.v[f->mapping].build_id || f->kind == KIND_KERNEL ||
	    (f->flags & FRAME_INLINED))
		return false;
	return (!function->name && !function->system_name) || (!function->file && !f->line);
}

static bool any_lacks_name(const struct dict *d)
{
	for (uint32_t i = 1; i < d->frames.n; i++)
		if (lacks_name(d, &d->frames.v[i]))
			return true;
	return false;
}

static enum err gather(struct naming *n)
{
	const struct dict *d = n->dict;
	CLEANUP(mem_free_ptr) uint8_t *stacks = mem_zalloc(d->stacks.entries.n, 1);
	CLEANUP(mem_free_ptr) uint8_t *frames = mem_zalloc(d->frames.n, 1);

	if (!stacks || !frames)
		return ERR_NO_MEMORY;
	for (size_t row = 0; row < n->profile->row_count; row++) {
		uint32_t stack = n->profile->stack[row], count;
		const uint32_t *ids = stack_frames(d, stack, &count);

		for (uint32_t i = 0; !stacks[stack] && i < count; i++) {
			const struct frame *f = &d->frames.v[ids[i]];

			if (frames[ids[i]] || !lacks_name(d, f))
				continue;
			frames[ids[i]] = 1;
			TRY(vec_push(&n->nameless,
				     ((struct nameless){ids[i], d->mappings.v[f->mapping].build_id,
							f->mapping, f->address})));
		}
		stacks[stack] = 1;
	}
	return ERR_OK;
}

static int by_place(const void *left, const void *right)
{
	const struct nameless *a = left, *b = right;

	if (a->build_id != b->build_id)
		return a->build_id < b->build_id ? -1 : 1;
	if (a->mapping != b->mapping)
		return a->mapping < b->mapping ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* ------------------------------------------------------------------ one frame */

/* Compilers write what they like; answers are UTF-8. */
static enum err intern(struct naming *n, const char *text, uint32_t *ret)
{
	struct str s = str_of(text);

	if (utf8_valid(s))
		return dict_string(n->dict, s, ret);
	buf_clear(&n->scratch);
	for (size_t i = 0; i < s.n; i++)
		buf_byte(&n->scratch, s.p[i] < 0 ? '?' : (unsigned char)s.p[i]);
	TRY(buf_error(&n->scratch));
	return dict_string(n->dict, buf_view(&n->scratch), ret);
}

static enum err make_frame(struct naming *n, uint32_t original, const struct symbol_frame *s,
			   bool inlined, uint32_t *ret)
{
	struct frame f = n->dict->frames.v[original];
	struct function function = {.start_line = s->start_line};

	TRY(intern(n, s->function, &function.name));
	TRY(intern(n, s->linkage[0] ? s->linkage : s->function, &function.system_name));
	TRY(intern(n, s->file, &function.file));
	TRY(dict_function(n->dict, &function, &f.function));
	f.line = s->line;
	f.column = s->column;
	f.flags |= FRAME_HAS_LINE | (inlined ? FRAME_INLINED : 0u);
	return dict_frame(n->dict, &f, ret);
}

static enum err remember(struct naming *n, const struct nameless *place, const uint32_t *ids,
			 size_t count)
{
	struct arena *a = &n->ret->arena;
	struct str *names = arena_alloc(a, count * sizeof(*names));
	struct str id = dict_str(n->dict, place->build_id);
	struct late_frame l = {
		.offset = frame_offset(n->dict, place->frame), .names = names, .count = count};

	l.build_id = str_n(arena_copy(a, id), id.n);
	if (!names || !l.build_id.p)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		struct str name = frame_name(n->dict, ids[i]);

		names[i] = str_n(arena_copy(a, name), name.n);
		if (!names[i].p)
			return ERR_NO_MEMORY;
	}
	return vec_push(&n->ret->frames, l);
}

/* Whether the file says more than the frame did. */
static bool is_better(const struct dict *d, uint32_t frame, const struct symbol_frame *s, size_t n)
{
	struct str name = frame_name(d, frame);

	return n > 1 || !name.n || s->line || s->file[0] || !str_eq(name, str_of(s->function));
}

static enum err name_place(struct naming *n, const struct nameless *place,
			   const struct symbol_frame *found, size_t count)
{
	struct symbol_frame kept[SYMBOL_FRAMES_MAX];
	uint32_t ids[SYMBOL_FRAMES_MAX];
	size_t k = 0;

	for (size_t i = 0; i < count; i++)
		if (found[i].function[0])
			kept[k++] = found[i];
	if (!k || !is_better(n->dict, place->frame, kept, k))
		return ERR_OK;
	for (size_t i = 0; i < k; i++)
		TRY(make_frame(n, place->frame, &kept[i], i + 1 < k, &ids[i]));
	TRY(remember(n, place, ids, k));
	return late_stacks_replace(&n->stacks, place->frame, ids, k);
}

static enum err look_up(struct naming *n, struct symbol_file *file, const struct nameless *place)
{
	const struct mapping *m = &n->dict->mappings.v[place->mapping];
	struct symbol_mapping where = {m->start, m->limit, m->offset};
	struct symbol_frame found[SYMBOL_FRAMES_MAX];
	uint64_t vaddr;
	size_t count;
	enum err error;

	if (!symbol_file_mapped_to_vaddr(file, &where, place->address, &vaddr))
		return ERR_OK;
	error = symbol_file_lookup(file, vaddr, found, SYMBOL_FRAMES_MAX, &count);
	if (error == ERR_TOO_LARGE) {
		symbol_file_trim(file);
		error = symbol_file_lookup(file, vaddr, found, SYMBOL_FRAMES_MAX, &count);
	}
	if (error)
		return error == ERR_NO_MEMORY ? error : ERR_OK;
	return name_place(n, place, found, count);
}

/* ------------------------------------------------------------------ all of them */

static enum err check_time(struct naming *n)
{
	if (work_stopped() || (n->cancelled && atomic_load(n->cancelled)))
		return ERR_CANCELLED;
	n->over = clock_monotonic_ns() > n->deadline_ns;
	return ERR_OK;
}

static enum err name_module(struct naming *n, const struct nameless *places, size_t count)
{
	struct str build_id = dict_str(n->dict, places[0].build_id);
	struct symbol_reader *reader;
	enum err error = ERR_OK;

	if (!symbol_sources_has(n->sources, n->tenant, build_id))
		return ERR_OK;
	error = symbol_sources_open(n->sources, n->tenant, build_id, &reader);
	/* A file that cannot be read any more names nothing. */
	if (error)
		return error == ERR_NO_MEMORY ? error : ERR_OK;
	for (size_t i = 0; !error && i < count && !n->over; i++) {
		if (i % LOOKS == 0)
			error = check_time(n);
		if (!error && !n->over)
			error = look_up(n, symbol_reader_file(reader), &places[i]);
	}
	symbol_sources_close(n->sources, reader, true);
	return error;
}

static int by_build_id(const void *left, const void *right)
{
	const struct late_frame *a = left, *b = right;
	int order = str_cmp(a->build_id, b->build_id);

	return order ? order : a->offset < b->offset ? -1 : a->offset > b->offset;
}

static enum err name_all(struct naming *n)
{
	size_t begin = 0;

	TRY(gather(n));
	if (!n->nameless.n)
		return ERR_OK;
	qsort(n->nameless.v, n->nameless.n, sizeof(*n->nameless.v), by_place);
	TRY(late_stacks_init(&n->stacks, n->profile));
	for (size_t i = 1; i <= n->nameless.n && !n->over; i++) {
		if (i < n->nameless.n && n->nameless.v[i].build_id == n->nameless.v[begin].build_id)
			continue;
		TRY(name_module(n, n->nameless.v + begin, i - begin));
		begin = i;
	}
	if (n->ret->frames.n)
		qsort(n->ret->frames.v, n->ret->frames.n, sizeof(*n->ret->frames.v), by_build_id);
	return late_stacks_apply(&n->stacks);
}

enum err late_names_apply(struct symbol_sources *sources, struct str tenant, struct profile *p,
			  const atomic_bool *cancelled, struct late_names *ret)
{
	struct naming n = {.sources = sources,
			   .tenant = tenant,
			   .profile = p,
			   .dict = p->dict,
			   .cancelled = cancelled,
			   .ret = ret,
			   .scratch = BUF_INIT(SYMBOL_NAME_MAX + 1)};
	enum err error;

	if (!symbol_sources_serves(sources, tenant) || !any_lacks_name(p->dict))
		return ERR_OK;
	n.deadline_ns = clock_monotonic_ns() + PATIENCE_NS;
	error = name_all(&n);
	late_stacks_release(&n.stacks);
	vec_release(&n.nameless);
	buf_release(&n.scratch);
	return error;
}
