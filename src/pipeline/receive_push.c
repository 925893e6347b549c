/*
 * push.v1.PusherService/Push: series of pprof profiles whose name is the label __name__. A series
 * that is wrong is rejected with the reason, the others are taken.
 */
#include "pipeline/hand_over.h"
#include "pipeline/push_request.h"

struct pushing {
	struct receive *r;
	struct series_labels labels;
	struct str name;
	enum err first; /* of what was rejected */
};

static enum err read_labels(struct pushing *p, const struct push_series *series,
			    struct fault *fault)
{
	series_labels_init(&p->labels, &p->r->limits);
	p->name = (struct str){NULL, 0};
	for (size_t i = 0; i < series->label_count; i++) {
		const struct label_pair *l = &series->labels[i];

		if (str_eq(l->name, STR("__name__")))
			p->name = l->value;
		/* Twice the same name: the client must make up its mind. */
		if (series_labels_get(&p->labels, l->name).p)
			return fault_set(fault, ERR_BAD_ARGUMENT, "the label %.*s is there twice",
					 (int)(l->name.n < 60 ? l->name.n : 60), l->name.p);
		TRY(series_labels_add(&p->labels, l->name, l->value, fault));
	}
	if (!p->name.n)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "a series has no label __name__, which is the kind of profile");
	return ERR_OK;
}

static enum err address_profile(struct pushing *p, const struct profile *profile,
				struct arena *arena, struct address *to)
{
	for (uint32_t i = 0; i < profile->type_count; i++) {
		struct type_words words = type_words_of(profile, i);

		words.name = p->name;
		TRY(type_id_make_pyroscope(arena, &words, &to->types[i]));
	}
	to->labels = &p->labels;
	to->contexts = NULL;
	to->services = false;
	address_when(to, profile->time_ns, profile->duration_ns, p->r->now_ns);
	return ERR_OK;
}

static enum err push_decoded(struct pushing *p, struct profile *profile, struct fault *fault)
{
	struct address to;
	struct arena arena;
	enum err e;

	arena_init(&arena, (size_t)1 << 20);
	e = address_profile(p, profile, &arena, &to);
	if (!e)
		e = hand_over(p->r, &to, profile, fault);
	arena_release(&arena);
	return e;
}

static enum err push_profile(struct pushing *p, struct str bytes, struct fault *fault)
{
	struct str service = series_labels_service(&p->labels);
	struct decoding d;
	enum err e;

	if (!bytes.n)
		return ERR_OK;
	TRY(decoding_init(&d, p->r, &service, fault));
	e = decoding_read(&d, bytes, &formats[FORMAT_PPROF], NULL, fault);
	if (!e)
		e = push_decoded(p, d.list.v[0], fault);
	decoding_release(&d);
	return e;
}

static enum err count_rejection(struct pushing *p, uint64_t n, enum err e, struct fault *reason)
{
	if (!is_rejection(e))
		return e;
	if (!p->first)
		p->first = e;
	reject(p->r, n, e, reason);
	return ERR_OK;
}

static enum err take_series(void *context, const struct push_series *series, struct fault *fault)
{
	struct pushing *p = context;
	struct fault reason = {0};
	enum err e = read_labels(p, series, &reason);

	if (e)
		e = count_rejection(p, series->profile_count, e, &reason);
	else
		for (size_t i = 0; !e && i < series->profile_count; i++) {
			e = push_profile(p, series->profiles[i], &reason);
			if (e)
				e = count_rejection(p, 1, e, &reason);
			if (!e)
				reason = (struct fault){0};
		}
	if (e && fault)
		*fault = reason;
	return e;
}

enum err receive_push(struct receive *r, struct str body, bool json, struct fault *fault)
{
	struct pushing p = {.r = r};

	TRY(json ? push_request_read_json(body, &r->limits.format, take_series, &p, fault)
		 : push_request_read(body, &r->limits.format, take_series, &p, fault));
	if (!p.first || r->result.profiles)
		return ERR_OK;
	if (fault)
		*fault = r->result.reason;
	return p.first;
}
