/*
 * Creates the ledger of a day's file, when the file is created or upgraded from a version without
 * ledgers. Existing rows are counted and keep the seal 0, because sealing them would mean to read
 * all data. They get seals when compaction, roll-ups or deletes rewrite them. Rows of services are
 * few and are sealed immediately.
 */
#include "store/embedded.h"

struct old_service {
	int64_t id, series;
	char *name;
};
struct old_services {
	VEC(struct old_service) v;
};

static void release(struct old_services *all)
{
	vec_for_each (one, &all->v)
		mem_free(one->name);
	vec_release(&all->v);
}

static enum err read_services(struct db *db, struct old_services *ret, struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	TRY(db_statement(db, SERVICE_ALL, &q, fault));
	while ((error = db_step(db, q, &row, fault)) == ERR_OK && row) {
		struct str name = db_column(q, 1);
		struct old_service *one;

		if ((error = vec_reserve(&ret->v, 1)) != ERR_OK)
			break;
		one = &ret->v.v[ret->v.n];
		*one = (struct old_service){sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 2),
					    mem_strndup(name.p, name.n)};
		if (!one->name) {
			error = ERR_NO_MEMORY;
			break;
		}
		ret->v.n++;
	}
	db_reset(q);
	return error;
}

static enum err seal_one(struct db *db, uint64_t key, const struct old_service *s,
			 struct tally *services, struct fault *fault)
{
	struct tally tallies[SERVICE_TALLIES] = {0};
	uint8_t bytes[SERVICE_TALLIES * TALLY_BYTES];
	sqlite3_stmt *q;
	uint64_t seal;
	bool row;
	enum err error;

	TRY(db_query_with(db, SERVICE_ROW_COUNTS, &q, fault, s->id));
	error = db_step(db, q, &row, fault);
	for (int t = 0; error == ERR_OK && t < SERVICE_TALLIES; t++)
		tallies[t].n = (uint64_t)sqlite3_column_int64(q, t);
	db_reset(q);
	TRY(error);
	seal = seal_service(key, s->id, str_of(s->name), s->series, tallies);
	tally_write(tallies, SERVICE_TALLIES, bytes);
	TRY(db_query_with(db, SERVICE_PUT, &q, fault, s->series));
	db_bind(q, 2, str_n((const char *)bytes, sizeof(bytes)));
	sqlite3_bind_int64(q, 3, (int64_t)seal);
	sqlite3_bind_int64(q, 4, s->id);
	tally_add(services, seal);
	return db_run(db, q, fault);
}

static enum err seal_services(struct db *db, uint64_t place, struct ledger *l, struct fault *fault)
{
	struct old_services all = {0};
	enum err error = read_services(db, &all, fault);

	for (size_t i = 0; error == ERR_OK && i < all.v.n; i++)
		error = seal_one(db, file_key(place, l->file), &all.v.v[i],
				 &l->tallies[TALLY_SERVICES], fault);
	release(&all);
	return error;
}

static enum err count_rows(const struct day_setup *s, struct db *db, struct ledger *l,
			   struct fault *fault)
{
	sqlite3_stmt *q;
	bool row;
	enum err error;

	if (!s->spans)
		TRY(seal_services(db, s->place, l, fault));
	TRY(db_statement(db, s->spans ? (unsigned)SPAN_ROW_COUNTS : (unsigned)ROW_COUNTS, &q,
			 fault));
	error = db_step(db, q, &row, fault);
	if (error == ERR_OK && s->spans) {
		l->tallies[TALLY_NAMES].n = (uint64_t)sqlite3_column_int64(q, 0);
		l->tallies[TALLY_SPANS].n = (uint64_t)sqlite3_column_int64(q, 1);
		l->unsealed = l->tallies[TALLY_NAMES].n + l->tallies[TALLY_SPANS].n;
	} else if (error == ERR_OK) {
		l->tallies[TALLY_CHUNKS].n = (uint64_t)sqlite3_column_int64(q, 1);
		l->tallies[TALLY_MARKS].n = (uint64_t)sqlite3_column_int64(q, 2);
		l->unsealed = (uint64_t)sqlite3_column_int64(q, 3);
	}
	db_reset(q);
	return error;
}

enum err day_set_up(void *context, struct db *db, int64_t from, struct fault *fault)
{
	struct day_setup *s = context;
	struct ledger l;

	TRY(ledger_make(db, &l, fault));
	if (from)
		TRY(count_rows(s, db, &l, fault));
	s->upgraded = from != 0;
	return ledger_write(db, s->place, &l, fault);
}
