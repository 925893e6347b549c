/* The rows of a day that hold profiles. */
#include "store/series_index.h"
#include "store/file_walk.h"

#define BLOCK_MEMORY (1u << 30)
#define PARTS	     26 /* parts of a day: before it, its hours, after it */

static bool broken(enum err error)
{
	return is_damage(error) || error == ERR_TOO_LARGE;
}

/* ------------------------------------------------------------------ dictionaries */

static enum err dictionary_row(struct walk *w, struct walk_service *s, sqlite3_stmt *q)
{
	struct str data = db_column(q, 1);
	struct walk_row row = {WALK_DICTIONARY, s, sqlite3_column_int64(q, 0), {0}, data};
	int64_t seal = sqlite3_column_int64(q, 2);

	w->checked++;
	tally_add(&s->found[TALLY_DICTIONARY], (uint64_t)seal);
	if (!walk_seal_good(w, seal, seal_dictionary(w->key, row.id, data)))
		return ERR_DAMAGED;
	TRY(partition_delta_apply(s->partition, data));
	return w->good ? w->good(w->context, &row) : ERR_OK;
}

enum err walk_dictionary(struct walk *w, struct walk_service *s)
{
	struct walk_loss loss = {s->name, w->day * NS_PER_DAY, (w->day + 1) * NS_PER_DAY, -1,
				 false};
	struct walk_row row = {WALK_SERVICE, s, s->id, {0}, str_of(s->name)};
	sqlite3_stmt *q;
	bool more;
	enum err error;

	TRY(partition_new(STR("check"), str_of(s->name), 0, w->seed, NULL, &s->partition));
	if (w->good)
		TRY(w->good(w->context, &row));
	error = db_query_with(w->db, DICTIONARY_OF, &q, &w->fault,
			      dictionary_key((uint32_t)s->id, 0),
			      dictionary_key((uint32_t)s->id, UINT32_MAX));
	if (error == ERR_OK) {
		while ((error = db_step(w->db, q, &more, &w->fault)) == ERR_OK && more)
			if ((error = dictionary_row(w, s, q)) != ERR_OK)
				break;
		db_reset(q);
	}
	/* Later rows would refer to wrong ids. */
	if (broken(error) || error == ERR_INTERNAL) {
		walk_bad(w, &loss, "the dictionary of %s is damaged after %zu stacks", s->name,
			 (size_t)s->partition->dict.stacks.entries.n);
		return ERR_OK;
	}
	return error;
}

/* ------------------------------------------------------------------ what refers to them */

/* Decodes all columns and checks all ids. */
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

/* Passes on an intact row; reports a damaged one with its loss. */
static enum err settle(struct walk *w, const struct walk_row *row, enum err error, const char *what,
		       const struct walk_loss *loss)
{
	if (error == ERR_OK)
		return w->good ? w->good(w->context, row) : ERR_OK;
	if (!broken(error))
		return error;
	walk_bad(w, loss, "%s %lld of %s is damaged: %s", what, (long long)row->id,
		 row->service ? row->service->name : "a missing service",
		 error == ERR_DAMAGED ? "its checksum is wrong" : err_text(error));
	return ERR_OK;
}

static enum err chunk_row(struct walk *w, sqlite3_stmt *q, struct tally *found)
{
	struct walk_service *s = walk_service_of(w, sqlite3_column_int64(q, 1));
	struct walk_row row = {WALK_CHUNK,
			       s,
			       sqlite3_column_int64(q, 0),
			       {sqlite3_column_int64(q, 2)},
			       db_column(q, 3)};
	int64_t time = row_time_ns(row.id), seal = sqlite3_column_int64(q, 4);
	struct walk_loss loss = {s ? s->name : NULL, time, time + 1000000, 1, false};
	enum err error = ERR_DAMAGED;

	w->checked++;
	tally_add(found, (uint64_t)seal);
	if (s && walk_seal_good(w, seal, seal_chunk_row(w->key, q)))
		error = check_chunk(s->partition, row.data);
	return settle(w, &row, error, "chunk", &loss);
}

static enum err block_row(struct walk *w, sqlite3_stmt *q, struct tally *found)
{
	struct walk_service *s = walk_service_of(w, sqlite3_column_int64(q, 1));
	struct walk_row row = {WALK_BLOCK, s, sqlite3_column_int64(q, 0), {0}, db_column(q, 6)};
	int64_t time = row_time_ns(row.id), seal = sqlite3_column_int64(q, 7);
	struct walk_loss loss = {s ? s->name : NULL, time, time + WINDOW_NS,
				 sqlite3_column_int64(q, 2), false};
	enum err error = ERR_DAMAGED;

	(void)found;
	w->checked++;
	for (int i = 0; i < 4; i++)
		row.columns[i] = sqlite3_column_int64(q, 2 + i);
	if (s)
		tally_add(&s->found[TALLY_BLOCKS], (uint64_t)seal);
	if (s && walk_seal_good(w, seal, seal_block_row(w->key, q)))
		error = check_block(s->partition, row.data);
	return settle(w, &row, error, "block", &loss);
}

static enum err rollup_row(struct walk *w, sqlite3_stmt *q, struct tally *found)
{
	struct walk_service *s = walk_service_of(w, sqlite3_column_int64(q, 1));
	int64_t level = sqlite3_column_int64(q, 2), start = sqlite3_column_int64(q, 3),
		seal = sqlite3_column_int64(q, 5);
	struct walk_row row = {WALK_ROLLUP, s, start, {level}, db_column(q, 4)};
	struct walk_loss loss = {s ? s->name : NULL, w->day * NS_PER_DAY, (w->day + 1) * NS_PER_DAY,
				 -1, true};
	enum err error = ERR_DAMAGED;

