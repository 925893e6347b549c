/*
 * Private to the embedded engine: the index of a day's series (series_index.h), which is cached in
 * memory, and the rows of the day's file that it is built from.
 *
 * The first query reads the rows. From then on every transaction of the day adds its updates
 * (news); if a query holds the lock at that moment, they are applied by the next user of the index.
 * Replacing or removing a service's dictionary makes the index stale, and the next query reads it
 * again. A service whose rows do not reach the end of its dictionary (of an older version, or
 * damaged) is read from its dictionary, and the keeper rewrites its rows.
 *
 * Locks: day_index->lock comes after day->write and before partition->lock and engine->lock.
 */
#pragma once

#include "store/change.h"
#include "store/series_index.h"

/* Versions of a service on the day of an index and on the day before it on which the service was
 * looked at, too. */
#define TOTALS_DAYS 2
struct totals_key {
	uint64_t version, before;
	unsigned days; /* 1: `before` is 0 */
};

/* Totals of a service, valid while it has these versions. */
struct cached_totals {
	struct totals_key key;
	struct service_totals *v; /* or NULL */
};

struct day_index {
	struct resident unused;
	struct day *day;
	struct mutex lock;
	struct series_index table;
	bool loaded;
	bool trouble;			  /* out of memory: unusable */
	VEC(uint32_t) unwritten;	  /* services with missing or damaged rows, … */
	VEC(uint32_t) damaged;		  /* … and those whose dictionary is damaged, too */
	VEC(struct cached_totals) totals; /* by service of the index; (embedded_totals.c) */
	size_t totals_bytes;
	/* engine->lock */
	VEC(struct index_news) news;
	unsigned users;
	bool stale; /* detached from its day: the last user frees it */
	size_t memory;
};

/* The day's index, up to date and locked, until index_put. */
enum err index_get(struct day *d, struct day_index **ret, struct fault *fault) MUST_CHECK;
void index_put(struct day_index *x);
/* Drops the day's index. */
void index_forget(struct day *d);
/* Frees it; it must be unused. */
void index_free(struct day_index *x);
static inline struct day_index *index_of_resident(struct resident *r)
{
	return lru_entry(r, struct day_index, unused);
}
/* Detaches it from its day; requires engine->lock. True if it is unused: the caller frees it. */
bool index_detach(struct day_index *x);

/* Parts of transactions: writes the row that belongs to the service's next dictionary row; replaces
 * the rows up to the key `last` by one. */
enum err index_write(struct change *c, struct day_service *ds, struct str bytes,
		     struct fault *fault) MUST_CHECK;
enum err index_rewrite(struct change *c, struct day_service *ds, int64_t last, struct str bytes,
		       struct fault *fault) MUST_CHECK;
enum err index_delete(struct change *c, struct day_service *ds, struct fault *fault) MUST_CHECK;
/* Encodes everything in a partition up to a mark as one row; requires its lock. */
enum err index_encode_all(const struct partition *p, const struct partition_mark *to,
			  struct buf *out) MUST_CHECK;
/* Call after the transaction, before releasing `write`. Cannot fail. */
void index_publish(struct change *c, bool committed);

/* Writes the rows that files of older versions lack; requires `upkeep`. */
enum err index_catch_up(struct day *d, struct fault *fault) MUST_CHECK;

/* The services of a day that a query concerns, including damaged ones; the caller releases the
 * list. */
struct listed_service {
	struct day_service *service;
	uint32_t at; /* in the index; MAP_NONE: damaged */
	bool open;   /* whether they match depends on rows */
};
struct service_list {
	VEC(struct listed_service) v;
};
enum err index_list(struct day_index *x, const struct selection *selection, struct ask *ask,
		    struct service_list *ret) MUST_CHECK;
/* Lists services by name, whether or not they have data in a range. */
enum err index_list_only(struct day_index *x, const struct str *names, size_t n,
			 struct service_list *ret) MUST_CHECK;
/* Whether it was detached from its day, so that it may describe an old dictionary. */
bool index_is_stale(struct day_index *x);

/* See struct source. */
enum err embedded_apart(void *engine, struct str tenant, const struct selection *selection,
			int64_t since_ns, struct ask *ask, const struct apart_use *use) MUST_CHECK;
enum err embedded_starts(void *engine, struct partition *p, struct time_span *ret,
			 struct fault *fault) MUST_CHECK;

/* Totals of services, cached with the index (embedded_totals.c); call with its lock held. */
/* NULL if there are none, or if the service has changed since. */
const struct service_totals *totals_find(const struct day_index *x, uint32_t at,
					 const struct totals_key *key);
/* Takes ownership; drops them if the index would become too large. */
void totals_keep(struct day_index *x, uint32_t at, const struct totals_key *key,
		 struct service_totals *totals);
size_t totals_memory(const struct day_index *x);
void totals_release(struct day_index *x);
/* Calls `each` with the index of each day; `services`: bit per service of the index; NULL = all. */
enum err embedded_indexes(void *engine, struct str tenant, const struct selection *selection,
			  struct ask *ask,
			  enum err (*each)(void *, struct series_index *, const uint64_t *),
			  void *context) MUST_CHECK;

/* Private to embedded_index*.c. Reads the index; requires its lock. */
enum err index_load(struct day_index *x, struct fault *fault) MUST_CHECK;
/* Whether the file has index rows at all; older files do not. */
enum err index_has_table(struct db *reader, bool *ret, struct fault *fault) MUST_CHECK;
