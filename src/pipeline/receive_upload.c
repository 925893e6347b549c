/*
 * Any format of the file tool, with labels the caller gives. They win over what a file says of its
 * resource; without a service among them, the file's own is used.
 */
#include "pipeline/hand_over.h"
#include "pipeline/jfr_types.h"
#include "pipeline/rename_functions.h"
#include "pipeline/resource_labels.h"

#include "base/clock.h"

struct uploading {
	struct receive *r;
	const struct upload_request *request;
	struct decoding d;
	struct series_labels given;
	const struct format *format;
	struct arena arena;
};

static bool is_pprof(const struct format *f)
{
	return f->id == FORMAT_PPROF || f->id == FORMAT_LEGACY_PPROF;
}

static enum err make_types(struct uploading *u, const struct profile *p, struct address *to)
{
	for (uint32_t i = 0; i < p->type_count; i++) {
		struct type_words words = type_words_of(p, i);

		if (u->format->id == FORMAT_JFR) {
			TRY(jfr_type_id(p, i, &u->arena, &to->types[i]));
			continue;
		}
		if (!is_pprof(u->format)) {
			TRY(type_id_of_column(&u->arena, p, i, &to->types[i]));
			continue;
		}
		words.name = type_name_of_pprof(p, NULL);
		TRY(type_id_make_pyroscope(&u->arena, &words, &to->types[i]));
	}
	return ERR_OK;
}

static enum err take_profile(struct uploading *u, struct profile *p, struct fault *fault)
{
	const struct upload_request *q = u->request;
	struct address to = {.services = !series_labels_get(&u->given, STR("service_name")).p};
	struct series_labels labels = u->given;

	if (u->format->id == FORMAT_JFR)
		TRY(rename_functions(p, java_name));
	labels.lenient = &u->r->result.notes;
	TRY(resource_labels_add(&labels, p, &u->arena, fault));
	TRY(make_types(u, p, &to));
	to.labels = &labels;
	address_when(&to, q->time_ns ? q->time_ns : p->time_ns,
		     q->duration_ns > 0 ? q->duration_ns : p->duration_ns, u->r->now_ns);
	return hand_over(u->r, &to, p, fault);
}

static enum err take_file(struct uploading *u, const struct format *format, struct fault *fault)
{
	TRY(decoding_read(&u->d, u->request->body, format, &u->format, fault));
	if (u->format->id == FORMAT_JFR)
		TRY(jfr_add_cpu(&u->d.list));
	for (size_t i = 0; i < u->d.list.n; i++)
		TRY(take_profile(u, u->d.list.v[i], fault));
	return ERR_OK;
}

static enum err find_format(const struct upload_request *q, const struct format **ret,
			    struct fault *fault)
{
	*ret = NULL;
	if (!q->format.n)
		return ERR_OK;
	*ret = format_by_name(q->format);
	if (*ret && (*ret)->read)
		return ERR_OK;
	return fault_set(fault, ERR_BAD_ARGUMENT, "unknown input format \"%.*s\"",
			 (int)(q->format.n < 60 ? q->format.n : 60), q->format.p);
}

enum err receive_upload(struct receive *r, const struct upload_request *request,
			struct fault *fault)
{
	struct uploading u;
	const struct format *format;
	enum err e;

	u.r = r;
	u.request = request;
	TRY(find_format(request, &format, fault));
	series_labels_init(&u.given, &r->limits);
	for (size_t i = 0; i < request->label_count; i++)
		TRY(series_labels_add(&u.given, request->labels[i].name, request->labels[i].value,
				      fault));
	TRY(decoding_init(&u.d, r, NULL, fault));
	arena_init(&u.arena, (size_t)256 << 20);
	e = take_file(&u, format, fault);
	arena_release(&u.arena);
	decoding_release(&u.d);
	return e;
}
