/* The embedded engine: opening, closing, and its table of functions. */
#include <stdlib.h>
#include <unistd.h>

#include "store/embedded_index.h"
#include "store/catalog.h"
#include "store/upkeep.h"

#define SETTING_MAX (1u << 20)

/* ------------------------------------------------------------------ partitions for writers */

static enum err embedded_partition(struct store *s, struct str tenant, struct str service,
				   int64_t day, struct partition **ret, struct fault *fault)
{
	struct day_service *ds;
	struct tenant *t;
	struct day *d;
	enum err error;

	if (!service.n || memchr(service.p, 0, service.n))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "the name of a service is not empty and has no NUL in it");
	if (day < 0)
		return fault_set(fault, ERR_BAD_ARGUMENT, "the profile has a time before 1970");
	TRY(tenant_get(embedded_of(s), tenant, true, &t, fault));
	TRY(day_get(t, (struct day_name){day, DAY_PROFILES}, true, &d, fault));
	error = day_service_get(d, service, &ds);
	if (error == ERR_OK)
		error = service_partition(ds, ret, fault);
	/* The partition keeps a reference to the day as long as it is referenced itself. */
	day_put(d);
	return error;
}

static void embedded_give_back(struct store *s, struct partition *p)
{
	partition_give_back(embedded_of(s), p);
}

/* ------------------------------------------------------------------ settings, audit */

uint64_t seal_setting(uint64_t key, struct str name, struct str value, int64_t modified)
{
	uint64_t s = seal_text(seal_text(seal_begin(key, SEALED_SETTING), name), value);

	return seal_end(seal_number(s, (uint64_t)modified));
}

uint64_t seal_audit(uint64_t key, int64_t time, struct str event, struct str detail)
{
	uint64_t s = seal_number(seal_begin(key, SEALED_AUDIT), (uint64_t)time);

	return seal_end(seal_text(seal_text(s, event), detail));
}

static enum err put_setting(struct catalog_change *c, struct str name, struct str value,
			    int64_t now_ns, struct fault *fault)
{
	uint64_t seal = seal_setting(catalog_key(c->tenant), name, value, now_ns);
	sqlite3_stmt *q;

	TRY(db_statement(c->db, SETTING_DELETE, &q, fault));
	db_bind(q, 1, name);
	TRY(catalog_take(c, TALLY_SETTINGS, q, fault));
	if (!value.p)
		return ERR_OK;
	TRY(db_statement(c->db, SETTING_PUT, &q, fault));
	db_bind(q, 1, name);
	db_bind(q, 2, value);
	sqlite3_bind_int64(q, 3, now_ns);
	sqlite3_bind_int64(q, 4, (int64_t)seal);
	tally_add(&c->tenant->ledger.tallies[TALLY_SETTINGS], seal);
	return db_run(c->db, q, fault);
}

enum err embedded_setting_set(struct store *s, struct str tenant, struct str name, struct str value)
{
	struct catalog_change c;
	struct tenant *t;

	if (!name.n || name.n > SETTING_MAX || value.n > SETTING_MAX)
		return ERR_BAD_ARGUMENT;
	/* The remaining reserve is for deletes. */
	if (value.p && disk_guard_refuses(&embedded_of(s)->disk))
		return ERR_NO_SPACE;
	TRY(tenant_get(embedded_of(s), tenant, true, &t, NULL));
	TRY(catalog_begin(&c, t, NULL));
	return catalog_end(&c, put_setting(&c, name, value, store_now(s), NULL), NULL);
}

struct setting_list {
	VEC(struct setting) v;
};