	(void)found;
	w->checked++;
	if (s)
		tally_add(&s->found[TALLY_ROLLUPS], (uint64_t)seal);
	if (s && walk_seal_good(w, seal, seal_rollup(w->key, s->id, level, start, row.data)))
		error = check_block(s->partition, row.data);
	return settle(w, &row, error, "roll-up", &loss);
}

/* ------------------------------------------------------------------ tables */

typedef enum err row_fn(struct walk *w, sqlite3_stmt *q, struct tally *found);

static enum err walk_range(struct walk *w, unsigned which, int64_t from, int64_t until,
			   row_fn *each, struct tally *found)
{
	sqlite3_stmt *q;
	bool row;
	enum err error = db_query_with(w->db, which, &q, &w->fault, from, until);

	if (error == ERR_OK) {
		while ((error = db_step(w->db, q, &row, &w->fault)) == ERR_OK && row)
			if ((error = each(w, q, found)) != ERR_OK)
				break;
		db_reset(q);
	}
	return error;
}

static enum err unreadable(struct walk *w, enum err error, const char *what, int64_t from_ns,
			   int64_t until_ns)
{
	struct walk_loss loss = {NULL, from_ns, until_ns, -1, false};

	if (!is_damage(error) && error != ERR_INTERNAL)
		return error;
	walk_bad(w, &loss, "%s cannot all be read: %s", what, w->fault.text);
	return ERR_OK;
}

/* Walks the day part by part. */
static enum err walk_parts(struct walk *w, unsigned which, const char *what, row_fn *each,
			   struct tally *found)
{
	int64_t day_ns = w->day * NS_PER_DAY;

	for (int part = 0; part < PARTS; part++) {
		int64_t begin = day_ns + (part - 1) * NS_PER_HOUR;
		int64_t from = part ? row_key(begin, 0) : INT64_MIN;
		int64_t until = part < PARTS - 1 ? row_key(begin + NS_PER_HOUR, 0) : INT64_MAX;
		enum err error = walk_range(w, which, from, until, each, found);

		TRY(unreadable(w, error, what, begin, begin + NS_PER_HOUR));
	}
	return ERR_OK;
}

enum err walk_chunks(struct walk *w)
{
	const struct tally *expected = &w->ledger.tallies[TALLY_CHUNKS];
	struct walk_loss loss = {NULL, w->day * NS_PER_DAY, (w->day + 1) * NS_PER_DAY, -1, false};
	struct tally found = {0};

	TRY(walk_parts(w, CHUNK_ALL, "chunks", chunk_row, &found));
	if (!w->sealed || tally_equal(&found, expected))
		return ERR_OK;
	if (found.n < expected->n)
		loss.profiles = (int64_t)(expected->n - found.n);
	walk_bad(w, &loss, "has %llu chunks instead of the %llu that were written",
		 (unsigned long long)found.n, (unsigned long long)expected->n);
	return ERR_OK;
}

enum err walk_blocks(struct walk *w)
{
	struct tally found = {0};

	return walk_parts(w, BLOCK_ALL, "blocks", block_row, &found);
}

enum err walk_rollups(struct walk *w)
{
	struct tally found = {0};
	enum err error = walk_range(w, ROLLUP_ALL, INT64_MIN, INT64_MAX, rollup_row, &found);

	if (!is_damage(error) && error != ERR_INTERNAL)
		return error;
	walk_bad(w, NULL, "roll-ups cannot all be read: %s", w->fault.text);
	return ERR_OK;
}

/* ------------------------------------------------------------------ the index of series */

static enum err index_row(struct walk *w, struct series_index *x, sqlite3_stmt *q)
{
	int64_t key = sqlite3_column_int64(q, 0), seal = sqlite3_column_int64(q, 2);
	struct walk_service *s = walk_service_of(w, key >> 32);
	struct walk_row row = {WALK_INDEX, s, key, {0}, db_column(q, 1)};
	struct walk_loss loss = {s ? s->name : NULL, w->day * NS_PER_DAY, (w->day + 1) * NS_PER_DAY,
				 -1, true};
	enum err error = ERR_DAMAGED;

	/* The mark has no seal. */
	if (!key)
		return ERR_OK;
	w->checked++;
	if (s)
		tally_add(&s->found[TALLY_INDEX], (uint64_t)seal);
	if (s && walk_seal_good(w, seal, seal_index(w->key, key, row.data)))
		error = series_delta_apply(x, (uint32_t)s->id, row.data);
	return settle(w, &row, error, "row of the index", &loss);
}

/* Files without seals have no index that is used. */
enum err walk_index(struct walk *w)
{
	struct series_index x = {0};
	sqlite3_stmt *q;
	bool row;
	enum err error;

	if (!w->sealed)
		return ERR_OK;
	TRY(series_index_init(&x, w->seed));
	error = db_statement(w->db, INDEX_ALL, &q, &w->fault);
	if (error == ERR_OK) {
		while ((error = db_step(w->db, q, &row, &w->fault)) == ERR_OK && row)
			if ((error = index_row(w, &x, q)) != ERR_OK)
				break;
		db_reset(q);
	}
	series_index_release(&x);
	if (!is_damage(error) && error != ERR_INTERNAL)
		return error;
	walk_bad(w, NULL, "the index of series cannot all be read: %s", w->fault.text);
	return ERR_OK;
}
