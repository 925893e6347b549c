/*
 * The first pass over samples: values, and the content hash of every stack. It needs nothing of
 * the dictionary but what never changes. A sample that is not what every writer makes is left for
 * the second pass, which also says what is wrong with it.
 */
#include "format/pprof.h"

#define MAX_REMEMBERED	65536
/* Of inlined functions, in all stacks together. */
#define FRAMES_PER_BYTE 16
#define FRAMES_FREE	1000000

enum err pprof_sample_fault(struct pprof_file *f, size_t i, enum err e, const char *what,
			    uint64_t value)
{
	return pprof_fault(f, e, f->bytes.p + f->samples.v[i].at, "sample %zu: %s %llu", i, what,
			   (unsigned long long)value);
}

static struct span span_between(const struct pprof_file *f, const uint8_t *p, const uint8_t *end)
{
	return (struct span){(uint32_t)(p - (const uint8_t *)f->bytes.p), (uint32_t)(end - p)};
}

/* The length of an embedded field with this tag; false = something else stands here. */
static inline bool take_length(const uint8_t **p, const uint8_t *end, uint8_t tag, uint64_t *ret)
{
	if (*p >= end || **p != tag)
		return false;
	++*p;
	return pb_varint(p, end, ret) && *ret <= (size_t)(end - *p);
}

/*
 * The sample every writer makes: a packed run of locations, a packed run of values, perhaps
 * labels. False = not that simple.
 */
static bool scan_usual_sample(const struct pprof_file *f, struct span span, struct pprof_sample *s,
			      int64_t *values)
{
	const uint8_t *p = (const uint8_t *)f->bytes.p + span.at, *end = p + span.n;
	const uint8_t *file_end = (const uint8_t *)f->bytes.p + f->bytes.n, *values_end;
	size_t types = f->sample_types.n;
	uint64_t n, value;

	if (!take_length(&p, end, PPROF_SAMPLE_LOCATION << 3 | PB_BYTES, &n))
		return false;
	*s = (struct pprof_sample){.ids = span_between(f, p, p + n)};
	p += n;
	if (!take_length(&p, end, PPROF_SAMPLE_VALUE << 3 | PB_BYTES, &n))
		return false;
	values_end = p + n;
	for (size_t i = 0; i < types; i++) {
		if (!pb_varint_fast(&p, file_end, &value) || p > values_end)
			return false;
		values[i] = (int64_t)value;
	}
	if (p != values_end)
		return false;
	s->has_labels = p != end;
	/* Behind the values there may be labels, and nothing else. */
	while (p != end) {
		if (!take_length(&p, end, PPROF_SAMPLE_LABEL << 3 | PB_BYTES, &n))
			return false;
		p += n;
	}
	return true;
}

void pprof_scan_samples(struct pprof_file *f, size_t first, size_t n, struct pprof_sample *samples,
			int64_t *values)
{
	for (size_t i = 0; i < n; i++) {
		struct pprof_sample *s = &samples[i];

		if (!scan_usual_sample(f, f->samples.v[first + i], s,
				       values + i * f->sample_types.n))
			*s = (struct pprof_sample){.unusual = true};
		else if (!pprof_hash_stack(f, s->ids, &s->hash))
			s->hash = 0;
	}
}

static enum err take_values(struct pprof_file *f, size_t i, const struct pb *c, int64_t *values,
			    uint32_t *count)
{
	struct pb_packed run = pb_packed_of(c);
	size_t types = f->sample_types.n;
	uint64_t value;

	while (pb_packed_next(&run, &value)) {
		if (*count < types)
			values[*count] = (int64_t)value;
		++*count;
	}
	return run.failed
		       ? pprof_sample_fault(f, i, ERR_TRUNCATED, "value ends inside number", *count)
		       : ERR_OK;
}

enum err pprof_scan_any_sample(struct pprof_file *f, size_t i, struct pprof_sample *s,
			       int64_t *values)
{
	struct pb c = pprof_message(f, f->samples.v[i]);
	uint32_t value_count = 0;
	bool run = false;

	*s = (struct pprof_sample){0};
	while (pb_next(&c)) {
		if (c.field == PPROF_SAMPLE_LOCATION) {
			if (c.type != PB_BYTES || run) {
				s->scattered = true;
				continue;
			}
			run = true;
			s->ids = span_between(f, (const uint8_t *)c.bytes.p,
					      (const uint8_t *)c.bytes.p + c.bytes.n);
		} else if (c.field == PPROF_SAMPLE_VALUE) {
			TRY(take_values(f, i, &c, values, &value_count));
		} else if (c.field == PPROF_SAMPLE_LABEL) {
			s->has_labels = true;
		}
	}
	if (c.failed)
		return pprof_sample_fault(f, i, ERR_TRUNCATED, "cut or malformed after field",
					  c.field);
	if (value_count != f->profile->type_count)
		return pprof_fault(f, ERR_CORRUPT, f->bytes.p + f->samples.v[i].at,
				   "sample %zu has %u values, expected %u: one per sample_type", i,
				   value_count, f->profile->type_count);
	if (s->scattered || !pprof_hash_stack(f, s->ids, &s->hash))
		s->hash = 0;
	return ERR_OK;
}

enum err pprof_prepare_samples(struct pprof_file *f)
{
	size_t n = f->samples.n, types = f->sample_types.n;

	pprof_ids_init();
	f->frame_budget = (uint64_t)f->bytes.n * FRAMES_PER_BYTE + FRAMES_FREE;
	if (!n || n > MAX_REMEMBERED || !types || types > PROFILE_MAX_TYPES)
		return ERR_OK;
	f->sample_values = arena_alloc(&f->arena, n * types * sizeof(*f->sample_values));
	f->sample = arena_alloc(&f->arena, n * sizeof(*f->sample));
	if (!f->sample_values || !f->sample)
		return ERR_NO_MEMORY;
	pprof_scan_samples(f, 0, n, f->sample, f->sample_values);
	return ERR_OK;
}
