#include "sdk/place_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "sdk/tally.h"

/* Indexes and names of one file. */
#define FILE_MEMORY  ((size_t)16 << 20)
#define VARIABLE_MAX 256

void place_names_init(struct place_names *p, const struct loaded *loaded)
{
	*p = (struct place_names){.loaded = loaded};
}

void place_names_release(struct place_names *p)
{
	place_names_end(p);
	name_store_release(&p->kept);
	vec_release(&p->files);
	vec_release(&p->tried);
	vec_release(&p->mappings);
	vec_release(&p->places);
	vec_release(&p->pool);
	map_release(&p->index);
}

void place_names_begin(struct place_names *p, struct dict *d)
{
	p->dict = d;
	p->mappings.n = p->places.n = p->pool.n = 0;
	map_clear(&p->index);
	name_store_tidy(&p->kept);
}

void place_names_end(struct place_names *p)
{
	vec_for_each (file, &p->files)
		symbol_file_free(*file);
	p->files.n = p->tried.n = 0;
}

/* ------------------------------------------------------------------ files */

static enum err file_of(struct place_names *p, u32 module, struct symbol_file **ret)
{
	struct symbol_options options = {.names = SYMBOL_NAMES_FULL, .memory = FILE_MEMORY};
	const char *path = p->loaded->modules.v[module]->path;
	int fd;

	while (p->files.n <= module) {
		TRY(vec_push(&p->files, NULL));
		TRY(vec_push(&p->tried, false));
	}
	if (!p->tried.v[module]) {
		p->tried.v[module] = true;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			if (symbol_file_new(fd, path, &options, &p->files.v[module], NULL))
				p->files.v[module] = NULL;
			close(fd);
		}
	}
	*ret = p->files.v[module];
	return ERR_OK;
}

/* A module lies where its file says: addresses of two runs are then equal. */
static enum err mapping_of(struct place_names *p, u32 number, uint32_t *ret)
{
	const struct loaded_module *module = p->loaded->modules.v[number];

	while (p->mappings.n <= number)
		TRY(vec_push(&p->mappings, 0));
	if (!p->mappings.v[number]) {
		struct unwind_load span = unwind_image_span(&module->image);
		struct mapping m = {.start = span.address,
				    .limit = span.address + span.size,
				    .offset = span.file_offset};
		char id[BUILD_ID_TEXT_MAX + 1];

		build_id_text(str_n(module->image.build_id, module->image.build_id_size), id);
		TRY(dict_module(p->dict, str_of(module->path), id, m, &p->mappings.v[number]));
	}
	*ret = p->mappings.v[number];
	return ERR_OK;
}

/* ------------------------------------------------------------------ frames */

static enum err add_frame(struct place_names *p, struct frame f, const struct code_name *name)
{
	uint32_t id;

	TRY(dict_code_frame(p->dict, f, name, &id));
	return vec_push(&p->pool, id);
}

/* Symbolizes from the file. With a damaged file it remains an address. */
static enum err learn(struct place_names *p, u64 place, u32 module)
{
	struct symbol_frame names[SYMBOL_FRAMES_MAX];
	struct symbol_file *file = NULL;
	size_t n = 0;

	TRY(file_of(p, module, &file));
	if (file && symbol_file_lookup(file, place & PLACE_ADDRESS, names, SYMBOL_FRAMES_MAX, &n))
		n = 0;
	return name_store_add(&p->kept, place, names, n);
}

static enum err name_place(struct place_names *p, u64 place)
{
	u32 module = (u32)(place >> PLACE_MODULE_SHIFT);
	struct frame f = {.address = place & PLACE_ADDRESS, .kind = KIND_NATIVE};
	const struct kept_place *kept;
	uint32_t id;

	if (place >= PLACE_NO_PROCESSOR) {
		TRY(dict_named_frame(p->dict,
				     place == PLACE_NOT_SAMPLED ? STR("[not sampled]")
								: STR("[waits for a processor]"),
				     &id));
		return vec_push(&p->pool, id);
	}
	if (!module)
		return add_frame(p, f, NULL);
	TRY(mapping_of(p, module - 1, &f.mapping));
	if (!name_store_find(&p->kept, place))
		TRY(learn(p, place, module - 1));
	kept = name_store_find(&p->kept, place);
	if (!kept->count)
		return add_frame(p, f, NULL);
	for (u32 i = 0; i < kept->count; i++) {
		struct code_name name = name_store_frame(&p->kept, kept, i);

		TRY(add_frame(p, f, &name));
	}
	return ERR_OK;
}

static enum err find_or_name(struct place_names *p, u64 place, u32 *ret)
{
	u64 hash = hash_mix(place, 0);
	struct named_place fresh = {place, (u32)p->pool.n, 0};

	MAP_PROBE(&p->index, hash, id)
	{
		if (p->places.v[id].place != place)
			continue;
		*ret = id;
		return ERR_OK;
	}
	TRY(name_place(p, place));
	fresh.n = (u32)p->pool.n - fresh.at;
	TRY(vec_push(&p->places, fresh));
	*ret = (u32)p->places.n - 1;
	return map_put(&p->index, hash, *ret);
}

enum err place_frames(struct place_names *p, u64 place, uint32_t *frames, size_t max, size_t *ret_n)
{
	const struct named_place *found;
	u32 id;

	TRY(find_or_name(p, place, &id));
	found = &p->places.v[id];
	*ret_n = found->n < max ? found->n : max;
	memcpy(frames, p->pool.v + found->at, *ret_n * sizeof(*frames));
	return ERR_OK;
}

bool place_variable(struct place_names *p, u64 place, char *ret, size_t size)
{
	u32 module = (u32)(place >> PLACE_MODULE_SHIFT);
	struct symbol_file *file = NULL;
	uint64_t behind = 0;
	char name[VARIABLE_MAX];
	const char *path;

	if (!module || module > p->loaded->modules.n || file_of(p, module - 1, &file))
		return false;
	path = p->loaded->modules.v[module - 1]->path;
	if (file && !symbol_file_object(file, place & PLACE_ADDRESS, name, sizeof(name), &behind))
		snprintf(ret, size, behind ? "%s+0x%llx" : "%s", name, (unsigned long long)behind);
	else
		snprintf(ret, size, "%s+0x%llx", strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
			 (unsigned long long)(place & PLACE_ADDRESS));
	return true;
}
