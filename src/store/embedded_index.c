#include "store/embedded_index.h"

#include "store/coverage.h"
#include "store/label_listing.h"

/* News that nobody reads for so long are read from the file, if ever. */
#define NEWS_MAX	 250000
#define LOAD_TRIES	 3
#define INDEX_LEVEL	 1
#define SERVICES_AT_ONCE 64

static void news_release(struct day_index *x)
{
	vec_for_each (news, &x->news)
		mem_free((char *)news->delta.p);
	vec_release(&x->news);
}

void index_free(struct day_index *x)
{
	if (!x)
		return;
	news_release(x);
	series_index_release(&x->table);
	totals_release(x);
	vec_release(&x->unwritten);
	vec_release(&x->damaged);
	mutex_release(&x->lock);
	mem_free(x);
}

bool index_detach(struct day_index *x)
{
	if (x->stale)
		return false;
	x->stale = true;
	x->day->index = NULL;
	resident_take(&x->unused);
	tenant_charge(x->day->tenant, &x->memory, 0);
	return !x->users;
}

void index_forget(struct day *d)
{
	struct day_index *x;
	bool last;

	engine_lock(d->engine);
	x = d->index;
	last = x && index_detach(x);
	engine_unlock(d->engine);
	if (last)
		index_free(x);
}

/* ------------------------------------------------------------------ reading */

static enum err has_table(struct db *reader, bool *ret, struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(reader, INDEX_TABLE, &q, fault));
	error = db_step(reader, q, &row, fault);
	*ret = error == ERR_OK && row && sqlite3_column_int64(q, 0);
	db_reset(q);
	return error;
}

/* Rows read per service, by id. */
struct rows_found {
	VEC(struct service_rows {
		uint32_t id;
		bool bad; /* a row is unusable */
		struct tally tally;
	})
	v;
};

static enum err rows_of(struct rows_found *found, uint32_t id, struct service_rows **ret)
{
	if (!found->v.n || found->v.v[found->v.n - 1].id != id)
		TRY(vec_push(&found->v, ((struct service_rows){.id = id})));
	*ret = &found->v.v[found->v.n - 1];
	return ERR_OK;
}

static enum err read_row(struct day_index *x, struct db *reader, sqlite3_stmt *q,
			 struct rows_found *found)
{
	int64_t key = sqlite3_column_int64(q, 0), seal = sqlite3_column_int64(q, 2);
	uint32_t id = (uint32_t)(key >> 32);
	struct str data = db_column(q, 1);
	struct service_rows *rows;
	enum err error = ERR_DAMAGED;

	/* Row 0 is the mark of index_catch_up. */
	if (!id)
		return ERR_OK;
	TRY(rows_of(found, id, &rows));
	tally_add(&rows->tally, (uint64_t)seal);
	if (rows->bad)
		return ERR_OK;
	if (day_seal_good(x->day, reader, seal, seal_index(atomic_load(&x->day->key), key, data)))
		error = series_delta_apply(&x->table, id, data);
	if (error == ERR_OK || error == ERR_NO_MEMORY)
		return error;
	/* Damaged, or of another version: read the dictionary instead. */
	rows->bad = true;
	series_index_forget(&x->table, id);
	return ERR_OK;
}

static enum err read_rows(struct day_index *x, struct db *reader, struct rows_found *found,
			  struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(has_table(reader, &row, fault));
	if (!row)
		return ERR_OK;
	TRY(db_statement(reader, INDEX_ALL, &q, fault));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		error = read_row(x, reader, q, found);
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	return error;
}

static enum err index_partition(struct series_index *table, uint32_t id, const struct partition *p)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(SIZE_MAX);
	struct series_mark from = SERIES_MARK_BASE, to = series_mark_of(&p->persisted);

	series_index_forget(table, id);
	TRY(series_delta_encode(p, &from, &to, 0, &bytes));
	return bytes.n ? series_delta_apply(table, id, buf_view(&bytes)) : ERR_OK;
}

static enum err read_dictionary(struct day_index *x, struct day_service *ds, struct db *reader,
				struct fault *fault)
{
	uint32_t id = atomic_load(&ds->id);
	struct partition *p;
	enum err error;

