/*
 * Pyroscope's querier service, the calls that say what there is: types, labels, series, statistics.
 */
#include "server/querier.h"
#include "server/completeness_ask.h"

#include "base/clock.h"

void *list_make(struct list *l, size_t n, size_t size, struct arena *scope)
{
	l->v = arena_zalloc(scope, n ? n : 1, size);
	l->n = l->v ? n : 0;
	return l->v;
}

enum err copy_str(struct arena *scope, struct str text, struct str *ret)
{
	const char *copy = arena_copy(scope, text);

	*ret = str_n(copy, copy ? text.n : 0);
	return copy ? ERR_OK : ERR_NO_MEMORY;
}

enum err copy_labels(struct arena *scope, const struct label_pair *labels, size_t n,
		     struct list *ret)
{
	struct label_message *out = list_make(ret, n, sizeof(*out), scope);

	if (!out)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		TRY(copy_str(scope, labels[i].name, &out[i].name));
		TRY(copy_str(scope, labels[i].value, &out[i].value));
	}
	return ERR_OK;
}

void inquiry_range(int64_t start_ms, int64_t end_ms, int64_t *ret_from, int64_t *ret_until)
{
	const int64_t most = INT64_MAX / NS_PER_MS;

	*ret_from = start_ms <= 0 ? 0 : start_ms > most ? INT64_MAX - 1 : start_ms * NS_PER_MS;
	*ret_until = end_ms <= 0 || end_ms > most ? INT64_MAX : end_ms * NS_PER_MS;
	if (start_ms > 0 && end_ms <= 0)
		*ret_until = 0; /* an end before the start: refused with that reason */
}

enum err inquiry_select_values(struct inquiry *q, struct str type, struct str selector,
			       int64_t start_ms, int64_t end_ms)
{
	int64_t from, until;

	if (!type.n || !selector.n)
		return fault_set(q->fault, ERR_BAD_ARGUMENT, "%s is missing",
				 type.n ? "the label selector ({} selects all)"
					: "the profile type");
	if (!start_ms && !end_ms)
		return fault_set(q->fault, ERR_BAD_ARGUMENT, "start and end are missing");
	inquiry_range(start_ms, end_ms, &from, &until);
	return inquiry_select_typed(q, selector, type, from, until);
}

enum err check_list(const struct list *l, const char *name, size_t most, struct fault *fault)
{
	return l->n <= most ? ERR_OK
			    : fault_set(fault, ERR_BAD_ARGUMENT, "%s has %zu items; at most %zu",
					name, l->n, most);
}

/* Common to all: selectors without a type, of which all must hold. */
static enum err select_range(struct inquiry *q, const struct list *matchers, int64_t start,
			     int64_t end)
{
	int64_t from, until;

	inquiry_range(start, end, &from, &until);
	return inquiry_select_all(q, matchers->v, matchers->n, from, until);
}

static enum err fill_types(const struct text_answer *types, struct arena *scope,
			   struct profile_types_reply *reply)
{
	struct profile_type_message *out = list_make(&reply->types, types->n, sizeof(*out), scope);

	if (!out)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < types->n; i++) {
		TRY(copy_str(scope, types->v[i], &out[i].id));
		struct type_parts parts = type_split(out[i].id);

		out[i].name = parts.name;
		out[i].sample_type = parts.sample_type;
		out[i].sample_unit = parts.sample_unit;
		out[i].period_type = parts.period_type;
		out[i].period_unit = parts.period_unit;
	}
	return ERR_OK;
}

static enum err call_profile_types(struct request *r, const void *in, void *out,
				   struct arena *scope, struct fault *fault)
{
	const struct range_request *request = in;
	struct text_answer types = {0};
	struct inquiry q;
	enum err error;

	inquiry_init(&q, r, fault);
	error = select_range(&q, &(struct list){0}, request->start, request->end);
	if (error == ERR_OK)
		error = shown_types(r, &q.selection, &q.ask, &types);
	if (error == ERR_OK)
		error = fill_types(&types, scope, out);
	arena_release(&types.arena);
	inquiry_release(&q);
	return error;
}

