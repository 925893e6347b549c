/*
 * OTLP profiles. The service is known only when a resource has been read, and rows may name
 * another: so a request is decoded into a dictionary of its own.
 */
#include "pipeline/hand_over.h"
#include "pipeline/resource_labels.h"

struct exporting {
	struct receive *r;
	struct decoding d;
	struct rejects rejects;
	struct series_labels labels;
	uint32_t resource, attributes; /* that the labels were made of */
	struct arena arena;
	enum err first; /* of what the sink rejected */
};

/* Profiles of one resource mostly follow each other. */
static enum err make_labels(struct exporting *x, const struct profile *p, struct fault *fault)
{
	if (x->labels.n && x->resource == p->resource && x->attributes == p->attributes)
		return ERR_OK;
	series_labels_init(&x->labels, &x->r->limits);
	x->labels.lenient = &x->r->result.notes;
	x->resource = p->resource;
	x->attributes = p->attributes;
	return resource_labels_add(&x->labels, p, &x->arena, fault);
}

static enum err take_profile(struct exporting *x, struct profile *p, struct fault *fault)
{
	struct address to = {.services = true};

	TRY(make_labels(x, p, fault));
	to.labels = &x->labels;
	for (uint32_t i = 0; i < p->type_count; i++)
		TRY(type_id_of_column(&x->arena, p, i, &to.types[i]));
	address_when(&to, p->time_ns, p->duration_ns, x->r->now_ns);
	return hand_over(x->r, &to, p, fault);
}

static enum err take_profiles(struct exporting *x, struct fault *fault)
{
	struct profile_list *list = &x->d.list;

	for (size_t i = 0; i < list->n; i++) {
		struct fault reason = {0};
		enum err e = take_profile(x, list->v[i], &reason);

		if (!e)
			continue;
		if (!is_rejection(e)) {
			if (fault)
				*fault = reason;
			return e;
		}
		if (!x->first)
			x->first = e;
		reject(x->r, 1, e, &reason);
	}
	return ERR_OK;
}

static enum err read_request(struct exporting *x, struct str body, bool json, struct fault *fault)
{
	struct receive *r = x->r;

	x->d.out.rejects = &x->rejects;
	TRY(decoding_read(&x->d, body, &formats[json ? FORMAT_OTLP_JSON : FORMAT_OTLP], NULL,
			  fault));
	if (x->rejects.n) {
		x->first = x->rejects.reason.code;
		reject(r, x->rejects.n, x->first, &x->rejects.reason);
	}
	TRY(take_profiles(x, fault));
	if (!x->first || r->result.profiles)
		return ERR_OK;
	if (fault)
		*fault = r->result.reason;
	return x->first;
}

enum err receive_otlp_profiles(struct receive *r, struct str body, bool json, struct fault *fault)
{
	struct exporting x;
	enum err e;

	x.r = r;
	x.rejects = (struct rejects){0};
	x.labels.n = 0;
	x.first = ERR_OK;
	if (!body.n)
		return ERR_OK;
	TRY(decoding_init(&x.d, r, NULL, fault));
	arena_init(&x.arena, (size_t)256 << 20);
	e = read_request(&x, body, json, fault);
	arena_release(&x.arena);
	decoding_release(&x.d);
	return e;
}
