/*
 * What a profile itself asks to be left out: from the first frame (seen from the root) whose name
 * matches drop_frames and not keep_frames, everything towards the leaf goes, that frame included.
 * Frames before the first one that is not to be dropped stay, so that a stack never goes as a
 * whole. The rules are pprof's, its view of names without argument lists too.
 */
#include "model/ops.h"
#include "model/pattern.h"
#include "model/rows.h"
#include "model/stack_rewrite.h"

enum { NAME_UNKNOWN, NAME_STAYS, NAME_GOES };

struct dropping {
	const struct dict *dict;
	struct pattern *drop, *keep;
	uint8_t *names; /* per string */
};

/* Cuts an argument list, but not at "(anonymous namespace)" and "operator()". */
static struct str simple_name(struct str name)
{
	struct str anonymous = STR("(anonymous namespace)"), call = STR("operator()");

	if (name.n && name.p[0] == '.')
		name = str_skip(name, 1);
	for (size_t i = 0; i < name.n;) {
		struct str rest = str_skip(name, i);

		if (str_starts(rest, anonymous))
			i += anonymous.n;
		else if (str_starts(rest, call))
			i += call.n;
		else if (name.p[i] == '(')
			return str_n(name.p, i);
		else
			i++;
	}
	return name;
}

static enum err try_name(struct dropping *d, uint32_t string, bool *ret)
{
	struct str name = simple_name(dict_str(d->dict, string));
	bool keep = false;

	TRY(pattern_match(d->drop, name, ret));
	if (*ret && d->keep)
		TRY(pattern_match(d->keep, name, &keep));
	*ret = *ret && !keep;
	return ERR_OK;
}

static enum err frame_goes(struct dropping *d, uint32_t frame, bool *ret)
{
	const struct function *f = &d->dict->functions.v[d->dict->frames.v[frame].function];
	uint32_t name = f->name ? f->name : f->system_name;

	*ret = false;
	if (!name)
		return ERR_OK;
	if (d->names[name] == NAME_UNKNOWN) {
		TRY(try_name(d, name, ret));
		d->names[name] = *ret ? NAME_GOES : NAME_STAYS;
	}
	*ret = d->names[name] == NAME_GOES;
	return ERR_OK;
}

/*
 * Within a location the outermost match takes what is inlined below it along, in every stack. A
 * location whose outermost frame matches goes as a whole, but only below a frame that stays.
 */
static enum err mask_location(struct dropping *d, struct stack_mask *mask, uint32_t start,
			      uint32_t end, bool *ret_matches, bool *ret_whole)
{
	bool goes = false;
	uint32_t i = end;

	while (i > start && !goes)
		TRY(frame_goes(d, mask->frames[--i], &goes));
	*ret_matches = goes;
	*ret_whole = goes && i == end - 1;
	if (goes && !*ret_whole)
		memset(mask->keep + start, 0, i + 1 - start);
	return ERR_OK;
}

/* The location that ends before `end`, walking towards the leaf. */
static uint32_t location_start(const struct dict *d, const struct stack_mask *mask, uint32_t end)
{
	uint32_t start = end - 1;

	while (start && d->frames.v[mask->frames[start - 1]].flags & FRAME_INLINED)
		start--;
	return start;
}

static enum err mask_dropped(void *context, struct stack_mask *mask)
{
	struct dropping *d = context;
	bool found_user = false, cut = false;
	uint32_t start;

	for (uint32_t end = mask->n; end; end = start) {
		bool matches, whole;

		start = location_start(d->dict, mask, end);
		if (cut) {
			memset(mask->keep + start, 0, end - start);
			continue;
		}
		TRY(mask_location(d, mask, start, end, &matches, &whole));
		if (!matches)
			found_user = true;
		else if (found_user)
			cut = true;
		if (cut && whole)
			memset(mask->keep + start, 0, end - start);
	}
	return ERR_OK;
}

static enum err keep_all(void *context, struct stack_mask *mask)
{
	(void)context;
	(void)mask;
	return ERR_OK;
}

static enum err compile(const struct profile *src, uint32_t source, const char *field,
			struct pattern **ret, struct fault *fault)
{
	enum err e;

	if (!source)
		return ERR_OK;
	e = pattern_new(dict_str(src->dict, source), PATTERN_ANCHORED, ret, fault);
	if (e)
		fault_prefix(fault, field);
	return e;
}

enum err profile_drop_frames(const struct profile *src, struct profile *dst, struct fault *fault)
{
	struct dropping d = {.dict = src->dict};
	enum err e;

	if (!src->drop_frames)
		return profile_rewrite(src, keep_all, NULL, NULL, dst);
	d.names = mem_zalloc(src->dict->strings.n, sizeof(*d.names));
	e = d.names ? compile(src, src->drop_frames, "drop_frames", &d.drop, fault) : ERR_NO_MEMORY;
	if (!e)
		e = compile(src, src->keep_frames, "keep_frames", &d.keep, fault);
	if (!e)
		e = profile_rewrite(src, mask_dropped, NULL, &d, dst);
	if (e == ERR_TOO_LARGE)
		e = fault_set(fault, e, "drop_frames or keep_frames takes too long to match");
	pattern_free(d.drop);
	pattern_free(d.keep);
	mem_free(d.names);
	return e;
}