static enum err read_settings(struct tenant *t, struct arena *arena, struct setting_list *list)
{
	struct db *catalog = t->catalog;
	struct tally found = {0};
	bool good = true;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(catalog, SETTING_ALL, &q, NULL));
	while ((error = db_step(catalog, q, &row, NULL)) == ERR_OK && row) {
		struct setting one = {.name = db_column(q, 0),
				      .value = db_column(q, 1),
				      .modified_ns = sqlite3_column_int64(q, 2)};
		uint64_t seal = (uint64_t)sqlite3_column_int64(q, 3);

		tally_add(&found, seal);
		good &= seal ? seal == seal_setting(catalog_key(t), one.name, one.value,
						    one.modified_ns)
			     : t->ledger.unsealed > 0;
		one.name.p = arena_copy(arena, one.name);
		one.value.p = arena_copy(arena, one.value);
		error = one.name.p && one.value.p ? vec_push(&list->v, one) : ERR_NO_MEMORY;
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	if (error == ERR_OK && (!good || !tally_equal(&found, &t->ledger.tallies[TALLY_SETTINGS])))
		error = ERR_DAMAGED;
	return error;
}

enum err embedded_settings(struct store *s, struct str tenant, struct setting_answer *ret)
{
	struct setting_answer answer = {0};
	struct setting_list list = {0};
	struct tenant *t;
	struct db *catalog;
	enum err error = tenant_get(embedded_of(s), tenant, false, &t, NULL);

	if (error == ERR_NOT_FOUND) {
		*ret = answer;
		return ERR_OK;
	}
	TRY(error);
	TRY(tenant_catalog(t, &catalog, NULL));
	error = read_settings(t, &answer.arena, &list);
	mutex_unlock(&t->catalog_lock);
	if (error == ERR_OK && list.v.n) {
		answer.n = list.v.n;
		answer.v = arena_alloc(&answer.arena, list.v.n * sizeof(*answer.v));
		if (answer.v)
			memcpy(answer.v, list.v.v, list.v.n * sizeof(*answer.v));
		error = answer.v ? ERR_OK : ERR_NO_MEMORY;
	}
	vec_release(&list.v);
	if (error == ERR_OK)
		*ret = answer;
	else
		arena_release(&answer.arena);
	return error;
}

static enum err write_audit(struct catalog_change *c, const char *event, struct str detail,
			    struct fault *fault)
{
	int64_t now = store_now(&c->tenant->engine->base);
	uint64_t seal = seal_audit(catalog_key(c->tenant), now, str_of(event), detail);
	sqlite3_stmt *q;

	TRY(db_query_with(c->db, AUDIT_ADD, &q, fault, now));
	db_bind(q, 2, str_of(event));
	db_bind(q, 3, detail);
	sqlite3_bind_int64(q, 4, (int64_t)seal);
	tally_add(&c->tenant->ledger.tallies[TALLY_AUDIT], seal);
	return db_run(c->db, q, fault);
}

enum err audit_add(struct tenant *t, const char *event, struct str detail, struct fault *fault)
{
	struct catalog_change c;

	TRY(catalog_begin(&c, t, fault));
	return catalog_end(&c, write_audit(&c, event, detail, fault), fault);
}

/* ------------------------------------------------------------------ tenants */

struct tenant_names {
	struct arena *arena;
	VEC(struct str) v;
	enum err error;
};

static void add_tenant(void *context, struct str name)
{
	struct tenant_names *names = context;
	struct str copy = {arena_copy(names->arena, name), name.n};

	if (names->error == ERR_OK)
		names->error = copy.p ? vec_push(&names->v, copy) : ERR_NO_MEMORY;
}

