#include <stdio.h>

#include "base/clock.h"
#include "base/jsonout.h"
#include "cli/show_facts.h"

static void put_label_value(struct jsonout *j, const struct dict *d, const struct label *l)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 22);

	if (l->type == LABEL_INT) {
		jsonout_i64(j, l->value);
		return;
	}
	label_value(d, l, &text);
	jsonout_str(j, buf_view(&text));
}

static void put_types(struct jsonout *j, const struct facts *f)
{
	const struct profile *p = f->p;

	jsonout_put_array(j, "types");
	for (uint32_t i = 0; i < p->type_count; i++) {
		jsonout_object(j);
		jsonout_put_str(j, "type", dict_str(p->dict, p->types[i].type));
		jsonout_put_str(j, "unit", dict_str(p->dict, p->types[i].unit));
		jsonout_put_i64(j, "total", f->types[i].total);
		jsonout_put_bool(j, "default", (int)i == profile_default_type(p));
		jsonout_end_object(j);
	}
	jsonout_end_array(j);
}

static void put_labels(struct jsonout *j, const struct facts *f)
{
	const struct dict *d = f->p->dict;

	jsonout_put_array(j, "labels");
	vec_for_each (fact, &f->labels) {
		jsonout_object(j);
		jsonout_put_str(j, "key", dict_str(d, fact->key));
		jsonout_put_u64(j, "values", fact->values.n);
		jsonout_put_u64(j, "samples", fact->rows);
		jsonout_put_array(j, "examples");
		for (size_t i = 0; i < fact->values.n && i < FACT_EXAMPLES; i++)
			put_label_value(j, d, &d->labels.v[fact->values.v[i]]);
		jsonout_end_array(j);
		jsonout_end_object(j);
	}
	jsonout_end_array(j);
}

static void put_mappings(struct jsonout *j, const struct facts *f)
{
	const struct dict *d = f->p->dict;

	jsonout_put_array(j, "mappings");
	vec_for_each (id, &f->mappings) {
		const struct mapping *m = &d->mappings.v[*id];

		jsonout_object(j);
		jsonout_put_str(j, "file", dict_str(d, m->file));
		jsonout_put_str(j, "build_id", dict_str(d, m->build_id));
		jsonout_end_object(j);
	}
	jsonout_end_array(j);
}

static void put_attributes(struct jsonout *j, const struct dict *d, const char *key, uint32_t set)
{
	uint32_t n;
	const uint32_t *items = label_set_items(d, set, &n);

	jsonout_put_object(j, key);
	for (uint32_t i = 0; i < n; i++) {
		const struct label *l = &d->labels.v[items[i]];

		jsonout_key(j, dict_str(d, l->key));
		put_label_value(j, d, l);
	}
	jsonout_end_object(j);
}

static void put_times(struct jsonout *j, const struct profile *p)
{
	char text[CLOCK_TEXT_SIZE];

	jsonout_put_text(j, "time", p->time_ns ? clock_format(p->time_ns, 9, text) : NULL);
	jsonout_put_i64(j, "time_ns", p->time_ns);
	jsonout_put_i64(j, "duration_ns", p->duration_ns);
	jsonout_put_object(j, "period");
	jsonout_put_str(j, "type", dict_str(p->dict, p->period_type.type));
	jsonout_put_str(j, "unit", dict_str(p->dict, p->period_type.unit));
	jsonout_put_i64(j, "value", p->period);
	jsonout_end_object(j);
}

static void put_notes(struct jsonout *j, const char *key, const struct notes *notes)
{
	jsonout_put_array(j, key);
	vec_for_each (note, &notes->list) {
		jsonout_object(j);
		jsonout_put_text(j, "text", note->text);
		jsonout_put_u64(j, "count", note->count);
		jsonout_end_object(j);
	}
	jsonout_end_array(j);
}

static void put_profile(struct jsonout *j, const struct facts *f, const struct notes *remarks)
{
	const struct profile *p = f->p;

	jsonout_object(j);
	put_types(j, f);
	put_times(j, p);
	jsonout_put_u64(j, "samples", p->row_count);
	jsonout_put_u64(j, "stacks", f->stacks);
	jsonout_put_u64(j, "functions", f->functions);
	jsonout_put_u64(j, "deepest_stack", f->deepest);
	jsonout_put_double(j, "unsymbolised_share", facts_unsymbolised(f));
	jsonout_put_u64(j, "links", f->links);
	jsonout_put_u64(j, "linked_samples", f->linked_rows);
	jsonout_put_u64(j, "timed_samples", f->timed_rows);
	put_mappings(j, f);
	put_labels(j, f);
	put_attributes(j, p->dict, "resource", p->resource);
	put_attributes(j, p->dict, "attributes", p->attributes);
	jsonout_put_array(j, "comments");
	vec_for_each (comment, &p->comments)
		jsonout_str(j, dict_str(p->dict, *comment));
	jsonout_end_array(j);
	jsonout_put_str(j, "drop_frames", dict_str(p->dict, p->drop_frames));
	jsonout_put_str(j, "keep_frames", dict_str(p->dict, p->keep_frames));
	jsonout_put_str(j, "doc_url", dict_str(p->dict, p->doc_url));
	put_notes(j, "problems", remarks);
	jsonout_end_object(j);
}

void show_json(const struct show_report *reports, size_t n, struct buf *out)
{
	struct jsonout j = jsonout_of(out, true);

	jsonout_object(&j);
	jsonout_put_text(&j, "schema", "vestal.show/1");
	jsonout_put_array(&j, "files");
	for (size_t i = 0; i < n; i++) {
		const struct show_report *r = &reports[i];

		jsonout_object(&j);
		jsonout_put_text(&j, "name", r->source->name);
		jsonout_put_text(&j, "format", r->source->format->name);
		jsonout_put_text(&j, "variant", r->source->variant);
		jsonout_put_text(&j, "compression", r->source->compression);
		jsonout_put_u64(&j, "bytes", r->source->file_bytes);
		jsonout_put_u64(&j, "plain_bytes", r->source->plain_bytes);
		put_notes(&j, "notes", &r->source->notes);
		jsonout_put_array(&j, "profiles");
		for (size_t k = 0; k < r->list->n; k++)
			put_profile(&j, &r->facts[k], &r->remarks[k]);
		jsonout_end_array(&j);
		jsonout_end_object(&j);
	}
	jsonout_end_array(&j);
	jsonout_end_object(&j);
	buf_byte(out, '\n');
}
