#include <inttypes.h>

#include "base/clock.h"
#include "cli/show_facts.h"
#include "cli/table.h"
#include "cli/units.h"

#define SHOWN_MAPPINGS 5
#define SHOWN_LABELS   20

static void field(struct buf *out, const char *name)
{
	buf_printf(out, "  %-11s ", name);
}

static void put_bytes(struct buf *out, size_t n)
{
	struct scale s = scale_of((int64_t)n, STR("bytes"));

	scale_put(out, &s, (double)n);
}

static void put_file(const struct source *s, struct buf *out)
{
	text_clean(out, str_of(s->name));
	buf_byte(out, '\n');
	field(out, "format");
	buf_text(out, s->format->title);
	if (s->variant)
		buf_printf(out, ", %s", s->variant);
	buf_byte(out, '\n');
	field(out, "size");
	put_bytes(out, s->file_bytes);
	if (strcmp(s->compression, "none") != 0) {
		buf_printf(out, ", %s, ", s->compression);
		put_bytes(out, s->plain_bytes);
		buf_text(out, " unpacked");
	}
	buf_byte(out, '\n');
}

static void put_types(const struct facts *f, struct buf *out)
{
	const struct profile *p = f->p;

	for (uint32_t i = 0; i < p->type_count; i++) {
		struct str unit = dict_str(p->dict, p->types[i].unit);
		struct scale s = scale_of(f->types[i].total, unit);

		field(out, i ? "" : "types");
		text_clean(out, dict_str(p->dict, p->types[i].type));
		if (unit.n) {
			buf_byte(out, '/');
			text_clean(out, unit);
		}
		buf_text(out, ", total ");
		scale_put(out, &s, (double)f->types[i].total);
		if (type_is_gauge(dict_str(p->dict, p->types[i].type), unit))
			buf_text(out, ", a level");
		if ((int)i == profile_default_type(p) && p->type_count > 1)
			buf_text(out, "  <- default");
		buf_byte(out, '\n');
	}
}

static void put_times(const struct facts *f, struct buf *out)
{
	const struct profile *p = f->p;
	char text[CLOCK_TEXT_SIZE], last[CLOCK_TEXT_SIZE];

	if (p->time_ns || p->duration_ns) {
		struct scale s = scale_of(p->duration_ns, STR("nanoseconds"));

		field(out, "time");
		if (p->time_ns)
			buf_text(out, clock_format(p->time_ns, 3, text));
		if (p->duration_ns) {
			buf_text(out, p->time_ns ? " for " : "");
			scale_put(out, &s, (double)p->duration_ns);
			buf_text(out, p->time_ns ? "" : ", begin not known");
		}
		buf_byte(out, '\n');
	}
	if (f->timed_rows) {
		field(out, "sample times");
		buf_printf(out, "%s to %s\n", clock_format(f->first_time, 3, text),
			   clock_format(f->last_time, 3, last));
	}
	if (p->period) {
		struct str unit = dict_str(p->dict, p->period_type.unit);
		struct scale s = scale_of(p->period, unit);

		field(out, "period");
		scale_put(out, &s, (double)p->period);
		buf_text(out, " of ");
		text_clean(out, dict_str(p->dict, p->period_type.type));
		buf_byte(out, '\n');
	}
}

static void put_counts(const struct facts *f, struct buf *out)
{
	field(out, "samples");
	buf_printf(out, "%zu, %" PRIu64 " distinct stacks, deepest %u frames\n", f->p->row_count,
		   f->stacks, f->deepest);
	field(out, "functions");
	buf_printf(out, "%" PRIu64, f->functions);
	if (f->frames_without_function)
		buf_printf(out, ", %.3g %% of frames without a name", facts_unsymbolised(f) * 100);
	buf_byte(out, '\n');
	if (f->links) {
		field(out, "links");
		buf_printf(out, "%" PRIu64 " spans, on %" PRIu64 " samples\n", f->links,
			   f->linked_rows);
	}
}

static void put_mappings(const struct facts *f, struct buf *out)
{
	const struct dict *d = f->p->dict;

	for (size_t i = 0; i < f->mappings.n && i < SHOWN_MAPPINGS; i++) {
		const struct mapping *m = &d->mappings.v[f->mappings.v[i]];

		field(out, i ? "" : "mappings");
		if (m->file)
			text_clean(out, dict_str(d, m->file));
		else
			buf_printf(out, "0x%" PRIx64 "-0x%" PRIx64, m->start, m->limit);
		if (m->build_id) {
			buf_text(out, "  build id ");
			text_clean(out, dict_str(d, m->build_id));
		}
		buf_byte(out, '\n');
	}
	if (f->mappings.n > SHOWN_MAPPINGS) {
		field(out, "");
		buf_printf(out, "and %zu more\n", f->mappings.n - SHOWN_MAPPINGS);
	}
}

