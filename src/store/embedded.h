/*
 * Private to the embedded engine: a directory of SQLite files (store_dir.h, day_sql.h).
 *
 * A *day* is one file, of profiles or of spans. A day of profiles has services. A service has its
 * partition (loaded on demand, kept in memory for a while), the chunks added since the last
 * compaction (`fresh`, by key), blocks and roll-ups.
 *
 * A query sees each profile exactly once: in a fresh chunk, in a block, or in a roll-up that
 * replaces blocks. A roll-up exists only while it sums up all blocks of its hour or day: the
 * transaction that adds or removes such a block deletes it. A query copies the list of fresh chunks
 * before it starts to read, so it finds a chunk that was compacted meanwhile in its block, and not
 * as a chunk.
 *
 * Threads. Uploads only intern and queue. A few threads commit (commit.c); at most one works for a
 * tenant at a time, so that the tenant's batches stay in order and its days have one writer. One
 * thread does the upkeep (keeper.c). Queries run on the caller's thread. A backup pauses the commit
 * threads (commits_hold) while they hold no lock.
 *
 * Lock order, outermost first:
 *	round_lock	one round of upkeep
 *	making		looking up or creating a tenant's directory
 *	day->upkeep	compaction, retention or delete of one day; held long
 *	day->write	the writing connection, held for one transaction
 *	day->loading	reading the day for the first time, or loading a partition
 *	partition->lock
 *	tenant->catalog_lock
 *	journal->lock	commit numbers of a tenant's files
 *	spare_lock	descriptors in reserve
 *	day->lists	fresh chunks of the day's services, of which there may be many
 *	engine->lock	maps and lists of tenants, days and services. Every request needs it: never
 *			hold it over I/O or a loop over all partitions, services, days or tenants
 *			(engine_lock counts the steps)
 * queue_lock (queued batches) and keeper_lock are leaves: take no other lock with or under them.
 */
#pragma once

#include "store/commit_journal.h"
#include "store/day_sql.h"
#include "store/disk_guard.h"
#include "store/ledger.h"
#include "store/lru.h"
#include "store/store_dir.h"
#include "store/store_engine.h"

#define NS_PER_HOUR    INT64_C(3600000000000)
#define WINDOW_NS      INT64_C(600000000000) /* of a block */
/* Chunks that arrive later than this after the end of their window get a block of their own. */
#define WINDOW_LATE_NS INT64_C(60000000000)

enum rollup_level { ROLLUP_HOUR = 1, ROLLUP_DAY = 2 };

/* Longer profiles are indexed by the window in which they start (struct reach). */
#define USUAL_REACH_NS	(120 * INT64_C(1000000000))
/* An hour in which a longer profile starts has no roll-up. */
#define ROLLUP_REACH_NS NS_PER_HOUR

/* A window, and the longest profile that starts in it. */
struct reach {
	int64_t window_ns, longest_ns;
};

/* A chunk that is not compacted into a block yet. */
struct fresh_chunk {
	int64_t key; /* row_key */
	uint32_t rows;
};

/* Something in memory that can be loaded again. While unused it is in engine->unused and in its
 * tenant's list. */
struct resident {
	struct lru_node node, of_tenant;
	bool is_index; /* a day_index (embedded_index.h), else the partition of a day_service */
};

struct day_service {
	struct day *day;
	char *name;
	atomic_uint id;			   /* row in the file; 0 = none yet */
	uint32_t new_id;		   /* the id that the current transaction assigns */
	uint32_t next_delta;		   /* sequence of the next dictionary row; 0 = unknown */
	struct partition *partition;	   /* NULL = not loaded */
	VEC(struct fresh_chunk) fresh;	   /* unsorted; under day->lists */
	VEC(struct reach) reaches;	   /* unsorted, each window once; under engine->lock */
	unsigned questions;		   /* queries running on the partition */
	atomic_uint series;		   /* in the file */
	bool closing;			   /* the partition is being replaced: new queries wait */
	size_t coming;			   /* capacity reserved in `fresh` for the transaction */
	bool touched;			   /* by the current transaction */
	struct partition *delta_of;	   /* whose dictionary it wrote, */
	struct partition_mark delta_end;   /* up to this mark, */
	struct prepared_delta *delta_last; /* ending with this delta */
	struct resident unused;		   /* listed while the partition is loaded and unused */
	size_t memory;			   /* size of the partition when last measured */
	/* Its row in the file, including changes of the current transaction; under `write`. */
	struct service_row {
		struct tally tallies[SERVICE_TALLIES];
		uint64_t seal;
		uint32_t series;
		uint32_t altered; /* 1: its seal was wrong when read, and must stay wrong */
	} row, row_before;
	atomic_ullong version;	    /* changes with every write to the service; unique */
	atomic_bool verified;	    /* no block is missing */
	atomic_bool placed;	    /* searches find each block (service_find_blocks) */
	atomic_bool rollups_differ; /* roll-ups do not match their tally: not used */
};

