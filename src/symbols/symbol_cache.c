#include "symbols/symbol_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbols/symbol_cache_file.h"

static uint64_t hash_of(uint64_t address)
{
	return hash_mix(address, address);
}

void symbol_cache_init(struct symbol_cache *c, size_t memory)
{
	*c = (struct symbol_cache){.file.slot = -1};
	name_pool_init(&c->names, memory);
}

static void close_file(struct symbol_cache *c)
{
	mapped_file_release(&c->file);
	c->file_ranges = NULL;
	c->file_frames = NULL;
	c->file_range_count = c->file_frame_count = 0;
}

void symbol_cache_release(struct symbol_cache *c)
{
	close_file(c);
	name_pool_release(&c->names);
	map_release(&c->known);
	vec_release(&c->ranges);
	vec_release(&c->frames);
}

static bool matches(const struct cache_header *h, size_t size, uint64_t key, uint64_t other_key)
{
	uint64_t need = sizeof(*h) + h->ranges * (uint64_t)sizeof(struct cached_range) +
			h->frames * (uint64_t)sizeof(struct cached_frame) + h->text;

	return memcmp(h->magic, CACHE_MAGIC, sizeof(h->magic)) == 0 &&
	       (h->key == key || h->key == other_key) && h->text && h->text <= size && need == size;
}

static enum err use_file(struct symbol_cache *c, uint64_t key, uint64_t other_key)
{
	struct str bytes = c->file.bytes;
	struct cache_header h;

	if (bytes.n < sizeof(h))
		return ERR_TRUNCATED;
	memcpy(&h, bytes.p, sizeof(h));
	if (!matches(&h, bytes.n, key, other_key) || h.checksum != cache_checksum(bytes))
		return ERR_CORRUPT;
	c->file_ranges = (const void *)(bytes.p + sizeof(h));
	c->file_frames = (const void *)(c->file_ranges + h.ranges);
	c->file_range_count = h.ranges;
	c->file_frame_count = h.frames;
	c->file_text = str_n(c->file_frames + h.frames, (size_t)h.text);
	return c->file_text.p[h.text - 1] ? ERR_CORRUPT : ERR_OK;
}

enum err symbol_cache_open(struct symbol_cache *c, const char *path, uint64_t key,
			   uint64_t other_key)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	enum err error;

	if (fd < 0)
		return err_from_errno(errno);
	error = mapped_file_init(&c->file, fd, path, CACHE_FILE_MAX, NULL);
	close(fd);
	if (!error)
		error = use_file(c, key, other_key);
	if (error)
		close_file(c);
	return error;
}

static const char *file_text(const struct symbol_cache *c, uint32_t offset)
{
	return offset < c->file_text.n ? c->file_text.p + offset : "";
}

static bool find_in_file(const struct symbol_cache *c, uint64_t address,
			 struct symbol_frame *frames, size_t max, size_t *ret_n,
			 struct symbol_range *ret_range)
{
	size_t low = 0, high = c->file_range_count;
	const struct cached_range *r;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->file_ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	r = &c->file_ranges[low - 1];
	if (address - r->start >= r->size || r->first > c->file_frame_count ||
	    r->count > c->file_frame_count - r->first)
		return false;
	for (size_t i = 0; i < r->count && i < max; i++) {
		const struct cached_frame *f = &c->file_frames[r->first + i];

		frames[i] = (struct symbol_frame){file_text(c, f->function),
						  file_text(c, f->linkage),
						  file_text(c, f->file),
						  f->line,
						  f->column,
						  f->start_line,
						  f->inlined};
	}
	*ret_n = r->count < max ? r->count : max;
	*ret_range = (struct symbol_range){r->start, r->start + r->size};
	return true;
}

bool symbol_cache_find(const struct symbol_cache *c, uint64_t address, struct symbol_frame *frames,
		       size_t max, size_t *ret_n, struct symbol_range *ret_range)
{
	MAP_PROBE(&c->known, hash_of(address), id)
	{
		const struct cached_range *r = &c->ranges.v[id];

		if (address - r->start >= r->size)
			continue;
		for (size_t i = 0; i < r->count && i < max; i++) {
			const struct cached_frame *f = &c->frames.v[r->first + i];

			frames[i] = (struct symbol_frame){name_pool_get(&c->names, f->function),
							  name_pool_get(&c->names, f->linkage),
							  name_pool_get(&c->names, f->file),
							  f->line,
							  f->column,
							  f->start_line,
							  f->inlined};
		}
		*ret_n = r->count < max ? r->count : max;
		*ret_range = (struct symbol_range){r->start, r->start + r->size};
		return true;
	}
	return find_in_file(c, address, frames, max, ret_n, ret_range);
}

enum err symbol_cache_add(struct symbol_cache *c, uint64_t address, uint64_t start, uint64_t end,
			  const struct cached_frame *frames, size_t n)
{
	struct cached_range range = {.start = start, .count = (uint32_t)n};
	size_t before = c->frames.n;

	range.first = (uint32_t)before;
	range.size = end - start > UINT32_MAX ? UINT32_MAX : (uint32_t)(end - start);
	if (address - start >= range.size) { /* so far into something huge: this address alone */
		range.start = address;
		range.size = 1;
	}
	TRY(vec_append(&c->frames, frames, n));
	if (!vec_push(&c->ranges, range)) {
		if (!map_put(&c->known, hash_of(address), (uint32_t)c->ranges.n - 1))
			return ERR_OK;
		c->ranges.n--;
	}
	c->frames.n = before;
	return ERR_NO_MEMORY;
}

void symbol_cache_trim(struct symbol_cache *c)
{
	size_t ceiling = c->names.arena.ceiling;

	name_pool_release(&c->names);
	name_pool_init(&c->names, ceiling);
	map_release(&c->known);
	vec_release(&c->ranges);
	vec_release(&c->frames);
	mapped_file_trim(&c->file);
}