static int by_text(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static enum err embedded_tenants(struct store *s, struct text_answer *ret)
{
	struct text_answer answer = {0};
	struct tenant_names names = {.arena = &answer.arena};
	enum err error = store_dir_tenants(embedded_of(s)->dir.path, add_tenant, &names, NULL);

	if (error == ERR_OK)
		error = names.error;
	if (error == ERR_OK && names.v.n) {
		qsort(names.v.v, names.v.n, sizeof(*names.v.v), by_text);
		answer.n = names.v.n;
		answer.v = arena_alloc(&answer.arena, names.v.n * sizeof(*answer.v));
		if (answer.v)
			memcpy(answer.v, names.v.v, names.v.n * sizeof(*answer.v));
		error = answer.v ? ERR_OK : ERR_NO_MEMORY;
	}
	vec_release(&names.v);
	if (error == ERR_OK)
		*ret = answer;
	else
		arena_release(&answer.arena);
	return error;
}

/* ------------------------------------------------------------------ opening */

static enum err embedded_settle(struct store *s, bool all, struct fault *fault)
{
	return keeper_round(embedded_of(s), all, true, fault);
}

/* Copies the commit numbers to the catalog before the files are closed. */
static void record_all(struct embedded *e)
{
	vec_for_each (t, &e->tenants)
		vec_for_each (d, &(*t)->days)
			(void)!catalog_record(*d, NULL);
}

static void embedded_close(struct store *s)
{
	struct embedded *e = embedded_of(s);

	/* Commit threads first: queued batches are written before anything is freed. */
	committer_stop(e);
	keeper_stop(e);
	record_all(e);
	embedded_free_tenants(e);
	embedded_disk_close(e);
	connections_release(e);
	mutex_release(&e->spare_lock);
	store_dir_close(&e->dir);
	mutex_release(&e->record_lock);
	mutex_release(&e->lock);
	mutex_release(&e->making);
	cond_release(&e->changed);
	mutex_release(&e->queue_lock);
	cond_release(&e->queue_changed);
	cond_release(&e->filled);
	cond_release(&e->commits_go_on);
	mutex_release(&e->keeper_lock);
	cond_release(&e->keeper_wake);
	mutex_release(&e->round_lock);
	store_base_release(&e->base);
	mem_free(e);
}

static const struct store_ops embedded_ops = {
	.name = "embedded",
	.close = embedded_close,
	.partition = embedded_partition,
	.give_back = embedded_give_back,
	.commit = embedded_commit,
	.partitions = embedded_partitions,
	.services = embedded_services,
	.indexes = embedded_indexes,
	.apart = embedded_apart,
	.starts = embedded_starts,
	.scan = embedded_scan,
	.spans = embedded_spans,
	.stats = embedded_stats,
	.tenants = embedded_tenants,
	.delete = embedded_delete,
	.backup = embedded_backup,
	.settle = embedded_settle,
	.setting_set = embedded_setting_set,
	.settings = embedded_settings,
	.disk = embedded_disk_state,
	.use_reserve = embedded_use_reserve,
	.confirmed = embedded_confirmed,
	.shrink = embedded_shrink,
};

static enum err start(struct embedded *e, const struct store_options *options, struct fault *fault)
{
	enum err error = store_dir_open(&e->dir, options->directory, true, fault);

	if (error == ERR_OK)
		error = store_base_init(&e->base, &embedded_ops, options, e->dir.seed);
	if (error == ERR_OK)
		error = embedded_disk_open(e);
	if (error == ERR_OK)
		error = committer_start(e);
	if (error == ERR_OK)
		error = keeper_start(e);
	return error;
}

static size_t dictionary_memory(const struct store_options *o)
{
	const size_t least = (size_t)64 << 20, most = (size_t)512 << 20;
	size_t share = (size_t)sysconf(_SC_PHYS_PAGES) / 32 * (size_t)sysconf(_SC_PAGESIZE);

	if (o->dictionary_memory != SIZE_MAX)
		return o->dictionary_memory;
	return share < least ? least : share > most ? most : share;
}

enum err store_embedded_open(const struct store_options *options, struct store **ret,
			     struct fault *fault)
{
	struct embedded *e = mem_zalloc(1, sizeof(*e));
	enum err error;

	if (!e)
		return ERR_NO_MEMORY;
	mutex_init(&e->lock);
	mutex_init(&e->record_lock);
	mutex_init(&e->making);
	cond_init(&e->changed);
	mutex_init(&e->queue_lock);
	cond_init(&e->queue_changed);
	cond_init(&e->filled);
	cond_init(&e->commits_go_on);
	mutex_init(&e->keeper_lock);
	cond_init(&e->keeper_wake);
	mutex_init(&e->round_lock);
	mutex_init(&e->spare_lock);
	lru_init(&e->unused);
	connections_init(e);
	e->memory_ceiling = dictionary_memory(options);
	e->dir.lock_fd = -1;
	error = start(e, options, fault);
	if (error != ERR_OK) {
		embedded_close(&e->base);
		return error;
	}
	*ret = &e->base;
	return ERR_OK;
}
