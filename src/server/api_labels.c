/*
 * /api/v1: what there is to ask about. Without a range these look at everything that is kept.
 */
#include "base/clock.h"
#include "server/api.h"
#include "server/completeness_ask.h"

#define VALUES_PREFIX "/api/v1/labels/"
#define MAX_SPANS     1000

static enum err select_all(struct inquiry *q)
{
	struct request *r = q->request;
	int64_t from = 0, until = INT64_MAX;

	if (parameter(r, "from").n || parameter(r, "until").n)
		TRY(parameter_range(r, "from", "until", &from, &until, q->fault));
	return inquiry_select(q, parameter(r, "query"), parameter(r, "type"), from, until);
}

static void put_texts(struct jsonout *o, const char *schema, const char *key,
		      const struct text_answer *answer)
{
	jsonout_object(o);
	jsonout_put_text(o, "schema", schema);
	jsonout_put_array(o, key);
	for (size_t i = 0; i < answer->n; i++)
		jsonout_str(o, answer->v[i]);
	jsonout_end_array(o);
	jsonout_put_bool(o, "more", answer->more);
	jsonout_end_object(o);
}

static enum err answer_names(struct inquiry *q, struct jsonout *o)
{
	struct text_answer names = {0};

	TRY(select_all(q));
	TRY(store_label_names(q->request->server->store, q->request->tenant, &q->selection, &q->ask,
			      &names));
	put_texts(o, "vestal.labels/1", "names", &names);
	arena_release(&names.arena);
	return ERR_OK;
}

void api_label_names(struct request *r)
{
	api_answer(r, answer_names);
}

static enum err put_values(struct inquiry *q, struct str label, const char *schema, const char *key,
			   struct jsonout *o)
{
	struct text_answer values = {0};
	uint32_t limit;

	TRY(parameter_count(q->request, "limit", 0, 0, INT32_MAX, &limit, q->fault));
	TRY(select_all(q));
	TRY(store_label_values(q->request->server->store, q->request->tenant, label, &q->selection,
			       limit, &q->ask, &values));
	put_texts(o, schema, key, &values);
	arena_release(&values.arena);
	return ERR_OK;
}

static enum err take_name(void *context, struct str name, struct str value)
{
	(void)value;
	*(struct str *)context = name;
	return ERR_OK;
}

/* …/labels/NAME, or …/labels/NAME/values; the name is encoded as a parameter's is. */
static enum err answer_values(struct inquiry *q, struct jsonout *o)
{
	struct http_exchange *x = q->request->x;
	struct str name = str_skip(x->path, str_search(x->path, STR(VALUES_PREFIX)));

	name = str_skip(name, sizeof(VALUES_PREFIX) - 1);
	if (str_ends(name, STR("/values")))
		name.n -= sizeof("/values") - 1;
	TRY(http_params(x, name, take_name, &name));
	if (!name.n)
		return fault_set(q->fault, ERR_BAD_ARGUMENT, "which label?");
	return put_values(q, name, "vestal.values/1", "values", o);
}

void api_label_values(struct request *r)
{
	api_answer(r, answer_values);
}

static enum err answer_services(struct inquiry *q, struct jsonout *o)
{
	return put_values(q, STR("service_name"), "vestal.services/1", "services", o);
}

void api_services(struct request *r)
{
	api_answer(r, answer_services);
}

/* ------------------------------------------------------------------ types */

static const char *short_name(struct str id)
{
	const struct profile_type *known = type_by_name(id);

	return known ? known->name : NULL;
}

static enum err answer_types(struct inquiry *q, struct jsonout *o)
{
	struct text_answer types = {0};

	TRY(select_all(q));
	if (parameter_flag(q->request, "all"))
		TRY(store_types(q->request->server->store, q->request->tenant, &q->selection,
				&q->ask, &types));
	else
		TRY(shown_types(q->request, &q->selection, &q->ask, &types));
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.types/1");
	jsonout_put_array(o, "types");
	for (size_t i = 0; i < types.n; i++) {
		struct type_parts parts = type_split(types.v[i]);

		jsonout_object(o);
		jsonout_put_str(o, "id", types.v[i]);
		jsonout_put_text(o, "name", short_name(types.v[i]));
		jsonout_put_str(o, "type", parts.sample_type);
		jsonout_put_str(o, "unit", parts.sample_unit);
		jsonout_put_bool(o, "gauge", type_is_gauge(parts.sample_type, parts.sample_unit));
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
	jsonout_end_object(o);
	arena_release(&types.arena);
	return ERR_OK;
}

void api_types(struct request *r)
{
	api_answer(r, answer_types);
}

/* ------------------------------------------------------------------ spans */

static void put_hex(struct jsonout *o, const char *key, const uint8_t *bytes, size_t n)
{
	char text[33];

	for (size_t i = 0; i < n; i++) {
		text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	jsonout_put_str(o, key, str_n(text, 2 * n));
}

static void put_span(struct jsonout *o, const struct trace_span *s)
{
	jsonout_object(o);
	put_hex(o, "trace_id", s->trace_id, 16);
	put_hex(o, "span_id", s->span_id, 8);
	put_hex(o, "parent_id", s->parent_id, 8);
	jsonout_put_str(o, "service", s->service);
	jsonout_put_str(o, "operation", s->operation);
	jsonout_put_u64(o, "kind", s->kind);
	jsonout_put_u64(o, "status", s->status);
	jsonout_put_i64(o, "start_ns", s->start_ns);
	jsonout_put_i64(o, "duration_ns", s->duration_ns);
	jsonout_put_object(o, "attributes");
	for (size_t i = 0; i < s->attribute_count; i++) {
		jsonout_key(o, s->attributes[i].name);
		jsonout_str(o, s->attributes[i].value);
	}
	jsonout_end_object(o);
	jsonout_end_object(o);
}

static enum err answer_spans(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	struct span_question what = {.service = parameter(r, "service"),
				     .operation = parameter(r, "operation")};
	struct span_answer answer = {0};
	uint32_t limit;

	TRY(parameter_range(r, "from", "until", &what.from_ns, &what.until_ns, q->fault));
	TRY(parameter_duration(r, "min_duration", 0, &what.min_duration_ns, q->fault));
	TRY(parameter_count(r, "limit", 100, 1, MAX_SPANS, &limit, q->fault));
	what.limit = limit;
	TRY(store_spans(r->server->store, r->tenant, &what, &q->ask, &answer));
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.spans/1");
	jsonout_put_array(o, "spans");
	for (size_t i = 0; i < answer.n; i++)
		put_span(o, &answer.v[i]);
	jsonout_end_array(o);
	jsonout_end_object(o);
	arena_release(&answer.arena);
	return ERR_OK;
}

void api_spans(struct request *r)
{
	api_answer(r, answer_spans);
}
