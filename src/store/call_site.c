#include "store/call_site.h"

void call_site_release(struct call_site *c)
{
	vec_release(&c->takes);
	vec_release(&c->late_of);
}

void call_site_begin(struct call_site *c)
{
	c->takes.n = 0;
	c->late_of.n = 0;
}

static uint32_t name_of(const struct dict *d, uint32_t frame)
{
	const struct function *f = &d->functions.v[d->frames.v[frame].function];

	return f->name ? f->name : f->system_name;
}

/* The late symbols of a frame; NULL = use the stored one. */
static const struct late_frame *late_frame_of(const struct call_site *c, uint32_t frame)
{
	uint32_t at = frame < c->late_of.n ? c->late_of.v[frame] : 0;

	return at ? &c->late[at - 1] : NULL;
}

static uint32_t find_late(const struct call_site *c, struct str build_id, uint64_t offset)
{
	size_t low = 0, high = c->late_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct late_frame *l = &c->late[middle];
		int order = str_cmp(l->build_id, build_id);

		if (!order && l->offset == offset)
			return (uint32_t)middle + 1;
		if (order < 0 || (!order && l->offset < offset))
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

static enum err look_at_frames(struct call_site *c, const struct dict *d)
{
	if (!c->late_count)
		return ERR_OK;
	TRY(vec_reserve(&c->late_of, d->frames.n - c->late_of.n));
	for (uint32_t i = (uint32_t)c->late_of.n; i < d->frames.n; i++) {
		struct str build_id = dict_str(d, d->mappings.v[d->frames.v[i].mapping].build_id);

		c->late_of.v[c->late_of.n++] =
			build_id.n ? find_late(c, build_id, frame_offset(d, i)) : 0;
	}
	return ERR_OK;
}

/* A function by its name, and by the number the name has in the partition. */
struct wanted {
	struct str text;
	uint32_t name;
};

struct names {
	struct wanted function;
	const struct wanted *path;
};

static bool frame_has(const struct call_site *c, const struct dict *d, uint32_t frame,
		      const struct wanted *w)
{
	const struct late_frame *l = late_frame_of(c, frame);

	if (!l)
		return name_of(d, frame) == w->name;
	for (size_t i = 0; i < l->count; i++)
		if (str_eq(l->names[i], w->text))
			return true;
	return false;
}

static bool has_function(const struct call_site *c, const struct dict *d, const struct wanted *w,
			 const uint32_t *frames, uint32_t n)
{
	if (!c->function.n)
		return true;
	if (c->self) {
		const struct late_frame *l = n ? late_frame_of(c, frames[0]) : NULL;

		return l ? str_eq(l->names[0], w->text) : n && name_of(d, frames[0]) == w->name;
	}
	for (uint32_t i = 0; i < n; i++)
		if (frame_has(c, d, frames[i], w))
			return true;
	return false;
}

/* From the root on, inlined functions counted as frames of their own. */
static bool begins_with_path(const struct call_site *c, const struct dict *d,
			     const struct wanted *path, const uint32_t *frames, uint32_t n)
{
	size_t done = 0;

	for (uint32_t i = n; i-- > 0 && done < c->path_count;) {
		const struct late_frame *l = late_frame_of(c, frames[i]);

		if (!l && name_of(d, frames[i]) != path[done++].name)
			return false;
		for (size_t k = l ? l->count : 0; k-- > 0 && done < c->path_count;)
			if (!str_eq(l->names[k], path[done++].text))
				return false;
	}
	return done == c->path_count;
}

static bool takes_stack(const struct call_site *c, const struct dict *d, const struct names *names,
			uint32_t stack)
{
	uint32_t n;
	const uint32_t *frames = stack_frames(d, stack, &n);

	return begins_with_path(c, d, names->path, frames, n) &&
	       has_function(c, d, &names->function, frames, n);
}

/* With the lock held. */
static enum err look(struct call_site *c, struct question *q)
{
	const struct dict *d = &q->partition->dict;
	struct wanted *path = arena_zalloc(&q->arena, c->path_count + 1, sizeof(*path));
	struct names names = {.function = {c->function, dict_find_string(d, c->function)},
			      .path = path};

	if (!path)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < c->path_count; i++)
		path[i] = (struct wanted){c->path[i], dict_find_string(d, c->path[i])};
	TRY(look_at_frames(c, d));
	TRY(vec_reserve(&c->takes, d->stacks.entries.n - c->takes.n));
	for (size_t i = c->takes.n; i < d->stacks.entries.n; i++)
		c->takes.v[c->takes.n++] = takes_stack(c, d, &names, (uint32_t)i);
	return ERR_OK;
}

enum err call_site_look(struct call_site *c, struct question *q, uint32_t count)
{
	enum err e;

	if (count <= c->takes.n)
		return ERR_OK;
	mutex_lock(&q->partition->lock);
	e = look(c, q);
	mutex_unlock(&q->partition->lock);
	return e ? e : count <= c->takes.n ? ERR_OK : ERR_CORRUPT;
}
