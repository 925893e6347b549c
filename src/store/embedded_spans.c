/* Spans of traces: rows of a file a day. */
#include "store/spans.h"
#include "store/varint.h"
#include "store/catalog.h"
#include "store/change.h"

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
		return fault_set(fault, ERR_TOO_LARGE, "the limit of %llu spans per day is reached",
				 (unsigned long long)most);
	return ERR_OK;
}

static enum err find_name(struct db *db, unsigned which, struct str text, int64_t *ret,
			  struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(db, which, &q, fault));
	db_bind(q, 1, text);
	error = db_step(db, q, &row, fault);
	if (error == ERR_OK)
		*ret = row ? sqlite3_column_int64(q, 0) : 0;
	db_reset(q);
	return error;
}

uint64_t seal_name(uint64_t key, struct str text)
{
	return seal_end(seal_text(seal_begin(key, SEALED_NAME), text));
}

static enum err name_id(struct change *c, struct str text, int64_t *ret, struct fault *fault)
{
	uint64_t seal = seal_name(atomic_load(&c->day->key), text);
	sqlite3_stmt *q;

	TRY(find_name(c->writer, NAME_FIND, text, ret, fault));
	if (*ret)
		return ERR_OK;
	TRY(db_statement(c->writer, NAME_ADD, &q, fault));
	db_bind(q, 1, text);
	sqlite3_bind_int64(q, 2, (int64_t)seal);
	TRY(db_run(c->writer, q, fault));
	change_added(c, TALLY_NAMES, seal);
	*ret = sqlite3_last_insert_rowid(c->writer->handle);
	return ERR_OK;
}

