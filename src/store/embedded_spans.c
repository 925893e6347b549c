/* Spans of traces: rows of a file a day. */
#include "store/embedded.h"
#include "store/varint.h"

#define KEY_TRIES	4096
#define ATTRIBUTES_MAX	(64u << 10)
#define DEFAULT_ANSWERS 1000

/* ------------------------------------------------------------------ writing */

enum err spans_fit(struct day *d, size_t n, struct fault *fault)
{
	uint64_t most = d->engine->base.options.limits.max_spans_per_day;

	if (!atomic_load(&d->spans_counted)) {
		struct db *reader = NULL;
		sqlite3_stmt *q;
		bool row;
		enum err error = ERR_OK;

		if (atomic_load(&d->exists)) {
			TRY(day_reader(d, &reader, fault));
			error = db_statement(reader, SPAN_COUNT, &q, fault);
			if (error == ERR_OK)
				error = db_step(reader, q, &row, fault);
			if (error == ERR_OK) {
				atomic_store(&d->spans, (uint64_t)sqlite3_column_int64(q, 0));
				db_reset(q);
			}
			day_reader_back(d, reader, error);
		}
		TRY(error);
		atomic_store(&d->spans_counted, true);
	}
	if (atomic_load(&d->spans) + n > most)
		return fault_set(fault, ERR_TOO_LARGE,
				 "%llu spans a day are kept, and there are as many already",
				 (unsigned long long)most);
	return ERR_OK;
}

static enum err name_id(struct db *db, struct str text, bool make, int64_t *ret,
			struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(db, NAME_FIND, &q, fault));
	db_bind(q, 1, text);
	error = db_step(db, q, &row, fault);
	if (error == ERR_OK)
		*ret = row ? sqlite3_column_int64(q, 0) : 0;
	db_reset(q);
	if (error != ERR_OK || *ret || !make)
		return error;
	TRY(db_statement(db, NAME_ADD, &q, fault));
	db_bind(q, 1, text);
	TRY(db_run(db, q, fault));
	*ret = sqlite3_last_insert_rowid(db->handle);
	return ERR_OK;
}

static void encode_attributes(const struct trace_span *span, struct buf *out)
{
	put_varint(out, span->attribute_count);
	for (size_t i = 0; i < span->attribute_count; i++) {
		put_varint(out, span->attributes[i].name.n);
		buf_str(out, span->attributes[i].name);
		put_varint(out, span->attributes[i].value.n);
		buf_str(out, span->attributes[i].value);
	}
}

enum err span_write(struct day *d, struct db *writer, const struct trace_span *span,
		    int64_t *ret_key, struct fault *fault)
{
	struct buf attributes = BUF_INIT(ATTRIBUTES_MAX);
	int64_t service, operation;
	enum err error = ERR_EXISTS;

	TRY(name_id(writer, span->service, true, &service, fault));
	TRY(name_id(writer, span->operation, true, &operation, fault));
	encode_attributes(span, &attributes);
	if (attributes.error != ERR_OK) {
		buf_release(&attributes);
		return fault_set(fault, ERR_TOO_LARGE,
				 "a span has more than %u bytes of attributes", ATTRIBUTES_MAX);
	}
	for (int i = 0; i < KEY_TRIES && error == ERR_EXISTS; i++) {
		sqlite3_stmt *q;

		*ret_key = row_key(span->start_ns, d->sequence++);
		error = db_query_with(writer, SPAN_ADD, &q, fault, *ret_key);
		if (error != ERR_OK)
			break;
		db_bind(q, 2, str_n(span->trace_id, sizeof(span->trace_id)));
		db_bind(q, 3, str_n(span->span_id, sizeof(span->span_id)));
		db_bind(q, 4, str_n(span->parent_id, sizeof(span->parent_id)));
		sqlite3_bind_int64(q, 5, span->kind);
		sqlite3_bind_int64(q, 6, span->status);
		sqlite3_bind_int64(q, 7, service);
		sqlite3_bind_int64(q, 8, operation);
		sqlite3_bind_int64(q, 9, span->start_ns);
		sqlite3_bind_int64(q, 10, span->duration_ns);
		db_bind(q, 11, buf_view(&attributes));
		error = db_run(writer, q, fault);
	}
	buf_release(&attributes);
	if (error == ERR_OK)
		atomic_fetch_add(&d->spans, 1);
	return error;
}

/* ------------------------------------------------------------------ asking */

struct span_list {
	VEC(struct trace_span) v;
};

static enum err copy_text(struct arena *arena, struct str text, struct str *ret)
{
	ret->p = arena_copy(arena, text);
	ret->n = text.n;
	return ret->p ? ERR_OK : ERR_NO_MEMORY;
}

static enum err decode_attributes(struct arena *arena, struct str bytes, struct trace_span *span)
{
	struct cursor c = cursor_of(bytes);
	uint64_t n = get_bounded(&c, bytes.n);
	struct label_pair *pairs = arena_alloc(arena, (n + 1) * sizeof(*pairs));

	if (!pairs)
		return ERR_NO_MEMORY;
	for (uint64_t i = 0; i < n; i++) {
		TRY(copy_text(arena, get_bytes(&c, get_varint(&c)), &pairs[i].name));
		TRY(copy_text(arena, get_bytes(&c, get_varint(&c)), &pairs[i].value));
	}
	span->attributes = pairs;
	span->attribute_count = (size_t)n;
	return c.bad ? ERR_CORRUPT : ERR_OK;
}