	TRY(vec_push(&x->unwritten, id));
	error = service_load(ds, reader, dictionary_key(id, UINT32_MAX), &p, NULL);
	/* Questions that are about it say so. */
	if (is_damage(error)) {
		series_index_forget(&x->table, id);
		return vec_push(&x->damaged, id);
	}
	if (error != ERR_OK)
		return fault_set(fault, error, "%s: %s", x->day->path, err_text(error));
	error = index_partition(&x->table, id, p);
	partition_free(p);
	return error;
}

/* What is in memory knows when its profiles were. */
static void read_times(struct day_index *x, struct day_service *ds)
{
	struct index_service *s = series_index_service(&x->table, atomic_load(&ds->id));
	struct partition *p = s ? service_loaded(ds) : NULL;

	if (!p)
		return;
	mutex_lock(&p->lock);
	for (size_t i = 0; i < s->series.n && i < p->series.n; i++) {
		struct index_series *to = &x->table.series.v[s->series.v[i]];

		to->first_ns = p->series.v[i].first_ns;
		to->last_ns = p->series.v[i].last_ns;
	}
	mutex_unlock(&p->lock);
	partition_give_back(x->day->engine, p);
}

/* Whether the index rows of a service match its tally and reach the end of its dictionary. */
static bool are_whole(struct day_index *x, struct db *reader, sqlite3_stmt *q,
		      const struct service_rows *rows)
{
	struct index_service *s = series_index_service(&x->table, rows->id);
	uint64_t series = (uint64_t)sqlite3_column_int64(q, 2);
	struct tally expected[SERVICE_TALLIES];

	if (rows->bad || series != (s ? s->end.series : 0))
		return false;
	return reader->version < DAY_SEALED_VERSION ||
	       (tally_read(db_column(q, 3), expected, SERVICE_TALLIES) &&
		tally_equal(&rows->tally, &expected[TALLY_INDEX]));
}