/* Includes the names, not only their ids, which might refer to an altered name. */
uint64_t seal_span(uint64_t key, int64_t id, const struct trace_span *span, struct str attributes)
{
	uint64_t s = seal_number(seal_begin(key, SEALED_SPAN), (uint64_t)id);

	s = seal_text(s, str_n(span->trace_id, sizeof(span->trace_id)));
	s = seal_text(s, str_n(span->span_id, sizeof(span->span_id)));
	s = seal_text(s, str_n(span->parent_id, sizeof(span->parent_id)));
	s = seal_number(seal_number(s, span->kind), span->status);
	s = seal_text(seal_text(s, span->service), span->operation);
	s = seal_number(seal_number(s, (uint64_t)span->start_ns), (uint64_t)span->duration_ns);
	return seal_end(seal_text(s, attributes));
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

enum err span_insert(struct db *db, int64_t key, const struct trace_span *span, int64_t service,
		     int64_t operation, struct str attributes, uint64_t seal, struct fault *fault)
{
	sqlite3_stmt *q;

	TRY(db_query_with(db, SPAN_ADD, &q, fault, key));
	db_bind(q, 2, str_n(span->trace_id, sizeof(span->trace_id)));
	db_bind(q, 3, str_n(span->span_id, sizeof(span->span_id)));
	db_bind(q, 4, str_n(span->parent_id, sizeof(span->parent_id)));
	sqlite3_bind_int64(q, 5, span->kind);
	sqlite3_bind_int64(q, 6, span->status);
	sqlite3_bind_int64(q, 7, service);
	sqlite3_bind_int64(q, 8, operation);
	sqlite3_bind_int64(q, 9, span->start_ns);
	sqlite3_bind_int64(q, 10, span->duration_ns);
	db_bind(q, 11, attributes);
	sqlite3_bind_int64(q, 12, (int64_t)seal);
	return db_run(db, q, fault);
}

enum err span_write(struct change *c, const struct trace_span *span, struct undo_row *ret,
		    struct fault *fault)
{
	struct day *d = c->day;
	struct buf attributes = BUF_INIT(ATTRIBUTES_MAX);
	int64_t service, operation;
	enum err error = ERR_EXISTS;

	TRY(name_id(c, span->service, &service, fault));
	TRY(name_id(c, span->operation, &operation, fault));
	encode_attributes(span, &attributes);
	if (attributes.error != ERR_OK) {
		buf_release(&attributes);
		return fault_set(fault, ERR_TOO_LARGE,
				 "a span has more than %u bytes of attributes", ATTRIBUTES_MAX);
	}
	for (int i = 0; i < KEY_TRIES && error == ERR_EXISTS; i++) {
		ret->key = row_key(span->start_ns, d->sequence++);
		ret->seal = seal_span(atomic_load(&d->key), ret->key, span, buf_view(&attributes));
		error = span_insert(c->writer, ret->key, span, service, operation,
				    buf_view(&attributes), ret->seal, fault);
	}
	buf_release(&attributes);
	if (error == ERR_OK) {
		change_added(c, TALLY_SPANS, ret->seal);
		spans_count_entries(&d->ledger, ret->key, service,
				    str_n(span->trace_id, sizeof(span->trace_id)));
		atomic_fetch_add(&d->spans, 1);
	}
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

/* All but the attributes, texts as they lie in the row; false when a name is missing. */
static bool columns(sqlite3_stmt *q, struct trace_span *span)
{
	copy_id(q, 0, span->trace_id, sizeof(span->trace_id));
	copy_id(q, 1, span->span_id, sizeof(span->span_id));
	copy_id(q, 2, span->parent_id, sizeof(span->parent_id));
	span->kind = (uint32_t)sqlite3_column_int64(q, 3);
	span->status = (uint32_t)sqlite3_column_int64(q, 4);
	span->service = db_column(q, 5);
	span->operation = db_column(q, 6);
	span->start_ns = sqlite3_column_int64(q, 7);
	span->duration_ns = sqlite3_column_int64(q, 8);
	return sqlite3_column_type(q, 5) != SQLITE_NULL && sqlite3_column_type(q, 6) != SQLITE_NULL;
}

enum err span_read(sqlite3_stmt *q, struct arena *arena, struct trace_span *span)
{
	if (!columns(q, span))
		return ERR_DAMAGED;
	TRY(copy_text(arena, span->service, &span->service));
	TRY(copy_text(arena, span->operation, &span->operation));
	return decode_attributes(arena, db_column(q, 9), span);
}

bool span_row_good(const struct day *d, const struct db *reader, sqlite3_stmt *q)
{
	struct trace_span span = {0};

	return columns(q, &span) &&
	       day_seal_good(d, reader, sqlite3_column_int64(q, 11),
			     seal_span(atomic_load(&d->key), sqlite3_column_int64(q, 10), &span,
				       db_column(q, 9)));
}

/* The narrowest of the three ways to go through a day. */
static enum err open_query(struct db *reader, const struct span_question *question, int64_t service,
			   sqlite3_stmt **ret, struct fault *fault)
{
	int64_t from = question->from_ns < 0 ? 0 : question->from_ns;
	unsigned which = SPAN_NEWEST;

	if (question->trace_id)
		which = SPAN_OF_TRACE;
	else if (question->service.n)
		which = SPAN_OF_SERVICE;
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

static enum span_way way_of(const struct span_question *question)
{
	if (question->trace_id)
		return SPANS_BY_TRACE;
	return question->service.n ? SPANS_BY_SERVICE : SPANS_BY_TIME;
}

static bool wanted(const struct trace_span *s, const struct span_question *question)
{
	return s->start_ns >= question->from_ns && s->start_ns < question->until_ns &&
	       s->duration_ns >= question->min_duration_ns &&
	       (!question->service.n || str_eq(s->service, question->service)) &&
	       (!question->operation.n || str_eq(s->operation, question->operation));
}

static enum err spans_damaged(const struct day *d, struct ask *ask)
{
	struct fault own = {0};
	enum err error = day_damaged(d, ERR_DAMAGED, "a span", NULL, &own);

	if (ask && ask->fault)
		*ask->fault = own;
	return ask_forgive(ask, error, &own);
}

/* Report an altered row even if its current content is not selected. */
static enum err show_span(const struct day *d, const struct db *reader, sqlite3_stmt *q,
			  const struct span_question *question, struct arena *arena,
			  struct span_list *list)
{
	struct trace_span span = {0};

	if (!span_row_good(d, reader, q) || !columns(q, &span))
		return ERR_DAMAGED;
	if (!wanted(&span, question))
		return ERR_OK;
	TRY(span_read(q, arena, &span));
	return vec_push(&list->v, span);
}

static enum err spans_of_day(struct day *d, const struct span_question *question, size_t limit,
			     struct ask *ask, struct arena *arena, struct span_list *list)
{
	struct fault *fault = ask ? ask->fault : NULL;
	enum span_way way = way_of(question);
	struct db *reader;
	sqlite3_stmt *q = NULL;
	int64_t service = 0;
	bool row;
	enum err error;

	TRY(day_look_into(d, fault));
	TRY(day_sound(d, ask));
	if (!atomic_load(&d->exists))
		return ERR_OK;
	TRY(day_reader(d, &reader, fault));
	error = db_begin(reader, false, fault);
	if (error == ERR_OK && way == SPANS_BY_SERVICE)
		error = find_name(reader, NAME_LOOK, question->service, &service, fault);
	if (error == ERR_OK)
		error = spans_verify(d, reader, way, service, ask);
	if (is_damage(error))
		error = spans_damaged(d, ask);
	if (error == ERR_OK)
		error = open_query(reader, question, service, &q, fault);
	while (error == ERR_OK && list->v.n < limit &&
	       (error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		if (ask)
			ask->rows++;
		error = ask_cancelled(ask) ? ERR_CANCELLED
					   : show_span(d, reader, q, question, arena, list);
		if (is_damage(error))
			error = spans_damaged(d, ask);
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
		error = ask_forgive(
			ask, spans_of_day(days.v.v[i], question, limit, ask, &answer.arena, &list),
			fault);
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