/* A day or a tenant with SQLite connections; in engine->idle while these may be closed. */
struct connection_owner {
	struct lru_node node;
	struct day *day; /* or */
	struct tenant *tenant;
};

struct day {
	struct embedded *engine;
	struct tenant *tenant;
	struct day_name name;
	char *path;
	unsigned references;   /* engine->lock */
	atomic_ullong changes; /* transactions on its file since it was opened */
	atomic_bool settled;   /* nothing to compact or roll up before the next write */
	int64_t rolled_hour;   /* hour in which roll-ups were last checked */
	atomic_bool gone;      /* its file was removed; the last reference frees it */
	struct mutex upkeep, write, loading, lists;
	atomic_bool known;	  /* services and fresh chunks are loaded */
	atomic_bool measured;	  /* `reaches` is complete; if not, any profile may last a day */
	struct db *writer;	  /* under `write`; NULL until the first write */
	atomic_bool exists;	  /* the file is there */
	VEC(struct db *) readers; /* idle readers, under engine->lock */
	struct connection_owner connections;
	VEC(struct day_service *) services;
	struct map service_index; /* by name */
	struct map id_index;	  /* by id; may contain ids of transactions that rolled back */
	/* Sums over its services, to avoid loops over them; partition_bytes is under engine->lock,
	 * the others under `lists`. */
	size_t partition_bytes;
	uint64_t fresh_chunks, fresh_rows;
	uint64_t fresh_changes;			  /* version of these lists */
	int64_t fresh_oldest_ns, fresh_newest_ns; /* valid if there is a fresh chunk */
	bool fresh_unsure;			  /* no longer exact: such a chunk was removed */
	uint32_t fresh_windows[NS_PER_DAY / WINDOW_NS]; /* number of fresh chunks per window */
	struct day_index *index;			/* engine->lock; NULL = not in memory */
	atomic_bool index_whole;			/* its rows were checked: none is missing */
	struct quota quota;  /* series in the file and in queued batches */
	uint32_t sequence;   /* of keys; under `write` */
	atomic_ullong spans; /* number of spans, valid once counted */
	atomic_bool spans_counted;
	atomic_uint spans_verified; /* bits of enum span_way: searches find each span */
	VEC(int64_t) span_services; /* of whose spans this is known; under `lists` */
	atomic_llong used_ns;	    /* last use, monotonic */
	/* Cached statistics, valid until the file changes. */
	atomic_bool counted;
	struct store_stats counts;
	/* Keys of its seals (seal.h, ledger.h). */
	uint64_t place;
	atomic_ullong key;
	struct ledger ledger; /* including changes of the current transaction; under `write` */
	uint64_t recorded;    /* commit number in the catalog, 0 = none; under `write` */
	atomic_bool unsealed; /* has rows without seals (older format) */
	atomic_bool upgraded; /* was upgraded, and readers of the old format are closed */
	atomic_bool verified; /* all services were checked (day_verify) */
	/* Why answers from this day are incomplete; no error code = no known damage. Set before
	 * `known`. */
	struct fault damage;
};

