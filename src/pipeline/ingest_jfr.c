/*
 * Recordings of Java: a raw body, or a form with the parts
 *
 *	jfr     the recording, compressed or not
 *	labels  what the numbers in it mean (jfr_contexts.h), compressed or not
 *
 * A recording becomes a profile per kind of event, with the names that Pyroscope gives them.
 */
#include "base/clock.h"
#include "pipeline/ingest.h"
#include "pipeline/jfr_types.h"
#include "pipeline/multipart.h"
#include "pipeline/rename_functions.h"

struct recording {
	struct ingest *in;
	struct decoding d;
	struct jfr_contexts contexts;
	struct buf labels; /* inflated: the contexts point into it */
};

static enum err read_labels(struct recording *rec, struct str bytes, struct fault *fault)
{
	struct receive *r = rec->in->r;
	const char *compression;

	if (!bytes.n)
		return ERR_OK;
	TRY(decompress(bytes, &r->limits.format, &rec->labels, &compression, fault));
	if (strcmp(compression, "none") != 0)
		bytes = buf_view(&rec->labels);
	return jfr_contexts_read(&rec->contexts, bytes, r->sink.seed, fault);
}

static enum err read_parts(struct recording *rec, struct str *ret, struct fault *fault)
{
	static const char *const parts[] = {"jfr", "labels"};
	struct str found[2];

	if (!multipart_is(rec->in->request->content_type)) {
		*ret = rec->in->request->body;
		return ERR_OK;
	}
	TRY(ingest_form(rec->in, parts, found, 2, fault));
	if (!found[0].p)
		return fault_set(fault, ERR_CORRUPT, "the form has no part \"jfr\"");
	*ret = found[0];
	return read_labels(rec, found[1], fault);
}

/* The client's rate, if the recording itself does not have it. */
static void apply_rate(const struct recording *rec, struct profile *p)
{
	if (!rec->d.out.assumed_interval || !rec->in->request->sample_rate.n ||
	    !rec->in->sample_rate || p->type_count != 2 || !jfr_is_time(p))
		return;
	for (size_t i = 0; i < p->row_count; i++) {
		__int128 ns = (__int128)p->values[2 * i] * NS_PER_S / rec->in->sample_rate;

		p->values[2 * i + 1] = ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
	}
}

static enum err take_profile(struct recording *rec, struct profile *p, struct fault *fault)
{
	struct ingest *in = rec->in;
	struct address to = {.labels = &in->labels, .contexts = &rec->contexts};

	apply_rate(rec, p);
	TRY(rename_functions(p, java_name));
	for (uint32_t i = 0; i < p->type_count; i++)
		TRY(jfr_type_id(p, i, &in->arena, &to.types[i]));
	ingest_window(in, p, false, &to);
	return hand_over(in->r, &to, p, fault);
}

static enum err take_recording(struct recording *rec, struct str bytes, struct fault *fault)
{
	struct ingest *in = rec->in;
	struct profile_list *list = &rec->d.list;

	TRY(decoding_read(&rec->d, bytes, &formats[FORMAT_JFR], NULL, fault));
	TRY(series_labels_add(&in->labels, STR("jfr_event"), str_of(rec->d.out.event), fault));
	TRY(jfr_add_cpu(list));
	for (size_t i = 0; i < list->n; i++)
		TRY(take_profile(rec, list->v[i], fault));
	return ERR_OK;
}

static enum err read_recording(struct recording *rec, struct fault *fault)
{
	struct str bytes;
	enum err e;

	TRY(read_parts(rec, &bytes, fault));
	TRY(ingest_labels(rec->in, rec->in->name.service, true, fault));
	if (!bytes.n)
		return ERR_OK;
	/* Names and labels are changed before the sink sees them: not in its dictionary. */
	TRY(decoding_init(&rec->d, rec->in->r, NULL, fault));
	e = take_recording(rec, bytes, fault);
	decoding_release(&rec->d);
	return e;
}

enum err ingest_jfr(struct ingest *in, struct fault *fault)
{
	struct recording rec = {.in = in};
	enum err e;

	buf_init(&rec.labels, 0);
	e = read_recording(&rec, fault);
	jfr_contexts_release(&rec.contexts);
	buf_release(&rec.labels);
	return e;
}
