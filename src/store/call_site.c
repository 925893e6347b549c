#include "store/call_site.h"

void call_site_release(struct call_site *c)
{
	vec_release(&c->takes);
}

void call_site_begin(struct call_site *c)
{
	c->takes.n = 0;
}

static uint32_t name_of(const struct dict *d, uint32_t frame)
{
	const struct function *f = &d->functions.v[d->frames.v[frame].function];

	return f->name ? f->name : f->system_name;
}

struct names {
	uint32_t function;
	const uint32_t *path;
};

static bool has_function(const struct call_site *c, const struct dict *d, uint32_t name,
			 const uint32_t *frames, uint32_t n)
{
	if (!c->function.n)
		return true;
	if (c->self)
		return n && name_of(d, frames[0]) == name;
	for (uint32_t i = 0; i < n; i++)
		if (name_of(d, frames[i]) == name)
			return true;
	return false;
}

static bool takes_stack(const struct call_site *c, const struct dict *d, const struct names *names,
			uint32_t stack)
{
	uint32_t n;
	const uint32_t *frames = stack_frames(d, stack, &n);

	if (n < c->path_count)
		return false;
	for (uint32_t i = 0; i < c->path_count; i++)
		if (name_of(d, frames[n - 1 - i]) != names->path[i])
			return false;
	return has_function(c, d, names->function, frames, n);
}

/* With the lock held. */
static enum err look(struct call_site *c, struct question *q)
{
	const struct dict *d = &q->partition->dict;
	uint32_t *path = arena_zalloc(&q->arena, c->path_count + 1, sizeof(*path));
	struct names names = {.function = dict_find_string(d, c->function), .path = path};

	if (!path)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < c->path_count; i++)
		path[i] = dict_find_string(d, c->path[i]);
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