struct tenant {
	struct embedded *engine;
	char *name, *folder;
	struct mutex catalog_lock;
	struct db *catalog; /* NULL = closed */
	struct connection_owner connections;
	struct ledger ledger; /* of the catalog; under catalog_lock */
	uint64_t place;
	struct commit_journal journal;
	/* Queued batches, in order; under engine->queue_lock. */
	struct store_batch *queue_first, **queue_last;
	struct tenant *queue_next; /* next tenant in the round robin */
	bool queued;		   /* in the round robin, or being committed */
	bool has_company;	   /* others were committed with its last batch, or queued since */
	int64_t took_ns;	   /* duration of its last transaction */
	bool undo_left;		   /* a failed batch is not completely rolled back yet */
	atomic_ullong limit; /* on its bytes on disk: its own limit or its fair share; 0 = none */
	/* Bytes on disk when last measured, and roughly the bytes written since (quota.c). */
	atomic_ullong disk, grown;
	atomic_llong last_window; /* last window in which a batch above its limit was accepted */
	atomic_bool hurried;	  /* the keeper was woken for it */
	/* Its partitions and indexes in memory; under engine->lock. */
	struct lru unused;
	size_t memory;
	struct memory_account *account; /* NULL = not accounted */
	struct memory_hold charged;
	struct tenant_deleted {
		atomic_ullong times, bytes, count;
	} deleted[STORE_DELETED_WHYS_];
	VEC(struct day *) days; /* by day and kind; engine->lock */
};

/* A file, its log, and the log's index. */
#define SPARE_FILES 3

/* A thread that writes batches (commit.c). */
#define COMMITTERS 4

struct committer {
	struct embedded *engine;
	struct thread thread;
	struct group *group; /* what it writes */
};

struct embedded {
	struct store base;
	struct store_dir dir;
	struct mutex lock;
	struct mutex making; /* a tenant is being created or looked up on disk */
	struct cond changed; /* a query ended, or a partition was replaced */
	VEC(struct tenant *) tenants;
	struct map tenant_index;
	atomic_size_t memory; /* of loaded partitions and indexes */
	size_t memory_ceiling;
	struct tenant *largest;	   /* approximately the tenant that uses most; NULL = none yet */
	struct lru unused;	   /* unused partitions and indexes, oldest first */
	struct lru idle;	   /* days and catalogs with connections, by use */
	atomic_size_t connections; /* open */
	size_t most_connections;   /* limit above which idle ones are closed */
	struct mutex spare_lock;
	int spare[SPARE_FILES];	    /* descriptors in reserve for EMFILE; -1 = in use */
	atomic_ullong fresh_chunks; /* of all tenants */
	atomic_ullong versions;	    /* the last one given to a service */
	atomic_llong fresh_due_ns;  /* when the oldest was due, as of the last keeper round */
	/* Loop iterations with the lock held: since it was taken, and the maximum so far. */
	uint64_t steps;
	atomic_ullong most_steps;

	struct committer committers[COMMITTERS];
	struct mutex queue_lock;
	struct cond queue_changed;		 /* a tenant was queued */
	struct cond filled;			 /* no batch is being filled */
	struct cond commits_go_on;		 /* `commits_held` or `writing` has changed */
	bool commits_held;			 /* under queue_lock: do not begin a commit */
	unsigned writing;			 /* number of threads in a commit */
	struct tenant *queue_first, *queue_last; /* round robin of tenants with queued batches */
	atomic_ullong queued, commits;
	bool stopping;
	struct disk_guard disk;
	struct tenant *failed_tenant; /* whose batch the disk refused; under queue_lock */

	struct thread keeper;
	struct mutex keeper_lock;
	struct cond keeper_wake;
	bool keeper_stop, keeper_hurry;
	struct mutex round_lock; /* serializes rounds of upkeep */
	bool tenants_found;	 /* under round_lock */
	bool warmed;		 /* under round_lock */
	atomic_bool keeper_ends; /* the store is being closed */
	struct upkeep upkeep;	 /* status, under keeper_lock */
	struct mutex record_lock;
	bool looked;	     /* used by the keeper alone: the initial state was reported */
	int64_t recorded_ns; /* monotonic; last record of the clock; under record_lock */
};

static inline struct embedded *embedded_of(struct store *s)
{
	return (struct embedded *)s;
}

static inline void engine_lock(struct embedded *e)
{
	mutex_lock(&e->lock);
	e->steps = 0;
}

static inline void engine_unlock(struct embedded *e)
{
	if (e->steps > atomic_load_explicit(&e->most_steps, memory_order_relaxed))
		atomic_store_explicit(&e->most_steps, e->steps, memory_order_relaxed);
	mutex_unlock(&e->lock);
}

/* Call once per iteration of a loop that holds engine->lock. */
static inline void engine_step(struct embedded *e)
{
	e->steps++;
}

/* ------------------------------------------------------------------ tenants, days, services */

/* The tenant; if it has no directory, that is created if `make`, else ERR_NOT_FOUND. A tenant lives
 * as long as the engine. */