static void put_label(struct buf *out, const struct dict *d, const struct label *l)
{
	CLEANUP(buf_release) struct buf raw = BUF_INIT(1 << 22);
	CLEANUP(buf_release) struct buf clean = BUF_INIT(1 << 23);

	label_value(d, l, &raw);
	text_clean(&clean, buf_view(&raw));
	text_cut(out, buf_view(&clean), 60);
	if (l->unit) {
		buf_byte(out, ' ');
		text_clean(out, dict_str(d, l->unit));
	}
}

static void put_labels(const struct facts *f, struct buf *out)
{
	const struct dict *d = f->p->dict;

	for (size_t i = 0; i < f->labels.n && i < SHOWN_LABELS; i++) {
		const struct label_fact *fact = &f->labels.v[i];

		field(out, i ? "" : "labels");
		text_clean(out, dict_str(d, fact->key));
		buf_printf(out, ": %zu value%s (", fact->values.n, fact->values.n == 1 ? "" : "s");
		for (size_t k = 0; k < fact->values.n && k < FACT_EXAMPLES; k++) {
			if (k)
				buf_text(out, ", ");
			put_label(out, d, &d->labels.v[fact->values.v[k]]);
		}
		buf_printf(out, "%s) on %" PRIu64 " samples\n",
			   fact->values.n > FACT_EXAMPLES ? ", …" : "", fact->rows);
	}
	if (f->labels.n > SHOWN_LABELS) {
		field(out, "");
		buf_printf(out, "and %zu more keys\n", f->labels.n - SHOWN_LABELS);
	}
}

static void put_attributes(const struct dict *d, uint32_t set, const char *name, struct buf *out)
{
	uint32_t n;
	const uint32_t *items = label_set_items(d, set, &n);

	for (uint32_t i = 0; i < n; i++) {
		const struct label *l = &d->labels.v[items[i]];

		field(out, i ? "" : name);
		text_clean(out, dict_str(d, l->key));
		buf_byte(out, '=');
		put_label(out, d, l);
		buf_byte(out, '\n');
	}
}

static void put_text_field(const struct dict *d, uint32_t text, const char *name, struct buf *out)
{
	if (!text)
		return;
	field(out, name);
	text_clean(out, dict_str(d, text));
	buf_byte(out, '\n');
}

static void put_note(struct buf *out, bool first, const struct note *note)
{
	field(out, first ? "looks wrong" : "");
	text_clean(out, str_of(note->text));
	if (note->count > 1)
		buf_printf(out, " (%" PRIu64 " times)", note->count);
	buf_byte(out, '\n');
}

static void put_profile(const struct show_report *r, size_t i, struct buf *out)
{
	const struct facts *f = &r->facts[i];
	const struct profile *p = f->p;
	bool first = true;

	put_types(f, out);
	put_times(f, out);
	put_counts(f, out);
	put_mappings(f, out);
	put_labels(f, out);
	put_attributes(p->dict, p->resource, "resource", out);
	put_attributes(p->dict, p->attributes, "attributes", out);
	put_text_field(p->dict, p->drop_frames, "drop frames", out);
	put_text_field(p->dict, p->keep_frames, "keep frames", out);
	put_text_field(p->dict, p->doc_url, "doc", out);
	for (size_t k = 0; k < p->comments.n; k++)
		put_text_field(p->dict, p->comments.v[k], k ? "" : "comments", out);
	if (i == 0) {
		vec_for_each (note, &r->source->notes.list) {
			put_note(out, first, note);
			first = false;
		}
	}
	vec_for_each (note, &r->remarks[i].list) {
		put_note(out, first, note);
		first = false;
	}
}

void show_text(const struct show_report *r, struct buf *out)
{
	put_file(r->source, out);
	for (size_t i = 0; i < r->list->n; i++) {
		if (r->list->n > 1)
			buf_printf(out, " profile %zu of %zu\n", i + 1, r->list->n);
		put_profile(r, i, out);
	}
	if (!r->list->n) {
		field(out, "looks wrong");
		buf_text(out, "contains no profile\n");
	}
}