/* Services as the file has them. */
static enum err check_services(struct day_index *x, struct db *reader,
			       const struct rows_found *found, struct fault *fault)
{
	sqlite3_stmt *q;
	size_t at = 0;
	bool row;
	enum err error;

	TRY(db_statement(reader, SERVICE_ALL, &q, fault));
	while ((error = db_step(reader, q, &row, fault)) == ERR_OK && row) {
		uint32_t id = (uint32_t)sqlite3_column_int64(q, 0);
		struct day_service *ds = day_service_by_id(x->day, id);
		struct service_rows rows = {.id = id};

		/* Both are sorted by id. */
		while (at < found->v.n && found->v.v[at].id < id)
			at++;
		if (at < found->v.n && found->v.v[at].id == id)
			rows = found->v.v[at];
		if (!ds)
			continue;
		if (!are_whole(x, reader, q, &rows))
			error = read_dictionary(x, ds, reader, fault);
		read_times(x, ds);
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	return error;
}

static enum err load(struct day_index *x, struct fault *fault)
{
	struct day *d = x->day;
	struct rows_found found = {0};
	struct db *reader = NULL;
	enum err error = series_index_init(&x->table, d->engine->base.seed);

	if (error == ERR_OK && atomic_load(&d->exists)) {
		error = day_reader(d, &reader, fault);
		if (error == ERR_OK)
			error = db_begin(reader, false, fault);
		if (error == ERR_OK)
			error = read_rows(x, reader, &found, fault);
		if (error == ERR_OK)
			error = check_services(x, reader, &found, fault);
		day_reader_back(d, reader, error);
	}
	vec_release(&found.v);
	if (error == ERR_OK)
		x->loaded = true;
	return day_damaged(d, error, "the index of series", NULL, fault);
}

/* ------------------------------------------------------------------ news */

/* With the index's lock: the next ones, in order. */
static bool take_news(struct day_index *x, struct index_news *ret, size_t *at)
{
	struct embedded *e = x->day->engine;
	bool any;

	engine_lock(e);
	any = *at < x->news.n;
	if (any)
		*ret = x->news.v[(*at)++];
	else
		x->news.n = *at = 0;
	engine_unlock(e);
	return any;
}

static enum err apply(struct day_index *x, const struct index_news *news)
{
	if (news->delta.p)
		return series_delta_apply(&x->table, news->service, news->delta);
	series_index_widen(&x->table, news->service, news->series, news->first_ns, news->last_ns);
	return ERR_OK;
}

/* Series that a transaction brings have the times of their profiles, which come after. */
static void begin_times(struct day_index *x, const struct index_news *news, size_t known)
{
	struct index_service *s = series_index_service(&x->table, news->service);

	for (size_t i = known; s && i < s->series.n; i++) {
		x->table.series.v[s->series.v[i]].first_ns = 0;
		x->table.series.v[s->series.v[i]].last_ns = 0;
	}
}

static size_t known_series(const struct day_index *x, uint32_t id)
{
	const struct index_service *s = series_index_service(&x->table, id);

	return s ? s->series.n : 0;
}

static enum err read_news(struct day_index *x)
{
	struct index_news news;
	size_t at = 0;
	enum err error = ERR_OK;

	while (take_news(x, &news, &at)) {
		size_t known = known_series(x, news.service);

		if (error == ERR_OK)
			error = apply(x, &news);
		if (error == ERR_OK && news.delta.p)
			begin_times(x, &news, known);
		mem_free((char *)news.delta.p);
	}
	return error;
}

/* ------------------------------------------------------------------ use */

static enum err new_index(struct day *d, struct day_index **ret)
{
	struct day_index *x = mem_zalloc(1, sizeof(*x));

	if (!x)
		return ERR_NO_MEMORY;
	mutex_init(&x->lock);
	x->unused.is_index = true;
	x->day = d;
	*ret = x;
	return ERR_OK;
}

/* With engine->lock. */
static void use(struct day_index *x)
{
	x->users++;
	resident_take(&x->unused);
}

/* The day's, with a user more; made when there is none. */
static enum err find(struct day *d, struct day_index **ret)
{
	enum err error = ERR_OK;

	engine_lock(d->engine);
	if (!d->index)
		error = new_index(d, &d->index);
	if (error == ERR_OK) {
		use(d->index);
		*ret = d->index;
	}
	engine_unlock(d->engine);
	return error;
}

/* With the index's lock. */
static enum err bring_up_to_date(struct day_index *x, struct fault *fault)
{
	enum err error = x->trouble ? ERR_NO_MEMORY : ERR_OK;

	if (error == ERR_OK && !x->loaded)
		error = load(x, fault);
	if (error == ERR_OK)
		error = read_news(x);
	if (error != ERR_OK)
		x->trouble = true;
	return error;
}

enum err index_get(struct day *d, struct day_index **ret, struct fault *fault)
{
	struct day_index *x;
	enum err error = ERR_OK;

	for (int i = 0; i < LOAD_TRIES; i++) {
		TRY(find(d, &x));
		mutex_lock(&x->lock);
		error = bring_up_to_date(x, fault);
		if (error == ERR_OK) {
			*ret = x;
			return ERR_OK;
		}
		index_put(x);
		/* What came meanwhile did not fit what was read. */
		if (error != ERR_CORRUPT)
			break;
	}
	return error;
}

/* One user less; `memory` is what it takes, 0 = not looked at. */
static void leave(struct day_index *x, size_t memory, bool trouble)
{
	struct embedded *e = x->day->engine;
	bool last, over;

	engine_lock(e);
	x->users--;
	if (trouble)
		(void)index_detach(x);
	last = x->stale && !x->users;
	if (!x->stale && memory)
		tenant_charge(x->day->tenant, &x->memory,
			      memory + x->news.cap * sizeof(*x->news.v));
	if (!x->stale && !x->users)
		resident_rest(x->day->tenant, &x->unused);
	over = atomic_load(&e->memory) > e->memory_ceiling;
	engine_unlock(e);
	if (last)
		index_free(x);
	if (over)
		partitions_evict(e);
}

void index_put(struct day_index *x)
{
	size_t memory = series_index_memory(&x->table) + totals_memory(x);
	bool trouble = x->trouble;

	mutex_unlock(&x->lock);
	leave(x, memory, trouble);
}

/* ------------------------------------------------------------------ writing */

static enum err put_row(struct change *c, struct day_service *ds, int64_t key, struct str bytes,
			struct fault *fault)
{
	uint64_t seal = seal_index(atomic_load(&c->day->key), key, bytes);
	sqlite3_stmt *q;

	/* Delete an index row without a dictionary row. */
	TRY(change_take_with(c, ds, TALLY_INDEX, INDEX_DELETE, fault, key, key));
	TRY(change_added_of(c, ds, TALLY_INDEX, seal));
	TRY(db_query_with(c->writer, INDEX_PUT, &q, fault, key, (int64_t)seal));
	db_bind(q, 3, bytes);
	return db_run(c->writer, q, fault);
}

enum err index_encode_all(const struct partition *p, const struct partition_mark *to,
			  struct buf *out)
{
	struct series_mark first = SERIES_MARK_BASE, last = series_mark_of(to);

	return series_delta_encode(p, &first, &last, INDEX_LEVEL, out);
}

enum err index_write(struct change *c, struct day_service *ds, struct str bytes,
		     struct fault *fault)
{
	struct index_news news = {.service = ds->new_id};

	if (!bytes.n)
		return ERR_OK;
	TRY(put_row(c, ds, dictionary_key(ds->new_id, ds->next_delta), bytes, fault));
	TRY(vec_reserve(&c->news, 1));
	news.delta = str_n(mem_strndup(bytes.p, bytes.n), bytes.n);
	if (!news.delta.p)
		return ERR_NO_MEMORY;
	c->news.v[c->news.n++] = news;
	return ERR_OK;
}

enum err index_delete(struct change *c, struct day_service *ds, struct fault *fault)
{
	uint32_t id = atomic_load(&ds->id);

	return change_take_with(c, ds, TALLY_INDEX, INDEX_DELETE, fault, dictionary_key(id, 0),
				dictionary_key(id, UINT32_MAX));
}

enum err index_rewrite(struct change *c, struct day_service *ds, int64_t last, struct str bytes,
		       struct fault *fault)
{
	TRY(change_take_with(c, ds, TALLY_INDEX, INDEX_DELETE, fault,
			     dictionary_key(atomic_load(&ds->id), 0), last));
	return bytes.n ? put_row(c, ds, last, bytes, fault) : ERR_OK;
}

static void drop_news(struct change *c)
{
	vec_for_each (news, &c->news)
		mem_free((char *)news->delta.p);
	vec_release(&c->news);
}

/* A user of the day's index, if it has one. */
static struct day_index *join(struct day *d)
{
	struct day_index *x;

	engine_lock(d->engine);
	x = d->index;
	if (x)
		use(x);
	engine_unlock(d->engine);
	return x;
}

static enum err tell(struct day_index *x, struct index_news *news)
{
	struct embedded *e = x->day->engine;
	enum err error;

	engine_lock(e);
	error = x->news.n < NEWS_MAX ? vec_push(&x->news, *news) : ERR_TOO_LARGE;
	engine_unlock(e);
	if (error == ERR_OK)
		news->delta = (struct str){0};
	return error;
}

static enum err tell_all(struct day_index *x, struct change *c)
{
	vec_for_each (news, &c->news)
		TRY(tell(x, news));
	vec_for_each (chunk, &c->inserted.v) {
		struct index_news news = {
			.service = chunk->service->new_id,
			.series = chunk->series,
			.first_ns = chunk->first_ns,
			.last_ns = chunk->last_ns,
		};

		TRY(tell(x, &news));
	}
	return ERR_OK;
}

/* The thread that commits does not wait for questions: who has the lock next reads the news. */
void index_publish(struct change *c, bool committed)
{
	struct day_index *x = committed && (c->news.n || c->inserted.v.n) ? join(c->day) : NULL;

	if (x && tell_all(x, c) != ERR_OK)
		index_forget(c->day);
	drop_news(c);
	if (!x)
		return;
	if (!mutex_try(&x->lock)) {
		leave(x, 0, false);
		return;
	}
	if (x->loaded && !x->trouble && read_news(x) != ERR_OK)
		x->trouble = true;
	index_put(x);
}

/* ------------------------------------------------------------------ older files */

static enum err write_service(struct change *c, struct day_service *ds, struct fault *fault)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(SIZE_MAX);
	uint32_t id = atomic_load(&ds->id);
	struct partition *p;
	int64_t last = 0;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_query_with(c->writer, DICTIONARY_LAST, &q, fault, dictionary_key(id, 0),
			  dictionary_key(id, UINT32_MAX)));
	error = db_step(c->writer, q, &row, fault);
	if (error == ERR_OK)
		last = sqlite3_column_int64(q, 0);
	db_reset(q);
	TRY(error);
	if (!last)
		return ERR_OK;
	TRY(service_partition(ds, &p, fault));
	mutex_lock(&p->lock);
	error = index_encode_all(p, &p->persisted, &bytes);
	mutex_unlock(&p->lock);
	partition_give_back(ds->day->engine, p);
	TRY(error);
	return index_rewrite(c, ds, last, buf_view(&bytes), fault);
}

