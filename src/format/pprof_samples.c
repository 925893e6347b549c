/*
 * Samples: the hot loop of the product. In batches, first the content hash of every stack, with
 * the dictionary's slot prefetched; then the look-ups. A stack the dictionary has costs no more
 * than that; a new one is decoded again and interned.
 */
#include "base/hash.h"
#include "format/pprof.h"

#define BATCH		128
/* Of inlined functions, in all stacks together. */
#define FRAMES_PER_BYTE 16
#define FRAMES_FREE	1000000

struct sample {
	uint64_t hash;
	const uint8_t *ids, *ids_end; /* the one packed run of location ids */
	bool scattered;		      /* not one packed run: walk the message for ids */
	bool has_labels;
	struct str message;
};

struct sample_reader {
	struct pprof_file *f;
	struct sample batch[BATCH];
	int64_t *values;      /* BATCH rows */
	VEC(uint32_t) frames; /* scratch of the slow path */
	VEC(uint32_t) labels;
	struct map label_memo; /* hash of a sample's label bytes → label set */
};

static size_t sample_number(const struct pprof_file *f, const struct sample *s)
{
	for (size_t i = 0; i < f->samples.n; i++)
		if (f->bytes.p + f->samples.v[i].at == s->message.p)
			return i;
	return 0;
}

static enum err sample_fault(struct sample_reader *r, const struct sample *s, enum err e,
			     const char *what, uint64_t value)
{
	return pprof_fault(r->f, e, s->message.p, "sample %zu: %s %llu", sample_number(r->f, s),
			   what, (unsigned long long)value);
}

static struct pprof_location *find_location(const struct pprof_file *f, uint64_t id)
{
	uint32_t position;

	if (f->location_limit)
		return id < f->location_limit && f->location[id].lines ? &f->location[id] : NULL;
	position = id_table_get(&f->sparse_locations, id);
	return position == UINT32_MAX ? NULL : &f->location[position];
}

static enum err push_new_location(struct sample_reader *r, const struct sample *s,
				  struct pprof_location *l)
{
	const uint32_t *frames;
	uint32_t n;
	uint32_t position = l->lines == 1 ? l->at : r->f->inlined.v[l->at].position;

	/* Too deep already: intern_stack cuts it. */
	if (r->frames.n > r->f->out->limits.max_depth)
		return ERR_OK;
	/* What has a hash has paid in pprof_hash_stack. */
	if (!s->hash && l->lines > 1 && !pprof_spend_frames(r->f, l->lines))
		return pprof_fault(r->f, ERR_TOO_LARGE, s->message.p,
				   "stacks expand to far more inlined frames than an honest file "
				   "has, here at sample %zu",
				   sample_number(r->f, s));
	TRY(pprof_intern_location(r->f, position, &frames, &n));
	if (l->lines == 1) {
		l->at = frames[0];
		l->interned = 1;
	}
	return vec_append(&r->frames, frames, n);
}

static inline enum err push_location(struct sample_reader *r, const struct sample *s, uint64_t id)
{
	struct pprof_location *l = find_location(r->f, id);

	if (__builtin_expect(l && l->interned, 1))
		return vec_push(&r->frames, l->at);
	if (!l)
		return sample_fault(r, s, ERR_BAD_INDEX,
				    "no location of the file has the location_id", id);
	return push_new_location(r, s, l);
}

static enum err collect_packed(struct sample_reader *r, const struct sample *s)
{
	const uint8_t *p = s->ids;
	const uint8_t *file_end = (const uint8_t *)r->f->bytes.p + r->f->bytes.n;
	uint64_t id;

	while (p < s->ids_end) {
		if (!pb_varint_quick(&p, s->ids_end, file_end, &id))
			return sample_fault(r, s, ERR_TRUNCATED, "location_id ends inside number",
					    r->frames.n);
		TRY(push_location(r, s, id));
	}
	return ERR_OK;
}

/* Location ids one by one, or in several runs: legal, and rare. */
static enum err collect_scattered(struct sample_reader *r, const struct sample *s)
{
	struct pb c = pb_of(s->message);
	struct pb_packed run;
	uint64_t id;

	while (pb_next(&c)) {
		if (c.field != PPROF_SAMPLE_LOCATION)
			continue;
		run = pb_packed_of(&c);
		while (pb_packed_next(&run, &id))
			TRY(push_location(r, s, id));
		if (run.failed)
			return sample_fault(r, s, ERR_TRUNCATED, "location_id ends inside number",
					    r->frames.n);
	}
	return ERR_OK;
}

/* Interns the stack of a sample the dictionary does not have. */
static enum err intern_stack(struct sample_reader *r, const struct sample *s, uint32_t *ret)
{
	uint32_t max = r->f->out->limits.max_depth;

