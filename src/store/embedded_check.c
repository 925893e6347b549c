/* `vestal check`: every file, every checksum, every reference. */
#include <unistd.h>

#include "base/file.h"
#include "store/embedded.h"

#define BLOCK_MEMORY (1u << 30)

struct checker {
	void (*each)(void *context, const char *problem);
	void *context;
	uint64_t checked;
	uint64_t seed;
	const char *path; /* of the file */
	const char *folder;
	struct fault *fault;
	enum err error; /* of a callback that cannot return one */
	/* Services by id. */
	VEC(struct partition *) partitions;
};

static void problem(struct checker *k, const char *format, ...) PRINTF_LIKE(2, 3);
static void problem(struct checker *k, const char *format, ...)
{
	struct buf text = BUF_INIT(4096);
	va_list args;

	buf_printf(&text, "%s: ", k->path);
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	k->each(k->context, text.error == ERR_OK ? text.data : k->path);
	buf_release(&text);
}

static struct partition *partition_of(const struct checker *k, int64_t service)
{
	return service > 0 && (size_t)service < k->partitions.n ? k->partitions.v[service] : NULL;
}

/* Damage is told; only other errors end the check. */
static enum err told(struct checker *k, enum err error, const char *what, int64_t id)
{
	k->checked++;
	switch (error) {
	case ERR_CORRUPT:
	case ERR_TRUNCATED:
	case ERR_BAD_INDEX:
	case ERR_TOO_LARGE:
	case ERR_UNSUPPORTED:
		problem(k, "%s %lld is damaged: %s", what, (long long)id, err_text(error));
		return ERR_OK;
	default:
		return error;
	}
}

/* ------------------------------------------------------------------ rows */

static enum err check_dictionary(struct checker *k, struct db *db, int64_t id, struct str name)
{
	struct partition *p = NULL;
	sqlite3_stmt *q;
	bool row;
	enum err error;

	while (k->partitions.n <= (size_t)id)
		TRY(vec_push(&k->partitions, NULL));
	TRY(partition_new(STR("check"), name, 0, k->seed, NULL, &p));
	k->partitions.v[id] = p;
	TRY(db_query_with(db, DICTIONARY_OF, &q, k->fault, dictionary_key((uint32_t)id, 0),
			  dictionary_key((uint32_t)id, UINT32_MAX)));
	while ((error = db_step(db, q, &row, k->fault)) == ERR_OK && row) {
		enum err applied = partition_delta_apply(p, db_column(q, 1));

		error = told(k, applied, "dictionary row", sqlite3_column_int64(q, 0));
		/* What follows would not fit. */
		if (error != ERR_OK || applied != ERR_OK)
			break;
	}
	db_reset(q);
	return error;
}

/* All columns are read, all ids looked up. */
static enum err check_view(const struct partition *p, const struct chunk_view *v)
{
	struct arena arena = {0};
	struct chunk_group *groups;
	uint32_t n, rows = v->head.rows + 1;
	uint32_t *stacks = arena_alloc(&arena, rows * sizeof(*stacks));
	int64_t *values = arena_alloc(&arena, rows * sizeof(*values));
	enum err error = stacks && values ? ERR_OK : ERR_NO_MEMORY;

	if (v->head.series != SERIES_MANY && v->head.series >= p->series.n)
		error = ERR_BAD_INDEX;
	if (error == ERR_OK)
		error = chunk_stacks(v, (uint32_t)p->dict.stacks.entries.n, stacks);
	for (uint32_t t = 0; error == ERR_OK && t < v->head.column_count; t++) {
		if (v->head.columns[t].type >= p->types.n)
			error = ERR_BAD_INDEX;
		else
			error = chunk_values(v, &v->head.columns[t], values);
	}
	if (error == ERR_OK)
		error = chunk_times(v, values);
	if (error == ERR_OK)
		error = chunk_groups(v, &arena, &groups, &n);
	for (uint32_t g = 0; error == ERR_OK && g < n; g++)
		if (groups[g].labels >= p->dict.label_sets.entries.n)
			error = ERR_BAD_INDEX;
	arena_release(&arena);
	return error;
}

static enum err check_chunk(const struct partition *p, struct str bytes)
{
	struct arena arena = {0};
	struct chunk_view v;
	enum err error = chunk_open(bytes, &arena, &v);

	if (error == ERR_OK)
		error = check_view(p, &v);
	arena_release(&arena);
	return error;
}

static enum err check_block(const struct partition *p, struct str bytes)
{
	struct block b = {0};
	enum err error = block_open(bytes, BLOCK_MEMORY, &b);

	for (size_t i = 0; error == ERR_OK && i < b.n; i++)
		error = check_view(p, &b.chunks[i]);
	block_release(&b);
	return error;
}

