/*
 * pprof by /ingest: a raw body, or a form with the parts
 *
 *	profile             the profile, compressed or not
 *	sample_type_config  JSON: {"inuse_space": {"display-name": "…", "units": …, …}, …}
 *	prev_profile        sent by clients that are too old: refused
 */
#include "pipeline/ingest.h"
#include "pipeline/rename_functions.h"

static void take_display_name(struct json *j, struct str type, struct arena *arena,
			      struct display_names *names)
{
	struct label_pair pair = {type, {NULL, 0}};
	struct str key;

	if (json_object(j))
		while (json_key(j, &key)) {
			if (str_eq(key, STR("display-name")))
				json_string_keep(j, arena, &pair.value);
			else
				json_skip(j);
		}
	if (names->n < PROFILE_MAX_TYPES)
		names->v[names->n++] = pair;
}

static enum err read_config(struct ingest *in, struct str text, struct display_names *names,
			    struct fault *fault)
{
	struct reading out = {.limits = in->r->limits.format};
	struct json j;
	struct str key;
	enum err e;

	names->given = true;
	json_init(&j, text, "sample_type_config", 16, &out);
	if (json_object(&j))
		while (json_key(&j, &key)) {
			struct str type = {arena_copy(&in->arena, key), key.n};

			if (!type.p) {
				json_fail(&j, ERR_NO_MEMORY, "out of memory");
				break;
			}
			take_display_name(&j, type, &in->arena, names);
		}
	e = json_finish(&j);
	json_release(&j);
	if (e && fault)
		*fault = out.fault;
	return e;
}

static enum err read_form(struct ingest *in, struct str *ret_profile, struct display_names *names,
			  struct fault *fault)
{
	static const char *const parts[] = {"profile", "prev_profile", "sample_type_config"};
	struct str found[3];

	TRY(ingest_form(in, parts, found, 3, fault));
	if (found[1].p)
		return fault_set(fault, ERR_UNSUPPORTED,
				 "the client sends prev_profile, which is no longer supported: "
				 "update github.com/grafana/pyroscope-go");
	if (found[2].n)
		TRY(read_config(in, found[2], names, fault));
	*ret_profile = found[0];
	return ERR_OK;
}

static enum err address_profile(struct ingest *in, const struct profile *p,
				const struct display_names *names, struct address *to)
{
	struct str name = type_name_of_pprof(p, names);

	for (uint32_t i = 0; i < p->type_count; i++) {
		struct type_words words = type_words_of(p, i);

		words.name = name;
		TRY(type_id_make_pyroscope(&in->arena, &words, &to->types[i]));
	}
	to->labels = &in->labels;
	ingest_window(in, p, true, to);
	return ERR_OK;
}

/* The function that renames functions for some clients; NULL for others. */
static function_name_fn naming_of(struct str spy)
{
	if (str_eq(spy, STR("pyspy")))
		return python_name;
	return str_eq(spy, STR("rbspy")) || str_eq(spy, STR("scripting")) ? script_name : NULL;
}

static enum err take_profile(struct ingest *in, struct decoding *d, struct str bytes,
			     const struct display_names *names, struct fault *fault)
{
	struct address to;
	struct profile *p;

	TRY(decoding_read(d, bytes, &formats[FORMAT_PPROF], NULL, fault));
	p = d->list.v[0];
	to.contexts = NULL;
	to.services = false;
	TRY(address_profile(in, p, names, &to));
	if (naming_of(in->spy))
		TRY(rename_functions(p, naming_of(in->spy)));
	return hand_over(in->r, &to, p, fault);
}

enum err ingest_pprof(struct ingest *in, bool form, struct fault *fault)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT(0);
	struct display_names names;
	struct str bytes = in->request->body, service;
	struct decoding d;
	enum err e;

	names.given = false;
	names.n = 0;
	if (form)
		TRY(read_form(in, &bytes, &names, fault));
	TRY(ingest_labels(in, in->name.service, false, fault));
	if (!bytes.n)
		return ERR_OK;
	/* Before others have to wait for the service's dictionary. */
	TRY(decoding_unpack(in->r, &bytes, &plain, fault));
	/* Names that are changed afterwards have no place in the sink's dictionary. */
	service = series_labels_service(&in->labels);
	TRY(decoding_init(&d, in->r, naming_of(in->spy) ? NULL : &service, fault));
	e = take_profile(in, &d, bytes, &names, fault);
	decoding_release(&d);
	return e;
}