	r->frames.n = 0;
	TRY(s->scattered ? collect_scattered(r, s) : collect_packed(r, s));
	if (r->frames.n > max) {
		notes_add(&r->f->out->notes,
			  "a stack is deeper than %u frames: its root side was cut", max);
		r->frames.n = max;
	}
	if (s->hash)
		return dict_add_stack(r->f->out->dict, s->hash, r->frames.v, (uint32_t)r->frames.n,
				      ret);
	return dict_stack(r->f->out->dict, r->frames.v, (uint32_t)r->frames.n, ret);
}

static enum err take_values(struct sample_reader *r, const struct sample *s, const struct pb *c,
			    int64_t *values, uint32_t *count)
{
	struct pb_packed run = pb_packed_of(c);
	uint32_t types = r->f->profile->type_count;
	uint64_t value;

	while (pb_packed_next(&run, &value)) {
		if (*count < types)
			values[*count] = (int64_t)value;
		++*count;
	}
	return run.failed ? sample_fault(r, s, ERR_TRUNCATED, "value ends inside number", *count)
			  : ERR_OK;
}

/*
 * The sample every writer makes: a packed run of locations, a packed run of values, perhaps
 * labels. False = not that simple.
 */
static bool scan_usual_sample(struct sample_reader *r, struct sample *s, int64_t *values)
{
	const uint8_t *p = (const uint8_t *)s->message.p, *end = p + s->message.n;
	const uint8_t *file_end = (const uint8_t *)r->f->bytes.p + r->f->bytes.n;
	uint32_t types = r->f->profile->type_count;
	uint64_t n, value;

	if (p == end || *p++ != (PPROF_SAMPLE_LOCATION << 3 | PB_BYTES) ||
	    !pb_varint(&p, end, &n) || n > (size_t)(end - p))
		return false;
	s->ids = p;
	s->ids_end = p += n;
	if (p == end || *p++ != (PPROF_SAMPLE_VALUE << 3 | PB_BYTES) || !pb_varint(&p, end, &n) ||
	    n > (size_t)(end - p))
		return false;
	end = p + n;
	for (uint32_t i = 0; i < types; i++) {
		if (!pb_varint_fast(&p, file_end, &value) || p > end)
			return false;
		values[i] = (int64_t)value;
	}
	if (p != end)
		return false;
	end = (const uint8_t *)s->message.p + s->message.n;
	s->has_labels = p != end;
	/* Behind the values there may be labels, and nothing else. */
	while (p != end) {
		if (*p++ != (PPROF_SAMPLE_LABEL << 3 | PB_BYTES) || !pb_varint(&p, end, &n) ||
		    n > (size_t)(end - p))
			return false;
		p += n;
	}
	return true;
}

static enum err scan_any_sample(struct sample_reader *r, struct sample *s, int64_t *values)
{
	struct pprof_file *f = r->f;
	struct pb c = pb_of(s->message);
	uint32_t value_count = 0;

	*s = (struct sample){.message = s->message};
	while (pb_next(&c)) {
		if (c.field == PPROF_SAMPLE_LOCATION) {
			if (c.type != PB_BYTES || s->ids) {
				s->scattered = true;
				continue;
			}
			s->ids = (const uint8_t *)c.bytes.p;
			s->ids_end = s->ids + c.bytes.n;
		} else if (c.field == PPROF_SAMPLE_VALUE) {
			TRY(take_values(r, s, &c, values, &value_count));
		} else if (c.field == PPROF_SAMPLE_LABEL) {
			s->has_labels = true;
		}
	}
	if (c.failed)
		return sample_fault(r, s, ERR_TRUNCATED, "cut or malformed after field", c.field);
	if (value_count != f->profile->type_count)
		return pprof_fault(f, ERR_CORRUPT, s->message.p,
				   "sample %zu has %u values, expected %u: one per sample_type",
				   sample_number(f, s), value_count, f->profile->type_count);
	return ERR_OK;
}

static struct span span_between(const struct pprof_file *f, const uint8_t *p, const uint8_t *end)
{
	return p ? (struct span){(uint32_t)(p - (const uint8_t *)f->bytes.p), (uint32_t)(end - p)}
		 : (struct span){0};
}

/* First pass over a sample: its stack's hash, its values, whether it has labels. */
static enum err scan_sample(struct sample_reader *r, struct span span, struct sample *s,
			    int64_t *values)
{
	struct pprof_file *f = r->f;

	*s = (struct sample){.message = str_n(f->bytes.p + span.at, span.n)};
	if (!scan_usual_sample(r, s, values))
		TRY(scan_any_sample(r, s, values));
	if (s->scattered || !pprof_hash_stack(f, span_between(f, s->ids, s->ids_end), &s->hash))
		s->hash = 0;
	else
		map_prefetch(&f->out->dict->stacks.index, s->hash);
	return ERR_OK;
}

static enum err read_label(struct sample_reader *r, struct str bytes, struct label *ret)
{
	struct pb c = pb_of(bytes);
	uint32_t text = 0, id;
	uint64_t str_index = 0;
	bool has_number = false;

