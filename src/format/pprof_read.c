/*
 * pprof (profile.proto): recognising a file and reading it. pprof.h tells how the parts fit.
 */
#include "format/formats_internal.h"
#include "format/pprof.h"

#define SNIFF_ENTRIES 250

/* How sure we are that these bytes are a Profile: its fields with their wire types, and a
 * string table whose first entry is empty. */
int pprof_sniff(struct str head)
{
	struct pb c = pb_of(head);
	unsigned known = 0, strings = 0;
	bool first_empty = false, typed = false;

	while (known < SNIFF_ENTRIES && pb_next(&c)) {
		bool number = c.field == PPROF_DROP_FRAMES || c.field == PPROF_KEEP_FRAMES ||
			      c.field == PPROF_TIME_NANOS || c.field == PPROF_DURATION_NANOS ||
			      c.field == PPROF_PERIOD || c.field == PPROF_DEFAULT_SAMPLE_TYPE ||
			      c.field == PPROF_DOC_URL;

		if (c.field > PPROF_DOC_URL)
			continue;
		if (c.field != PPROF_COMMENT && c.type != (number ? PB_VARINT : PB_BYTES))
			return 0;
		if (c.field == PPROF_STRING_TABLE && !strings++)
			first_empty = !c.bytes.n;
		/* A ValueType is a few bytes of numbers, not a resource with attributes. */
		if (c.field == PPROF_SAMPLE_TYPE) {
			if (c.bytes.n > 32)
				return 0;
			typed = true;
		}
		known++;
	}
	if (!known)
		return 0;
	if (c.failed)
		return typed && known > 3 ? 40 : 0;
	if (strings)
		return first_empty ? 90 : 60;
	/* Strings come last: of a large file only the beginning was seen. */
	if (known == SNIFF_ENTRIES)
		return typed ? 85 : 50;
	return known > 1 ? 30 : 10;
}

static enum err read_value_type(struct pprof_file *f, struct span span, struct value_type *ret)
{
	struct pb c = pb_of(str_n(f->bytes.p + span.at, span.n));

	*ret = (struct value_type){0};
	while (pb_next(&c)) {
		if (c.type != PB_VARINT)
			continue;
		if (c.field == PPROF_VALUE_TYPE)
			TRY(pprof_intern_string(f, c.value, &ret->type));
		else if (c.field == PPROF_VALUE_UNIT)
			TRY(pprof_intern_string(f, c.value, &ret->unit));
	}
	if (c.failed)
		return pprof_fault(f, ERR_TRUNCATED, f->bytes.p + span.at, "a ValueType is cut");
	return ERR_OK;
}

static enum err read_sample_types(struct pprof_file *f)
{
	struct profile *p = f->profile;

	if (f->sample_types.n > PROFILE_MAX_TYPES)
		return pprof_fault(f, ERR_TOO_LARGE, NULL, "%zu sample types, more than %d",
				   f->sample_types.n, PROFILE_MAX_TYPES);
	for (size_t i = 0; i < f->sample_types.n; i++) {
		TRY(read_value_type(f, f->sample_types.v[i], &p->types[i]));
		p->type_count++;
	}
	return ERR_OK;
}

static enum err read_default_type(struct pprof_file *f)
{
	struct profile *p = f->profile;
	uint32_t name;

	if (!f->default_type)
		return ERR_OK;
	TRY(pprof_intern_string(f, f->default_type, &name));
	for (uint32_t i = 0; i < p->type_count && p->default_type < 0; i++)
		if (p->types[i].type == name)
			p->default_type = (int)i;
	if (p->default_type < 0)
		notes_add(&f->out->notes, "default_sample_type names no sample type of the file");
	return ERR_OK;
}

static enum err read_header(struct pprof_file *f)
{
	struct profile *p = f->profile;
	uint32_t text;

	p->time_ns = f->time_ns;
	p->duration_ns = f->duration_ns;
	p->period = f->period;
	TRY(read_sample_types(f));
	TRY(read_default_type(f));
	if (f->has_period_type)
		TRY(read_value_type(f, f->period_type, &p->period_type));
	TRY(pprof_intern_string(f, f->drop_frames, &p->drop_frames));
	TRY(pprof_intern_string(f, f->keep_frames, &p->keep_frames));
	TRY(pprof_intern_string(f, f->doc_url, &p->doc_url));
	for (size_t i = 0; i < f->comments.n; i++) {
		TRY(pprof_intern_string(f, f->comments.v[i], &text));
		TRY(vec_push(&p->comments, text));
	}
	for (uint32_t i = 0; i < f->mappings.n; i++) {
		TRY(pprof_intern_mapping(f, i, &text));
		TRY(vec_push(&p->mappings, text));
	}
	return ERR_OK;
}

static void file_release(struct pprof_file *f)
{
	vec_release(&f->samples);
	vec_release(&f->mappings);
	vec_release(&f->locations);
	vec_release(&f->functions);
	vec_release(&f->strings);
	vec_release(&f->sample_types);
	vec_release(&f->comments);
	vec_release(&f->inlined);
	vec_release(&f->line_hash);
	vec_release(&f->raw_lines);
	vec_release(&f->frames);
	map_release(&f->function_ids.sparse);
	map_release(&f->mapping_ids.sparse);
	map_release(&f->sparse_locations.sparse);
	arena_release(&f->arena);
}

/* All that hashes; nothing of it changes the dictionary. */
static enum err first_step(struct pprof_file *f)
{
	TRY(pprof_scan(f));
	TRY(pprof_tables(f));
	TRY(pprof_locations(f));
	return pprof_prepare_samples(f);
}

static enum err second_step(struct pprof_file *f)
{
	TRY(profile_list_add(f->out->list, f->out->dict, &f->profile));
	TRY(read_header(f));
	return pprof_samples(f);
}

enum err pprof_read(struct str bytes, struct reading *out)
{
	struct pprof_file f = {.bytes = bytes, .out = out, .keys = out->dict};
	enum err e = first_step(&f);

	if (!e)
		e = second_step(&f);
	file_release(&f);
	return e;
}

/* A file between both steps; what the first noticed is kept for the second. */
struct pprof_prepared {
	struct pprof_file file;
	struct reading early;
};

void pprof_release_prepared(void *prepared)
{
	struct pprof_prepared *p = prepared;

	notes_release(&p->early.notes);
	file_release(&p->file);
	mem_free(p);
}

void *pprof_prepare(struct str bytes, const struct dict *d, const struct limits *limits)
{
	struct pprof_prepared *p = mem_zalloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->early.limits = *limits;
	p->file.bytes = bytes;
	p->file.keys = d;
	p->file.out = &p->early;
	if (first_step(&p->file)) {
		pprof_release_prepared(p);
		return NULL;
	}
	return p;
}

enum err pprof_read_prepared(void *prepared, struct reading *out)
{
	struct pprof_prepared *p = prepared;

	out->notes = p->early.notes;
	p->early.notes = (struct notes){0};
	p->file.out = out;
	return second_step(&p->file);
}
