/*
 * Older clients for Python and Ruby have the file of a function shown before its name: Pyroscope
 * calls it "file name", and so are its functions searched for.
 */
#include "base/hash.h"
#include "pipeline/ingest.h"

bool ingest_is_script(struct str spy)
{
	return str_eq(spy, STR("pyspy")) || str_eq(spy, STR("rbspy")) ||
	       str_eq(spy, STR("scripting"));
}

struct renaming {
	struct dict *d;
	bool keep_absolute; /* py-spy's names with absolute paths stay */
	struct map frames, stacks;
	VEC(uint32_t) scratch;
	struct buf text;
};

static uint64_t id_hash(const struct renaming *r, uint32_t id)
{
	/* One to one for 32 bits: an equal hash is an equal id. */
	return ((uint64_t)id + 1) * 0x9e3779b97f4a7c15u ^ r->d->seed;
}

static enum err new_function(struct renaming *r, uint32_t id, uint32_t *ret)
{
	struct function f = r->d->functions.v[id];
	struct str file = dict_str(r->d, f.file);

	*ret = id;
	if (!id || (r->keep_absolute && file.n && file.p[0] == '/'))
		return ERR_OK;
	buf_clear(&r->text);
	buf_str(&r->text, file);
	buf_byte(&r->text, ' ');
	buf_str(&r->text, dict_str(r->d, f.name));
	TRY(buf_error(&r->text));
	TRY(dict_string(r->d, buf_view(&r->text), &f.name));
	return dict_function(r->d, &f, ret);
}

static enum err new_frame(struct renaming *r, uint32_t id, uint32_t *ret)
{
	struct frame f = r->d->frames.v[id];

	*ret = map_get(&r->frames, id_hash(r, id));
	if (*ret != MAP_NONE)
		return ERR_OK;
	TRY(new_function(r, f.function, &f.function));
	TRY(dict_frame(r->d, &f, ret));
	return map_put(&r->frames, id_hash(r, id), *ret);
}

static enum err new_stack(struct renaming *r, uint32_t id, uint32_t *ret)
{
	const uint32_t *frames;
	uint32_t n, frame;

	*ret = map_get(&r->stacks, id_hash(r, id));
	if (*ret != MAP_NONE)
		return ERR_OK;
	frames = stack_frames(r->d, id, &n);
	r->scratch.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		TRY(new_frame(r, frames[i], &frame));
		TRY(vec_push(&r->scratch, frame));
	}
	TRY(dict_stack(r->d, r->scratch.v, n, ret));
	return map_put(&r->stacks, id_hash(r, id), *ret);
}

enum err ingest_name_scripts(struct profile *p, struct str spy)
{
	struct renaming r = {.d = p->dict, .keep_absolute = str_eq(spy, STR("pyspy"))};
	enum err e = ERR_OK;

	buf_init(&r.text, (size_t)4 << 20);
	for (size_t i = 0; !e && i < p->row_count; i++)
		e = new_stack(&r, p->stack[i], &p->stack[i]);
	map_release(&r.frames);
	map_release(&r.stacks);
	vec_release(&r.scratch);
	buf_release(&r.text);
	return e;
}