static void copy_id(sqlite3_stmt *q, int column, uint8_t *id, size_t n)
{
	struct str bytes = db_column(q, column);

	if (bytes.n == n)
		memcpy(id, bytes.p, n);
}

static enum err read_span(sqlite3_stmt *q, struct arena *arena, struct trace_span *span)
{
	copy_id(q, 0, span->trace_id, sizeof(span->trace_id));
	copy_id(q, 1, span->span_id, sizeof(span->span_id));
	copy_id(q, 2, span->parent_id, sizeof(span->parent_id));
	span->kind = (uint32_t)sqlite3_column_int64(q, 3);
	span->status = (uint32_t)sqlite3_column_int64(q, 4);
	TRY(copy_text(arena, db_column(q, 5), &span->service));
	TRY(copy_text(arena, db_column(q, 6), &span->operation));
	span->start_ns = sqlite3_column_int64(q, 7);
	span->duration_ns = sqlite3_column_int64(q, 8);
	return decode_attributes(arena, db_column(q, 9), span);
}

/* The narrowest of the three ways to go through a day. */
static enum err open_query(struct db *reader, const struct span_question *question,
			   sqlite3_stmt **ret, struct fault *fault)
{
	int64_t service = 0;
	unsigned which = SPAN_NEWEST;
	int64_t from = question->from_ns < 0 ? 0 : question->from_ns;

	if (question->trace_id) {
		which = SPAN_OF_TRACE;
	} else if (question->service.n) {
		which = SPAN_OF_SERVICE;
		TRY(name_id(reader, question->service, false, &service, fault));
	}
	TRY(db_query_with(reader, which, ret, fault, row_key(from, 0),
			  question->until_ns > INT64_MAX - 999999
				  ? INT64_MAX
				  : row_key(question->until_ns + 999999, 0)));
	if (which == SPAN_OF_TRACE)
		db_bind(*ret, 3, str_n(question->trace_id, 16));
	if (which == SPAN_OF_SERVICE)
		sqlite3_bind_int64(*ret, 3, service);
	return ERR_OK;
}

static bool wanted(sqlite3_stmt *q, const struct span_question *question)
{
	int64_t start = sqlite3_column_int64(q, 7);

	return start >= question->from_ns && start < question->until_ns &&
	       sqlite3_column_int64(q, 8) >= question->min_duration_ns &&
	       (!question->service.n || str_eq(db_column(q, 5), question->service)) &&
	       (!question->operation.n || str_eq(db_column(q, 6), question->operation));
}

static enum err spans_of_day(struct day *d, const struct span_question *question, size_t limit,
			     struct ask *ask, struct arena *arena, struct span_list *list)
{
	struct fault *fault = ask ? ask->fault : NULL;
	struct db *reader;
	sqlite3_stmt *q = NULL;
	bool row;
	enum err error;

	if (!atomic_load(&d->exists))
		return ERR_OK;
	TRY(day_reader(d, &reader, fault));
	error = open_query(reader, question, &q, fault);
	while (error == ERR_OK && list->v.n < limit &&
	       (error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		struct trace_span span = {0};

		if (ask)
			ask->rows++;
		if (ask_cancelled(ask))
			error = ERR_CANCELLED;
		else if (wanted(q, question) && (error = read_span(q, arena, &span)) == ERR_OK)
			error = vec_push(&list->v, span);
	}
	if (q)
		db_reset(q);
	day_reader_back(d, reader, error);
	return error;
}

enum err embedded_spans(struct store *s, struct str tenant, const struct span_question *question,
			struct ask *ask, struct span_answer *ret)
{
	struct fault *fault = ask ? ask->fault : NULL;
	size_t limit = question->limit ? question->limit : DEFAULT_ANSWERS;
	struct span_list list = {0};
	struct day_list days = {0};
	struct span_answer answer = {0};
	struct tenant *t;
	enum err error = tenant_get(embedded_of(s), tenant, false, &t, fault);

	arena_init(&answer.arena, ask && ask->max_memory ? ask->max_memory : 256u << 20);
	if (error == ERR_OK && question->from_ns < question->until_ns)
		error = days_of_range(t, DAY_SPANS, question->from_ns, question->until_ns, &days,
				      fault);
	for (size_t i = days.v.n; error == ERR_OK && i-- > 0 && list.v.n < limit;)
		error = spans_of_day(days.v.v[i], question, limit, ask, &answer.arena, &list);
	day_list_put(&days);
	if (error == ERR_NOT_FOUND)
		error = ERR_OK;
	if (error == ERR_OK && list.v.n) {
		answer.n = list.v.n;
		answer.v = arena_alloc(&answer.arena, list.v.n * sizeof(*answer.v));
		error = answer.v ? ERR_OK : ERR_NO_MEMORY;
	}
	if (error == ERR_OK) {
		if (list.v.n)
			memcpy(answer.v, list.v.v, list.v.n * sizeof(*answer.v));
		*ret = answer;
	} else {
		arena_release(&answer.arena);
	}
	vec_release(&list.v);
	return error;
}