/* Columns of the statement: a number to name the row by, service, data. */
static enum err check_rows(struct checker *k, struct db *db, unsigned which, const char *what,
			   enum err (*check)(const struct partition *, struct str))
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(db, which, &q, k->fault));
	while ((error = db_step(db, q, &row, k->fault)) == ERR_OK && row) {
		int64_t id = sqlite3_column_int64(q, 0);
		const struct partition *p = partition_of(k, sqlite3_column_int64(q, 1));

		if (!p) {
			k->checked++;
			problem(k, "%s %lld belongs to a service that is not there", what,
				(long long)id);
			continue;
		}
		error = told(k, check(p, db_column(q, 2)), what, id);
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	return error;
}

/* ------------------------------------------------------------------ files */

static enum err check_services(struct checker *k, struct db *db)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(db, SERVICE_ALL, &q, k->fault));
	while ((error = db_step(db, q, &row, k->fault)) == ERR_OK && row) {
		int64_t id = sqlite3_column_int64(q, 0);

		if (id < 1 || id > UINT32_MAX >> 4)
			problem(k, "a service has the number %lld", (long long)id);
		else
			error = check_dictionary(k, db, id, db_column(q, 1));
		if (error != ERR_OK)
			break;
	}
	db_reset(q);
	return error;
}

static enum err check_profiles(struct checker *k, struct db *db)
{
	enum err error = check_services(k, db);

	if (error == ERR_OK)
		error = check_rows(k, db, CHUNK_ALL, "chunk", check_chunk);
	if (error == ERR_OK)
		error = check_rows(k, db, BLOCK_ALL, "block", check_block);
	if (error == ERR_OK)
		error = check_rows(k, db, ROLLUP_ALL, "roll-up", check_block);
	vec_for_each (p, &k->partitions)
		partition_free(*p);
	k->partitions.n = 0;
	return error;
}

static enum err check_file(struct checker *k, const char *path, const struct db_schema *schema)
{
	struct fault fault = {0};
	struct db *db = NULL;
	enum err error = db_open(path, schema, DB_READ, &db, &fault);

	k->path = path;
	k->checked++;
	if (error == ERR_NOT_FOUND)
		return ERR_OK;
	if (error == ERR_CORRUPT || error == ERR_UNSUPPORTED) {
		k->each(k->context, fault.text);
		return ERR_OK;
	}
	if (error == ERR_OK)
		error = db_integrity(db, k->each, k->context, &fault);
	if (error == ERR_OK && schema == &day_schema)
		error = check_profiles(k, db);
	db_close(db);
	if (error == ERR_CORRUPT) {
		problem(k, "%s", fault.text[0] ? fault.text : err_text(error));
		return ERR_OK;
	}
	if (error != ERR_OK && k->fault)
		*k->fault = fault;
	return error;
}

static enum err check_tenant(struct checker *k, struct str name)
{
	struct day_names days = {0};
	struct buf catalog = BUF_INIT(OUTPUT_PATH_MAX);
	char *folder = NULL;
	enum err error = tenant_folder(k->folder, name, false, &folder, k->fault);

	if (error == ERR_OK)
		error = day_list(folder, &days, k->fault);
	for (size_t i = 0; error == ERR_OK && i < days.names.n; i++) {
		char *path = day_path(folder, days.names.v[i]);

		error = path ? check_file(k, path,
					  days.names.v[i].kind == DAY_SPANS ? &spans_schema
									    : &day_schema)
			     : ERR_NO_MEMORY;
		mem_free(path);
	}
	if (error == ERR_OK) {
		buf_printf(&catalog, "%s/catalog.db", folder);
		error = buf_error(&catalog);
	}
	if (error == ERR_OK && access(catalog.data, F_OK) == 0)
		error = check_file(k, catalog.data, &catalog_schema);
	buf_release(&catalog);
	vec_release(&days.names);
	mem_free(folder);
	return error;
}

static void each_tenant(void *context, struct str name)
{
	struct checker *k = context;

	if (k->error == ERR_OK)
		k->error = check_tenant(k, name);
}

enum err store_embedded_check(const char *directory,
			      void (*each)(void *context, const char *problem), void *context,
			      uint64_t *ret_checked, struct fault *fault)
{
	struct store_dir dir = STORE_DIR_CLOSED;
	struct checker k = {.each = each, .context = context, .folder = directory, .fault = fault};
	enum err error = store_dir_open(&dir, directory, false, fault);

	if (error != ERR_OK)
		return error;
	k.seed = dir.seed;
	error = store_dir_tenants(directory, each_tenant, &k, fault);
	if (error == ERR_OK)
		error = k.error;
	vec_release(&k.partitions);
	store_dir_close(&dir);
	if (error == ERR_OK)
		*ret_checked = k.checked;
	return error;
}