enum err tenant_get(struct embedded *e, struct str name, bool make, struct tenant **ret,
		    struct fault *fault) MUST_CHECK;
/* The tenant if it is already loaded, else NULL. */
struct tenant *tenant_known(struct embedded *e, struct str name);
/* The i-th, NULL after the last; for loops while others may be added. */
struct tenant *tenant_at(struct embedded *e, size_t i);
void embedded_free_tenants(struct embedded *e);
/* Opens its catalog; holds catalog_lock on success. */
enum err tenant_catalog(struct tenant *t, struct db **ret, struct fault *fault) MUST_CHECK;

/* A day that is not registered with the engine. */
enum err day_new(struct tenant *t, struct day_name name, struct day **ret) MUST_CHECK;
void day_free(struct day *d);
/* Takes a reference to a day and loads its services; ERR_NOT_FOUND if it has no file and `make` is
 * false. */
enum err day_get(struct tenant *t, struct day_name name, bool make, struct day **ret,
		 struct fault *fault) MUST_CHECK;
void day_put(struct day *d);
enum err day_look_into(struct day *d, struct fault *fault) MUST_CHECK;
/* The days that overlap a range, each with a reference, oldest first; services are not loaded. */
struct day_list {
	VEC(struct day *) v;
};
enum err days_of_range(struct tenant *t, enum day_kind kind, int64_t from_ns, int64_t until_ns,
		       struct day_list *ret, struct fault *fault) MUST_CHECK;
void day_list_put(struct day_list *list);
/* All days of one tenant, with references; services are not loaded. */
enum err days_of_tenant(struct tenant *t, struct day_list *ret) MUST_CHECK;
/* Every day of every tenant, with references; locks engine->lock once per tenant. */
enum err days_all(struct embedded *e, struct day_list *ret, struct fault *fault) MUST_CHECK;

/* (embedded_connections.c) */
void connections_init(struct embedded *e);
void connections_release(struct embedded *e);
/* Opens a database; closes idle connections if there are too many. */
enum err connection_open(struct embedded *e, const char *path, const struct db_schema *schema,
			 enum db_mode mode, const struct db_setup *setup, struct db **ret,
			 struct fault *fault) MUST_CHECK;
void connection_give_back(struct embedded *e, struct db *db);
/* Closes all connections of a day that is no longer used. */
void connections_close(struct day *d);
/* Requires catalog_lock, or a tenant that is not shared yet. */
enum err catalog_open(struct tenant *t, const char *path, const struct db_setup *setup,
		      struct fault *fault) MUST_CHECK;
/* Marks the catalog as recently used. */
void catalog_touch(struct tenant *t);
void catalog_close(struct tenant *t);

/* Removes the file of a day that is not registered. If this is interrupted, the next start
 * completes it. */
enum err day_remove_file(struct tenant *t, struct day_name name, struct fault *fault) MUST_CHECK;
const struct db_schema *day_schema_of(const struct day *d);
/* The db_setup of a day's file (day_upgrade.c). */
struct day_setup {
	uint64_t place;
	bool spans;
	bool upgraded; /* set if the file had an older format */
};
enum err day_set_up(void *context, struct db *db, int64_t from, struct fault *fault) MUST_CHECK;
/* Opens the writing connection and reads the ledger; requires `write`. */
enum err day_open_writer(struct day *d, struct fault *fault) MUST_CHECK;
/* For queries: ERR_DAMAGED if answers from the day are incomplete. With ask->damage set, records
 * the damage there instead. */
enum err day_sound(struct day *d, struct ask *ask) MUST_CHECK;
/* Loads the day for a query; fails if it cannot be read, and as day_sound. */
enum err day_ask(struct day *d, struct ask *ask) MUST_CHECK;
/* Whether a row has the expected seal, or was written before there were seals. */
bool day_seal_good(const struct day *d, const struct db *reader, int64_t found, uint64_t expected);
/* Whether an error means that stored bytes are damaged. */
bool is_damage(enum err error);
/* Checks the seal of a row and opens it: a chunk of CHUNK_GET or CHUNK_ALL, a block of BLOCK_RANGE
 * or BLOCK_ALL. */
enum err chunk_row_open(const struct day *d, const struct db *reader, sqlite3_stmt *q,
			struct arena *arena, struct chunk_view *ret) MUST_CHECK;