/* Some services in a transaction. */
static enum err write_some(struct day *d, const uint32_t *ids, size_t n, struct fault *fault)
{
	struct change c;
	enum err error = change_begin(&c, d, fault);

	if (error != ERR_OK)
		return error;
	for (size_t i = 0; error == ERR_OK && i < n; i++) {
		struct day_service *ds = day_service_by_id(d, ids[i]);

		if (ds)
			error = write_service(&c, ds, fault);
		/* One whose dictionary is damaged stays as it is. */
		if (is_damage(error))
			error = ERR_OK;
	}
	return change_end(&c, error, fault);
}

struct id_list {
	VEC(uint32_t) v;
};

/* The services that lack rows. */
static enum err find_unwritten(struct day *d, struct id_list *ret, struct fault *fault)
{
	struct day_index *x;
	enum err error;

	TRY(index_get(d, &x, fault));
	error = vec_append(&ret->v, x->unwritten.v, x->unwritten.n);
	index_put(x);
	return error;
}

static enum err is_marked(struct day *d, bool *ret, struct fault *fault)
{
	struct db *reader;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	*ret = false;
	TRY(day_reader(d, &reader, fault));
	error = has_table(reader, &row, fault);
	if (error == ERR_OK && row) {
		error = db_statement(reader, INDEX_MARK, &q, fault);
		if (error == ERR_OK && (error = db_step(reader, q, ret, fault)) == ERR_OK)
			db_reset(q);
	}
	day_reader_back(d, reader, error);
	return error;
}

