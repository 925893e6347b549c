#include "agent/name_cache.h"

#include "agent/worker_wire.h"
#include "base/hash.h"

void name_cache_init(struct name_cache *c, size_t ceiling)
{
	*c = (struct name_cache){.ceiling = ceiling};
}

void name_cache_release(struct name_cache *c)
{
	vec_release(&c->places);
	vec_release(&c->names);
	vec_release(&c->text);
	map_release(&c->by_place);
	map_release(&c->by_text);
}

static u64 place_hash(u64 serial, u64 address)
{
	return hash_mix(serial, address);
}

const struct cached_place *name_cache_find(const struct name_cache *c, u64 serial, u64 address)
{
	MAP_PROBE(&c->by_place, place_hash(serial, address), id)
	{
		const struct cached_place *p = &c->places.v[id];

		if (p->serial == serial && p->address == address)
			return p;
	}
	return NULL;
}

/* A text is kept once; place 0 is the empty one. */
static enum err keep_text(struct name_cache *c, struct str text, u32 *ret)
{
	u64 hash;

	*ret = 0;
	if (!text.n)
		return ERR_OK;
	hash = hash_str(text, 1);
	MAP_PROBE(&c->by_text, hash, at)
	{
		if (!strncmp(c->text.v + at, text.p, text.n) && !c->text.v[at + text.n]) {
			*ret = at;
			return ERR_OK;
		}
	}
	if (!c->text.n)
		TRY(vec_push(&c->text, 0));
	TRY(vec_reserve(&c->text, text.n + 1));
	*ret = (u32)c->text.n;
	TRY(map_put(&c->by_text, hash, *ret));
	memcpy(c->text.v + c->text.n, text.p, text.n);
	c->text.v[c->text.n + text.n] = 0;
	c->text.n += text.n + 1;
	return ERR_OK;
}

static enum err add_place(struct name_cache *c, u64 serial, u64 address, u32 first, u32 count)
{
	struct cached_place place = {serial, address, first, count};

	TRY(vec_push(&c->places, place));
	return map_put(&c->by_place, place_hash(serial, address), (u32)c->places.n - 1);
}

/* A text of an answer: inside it, and without a NUL. */
static bool take_text(struct str *rest, u16 size, struct str *ret)
{
	if (rest->n < size)
		return false;
	*ret = str_n(rest->p, size);
	*rest = str_skip(*rest, size);
	return !size || !memchr(ret->p, 0, size);
}

static bool take(struct str *rest, void *to, size_t size)
{
	if (rest->n < size)
		return false;
	memcpy(to, rest->p, size);
	*rest = str_skip(*rest, size);
	return true;
}

static enum err take_frame(struct name_cache *c, struct str *rest)
{
	struct str function, linkage, file;
	struct wire_frame f;
	struct cached_name name;

	if (!take(rest, &f, sizeof(f)) || !take_text(rest, f.function, &function) ||
	    !take_text(rest, f.linkage, &linkage) || !take_text(rest, f.file, &file))
		return ERR_CORRUPT;
	name = (struct cached_name){.line = f.line,
				    .start_line = f.start_line,
				    .column = f.column,
				    .inlined = f.inlined != 0};
	TRY(keep_text(c, function, &name.function));
	TRY(keep_text(c, linkage, &name.linkage));
	TRY(keep_text(c, file, &name.file));
	return vec_push(&c->names, name);
}

static enum err add_all(struct name_cache *c, u64 serial, const u64 *addresses, u32 count,
			struct str rest)
{
	for (u32 i = 0; i < count; i++) {
		u32 first = (u32)c->names.n;
		u16 frames;

		if (!take(&rest, &frames, sizeof(frames)) || frames > WIRE_FRAMES_MAX)
			return ERR_CORRUPT;
		for (u32 k = 0; k < frames; k++)
			TRY(take_frame(c, &rest));
		TRY(add_place(c, serial, addresses[i], first, frames));
	}
	return rest.n ? ERR_CORRUPT : ERR_OK;
}

enum err name_cache_add(struct name_cache *c, u64 serial, const u64 *addresses, u32 count,
			struct str answer)
{
	size_t names = c->names.n;
	size_t places = c->places.n;
	enum err e = add_all(c, serial, addresses, count, answer);

	/* Texts that are not used any more do no harm, and places only when they are asked for. */
	if (e) {
		c->names.n = names;
		for (size_t i = places; i < c->places.n; i++)
			c->places.v[i] = (struct cached_place){0};
	}
	return e;
}

enum err name_cache_add_nameless(struct name_cache *c, u64 serial, const u64 *addresses, u32 count)
{
	for (u32 i = 0; i < count; i++)
		TRY(add_place(c, serial, addresses[i], 0, 0));
	return ERR_OK;
}

static size_t map_bytes(const struct map *m)
{
	return m->slots ? ((size_t)m->mask + 1) * sizeof(*m->slots) : 0;
}

size_t name_cache_bytes(const struct name_cache *c)
{
	return c->places.cap * sizeof(*c->places.v) + c->names.cap * sizeof(*c->names.v) +
	       c->text.cap + map_bytes(&c->by_place) + map_bytes(&c->by_text);
}

void name_cache_tidy(struct name_cache *c)
{
	size_t ceiling = c->ceiling;
	u64 forgotten = c->forgotten;

	if (name_cache_bytes(c) <= ceiling)
		return;
	name_cache_release(c);
	name_cache_init(c, ceiling);
	c->forgotten = forgotten + 1;
}