static enum err fill_names(const struct text_answer *names, struct arena *scope,
			   struct names_reply *reply)
{
	struct str *out = list_make(&reply->names, names->n, sizeof(*out), scope);

	if (!out)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < names->n; i++)
		TRY(copy_str(scope, names->v[i], &out[i]));
	return ERR_OK;
}

/* Names that Prometheus would not take are shown only to clients that say they can read them. */
static bool legacy_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!((c >= '0' && c <= '9' && i) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		      c == '_'))
			return false;
	}
	return name.n > 0;
}

static void hide_utf8_names(const struct request *r, struct text_answer *names)
{
	struct str accept = http_find(r->x, STR("accept"));
	size_t kept = 0;

	if (str_search(accept, STR("allow-utf8-labelnames=true")) < accept.n)
		return;
	for (size_t i = 0; i < names->n; i++)
		if (legacy_name(names->v[i]))
			names->v[kept++] = names->v[i];
	names->n = kept;
}

/* Names that Pyroscope gives every series, in order; their values are parts of the type. */
static const struct str private_names[] = {
	STR("__name__"),	 STR("__period_type__"),  STR("__period_unit__"),
	STR("__profile_type__"), STR("__service_name__"), STR("__type__"),
	STR("__unit__"),
};
#define PRIVATE_NAMES (sizeof(private_names) / sizeof(private_names[0]))

/* Insert them in sorted order: after names that begin with a capital letter or a digit. */
static enum err add_private_names(struct text_answer *names)
{
	struct str *all;
	size_t n = 0;

	if (!names->n)
		return ERR_OK;
	all = arena_alloc(&names->arena, (names->n + PRIVATE_NAMES) * sizeof(*all));
	if (!all)
		return ERR_NO_MEMORY;
	for (size_t i = 0, k = 0; i < names->n || k < PRIVATE_NAMES;) {
		bool private = k < PRIVATE_NAMES &&
			       (i == names->n || str_cmp(private_names[k], names->v[i]) < 0);

		all[n++] = private ? private_names[k++] : names->v[i++];
	}
	names->v = all;
	names->n = n;
	return ERR_OK;
}

static enum err call_label_names(struct request *r, const void *in, void *out, struct arena *scope,
				 struct fault *fault)
{
	const struct label_names_request *request = in;
	struct text_answer names = {0};
	struct inquiry q;
	enum err error;

	inquiry_init(&q, r, fault);
	error = select_range(&q, &request->matchers, request->start, request->end);
	if (error == ERR_OK)
		error = store_label_names(r->server->store, r->tenant, &q.selection, &q.ask,
					  &names);
	if (error == ERR_OK)
		error = add_private_names(&names);
	if (error == ERR_OK) {
		hide_utf8_names(r, &names);
		error = fill_names(&names, scope, out);
	}
	arena_release(&names.arena);
	inquiry_release(&q);
	return error;
}

static enum err call_label_values(struct request *r, const void *in, void *out, struct arena *scope,
				  struct fault *fault)
{
	const struct label_values_request *request = in;
	struct text_answer values = {0};
	struct str name = request->name;
	struct inquiry q;
	enum err error;

	if (!name.n)
		return fault_set(fault, ERR_BAD_ARGUMENT, "which label? \"name\" is empty");
	if (str_eq(name, STR("__service_name__")))
		name = STR("service_name");
	inquiry_init(&q, r, fault);
	error = select_range(&q, &request->matchers, request->start, request->end);
	if (error == ERR_OK)
		error = store_label_values(r->server->store, r->tenant, name, &q.selection, 0,
					   &q.ask, &values);
	if (error == ERR_OK)
		error = fill_names(&values, scope, out);
	arena_release(&values.arena);
	inquiry_release(&q);
	return error;
}