	*ret = (struct label){0};
	while (pb_next(&c)) {
		if (c.type != PB_VARINT)
			continue;
		switch (c.field) {
		case PPROF_LABEL_KEY:
			TRY(pprof_intern_string(r->f, c.value, &ret->key));
			break;
		case PPROF_LABEL_STR:
			str_index = c.value;
			TRY(pprof_intern_string(r->f, c.value, &text));
			break;
		case PPROF_LABEL_NUM:
			ret->value = (int64_t)c.value;
			has_number = true;
			break;
		case PPROF_LABEL_NUM_UNIT:
			TRY(pprof_intern_string(r->f, c.value, &id));
			ret->unit = id;
			break;
		}
	}
	if (c.failed)
		return pprof_fault(r->f, ERR_TRUNCATED, bytes.p, "a sample's label is cut");
	/* As google/pprof reads it: a string when there is one, a number when there is a number or
	 * a unit, and the empty string otherwise. */
	if (str_index || (!has_number && !ret->unit)) {
		ret->type = LABEL_STRING;
		ret->value = text;
		ret->unit = 0;
	} else {
		ret->type = LABEL_INT;
	}
	return ERR_OK;
}

static enum err intern_labels(struct sample_reader *r, const struct sample *s, uint32_t *ret)
{
	struct pb c = pb_of(s->message);
	struct label label;
	uint32_t id;

	r->labels.n = 0;
	while (pb_next(&c)) {
		if (c.field != PPROF_SAMPLE_LABEL || c.type != PB_BYTES)
			continue;
		if (r->labels.n >= 4096)
			return sample_fault(r, s, ERR_TOO_LARGE, "more labels than", r->labels.n);
		TRY(read_label(r, c.bytes, &label));
		TRY(dict_label(r->f->out->dict, &label, &id));
		TRY(vec_push(&r->labels, id));
	}
	return dict_label_set(r->f->out->dict, r->labels.v, (uint32_t)r->labels.n, ret);
}

/* Samples of a file mostly repeat a few label sets: equal bytes mean equal labels. */
static enum err find_labels(struct sample_reader *r, const struct sample *s, uint32_t *ret)
{
	struct pb c = pb_of(s->message);
	uint64_t hash = 0;
	uint32_t known;

	while (pb_next(&c))
		if (c.field == PPROF_SAMPLE_LABEL && c.type == PB_BYTES)
			hash = hash_bytes(c.bytes.p, c.bytes.n, hash ^ r->f->out->dict->seed);
	known = map_get(&r->label_memo, hash);
	if (known != MAP_NONE) {
		*ret = known;
		return ERR_OK;
	}
	TRY(intern_labels(r, s, ret));
	return map_put(&r->label_memo, hash, *ret);
}

static enum err add_sample(struct sample_reader *r, const struct sample *s, const int64_t *values)
{
	struct row row = {.stack = MAP_NONE};

	if (s->hash)
		row.stack = dict_find_stack(r->f->out->dict, s->hash);
	if (row.stack == MAP_NONE)
		TRY(intern_stack(r, s, &row.stack));
	if (s->has_labels)
		TRY(find_labels(r, s, &row.labels));
	return profile_add(r->f->profile, &row, values);
}

static enum err read_batch(struct sample_reader *r, size_t first, size_t n)
{
	uint32_t types = r->f->profile->type_count;

	for (size_t i = 0; i < n; i++)
		TRY(scan_sample(r, r->f->samples.v[first + i], &r->batch[i],
				r->values + i * types));
	for (size_t i = 0; i < n; i++)
		TRY(add_sample(r, &r->batch[i], r->values + i * types));
	return ERR_OK;
}

static enum err read_batches(struct sample_reader *r)
{
	size_t total = r->f->samples.n;

	TRY(profile_reserve(r->f->profile, total));
	for (size_t first = 0; first < total; first += BATCH)
		TRY(read_batch(r, first, total - first < BATCH ? total - first : BATCH));
	return ERR_OK;
}

enum err pprof_samples(struct pprof_file *f)
{
	struct sample_reader *r;
	enum err e;

	if (!f->samples.n)
		return ERR_OK;
	if (!f->profile->type_count)
		return pprof_fault(f, ERR_CORRUPT, NULL,
				   "there are samples but no sample_type says what they mean");
	if (f->samples.n > f->out->limits.max_samples)
		return pprof_fault(f, ERR_TOO_LARGE, NULL, "%zu samples, more than %llu",
				   f->samples.n, (unsigned long long)f->out->limits.max_samples);
	r = arena_zalloc(&f->arena, 1, sizeof(*r));
	if (!r)
		return ERR_NO_MEMORY;
	r->f = f;
	f->frame_budget = (uint64_t)f->bytes.n * FRAMES_PER_BYTE + FRAMES_FREE;
	r->values = arena_alloc(&f->arena, BATCH * f->profile->type_count * sizeof(int64_t));
	e = r->values ? read_batches(r) : ERR_NO_MEMORY;
	vec_release(&r->frames);
	vec_release(&r->labels);
	map_release(&r->label_memo);
	return e;
}
