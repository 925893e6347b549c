/*
 * Heap profiles as text:
 *
 *	heap profile: 144: 8498176 [144: 8498176] @ heapz_v2/524288
 *	     1:     9216 [     1:     9216] @ 0xc635c8 0x42ecc3 …
 *
 * live objects and bytes, and in brackets all ever allocated, which count when they say more. What
 * follows the @ is who wrote it: `heap_v2/RATE` and Go's `heap/2·RATE` are sampled and scaled up
 * here; `heapprofile`, `growth` and `fragmentation` are exact.
 */
#include "format/legacy.h"

struct heap_header {
	int64_t live_count, live_bytes, all_count, all_bytes;
	bool sampled;
	int64_t rate;
};

static bool take_quadruple(struct str *s, int64_t v[4])
{
	return legacy_take_int(s, &v[0]) && legacy_take(s, ":") && legacy_take_int(s, &v[1]) &&
	       legacy_take(s, "[") && legacy_take_int(s, &v[2]) && legacy_take(s, ":") &&
	       legacy_take_int(s, &v[3]) && legacy_take(s, "]") && legacy_take(s, "@");
}

static bool parse_kind(struct str kind, struct heap_header *h)
{
	size_t slash = str_find(kind, '/');
	struct str name = {kind.p, slash}, rate = str_skip(kind, slash + 1);

	h->rate = 0;
	if (rate.n && str_to_i64(rate, &h->rate) != ERR_OK)
		return false;
	if (str_eq(name, STR("heap_v2")) || str_eq(name, STR("heapz_v2"))) {
		h->sampled = true;
	} else if (str_eq(name, STR("heap"))) {
		/* Go writes twice its rate. */
		h->sampled = true;
		h->rate /= 2;
	} else if (str_eq(name, STR("heapprofile")) || str_starts(name, STR("growth")) ||
		   str_starts(name, STR("fragmentation"))) {
		h->rate = 1;
	} else {
		return false;
	}
	return true;
}

static bool parse_header(struct str line, struct heap_header *ret)
{
	struct heap_header h = {0};
	struct str kind = {0};
	int64_t v[4];

	if (!legacy_take(&line, "heap profile:") || !take_quadruple(&line, v))
		return false;
	h.live_count = v[0];
	h.live_bytes = v[1];
	h.all_count = v[2];
	h.all_bytes = v[3];
	if (!text_word(&line, &kind) || !parse_kind(kind, &h))
		return false;
	*ret = h;
	return true;
}

static enum err add_types(struct profile *p, bool all)
{
	if (all) {
		TRY(profile_add_type(p, STR("alloc_objects"), STR("count")));
		TRY(profile_add_type(p, STR("alloc_space"), STR("bytes")));
	}
	TRY(profile_add_type(p, all ? STR("inuse_objects") : STR("objects"), STR("count")));
	return profile_add_type(p, all ? STR("inuse_space") : STR("space"), STR("bytes"));
}

/* One pair of count and bytes; `bytes` becomes the mean size of a block. */
static enum err add_pair(struct legacy *l, const struct heap_header *h, int64_t count, int64_t size,
			 int64_t *values, int64_t *bytes)
{
	if (!count && size)
		return text_fault(&l->lines, l->out, ERR_CORRUPT,
				  "%lld bytes in 0 objects: expected at least one object",
				  (long long)size);
	if (count) {
		*bytes = size == INT64_MIN && count == -1 ? INT64_MAX : size / count;
		if (h->sampled)
			legacy_unsample(&count, &size, h->rate);
	}
	values[0] = count;
	values[1] = size;
	return ERR_OK;
}

static enum err read_sample(struct legacy *l, const struct heap_header *h, bool all,
			    struct str line)
{
	struct legacy_sample *s;
	int64_t v[4], bytes = 0;

	if (!take_quadruple(&line, v))
		return text_fault(&l->lines, l->out, ERR_CORRUPT,
				  "expected \"count: bytes [count: bytes] @ addresses\"");
	TRY(legacy_begin_sample(l, &s));
	if (all)
		TRY(add_pair(l, h, v[2], v[3], s->values, &bytes));
	TRY(add_pair(l, h, v[0], v[1], s->values + (all ? 2 : 0), &bytes));
	s->has_bytes = true;
	s->bytes = bytes;
	/* Addresses are return addresses: one byte back is inside the call. */
	return legacy_push_all(l, line, 1, false);
}

enum err legacy_heap(struct legacy *l)
{
	struct heap_header h;
	struct str line;
	bool all, maps = false;

	l->out->variant = "legacy heap";
	if (!text_line(&l->lines, &line) || !parse_header(line, &h))
		return text_fault(&l->lines, l->out, ERR_CORRUPT,
				  "expected \"heap profile: count: bytes [count: bytes] @ "
				  "heap_v2/RATE\", heap/RATE, heapprofile or growth");
	all = (h.all_count != h.live_count && h.all_count) ||
	      (h.all_bytes != h.live_bytes && h.all_bytes);
	TRY(add_types(l->profile, all));
	l->profile->period = h.rate;
	TRY(dict_text(l->out->dict, "space", &l->profile->period_type.type));
	TRY(dict_text(l->out->dict, "bytes", &l->profile->period_type.unit));
	while (!maps && text_line(&l->lines, &line)) {
		if (legacy_is_comment(line))
			TRY(legacy_comment(l, line));
		else if (legacy_is_map_start(line))
			maps = true;
		else
			TRY(read_sample(l, &h, all, line));
	}
	return legacy_read_maps(l, !maps);
}