static enum err put_mark(struct day *d, struct fault *fault)
{
	struct change c;
	enum err error = change_begin(&c, d, fault);

	if (error != ERR_OK)
		return error;
	return change_end(&c, db_run_with(c.writer, INDEX_SET_MARK, fault, 0), fault);
}

enum err index_catch_up(struct day *d, struct fault *fault)
{
	struct id_list ids = {0};
	bool marked;
	enum err error;

	if (atomic_load(&d->index_whole) || !atomic_load(&d->exists))
		return ERR_OK;
	TRY(is_marked(d, &marked, fault));
	error = marked ? ERR_OK : find_unwritten(d, &ids, fault);
	for (size_t i = 0; error == ERR_OK && i < ids.v.n; i += SERVICES_AT_ONCE)
		error = write_some(d, ids.v.v + i,
				   ids.v.n - i < SERVICES_AT_ONCE ? ids.v.n - i : SERVICES_AT_ONCE,
				   fault);
	vec_release(&ids.v);
	if (error == ERR_OK && !marked)
		error = put_mark(d, fault);
	if (error == ERR_OK)
		atomic_store(&d->index_whole, true);
	return error;
}

/* ------------------------------------------------------------------ questions */

/* Of a day before the range: the services that something reaches into it from. */
static enum err reaching(struct day *d, const struct series_index *x, int64_t from_ns,
			 uint64_t **ret)
{
	uint64_t *services;

	*ret = NULL;
	if ((d->name.day + 1) * NS_PER_DAY > from_ns)
		return ERR_OK;
	services = mem_zalloc(x->services.n / 64 + 1, sizeof(*services));
	if (!services)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < x->services.n; i++) {
		struct day_service *ds = day_service_by_id(d, x->services.v[i].id);

		if (ds && reach_after_day(ds, from_ns, from_ns))
			services[i / 64] |= UINT64_C(1) << (i % 64);
	}
	*ret = services;
	return ERR_OK;
}

static enum err refuse_damaged(struct day_index *x, const struct selection *selection,
			       struct fault *fault)
{
	vec_for_each (id, &x->damaged) {
		struct day_service *ds = day_service_by_id(x->day, *id);
		bool takes;

		if (!ds)
			continue;
		TRY(selection_takes_service(selection, str_of(ds->name), &takes));
		if (takes)
			return day_damaged(x->day, ERR_DAMAGED, "the dictionary", ds->name, fault);
	}
	return ERR_OK;
}

bool index_is_stale(struct day_index *x)
{
	bool stale;

	engine_lock(x->day->engine);
	stale = x->stale;
	engine_unlock(x->day->engine);
	return stale;
}