static enum err fill_sets(const struct label_set_answer *sets, struct arena *scope,
			  struct series_reply *reply)
{
	struct labels_message *out = list_make(&reply->labels_set, sets->n, sizeof(*out), scope);

	if (!out)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < sets->n; i++)
		TRY(copy_labels(scope, sets->v[i].labels, sets->v[i].n, &out[i].labels));
	return ERR_OK;
}

static enum err call_series(struct request *r, const void *in, void *out, struct arena *scope,
			    struct fault *fault)
{
	const struct series_request *request = in;
	struct label_set_answer sets = {0};
	struct inquiry q;
	enum err error;

	TRY(check_list(&request->label_names, "labelNames", MAX_GROUP_BY, fault));
	inquiry_init(&q, r, fault);
	error = select_range(&q, &request->matchers, request->start, request->end);
	if (error == ERR_OK)
		error = store_label_sets(r->server->store, r->tenant, &q.selection,
					 request->label_names.v, request->label_names.n, &q.ask,
					 &sets);
	hide_completeness(&sets);
	if (error == ERR_OK)
		error = fill_sets(&sets, scope, out);
	arena_release(&sets.arena);
	inquiry_release(&q);
	return error;
}

static enum err call_stats(struct request *r, const void *in, void *out, struct arena *scope,
			   struct fault *fault)
{
	struct stats_reply *reply = out;
	struct store_stats stats;

	(void)in, (void)scope, (void)fault;
	TRY(store_stats(r->server->store, r->tenant, &stats));
	reply->data_ingested = stats.profiles > 0;
	reply->oldest = stats.oldest_ns / NS_PER_MS;
	reply->newest = stats.newest_ns / NS_PER_MS;
	return ERR_OK;
}

/* Estimates what a query would read, from the store's series and size. */
static enum err call_analyze(struct request *r, const void *in, void *out, struct arena *scope,
			     struct fault *fault)
{
	const struct analyze_request *request = in;
	struct str query = request->query;
	struct analyze_reply *reply = out;
	struct label_set_answer sets = {0};
	struct store_stats stats;
	struct inquiry q;
	enum err error;

	inquiry_init(&q, r, fault);
	error = select_range(&q, &(struct list){&query, 1}, request->start, request->end);
	if (error == ERR_OK)
		error = store_label_sets(r->server->store, r->tenant, &q.selection, NULL, 0, &q.ask,
					 &sets);
	if (error == ERR_OK)
		error = store_stats(r->server->store, r->tenant, &stats);
	if (error == ERR_OK) {
		struct query_scope *one = list_make(&reply->scopes, 1, sizeof(*one), scope);

		reply->impact = arena_zalloc(scope, 1, sizeof(*reply->impact));
		if (!one || !reply->impact) {
			error = ERR_NO_MEMORY;
		} else {
			*one = (struct query_scope){.component_type = STR("Store"),
						    .component_count = 1,
						    .block_count = (int64_t)stats.blocks,
						    .series_count = (int64_t)sets.n,
						    .profile_count = (int64_t)stats.profiles,
						    .sample_count = (int64_t)stats.rows,
						    .profile_bytes = (int64_t)stats.disk_bytes,
						    .symbol_bytes =
							    (int64_t)stats.dictionary_bytes};
			reply->impact->total_bytes = (int64_t)stats.disk_bytes;
			reply->impact->total_series = (int64_t)sets.n;
		}
	}
	arena_release(&sets.arena);
	inquiry_release(&q);
	return error;
}

const struct rpc_method method_profile_types = {&range_request_table, &profile_types_reply_table,
						call_profile_types},
			method_label_names = {&label_names_request_table, &names_reply_table,
					      call_label_names},
			method_label_values = {&label_values_request_table, &names_reply_table,
					       call_label_values},
			method_series = {&series_request_table, &series_reply_table, call_series},
			method_stats = {&empty_table, &stats_reply_table, call_stats},
			method_analyze = {&analyze_request_table, &analyze_reply_table,
					  call_analyze};
