#include "store/file_walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void walk_bad(struct walk *w, const struct walk_loss *loss, const char *format, ...)
{
	char text[600];
	va_list args;
	int n = snprintf(text, sizeof(text), "%s: ", w->path);

	if (n < 0 || n >= (int)sizeof(text))
		n = 0;
	va_start(args, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
	va_end(args);
	w->problems++;
	w->bad(w->context, text, loss);
}

bool walk_seal_good(const struct walk *w, int64_t found, uint64_t expected)
{
	return (uint64_t)found == expected || (!found && (!w->sealed || w->ledger.unsealed));
}

static struct walk_loss whole_day(const struct walk *w)
{
	return (struct walk_loss){NULL, w->day * NS_PER_DAY, (w->day + 1) * NS_PER_DAY, -1, false};
}

/* ------------------------------------------------------------------ the file */

static void integrity_problem(void *context, const char *problem)
{
	struct walk *w = context;
	struct walk_loss loss = whole_day(w);

	/* The message already begins with the path. */
	w->problems++;
	w->bad(w->context, problem, &loss);
}

static void compare_commits(struct walk *w)
{
	struct walk_loss loss = whole_day(w);
	const struct ledger *l = &w->ledger;

	if (w->known_file && w->known_file != l->file)
		walk_bad(w, &loss, "it was replaced by another file");
	else if (w->least_commits > l->commits)
		walk_bad(w, &loss, "its last %llu transactions are missing",
			 (unsigned long long)(w->least_commits - l->commits));
	if (l->lost)
		walk_bad(w, &loss, "%llu transactions are missing", (unsigned long long)l->lost);
}

enum err walk_open(struct walk *w, const struct db_schema *schema, bool *ret_open)
{
	struct walk_loss loss = whole_day(w);
	enum err error = access(w->path, F_OK) < 0
				 ? ERR_NOT_FOUND
				 : db_open(w->path, schema, DB_READ, &w->db, &w->fault);

	*ret_open = false;
	w->checked++;
	if (error == ERR_NOT_FOUND) {
		if (w->least_commits)
			walk_bad(w, &loss, "it is missing, or empty; it had %llu transactions",
				 (unsigned long long)w->least_commits);
		return ERR_OK;
	}
	if (error == ERR_OK && (w->sealed = w->db->version >= schema->older_below))
		error = ledger_read(w->db, w->place, &w->ledger, &w->fault);
	w->newer = error == ERR_UNSUPPORTED;
	if (is_damage(error) || error == ERR_IO || error == ERR_INTERNAL) {
		w->problems++;
		w->bad(w->context, w->fault.text, &loss);
		return ERR_OK;
	}
	TRY(error);
	*ret_open = true;
	w->key = file_key(w->place, w->ledger.file);
	if (w->sealed)
		compare_commits(w);
	else if (w->known_file)
		walk_bad(w, &loss, "it is as before %llu transactions that were written",
			 (unsigned long long)w->least_commits);
	error = db_integrity(w->db, integrity_problem, w, &w->fault);
	if (is_damage(error) || error == ERR_INTERNAL) {
		w->problems++;
		w->bad(w->context, w->fault.text, &loss);
		error = ERR_OK;
	}
	return error;
}

void walk_release(struct walk *w)
{
	vec_for_each (s, &w->services) {
		mem_free(s->name);
		partition_free(s->partition);
	}
	vec_release(&w->services);
	db_close(w->db);
	w->db = NULL;
}

/* ------------------------------------------------------------------ services */

struct walk_service *walk_service_of(struct walk *w, int64_t id)
{
	vec_for_each (s, &w->services)
		if (s->id == id)
			return s;
	return NULL;
}

static enum err add_service(struct walk *w, sqlite3_stmt *q, struct tally *found)
{
	struct str name = db_column(q, 1);
	struct walk_service s = {.id = sqlite3_column_int64(q, 0),
				 .series = sqlite3_column_int64(q, 2)};
	uint64_t seal = (uint64_t)sqlite3_column_int64(q, 4);
	struct walk_loss loss = whole_day(w);

	w->checked++;
	tally_add(found, seal);
	if (s.id < 1 || s.id > UINT32_MAX >> 4 || !name.n || memchr(name.p, 0, name.n)) {
		walk_bad(w, &loss, "a service has the number %lld, or no name", (long long)s.id);
		return ERR_OK;
	}
	s.good = !w->sealed || (tally_read(db_column(q, 3), s.expected, SERVICE_TALLIES) &&
				seal == seal_service(w->key, s.id, name, s.series, s.expected));
	s.name = mem_strndup(name.p, name.n);
	if (!s.name)
		return ERR_NO_MEMORY;
	loss.service = s.name;
	if (!s.good)
		walk_bad(w, &loss, "the row of service %s was altered", s.name);
	TRY(vec_reserve(&w->services, 1));
	w->services.v[w->services.n++] = s;
	return ERR_OK;
}

static enum err walk_services(struct walk *w)
{
	const struct tally *expected = &w->ledger.tallies[TALLY_SERVICES];
	struct walk_loss loss = whole_day(w);
	struct tally found = {0};
	sqlite3_stmt *q;
	bool row;
	enum err error = db_statement(w->db, SERVICE_ALL, &q, &w->fault);

	if (error == ERR_OK) {
		while ((error = db_step(w->db, q, &row, &w->fault)) == ERR_OK && row)
			if ((error = add_service(w, q, &found)) != ERR_OK)
				break;
		db_reset(q);
	}
	if (is_damage(error) || error == ERR_INTERNAL) {
		walk_bad(w, &loss, "services cannot all be read: %s", w->fault.text);
		error = ERR_OK;
	}
	if (error == ERR_OK && w->sealed && !tally_equal(&found, expected))
		walk_bad(w, &loss, "has %llu services instead of the %llu that were written",
			 (unsigned long long)found.n, (unsigned long long)expected->n);
	return error;
}

static enum err tell_good(struct walk *w, const struct walk_row *row)
{
	return w->good ? w->good(w->context, row) : ERR_OK;
}

static enum err one_reach(struct walk *w, sqlite3_stmt *q, struct tally *marks)
{
	int64_t id = sqlite3_column_int64(q, 0), window = sqlite3_column_int64(q, 1),
		longest = sqlite3_column_int64(q, 2), seal = sqlite3_column_int64(q, 3);
	struct walk_service *s = id ? walk_service_of(w, id) : NULL;
	struct walk_row row = {WALK_REACH, s, window, {longest}, {0}};

	w->checked++;
	tally_add(s ? &s->found[TALLY_REACHES] : marks, (uint64_t)seal);
	if (!walk_seal_good(w, seal, seal_reach(w->key, id, window, longest))) {
		walk_bad(w, NULL, "the length of long profiles of service %lld was altered",
			 (long long)id);
		return ERR_OK;
	}
	return tell_good(w, &row);
}

static enum err walk_reaches(struct walk *w)
{
	struct tally marks = {0};
	sqlite3_stmt *q;
	bool row;
	enum err error;

	if (w->db->version < 2)
		return ERR_OK;
	error = db_statement(w->db, REACH_ALL, &q, &w->fault);
	if (error == ERR_OK) {
		while ((error = db_step(w->db, q, &row, &w->fault)) == ERR_OK && row)
			if ((error = one_reach(w, q, &marks)) != ERR_OK)
				break;
		db_reset(q);
	}
	if (is_damage(error) || error == ERR_INTERNAL) {
		walk_bad(w, NULL, "the table of long profiles cannot be read: %s", w->fault.text);
		return ERR_OK;
	}
	if (error == ERR_OK && w->sealed && !tally_equal(&marks, &w->ledger.tallies[TALLY_MARKS]))
		walk_bad(w, NULL, "marks of long profiles are not those that were written");
	return error;
}

static void compare_service(struct walk *w, struct walk_service *s)
{
	static const char *const names[SERVICE_TALLIES] = {"dictionary rows", "blocks", "roll-ups",
							   "long profiles", "rows of the index"};
	struct walk_loss loss = whole_day(w);

	loss.service = s->name;
	for (int t = 0; t < SERVICE_TALLIES; t++) {
		loss.derived = t >= TALLY_ROLLUPS;
		if (!tally_equal(&s->found[t], &s->expected[t]))
			walk_bad(w, &loss, "service %s has %llu %s, not the %llu that were written",
				 s->name, (unsigned long long)s->found[t].n, names[t],
				 (unsigned long long)s->expected[t].n);
	}
}

enum err walk_day(struct walk *w)
{
	bool open;

	TRY(walk_open(w, &day_schema, &open));
	if (!open)
		return ERR_OK;
	TRY(walk_services(w));
	for (size_t i = 0; i < w->services.n; i++)
		TRY(walk_dictionary(w, &w->services.v[i]));
	TRY(walk_reaches(w));
	TRY(walk_chunks(w));
	TRY(walk_blocks(w));
	TRY(walk_rollups(w));
	TRY(walk_index(w));
	vec_for_each (s, &w->services)
		if (w->sealed && s->good)
			compare_service(w, s);
	return ERR_OK;
}