static bool is_damaged(const struct day_index *x, uint32_t id)
{
	vec_for_each (damaged, &x->damaged)
		if (*damaged == id)
			return true;
	return false;
}

static enum err list_service(struct day_index *x, const struct service_bits *bits,
			     const struct selection *selection, struct day_service *ds,
			     struct service_list *ret)
{
	uint32_t id = atomic_load(&ds->id);
	const struct index_service *s = series_index_service(&x->table, id);
	struct listed_service one = {.service = ds, .at = MAP_NONE};
	bool takes = false;

	if (s && s->series.n) {
		one.at = (uint32_t)(s - x->table.services.v);
		takes = bits->matching[one.at / 64] >> (one.at % 64) & 1;
		one.open = bits->open[one.at / 64] >> (one.at % 64) & 1;
	} else if (id && is_damaged(x, id)) {
		TRY(selection_takes_service(selection, str_of(ds->name), &takes));
	}
	return takes ? vec_push(&ret->v, one) : ERR_OK;
}

/* In the order of the day, so that answers do not depend on what is in memory. */
static enum err list_day(struct day_index *x, const struct service_bits *bits,
			 const struct selection *selection, struct service_list *ret)
{
	struct day_service *some[SERVICES_PORTION];
	size_t n;

	for (size_t i = 0; (n = day_services_from(x->day, i, some, SERVICES_PORTION)); i += n)
		for (size_t k = 0; k < n; k++)
			TRY(list_service(x, bits, selection, some[k], ret));
	return ERR_OK;
}

enum err index_list_only(struct day_index *x, const struct str *names, size_t n,
			 struct service_list *ret)
{
	for (size_t i = 0; i < n; i++) {
		struct day_service *ds = day_service_find(x->day, names[i]);
		uint32_t id = ds ? atomic_load(&ds->id) : 0;
		const struct index_service *s = series_index_service(&x->table, id);
		struct listed_service one = {.service = ds, .at = MAP_NONE};

		if (!id || (!(s && s->series.n) && !is_damaged(x, id)))
			continue;
		if (s && s->series.n)
			one.at = (uint32_t)(s - x->table.services.v);
		TRY(vec_push(&ret->v, one));
	}
	return ERR_OK;
}

enum err index_list(struct day_index *x, const struct selection *selection, struct ask *ask,
		    struct service_list *ret)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct service_bits bits;
	struct service_list list = {0};
	enum err error = index_services(&x->table, selection, ask, &arena, &bits);

	if (error == ERR_OK)
		error = list_day(x, &bits, selection, &list);
	if (error == ERR_OK)
		*ret = list;
	else
		vec_release(&list.v);
	return error;
}

static enum err each_day(struct day *d, const struct selection *selection, struct ask *ask,
			 enum err (*each)(void *, const struct series_index *, const uint64_t *),
			 void *context)
{
	CLEANUP(mem_free_ptr) uint64_t *services = NULL;
	struct fault *fault = ask ? ask->fault : NULL;
	struct day_index *x;
	enum err error;

	if (ask_cancelled(ask))
		return fault_set(fault, ERR_CANCELLED, "the question was given up");
	TRY(day_ask(d, ask));
	TRY(index_get(d, &x, fault));
	error = ask_forgive(ask, refuse_damaged(x, selection, fault), fault);
	if (error == ERR_OK)
		error = reaching(d, &x->table, selection->from_ns, &services);
	if (error == ERR_OK)
		error = each(context, &x->table, services);
	index_put(x);
	return error;
}

enum err embedded_indexes(void *engine, struct str tenant, const struct selection *selection,
			  struct ask *ask,
			  enum err (*each)(void *, const struct series_index *, const uint64_t *),
			  void *context)
{
	struct fault *fault = ask ? ask->fault : NULL;
	struct day_list days = {0};
	struct tenant *t;
	enum err error = tenant_get(engine, tenant, false, &t, fault);

	if (error == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(error);
	if (selection->from_ns >= selection->until_ns)
		return ERR_OK;
	TRY(days_of_range(t, DAY_PROFILES, add_saturating(selection->from_ns, -PROFILE_LONGEST_NS),
			  selection->until_ns, &days, fault));
	for (size_t i = 0; error == ERR_OK && i < days.v.n; i++)
		error = ask_forgive(ask, each_day(days.v.v[i], selection, ask, each, context),
				    fault);
	day_list_put(&days);
	return error;
}
