#include "sdk/name_store.h"

#include "base/hash.h"

#define TEXT_MAX   ((size_t)2 << 20)
#define PLACES_MAX 32768u

static void clear(struct name_store *s)
{
	s->texts.n = s->names.n = s->places.n = 0;
	map_clear(&s->text_index);
	map_clear(&s->place_index);
}

void name_store_release(struct name_store *s)
{
	vec_release(&s->texts);
	vec_release(&s->names);
	vec_release(&s->places);
	map_release(&s->text_index);
	map_release(&s->place_index);
}

void name_store_tidy(struct name_store *s)
{
	if (s->texts.n > TEXT_MAX || s->places.n > PLACES_MAX)
		clear(s);
}

const struct kept_place *name_store_find(const struct name_store *s, u64 place)
{
	MAP_PROBE(&s->place_index, hash_mix(place, 0), id)
	{
		if (s->places.v[id].place == place)
			return &s->places.v[id];
	}
	return NULL;
}

static enum err keep_text(struct name_store *s, const char *text, u32 *ret)
{
	struct str t = str_of(text);
	u64 hash = hash_str(t, 0);

	*ret = 0;
	if (!t.n)
		return ERR_OK;
	MAP_PROBE(&s->text_index, hash, at)
	{
		if (strcmp(s->texts.v + at, text) != 0)
			continue;
		*ret = at;
		return ERR_OK;
	}
	*ret = (u32)s->texts.n;
	TRY(vec_append(&s->texts, text, t.n + 1));
	return map_put(&s->text_index, hash, *ret);
}

static enum err keep_frame(struct name_store *s, const struct symbol_frame *f)
{
	struct kept_name name = {.line = f->line,
				 .column = f->column,
				 .start_line = f->start_line,
				 .inlined = f->inlined};

	TRY(keep_text(s, f->function, &name.function));
	TRY(keep_text(s, f->linkage, &name.linkage));
	TRY(keep_text(s, f->file, &name.file));
	return vec_push(&s->names, name);
}

enum err name_store_add(struct name_store *s, u64 place, const struct symbol_frame *frames,
			size_t n)
{
	struct kept_place fresh = {place, (u32)s->names.n, (u32)n};

	if (!s->texts.n)
		TRY(vec_push(&s->texts, 0));
	for (size_t i = 0; i < n; i++)
		TRY(keep_frame(s, &frames[i]));
	TRY(vec_push(&s->places, fresh));
	return map_put(&s->place_index, hash_mix(place, 0), (u32)s->places.n - 1);
}

struct code_name name_store_frame(const struct name_store *s, const struct kept_place *p, u32 i)
{
	const struct kept_name *name = &s->names.v[p->first + i];

	return (struct code_name){.function = s->texts.v + name->function,
				  .linkage = s->texts.v + name->linkage,
				  .file = s->texts.v + name->file,
				  .line = name->line,
				  .column = name->column,
				  .start_line = name->start_line,
				  .inlined = name->inlined};
}
