#include "agent/name_cache.h"

#include <stdlib.h>

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
	map_release(&c->by_text);
}

static bool is_before(const struct cached_place *a, const struct cached_place *b)
{
	return a->serial != b->serial ? a->serial < b->serial : a->start < b->start;
}

static int by_place(const void *a, const void *b)
{
	return is_before(a, b) ? -1 : is_before(b, a);
}

/* The last place of a module that begins at an address or before. */
static const struct cached_place *nearest(const struct name_cache *c, u64 serial, u64 address)
{
	const struct cached_place wanted = {.serial = serial, .start = address};
	size_t from = 0, to = c->settled;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (is_before(&wanted, &c->places.v[middle]))
			to = middle;
		else
			from = middle + 1;
	}
	return from && c->places.v[from - 1].serial == serial ? &c->places.v[from - 1] : NULL;
}

const struct cached_place *name_cache_find(const struct name_cache *c, u64 serial, u64 address)
{
	const struct cached_place *p = nearest(c, serial, address);

	/* Names of a module may be followed by the word that there are no more. */
	if (p && address >= p->end)
		p = nearest(c, serial, 0);
	return p && address < p->end ? p : NULL;
}

enum err name_cache_settle(struct name_cache *c)
{
	size_t old = c->settled, fresh = c->places.n - old, to = c->places.n;
	VEC(struct cached_place) added = {0};

	if (!fresh)
		return ERR_OK;
	TRY(vec_append(&added, c->places.v + old, fresh));
	qsort(added.v, fresh, sizeof(*added.v), by_place);
	/* From the end, where there is room. */
	while (fresh) {
		if (old && is_before(&added.v[fresh - 1], &c->places.v[old - 1]))
			c->places.v[--to] = c->places.v[--old];
		else
			c->places.v[--to] = added.v[--fresh];
	}
	c->settled = c->places.n;
	vec_release(&added);
	return ERR_OK;
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

/* Adds the next range, which contains an address and starts after the previous one, which ends at
 * `end`. */
static enum err take_range(struct name_cache *c, u64 serial, u64 address, struct str *rest,
			   u64 *end)
{
	struct cached_place place = {.serial = serial, .first = (u32)c->names.n};
	struct wire_range r;

	if (!take(rest, &r, sizeof(r)) || r.frames > WIRE_FRAMES_MAX || r.start < *end ||
	    address < r.start || address >= r.end)
		return ERR_CORRUPT;
	for (u32 i = 0; i < r.frames; i++)
		TRY(take_frame(c, rest));
	place.start = r.start;
	place.end = *end = r.end;
	place.count = r.frames;
	return vec_push(&c->places, place);
}

static enum err add_all(struct name_cache *c, u64 serial, const u64 *addresses, u32 count,
			struct str rest)
{
	u64 end = 0;

	for (u32 i = 0; i < count; i++)
		if (addresses[i] >= end)
			TRY(take_range(c, serial, addresses[i], &rest, &end));
	return rest.n ? ERR_CORRUPT : ERR_OK;
}

enum err name_cache_add(struct name_cache *c, u64 serial, const u64 *addresses, u32 count,
			struct str answer)
{
	size_t names = c->names.n;
	size_t places = c->places.n;
	enum err e = add_all(c, serial, addresses, count, answer);

	/* Texts that are not used any more do no harm. */
	if (e) {
		c->names.n = names;
		c->places.n = places;
	}
	return e;
}

enum err name_cache_add_nameless(struct name_cache *c, u64 serial)
{
	return vec_push(&c->places, ((struct cached_place){.serial = serial, .end = UINT64_MAX}));
}

/* Its texts and names stay until all is forgotten. */
void name_cache_forget(struct name_cache *c, u64 serial)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->places.n; i++)
		if (c->places.v[i].serial != serial)
			c->places.v[kept++] = c->places.v[i];
	c->places.n = c->settled = kept;
}

void name_cache_forget_code(struct name_cache *c)
{
	size_t kept = 0, settled = 0;

	for (size_t i = 0; i < c->places.n; i++) {
		if (c->places.v[i].serial >> 63)
			continue;
		c->places.v[kept++] = c->places.v[i];
		settled += i < c->settled;
	}
	c->places.n = kept;
	c->settled = settled;
}

static size_t map_bytes(const struct map *m)
{
	return m->slots ? ((size_t)m->mask + 1) * sizeof(*m->slots) : 0;
}

size_t name_cache_bytes(const struct name_cache *c)
{
	return c->places.cap * sizeof(*c->places.v) + c->names.cap * sizeof(*c->names.v) +
	       c->text.cap + map_bytes(&c->by_text);
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