bool block_row_good(const struct day *d, const struct db *reader, sqlite3_stmt *q);
/* Turns an error for which is_damage holds into ERR_DAMAGED, with a message. */
enum err day_damaged(const struct day *d, enum err error, const char *what, const char *service,
		     struct fault *fault) MUST_CHECK;
/* Records damage and returns ERR_OK if the query accepts partial answers, else returns `error`. */
enum err ask_forgive(struct ask *ask, enum err error, const struct fault *fault) MUST_CHECK;
/* (chunk_owner.c) The service that a chunk of CHUNK_ALL with a wrong seal was written for; NULL if that
 * is not certain. All services of the day must be known. */
struct day_service *chunk_owner(struct day *d, sqlite3_stmt *q);
/* (day_verify.c) Compares the rows of a service with its tallies, once. */
enum err service_verify(struct day_service *ds, struct fault *fault) MUST_CHECK;
/* Checks once, before the first block is read, that searching the index finds each block.
 * ERR_DAMAGED if not. */
enum err service_find_blocks(struct day_service *ds, struct db *reader,
			     struct fault *fault) MUST_CHECK;
/* As service_verify, for all services in one pass; incomplete ones are left to service_verify. */
enum err day_verify(struct day *d, struct fault *fault) MUST_CHECK;
/* The tallies in the row of a service, as seen by the transaction of `reader`. */
enum err service_tallies(struct day_service *ds, struct db *reader, struct tally *ret,
			 struct fault *fault) MUST_CHECK;

/* Borrow and return a reading connection; one that failed is closed. */
enum err day_reader(struct day *d, struct db **ret, struct fault *fault) MUST_CHECK;
void day_reader_back(struct day *d, struct db *reader, enum err error);
/* The writing connection; holds `write` on success. */
enum err day_writer(struct day *d, struct db **ret, struct fault *fault) MUST_CHECK;
/* Removes the file and unregisters the day. The caller holds a reference; running queries may
 * finish. */
enum err day_drop(struct day *d, struct fault *fault) MUST_CHECK;
/* Closes connections that were idle for a while. */
void day_rest(struct day *d, int64_t now_ns);

/* The service of a day, created if missing. */
enum err day_service_get(struct day *d, struct str name, struct day_service **ret) MUST_CHECK;
/* NULL if there is none. */
struct day_service *day_service_find(struct day *d, struct str name);
/* The i-th, NULL after the last; for loops while others may be added. */
struct day_service *day_service_at(struct day *d, size_t i);
/* Copies up to `n` services, starting with the i-th; returns how many. */
#define SERVICES_PORTION 256
size_t day_services_from(struct day *d, size_t i, struct day_service **ret, size_t n);
/* Invalidates cached totals. Call after the change is visible in the file, in the list of fresh chunks
 * and in the news of the index. */
static inline void service_changed(struct day_service *ds)
{
	atomic_store(&ds->version, atomic_fetch_add(&ds->day->engine->versions, 1) + 1);
}
struct day_service *day_service_by_id(struct day *d, uint32_t id);
/* Reserves room for an id that a transaction may assign, so that nothing can fail after the
 * commit. */
enum err day_service_expect_id(struct day_service *ds, uint32_t id) MUST_CHECK;
/* Adds a chunk; room must have been reserved. This and the next require day->lists. */
void day_service_add_fresh(struct day_service *ds, struct fresh_chunk chunk);
void day_service_clear_fresh(struct day_service *ds);
/* Times of the oldest and the newest fresh chunk; false if there is none. */
bool day_fresh_bounds(struct day *d, int64_t *ret_oldest_ns, int64_t *ret_newest_ns);
/* When the first fresh chunk is due for compaction; INT64_MAX = there is none. */
int64_t day_fresh_due(struct day *d);
/* Removes chunks that were compacted or deleted; `keys` are sorted. */
void day_service_remove_fresh(struct day_service *ds, const int64_t *keys, size_t n);

/* ------------------------------------------------------------------ partitions (embedded_load.c)
 */

enum err service_partition(struct day_service *ds, struct partition **ret,
			   struct fault *fault) MUST_CHECK;
/* The same if it is in memory, else NULL. */
struct partition *service_loaded(struct day_service *ds);
/* Reads the partition from the file, up to the row `last_key`, without making it the service's. */
enum err service_load(struct day_service *ds, struct db *reader, int64_t last_key,
		      struct partition **ret, struct fault *fault) MUST_CHECK;
