#include "pipeline/rename_functions.h"

#include "base/buf.h"
#include "base/hash.h"

struct renaming {
	struct dict *d;
	function_name_fn name;
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
	bool changed;

	*ret = id;
	if (!id)
		return ERR_OK;
	buf_clear(&r->text);
	changed = r->name(r->d, &f, &r->text);
	TRY(buf_error(&r->text));
	if (!changed)
		return ERR_OK;
	TRY(dict_string(r->d, buf_view(&r->text), &f.name));
	return dict_function(r->d, &f, ret);
}

static enum err new_frame(struct renaming *r, uint32_t id, uint32_t *ret)
{
	struct frame f = r->d->frames.v[id];
	uint32_t function;

	*ret = map_get(&r->frames, id_hash(r, id));
	if (*ret != MAP_NONE)
		return ERR_OK;
	*ret = id;
	TRY(new_function(r, f.function, &function));
	if (function != f.function) {
		f.function = function;
		TRY(dict_frame(r->d, &f, ret));
	}
	return map_put(&r->frames, id_hash(r, id), *ret);
}

static enum err new_stack(struct renaming *r, uint32_t id, uint32_t *ret)
{
	const uint32_t *frames;
	uint32_t n, frame;
	bool changed = false;

	*ret = map_get(&r->stacks, id_hash(r, id));
	if (*ret != MAP_NONE)
		return ERR_OK;
	frames = stack_frames(r->d, id, &n);
	r->scratch.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		TRY(new_frame(r, frames[i], &frame));
		TRY(vec_push(&r->scratch, frame));
		changed |= frame != frames[i];
	}
	*ret = id;
	if (changed)
		TRY(dict_stack(r->d, r->scratch.v, n, ret));
	return map_put(&r->stacks, id_hash(r, id), *ret);
}

enum err rename_functions(struct profile *p, function_name_fn name)
{
	struct renaming r = {.d = p->dict, .name = name};
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

bool script_name(const struct dict *d, const struct function *f, struct buf *out)
{
	buf_str(out, dict_str(d, f->file));
	buf_byte(out, ' ');
	buf_str(out, dict_str(d, f->name));
	return true;
}

bool python_name(const struct dict *d, const struct function *f, struct buf *out)
{
	struct str file = dict_str(d, f->file);

	return !(file.n && file.p[0] == '/') && script_name(d, f, out);
}

static size_t digits(struct str s, bool hex)
{
	size_t n = 0;

	while (n < s.n &&
	       ((s.p[n] >= '0' && s.p[n] <= '9') || (hex && s.p[n] >= 'a' && s.p[n] <= 'f')))
		n++;
	return n;
}

/* "$53.0x7f16", ".0x7f16", "/7f16" or "53": all of it, else not a name that was made up. */
static bool is_lambda_number(struct str s)
{
	size_t dollar = s.n && s.p[0] == '$', n = digits(str_skip(s, dollar), false);
	struct str rest = str_skip(s, dollar + n);

	if (!rest.n)
		return !dollar && n;
	if (rest.p[0] != '.' && rest.p[0] != '/')
		return false;
	rest = str_skip(rest, 1);
	if (str_starts(rest, STR("0x")))
		rest = str_skip(rest, 2);
	return rest.n && digits(rest, true) == rest.n;
}

bool java_name(const struct dict *d, const struct function *f, struct buf *out)
{
	static const struct {
		struct str begin;
		bool lambda, number;
	} made_up[] = {
		{{"$$Lambda", 8}, true, false},
		{{"reflect.GeneratedMethodAccessor", 31}, false, true},
		{{"$$EnhancerBySpringCGLIB$$", 25}, false, false},
	};
	struct str name = dict_str(d, f->name), class, tail;
	size_t dot = str_rfind(name, '.'), at;

	if (dot == name.n)
		return false;
	class = str_n(name.p, dot);
	for (size_t i = 0; i < sizeof(made_up) / sizeof(made_up[0]); i++) {
		at = str_search(class, made_up[i].begin);
		if (at == class.n)
			continue;
		at += made_up[i].begin.n;
		tail = str_skip(class, at);
		if (!tail.n || (made_up[i].lambda && !is_lambda_number(tail)) ||
		    (made_up[i].number && digits(tail, false) != tail.n))
			return false;
		buf_str(out, str_n(name.p, at));
		buf_byte(out, '_');
		buf_str(out, str_skip(name, dot));
		return true;
	}
	return false;
}