void partition_give_back(struct embedded *e, struct partition *p);
/* No query runs on the service between these two calls. */
void service_close(struct day_service *ds);
void service_reopen(struct day_service *ds);
/* Replaces the partition of a service, between service_close and service_reopen. */
void service_replace(struct day_service *ds, struct partition *fresh);

/* ------------------------------------------------------------------ memory (embedded_memory.c) */

/* Sets how much memory the service's partition takes; requires engine->lock. */
void partition_charge(struct day_service *ds, size_t memory);
/* Changes what a partition or an index takes from `*memory` to `now`; requires engine->lock. */
void tenant_charge(struct tenant *t, size_t *memory, size_t now);
/* Add it to, and remove it from, the lists of unused residents; require engine->lock. */
void resident_rest(struct tenant *t, struct resident *r);
void resident_take(struct resident *r);
/* Frees unused partitions and indexes until memory is below its ceiling, beginning with the tenant
 * that uses most, as long as that is more than its share. */
void partitions_evict(struct embedded *e);
size_t embedded_shrink(struct store *s, struct str tenant, size_t wanted);

/* ------------------------------------------------------------------ queries (embedded_scan.c) */

enum err embedded_services(void *engine, struct str tenant, const struct selection *selection,
			   struct ask *ask, enum err (*each)(void *, struct str),
			   void *context) MUST_CHECK;
enum err embedded_partitions(void *engine, struct str tenant, const struct selection *selection,
			     int64_t since_ns, struct ask *ask,
			     enum err (*each)(void *, struct partition *),
			     void *context) MUST_CHECK;
/* The service's partition is not replaced between these two calls. */
void question_begin(struct day_service *ds);
void question_end(struct day_service *ds);
enum err embedded_scan(void *engine, struct partition *p, const struct scan *scan) MUST_CHECK;

/* ------------------------------------------------------------------ commits (commit.c) */

enum err committer_start(struct embedded *e) MUST_CHECK;
/* Stops after everything queued is written. */
void committer_stop(struct embedded *e);
/* Waits until no commit is running, and lets none begin before commits_go_on. */
void commits_hold(struct embedded *e);
void commits_go_on(struct embedded *e);
void embedded_commit(struct store *s, struct store_batch *b);

/* ------------------------------------------------------------------ disk (embedded_disk.c) */

/* The disk and the record of the clock (embedded_disk.c). */
enum err embedded_disk_open(struct embedded *e) MUST_CHECK;
void embedded_disk_close(struct embedded *e);
void embedded_disk_state(struct store *s, struct store_disk *ret);
void embedded_use_reserve(struct store *s);
void embedded_confirmed(struct store *s);
/* Checks clock and disk, reports changes, and records the time when that is due. */
void embedded_look(struct embedded *e);
/* Reports the result of a write; `t` is the tenant of the batch, or NULL. */
void embedded_wrote(struct embedded *e, struct tenant *t, enum err error);
/* As db_open_with; on a full disk it uses the reserve to make room for the WAL and shared memory
 * files. */
enum err embedded_db_open(struct embedded *e, const char *path, const struct db_schema *schema,
			  enum db_mode mode, const struct db_setup *setup, struct db **ret,
			  struct fault *fault) MUST_CHECK;
/* After an operation that frees space failed: releases the reserve; true if a retry makes sense. */
bool embedded_make_room(struct embedded *e, enum err error);

/* ------------------------------------------------------------------ the store interface */

enum err embedded_spans(struct store *s, struct str tenant, const struct span_question *question,
			struct ask *ask, struct span_answer *ret) MUST_CHECK;

enum err embedded_delete(struct store *s, struct str tenant, const struct selection *selection,
			 struct ask *ask, uint64_t *ret_profiles) MUST_CHECK;
enum err embedded_backup(struct store *s, const char *destination, struct damage_notes *damage,
			 struct fault *fault) MUST_CHECK;
enum err embedded_stats(struct store *s, struct str tenant, struct store_stats *ret) MUST_CHECK;
enum err embedded_setting_set(struct store *s, struct str tenant, struct str name,
			      struct str value) MUST_CHECK;
enum err embedded_settings(struct store *s, struct str tenant,
			   struct setting_answer *ret) MUST_CHECK;
