/*
 * Private to the embedded engine: a directory of SQLite files (store_dir.h, day_sql.h).
 *
 * A *day* is one file, of profiles or of spans. A day of profiles has services; a service has its
 * partition (in memory only while somebody needs it and for some time after), the chunks that came
 * since the last compaction (`fresh`, by key), blocks and roll-ups.
 *
 * What a question sees at any moment, each profile once: a fresh chunk, or a block, or a roll-up in
 * place of blocks. A roll-up exists only while it sums up all blocks of its hour or day:
 * the transaction that adds or removes a block there deletes it. Questions copy the list
 * of fresh chunks first and begin to read after: a chunk that became a block in between is found in
 * the block, and not as a chunk.
 *
 * Threads. Writers of batches only intern and queue. A few threads commit (commit.c), each for one
 * tenant at a time and no two for the same one: its batches stay in order, and nobody else adds to
 * its days. One thread keeps house (keeper.c); questions run wherever they are asked. A backup
 *holds all that commit (commits_hold): they have begun nothing and hold no lock then. Locks,
 *outermost first; none is waited for while holding one further down: round_lock	a round of
 *house-keeping making		a tenant is looked for in the directory day->upkeep compaction,
 *retention, delete of one day: one at a time, held long day->write	the writing connection, held
 *for one transaction
 *	day->loading	the day is being looked into for the first time, or a partition loaded
 *	partition->lock
 *	tenant->catalog_lock
 *	journal->lock	numbers of commits of a tenant's files; spare_lock: descriptors in reserve
 *	day->lists	fresh chunks of the day's services: a tenant may have very many
 *	engine->lock	tables of tenants, days, services, and lists; never held over I/O, and never
 *			for a walk over all partitions, services, days or tenants: everybody's
 *			requests wait for it (engine_lock counts the steps)
 * queue_lock (batches that wait) and keeper_lock are taken alone, and nothing is taken under them.
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
#define WINDOW_LATE_NS INT64_C(60000000000)  /* what comes later makes a block of its own */

enum rollup_level { ROLLUP_HOUR = 1, ROLLUP_DAY = 2 };

/* Profiles that last longer are known by the windows in which they start. */
#define USUAL_REACH_NS	(120 * INT64_C(1000000000))
/* An hour with one that lasts longer than this has no roll-up. */
#define ROLLUP_REACH_NS NS_PER_HOUR

/* A window in which a profile starts that lasts long. */
struct reach {
	int64_t window_ns, longest_ns;
};

/* A chunk that is in no block. */
struct fresh_chunk {
	int64_t key; /* row_key */
	uint32_t rows;
};

/* Something in memory that can be read again: while nobody uses it in engine->unused, and in that
 * of its tenant. */
struct resident {
	struct lru_node node, of_tenant;
	bool is_index; /* a day_index (embedded_index.h), else the partition of a day_service */
};

struct day_service {
	struct day *day;
	char *name;
	atomic_uint id;			   /* in the file; 0 = not there yet */
	uint32_t new_id;		   /* … as the transaction under way will have it */
	uint32_t next_delta;		   /* sequence of the next row; 0 = not known yet */
	struct partition *partition;	   /* NULL = not loaded */
	VEC(struct fresh_chunk) fresh;	   /* in any order; day->lists */
	VEC(struct reach) reaches;	   /* in any order, each window once; engine->lock */
	unsigned questions;		   /* that run on the partition now */
	atomic_uint series;		   /* in the file */
	bool closing;			   /* the partition is about to be replaced: wait */
	size_t coming;			   /* keys that will be in `fresh` after the transaction */
	bool touched;			   /* by the transaction under way */
	struct partition *delta_of;	   /* whose dictionary it wrote … */
	struct partition_mark delta_end;   /* … up to here, … */
	struct prepared_delta *delta_last; /* … which is this one */
	struct resident unused;		   /* while the partition is in memory and not in use */
	size_t memory;			   /* of the partition when last looked at */
	/* Its row in the file, with what the transaction under way does to it; under `write`. */
	struct service_row {
		struct tally tallies[SERVICE_TALLIES];
		uint64_t seal;
		uint32_t series;
	} row, row_before;
	atomic_bool verified;	    /* blocks are all there */
	atomic_bool rollups_differ; /* roll-ups are not all there, or too many: not used */
};

/* Of a day or of a tenant: in engine->idle while a connection may be closed. */
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
	atomic_ullong changes; /* transactions on its file, while it is open */
	atomic_bool settled;   /* nothing to compact or roll up until something is written */
	int64_t rolled_hour;   /* when roll-ups were last looked at */
	atomic_bool gone;      /* its file was removed: freed with the last reference */
	struct mutex upkeep, write, loading, lists;
	atomic_bool known;	  /* services and fresh chunks were read */
	atomic_bool measured;	  /* `reaches` says all; else any profile may last a day */
	struct db *writer;	  /* under `write`; NULL until something is written */
	atomic_bool exists;	  /* the file is there */
	VEC(struct db *) readers; /* idle ones, engine->lock */
	struct connection_owner connections;
	VEC(struct day_service *) services;
	struct map service_index; /* by name */
	struct map id_index;	  /* by id; entries of ids that were never given may be there */
	/* Sums over its services, so that nobody has to walk over them; of partitions under
	 * engine->lock, of fresh chunks under `lists`. */
	size_t partition_bytes;
	uint64_t fresh_chunks, fresh_rows;
	uint64_t fresh_changes;				/* how often these lists changed */
	int64_t fresh_oldest_ns, fresh_newest_ns;	/* when there are any … */
	bool fresh_unsure;				/* … but for one of them, which went */
	uint32_t fresh_windows[NS_PER_DAY / WINDOW_NS]; /* fresh chunks of each window */
	struct day_index *index;			/* engine->lock; NULL = not in memory */
	atomic_bool index_whole;			/* its rows were looked at: all are there */
	struct quota quota;  /* series of the file and of batches to come */
	uint32_t sequence;   /* of keys; under `write` */
	atomic_ullong spans; /* of a day of spans, when counted */
	atomic_bool spans_counted;
	atomic_bool spans_verified; /* all are there */
	atomic_llong used_ns;	    /* last use, monotonic */
	/* What statistics found, until the file changes. */
	atomic_bool counted;
	struct store_stats counts;
	/* What its seals depend on (seal.h, ledger.h). */
	uint64_t place;
	atomic_ullong key;
	struct ledger ledger; /* with what the transaction under way does to it; under `write` */
	uint64_t recorded;    /* commits that the catalog knows of, 0 = none came; under `write` */
	atomic_bool unsealed; /* has rows without seals */
	atomic_bool upgraded; /* readers of before are closed */
	atomic_bool verified; /* all services were looked at (day_verify) */
	/* Why answers from it are not whole; no code = nothing known. Set before `known`. */
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
	/* Batches that wait, in order; engine->queue_lock. */
	struct store_batch *queue_first, **queue_last;
	struct tenant *queue_next; /* whose turn comes after */
	bool queued;		   /* it waits for its turn, or has it */
	bool has_company;	   /* others came with its last batch, or meanwhile */
	int64_t took_ns;	   /* its last transaction */
	bool undo_left;		   /* a batch that failed could not be taken back wholly */
	atomic_ullong limit;	   /* of its bytes on disk, its own or a share; 0 = none */
	/* Bytes on disk when they were last looked at, and about what was written since (quota.c).
	 */
	atomic_ullong disk, grown;
	atomic_llong last_window; /* in which it was let write above its limit */
	atomic_bool hurried;	  /* the keeper was told since */
	/* What is in memory of its partitions and indexes; engine->lock. */
	struct lru unused;
	size_t memory;
	struct memory_account *account; /* NULL = nobody's */
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
	struct mutex making; /* a tenant is being made or found on the disk */
	struct cond changed; /* a question ended, a partition was replaced */
	VEC(struct tenant *) tenants;
	struct map tenant_index;
	atomic_size_t memory; /* of loaded partitions and indexes */
	size_t memory_ceiling;
	struct tenant *largest;	   /* that has most of it, about; NULL = none yet */
	struct lru unused;	   /* of what nobody uses: first in, first to go */
	struct lru idle;	   /* days and catalogs with connections, by use */
	atomic_size_t connections; /* open */
	size_t most_connections;   /* above which idle ones are closed */
	struct mutex spare_lock;
	int spare[SPARE_FILES];	    /* descriptors in reserve, for when there are no more; -1 */
	atomic_ullong fresh_chunks; /* of all tenants */
	atomic_llong fresh_due_ns;  /* when the first of them was due, as the keeper last saw it */
	/* Steps of loops that were taken with the lock held: since it was taken, and at most. */
	uint64_t steps;
	atomic_ullong most_steps;

	struct committer committers[COMMITTERS];
	struct mutex queue_lock;
	struct cond queue_changed;		 /* a tenant waits for its turn */
	struct cond filled;			 /* no batch is on its way to the queue */
	struct cond commits_go_on;		 /* `commits_held` or `writing` has changed */
	bool commits_held;			 /* under queue_lock: nothing is written, … */
	unsigned writing;			 /* … by so many threads that have begun */
	struct tenant *queue_first, *queue_last; /* with something queued, in turn */
	atomic_ullong queued, commits;
	bool stopping;
	struct disk_guard disk;
	struct tenant *failed_tenant; /* whose batch the disk did not take; under queue_lock */

	struct thread keeper;
	struct mutex keeper_lock;
	struct cond keeper_wake;
	bool keeper_stop, keeper_hurry;
	struct mutex round_lock; /* one round of house-keeping at a time */
	bool tenants_found;	 /* under round_lock */
	struct upkeep upkeep;	 /* how it goes; under keeper_lock */
	struct mutex record_lock;
	bool looked;	     /* the keeper's own: somebody was told how it was at the start */
	int64_t recorded_ns; /* monotonic; when the clock was last written down, under record_lock
			      */
};

static inline struct embedded *embedded_of(struct store *s)
{
	return (struct embedded *)s;
}

/* Takes engine->lock. */
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

/* Whoever loops with engine->lock held counts every pass. */
static inline void engine_step(struct embedded *e)
{
	e->steps++;
}

/* ------------------------------------------------------------------ tenants, days, services */

/* The tenant; made when `make`, else ERR_NOT_FOUND when it has no folder. Never freed before the
 * engine. */
enum err tenant_get(struct embedded *e, struct str name, bool make, struct tenant **ret,
		    struct fault *fault) MUST_CHECK;
/* The same when somebody has asked for it before, else NULL. */
struct tenant *tenant_known(struct embedded *e, struct str name);
/* The i-th, NULL behind the last: for a walk over all while others are added. */
struct tenant *tenant_at(struct embedded *e, size_t i);
void embedded_free_tenants(struct embedded *e);
/* Its catalog, opened; with catalog_lock held on success. */
enum err tenant_catalog(struct tenant *t, struct db **ret, struct fault *fault) MUST_CHECK;

/* A day that is in no table. */
enum err day_new(struct tenant *t, struct day_name name, struct day **ret) MUST_CHECK;
void day_free(struct day *d);
/* A day with a reference; ERR_NOT_FOUND when it has no file and `make` is false. Its services are
 * known afterwards. */
enum err day_get(struct tenant *t, struct day_name name, bool make, struct day **ret,
		 struct fault *fault) MUST_CHECK;
void day_put(struct day *d);
enum err day_look_into(struct day *d, struct fault *fault) MUST_CHECK;
/* The days that a range touches, each with a reference, oldest first; not looked into. */
struct day_list {
	VEC(struct day *) v;
};
enum err days_of_range(struct tenant *t, enum day_kind kind, int64_t from_ns, int64_t until_ns,
		       struct day_list *ret, struct fault *fault) MUST_CHECK;
void day_list_put(struct day_list *list);
/* The days of one tenant without looking into them, with references. */
enum err days_of_tenant(struct tenant *t, struct day_list *ret) MUST_CHECK;
/* Every day of every tenant, with references; the lock is taken tenant by tenant. */
enum err days_all(struct embedded *e, struct day_list *ret, struct fault *fault) MUST_CHECK;

/* (embedded_connections.c) */
void connections_init(struct embedded *e);
void connections_release(struct embedded *e);
/* Closes what is idle where descriptors are short. */
enum err connection_open(struct embedded *e, const char *path, const struct db_schema *schema,
			 enum db_mode mode, const struct db_setup *setup, struct db **ret,
			 struct fault *fault) MUST_CHECK;
void connection_give_back(struct embedded *e, struct db *db);
/* All of a day that nobody uses any more. */
void connections_close(struct day *d);
/* With catalog_lock, or before anybody else knows the tenant. */
enum err catalog_open(struct tenant *t, const char *path, const struct db_setup *setup,
		      struct fault *fault) MUST_CHECK;
/* It was used. */
void catalog_touch(struct tenant *t);
void catalog_close(struct tenant *t);

/* Removes the file of a day that is in no table. If it is interrupted, the next start completes it.
 */
enum err day_remove_file(struct tenant *t, struct day_name name, struct fault *fault) MUST_CHECK;
const struct db_schema *day_schema_of(const struct day *d);
/* The db_setup of a day's file (day_upgrade.c). */
struct day_setup {
	uint64_t place;
	bool spans;
	bool upgraded; /* set when there was an older one */
};
enum err day_set_up(void *context, struct db *db, int64_t from, struct fault *fault) MUST_CHECK;
/* Opens the writing connection and the ledger; `write` is held. */
enum err day_open_writer(struct day *d, struct fault *fault) MUST_CHECK;
/* ERR_DAMAGED, when answers from the day are not whole: for questions. With ask->damage it is noted
 * there. */
enum err day_sound(struct day *d, struct ask *ask) MUST_CHECK;
/* Looks into the day for a question; an error when it cannot be read, or as day_sound. */
enum err day_ask(struct day *d, struct ask *ask) MUST_CHECK;
/* Whether a row has the seal that it should have, or is of before there were seals. */
bool day_seal_good(const struct day *d, const struct db *reader, int64_t found, uint64_t expected);
/* Errors of bytes that are stored. */
bool is_damage(enum err error);
/* Opens the chunk of a row of CHUNK_GET or CHUNK_ALL, the block of one of BLOCK_RANGE or BLOCK_ALL,
 * when they have their seals. */
enum err chunk_row_open(const struct day *d, const struct db *reader, sqlite3_stmt *q,
			struct arena *arena, struct chunk_view *ret) MUST_CHECK;
bool block_row_good(const struct day *d, const struct db *reader, sqlite3_stmt *q);
/* Turns such an error of what is stored into ERR_DAMAGED with a text. */
enum err day_damaged(const struct day *d, enum err error, const char *what, const char *service,
		     struct fault *fault) MUST_CHECK;
/* Notes the damage, and forgives it, when the question wants what there is. */
enum err ask_forgive(struct ask *ask, enum err error, const struct fault *fault) MUST_CHECK;
/* (day_verify.c) What there is of a service, compared with its tallies; once. */
enum err service_verify(struct day_service *ds, struct fault *fault) MUST_CHECK;
/* The same of all services, in one pass; those that are not whole are left to service_verify. */
enum err day_verify(struct day *d, struct fault *fault) MUST_CHECK;
/* The tallies in the row of a service as the transaction of `reader` sees it. */
enum err service_tallies(struct day_service *ds, struct db *reader, struct tally *ret,
			 struct fault *fault) MUST_CHECK;

/* A connection for reading, and back; one that failed is closed. */
enum err day_reader(struct day *d, struct db **ret, struct fault *fault) MUST_CHECK;
void day_reader_back(struct day *d, struct db *reader, enum err error);
/* The writing connection, with `write` held on success. */
enum err day_writer(struct day *d, struct db **ret, struct fault *fault) MUST_CHECK;
/* Removes its file and takes it out of the tables; who calls holds it. Those who read may go on. */
enum err day_drop(struct day *d, struct fault *fault) MUST_CHECK;
/* Closes connections that nobody used for a while. */
void day_rest(struct day *d, int64_t now_ns);

/* The service of a day, made when missing. */
enum err day_service_get(struct day *d, struct str name, struct day_service **ret) MUST_CHECK;
/* NULL when there is none. */
struct day_service *day_service_find(struct day *d, struct str name);
/* The i-th, NULL behind the last: for a walk over all while others are added. */
struct day_service *day_service_at(struct day *d, size_t i);
struct day_service *day_service_by_id(struct day *d, uint32_t id);
/* A transaction may give the service this id: room for that, so that nothing can fail after it. */
enum err day_service_expect_id(struct day_service *ds, uint32_t id) MUST_CHECK;
/* A chunk more, for which there is room; with day->lists, as the next. */
void day_service_add_fresh(struct day_service *ds, struct fresh_chunk chunk);
void day_service_clear_fresh(struct day_service *ds);
/* Times of the oldest and the newest fresh chunk; false when there is none. */
bool day_fresh_bounds(struct day *d, int64_t *ret_oldest_ns, int64_t *ret_newest_ns);
/* When the first of them is due for compaction; INT64_MAX = there is none. */
int64_t day_fresh_due(struct day *d);
/* Chunks that are now in a block, or deleted; in order of keys. */
void day_service_remove_fresh(struct day_service *ds, const int64_t *keys, size_t n);

/* ------------------------------------------------------------------ partitions (embedded_load.c)
 */

enum err service_partition(struct day_service *ds, struct partition **ret,
			   struct fault *fault) MUST_CHECK;
/* The same when it is in memory, else NULL. */
struct partition *service_loaded(struct day_service *ds);
/* Reads it from the file up to a row, without putting it anywhere. */
enum err service_load(struct day_service *ds, struct db *reader, int64_t last_key,
		      struct partition **ret, struct fault *fault) MUST_CHECK;
void partition_give_back(struct embedded *e, struct partition *p);
/* Between these two no question runs on the service. */
void service_close(struct day_service *ds);
void service_reopen(struct day_service *ds);
/* Puts another partition in place of the service's; it is closed. */
void service_replace(struct day_service *ds, struct partition *fresh);

/* ------------------------------------------------------------------ memory (embedded_memory.c) */

/* With engine->lock: how much memory the service's partition takes from now on. */
void partition_charge(struct day_service *ds, size_t memory);
/* With engine->lock: what a partition or an index takes from now on, in place of `*memory`. */
void tenant_charge(struct tenant *t, size_t *memory, size_t now);
/* With engine->lock: nobody uses it; somebody does, or it is about to be freed. */
void resident_rest(struct tenant *t, struct resident *r);
void resident_take(struct resident *r);
/* Lets go of partitions and indexes that nobody uses until memory is below its ceiling: first those
 * of the tenant that has most, as long as that is more than its share. */
void partitions_evict(struct embedded *e);
size_t embedded_shrink(struct store *s, struct str tenant, size_t wanted);

/* ------------------------------------------------------------------ questions (embedded_scan.c) */

enum err embedded_services(void *engine, struct str tenant, const struct selection *selection,
			   struct ask *ask, enum err (*each)(void *, struct str),
			   void *context) MUST_CHECK;
enum err embedded_partitions(void *engine, struct str tenant, const struct selection *selection,
			     int64_t since_ns, struct ask *ask,
			     enum err (*each)(void *, struct partition *),
			     void *context) MUST_CHECK;
/* Between these two the service's partition is not replaced. */
void question_begin(struct day_service *ds);
void question_end(struct day_service *ds);
enum err embedded_scan(void *engine, struct partition *p, const struct scan *scan) MUST_CHECK;

/* ------------------------------------------------------------------ long profiles (reach.c) */

struct change;
/* Reads what the file says; *ret_good is false when rows are missing or altered. */
enum err reach_load(struct day *d, struct db *reader, bool *ret_good,
		    struct fault *fault) MUST_CHECK;
/* Notes one that is written, if it lasts long; known after the transaction. */
enum err reach_note(struct change *c, struct day_service *ds, int64_t time_ns, int64_t duration_ns,
		    struct fault *fault) MUST_CHECK;
/* With engine->lock, after the transaction. Nothing here can fail. */
void reach_publish(struct change *c);
/* Looks through what was written before there was a table of this; `upkeep` is held. */
enum err reach_measure(struct day *d, struct fault *fault) MUST_CHECK;
/* The windows that a scan looks at besides all from `ret_low` on, in order. */
struct window_list {
	VEC(int64_t) v;
};
enum err reach_windows(struct day_service *ds, int64_t since_ns, int64_t from_ns, int64_t *ret_low,
		       struct window_list *ret) MUST_CHECK;
/* Whether something of the service may reach from its day, which ended, into a range. */
bool reach_after_day(struct day_service *ds, int64_t since_ns, int64_t from_ns);
/* The longest profile that starts in [from, until), as far as it is known to be long. */
int64_t reach_longest(struct day_service *ds, int64_t from_ns, int64_t until_ns);

/* ------------------------------------------------------------------ writing (commit.c, …) */

enum err committer_start(struct embedded *e) MUST_CHECK;
/* After everything queued is written. */
void committer_stop(struct embedded *e);
/* Waits until nothing is being written, and lets nothing begin until commits_go_on. */
void commits_hold(struct embedded *e);
void commits_go_on(struct embedded *e);
void embedded_commit(struct store *s, struct store_batch *b);
/*
 * A transaction on a day's file: what it will change in memory is noted, and done when it ends.
 * Begun with `write` taken, ended with it given back.
 */
/* Something that a transaction wrote, for the day's index of series. */
struct index_news {
	uint32_t service;
	/* A profile of a series, or: */
	uint32_t series;
	int64_t first_ns, last_ns;
	struct str delta; /* allocated */
};
struct change {
	struct day *day;
	struct db *writer;
	VEC(struct day_service *) touched;
	VEC(struct long_profile {
		struct day_service *service;
		struct reach reach;
	})
	reaches;
	struct inserted_list {
		VEC(struct inserted_chunk {
			struct day_service *service;
			struct fresh_chunk chunk;
			uint64_t seal;
			uint32_t series;
			int64_t first_ns; /* of the profile, */
			int64_t last_ns;  /* and its last moment */
		})
		v;
	} inserted;
	VEC(struct index_news) news;
	struct chunk_scratch scratch;
	struct buf bytes;
	struct ledger before;
};
enum err change_begin(struct change *c, struct day *d, struct fault *fault) MUST_CHECK;
/* Commits, or rolls back when `error` is one, and returns what came of it. */
enum err change_end(struct change *c, enum err error, struct fault *fault) MUST_CHECK;
/* The same in two steps, for what must happen between them. */
enum err change_commit(struct change *c, struct fault *fault) MUST_CHECK;
enum err change_finish(struct change *c, enum err error) MUST_CHECK;
/* A row was added: of a table of the file, or of a service. */
static inline void change_added(struct change *c, int tally, uint64_t seal)
{
	tally_add(&c->day->ledger.tallies[tally], seal);
}
enum err change_added_of(struct change *c, struct day_service *ds, int tally,
			 uint64_t seal) MUST_CHECK;
/* Runs a statement that deletes rows, after the one that yields their seals. `ds` NULL: of a table
 * of the file. */
enum err change_take(struct change *c, struct day_service *ds, int tally, unsigned which,
		     const int64_t *numbers, int n, struct fault *fault) MUST_CHECK;
#define change_take_with(c, ds, tally, which, fault, ...)                \
	change_take(c, ds, tally, which, (const int64_t[]){__VA_ARGS__}, \
		    sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), fault)
/* The row of the service, made when missing. */
enum err change_service(struct change *c, struct day_service *ds, struct fault *fault) MUST_CHECK;
/* Its row goes; all other rows of it are gone. */
enum err change_drop_service(struct change *c, struct day_service *ds,
			     struct fault *fault) MUST_CHECK;
enum err change_chunk(struct change *c, struct day_service *ds, const struct encoded_chunk *info,
		      struct str bytes, struct fault *fault) MUST_CHECK;
enum err change_touch(struct change *c, struct day_service *ds) MUST_CHECK;
/* Writes what is prepared of the partition. */
enum err change_delta(struct change *c, struct day_service *ds, struct partition *p,
		      struct fault *fault) MUST_CHECK;
/* Encodes what the partition has that the file lacks, for change_delta; not while it is locked. */
enum err delta_prepare(struct embedded *e, struct partition *p) MUST_CHECK;
/* With engine->lock: takes what a transaction wrote out of the list, and puts it before others. */
struct prepared_delta *delta_written(struct partition *p, struct prepared_delta *last,
				     struct prepared_delta *others);
void delta_free_chain(struct prepared_delta *d);

/* Appends a chunk of one partition as a chunk of another. Takes both locks. */
enum err chunk_move(struct partition *from, struct str bytes, struct partition *to, struct buf *out,
		    struct encoded_chunk *ret, struct fault *fault) MUST_CHECK;
/* Which rows lose which columns. */
struct removal {
	const bool *rows, *types;
};
/* Appends nothing when no row is left. */
enum err chunk_view_move(struct partition *from, const struct chunk_view *v, struct partition *to,
			 const struct removal *removal, struct buf *out, struct encoded_chunk *ret,
			 struct fault *fault) MUST_CHECK;

/* Whether so many more are allowed. */
enum err spans_fit(struct day *d, size_t n, struct fault *fault) MUST_CHECK;
struct undo_row;
/* Inserts a span; key and seal of the row are for who may have to take it back. */
enum err span_write(struct change *c, const struct trace_span *span, struct undo_row *ret,
		    struct fault *fault) MUST_CHECK;
enum err embedded_spans(struct store *s, struct str tenant, const struct span_question *question,
			struct ask *ask, struct span_answer *ret) MUST_CHECK;

/* Rows of a batch that goes into several files. */
struct undo_row {
	struct day_name file;
	int64_t key;
	uint64_t seal;
	struct day_service *service; /* of a chunk */
};
struct undo_list {
	VEC(struct undo_row) rows;
};
enum err undo_begin(struct tenant *t, const struct undo_list *list, int64_t *ret_id,
		    struct fault *fault) MUST_CHECK;
enum err undo_end(struct tenant *t, int64_t id, struct fault *fault) MUST_CHECK;
/* Takes back what batches left that never ended. Nobody may be writing one. */
enum err undo_recover(struct tenant *t, struct fault *fault) MUST_CHECK;

bool catalog_exists(const struct tenant *t);
/* A transaction on the catalog: begun with catalog_lock taken, ended with it given back. */
struct catalog_change {
	struct tenant *tenant;
	struct db *db;
	struct ledger before;
};
enum err catalog_begin(struct catalog_change *c, struct tenant *t, struct fault *fault) MUST_CHECK;
enum err catalog_end(struct catalog_change *c, enum err error, struct fault *fault) MUST_CHECK;
/* Runs a statement that deletes rows and yields their seals. */
enum err catalog_take(struct catalog_change *c, int tally, sqlite3_stmt *q,
		      struct fault *fault) MUST_CHECK;
static inline uint64_t catalog_key(const struct tenant *t)
{
	return file_key(t->place, t->ledger.file);
}
uint64_t seal_file(uint64_t key, int kind, int64_t day, uint64_t file, uint64_t commits);
uint64_t seal_setting(uint64_t key, struct str name, struct str value, int64_t modified);
uint64_t seal_audit(uint64_t key, int64_t time, struct str event, struct str detail);
/* How many commits the day's file has: for who looks after the directory without its journal. */
enum err catalog_record(struct day *d, struct fault *fault) MUST_CHECK;
enum err catalog_forget(struct tenant *t, struct day_name name, struct fault *fault) MUST_CHECK;

/* ------------------------------------------------------------------ house-keeping */

/* All that have a folder are known afterwards. */
enum err tenants_find(struct embedded *e, struct fault *fault) MUST_CHECK;
enum err keeper_start(struct embedded *e) MUST_CHECK;
void keeper_stop(struct embedded *e);
/* The next look at retention is now. */
void keeper_hurry(struct embedded *e);
/* The time by which compaction and roll-ups are due: the later of wall clock and trusted time. */
int64_t upkeep_now(const struct embedded *e);
/* One round over everything that is due. */
enum err keeper_round(struct embedded *e, bool all, bool retain, struct fault *fault) MUST_CHECK;

enum err compact_day(struct day *d, bool all, bool *ret_changed, struct fault *fault) MUST_CHECK;
enum err rollup_day(struct day *d, bool all, struct fault *fault) MUST_CHECK;
/* The dictionary's rows become one, when there are so many. */
enum err dictionary_compact(struct day_service *ds, unsigned least_rows,
			    struct fault *fault) MUST_CHECK;
/* Parts of a transaction that changes blocks. */
struct block_info {
	int64_t window_ns, first_ns, last_ns;
	uint64_t profiles, rows;
};
/* Keys of rows. */
struct row_keys {
	VEC(int64_t) v;
};
static inline void row_keys_release(struct row_keys *k)
{
	vec_release(&k->v);
}
int compare_row_keys(const void *a, const void *b);
/* A block that is about to take the place of chunks and of other blocks. */
struct block_swap {
	struct day_service *service;
	struct block_info info;
	struct buf bytes;
	struct row_keys taken, replaced;
};
/* Such blocks of some services, for one transaction. */
struct swap {
	struct day *day;
	size_t chunks; /* to be deleted */
	VEC(struct block_swap) v;
};
void swap_release(struct swap *s);
/* Takes over bytes and keys, which are empty afterwards. */
enum err swap_add(struct swap *s, struct day_service *ds, const struct block_info *info,
		  struct buf *bytes, struct row_keys *taken, struct row_keys *replaced) MUST_CHECK;
/* Empty afterwards, whatever comes of it. */
enum err swap_commit(struct swap *s, struct fault *fault) MUST_CHECK;
enum err block_insert(struct change *c, struct day_service *ds, const struct block_info *info,
		      struct str bytes, struct fault *fault) MUST_CHECK;
/* Every change of a window's blocks deletes the roll-ups that summed them up. */
enum err rollups_forget(struct change *c, struct day_service *ds, int64_t window_ns,
			struct fault *fault) MUST_CHECK;
/* Puts one row in place of those up to the key `last`. */
enum err dictionary_put(struct change *c, struct day_service *ds, int64_t last, struct str bytes,
			struct fault *fault) MUST_CHECK;
enum err day_shrink(struct day *d, struct fault *fault) MUST_CHECK;
enum err retention_run(struct embedded *e, struct fault *fault) MUST_CHECK;
/* The part of it that looks at sizes. */
/* ERR_BUSY, with a sentence, when the tenant is so far above its limit that deleting its oldest
 * data does not keep up with what it sends. */
enum err quota_admits(struct tenant *t, struct fault *fault) MUST_CHECK;
/* So many bytes more were written. */
void quota_grew(struct tenant *t, size_t bytes);
/* Before the keeper has looked for the first time. */
void quota_begin(struct tenant *t);
enum err quota_run(struct embedded *e, const struct day_list *days, struct fault *fault) MUST_CHECK;

/* What is deleted (deletion.c). Profiles or spans of a day: */
uint64_t day_count(struct day *d);
/* What a service takes in its file. */
uint64_t service_bytes(struct day_service *ds);
/* Tells of something that was deleted; no service = of all. */
void deletion_tell(struct day *d, enum store_deleted_why why, struct str service, uint64_t bytes,
		   uint64_t count);
/* Around a deletion of parts of a day. */
struct deletion_count {
	uint64_t bytes, count;
};
void deletion_begin(struct deletion_count *c, struct day *d);
void deletion_end(const struct deletion_count *c, struct day *d, enum store_deleted_why why);
/* Its oldest part, so that its file is `excess` bytes smaller: windows, or a part of the spans. */
enum err day_cut(struct day *d, uint64_t excess, enum store_deleted_why why,
		 struct fault *fault) MUST_CHECK;
/* Makes the file as small as what is in it; `upkeep` is held. */
enum err day_give_back(struct day *d, struct fault *fault) MUST_CHECK;
/* The whole day. */
enum err day_delete(struct day *d, enum store_deleted_why why, struct fault *fault) MUST_CHECK;

/* The disk and the record of the clock (embedded_disk.c). */
enum err embedded_disk_open(struct embedded *e) MUST_CHECK;
void embedded_disk_close(struct embedded *e);
void embedded_disk_state(struct store *s, struct store_disk *ret);
void embedded_use_reserve(struct store *s);
void embedded_confirmed(struct store *s);
/* Looks at clock and disk, tells of changes, and records the time when that is due. */
void embedded_look(struct embedded *e);
/* A write ended so; of a batch of this tenant, if any. */
void embedded_wrote(struct embedded *e, struct tenant *t, enum err error);
/* db_open_with that takes room from the reserve when there is none for the files beside it. */
enum err embedded_db_open(struct embedded *e, const char *path, const struct db_schema *schema,
			  enum db_mode mode, const struct db_setup *setup, struct db **ret,
			  struct fault *fault) MUST_CHECK;
/* After an error of something that frees space: whether to try it again, with the reserve. */
bool embedded_make_room(struct embedded *e, enum err error);
/* Removes a service with all it has; `upkeep` is held. */
enum err service_count(struct day_service *ds, uint64_t *ret, struct fault *fault) MUST_CHECK;
enum err service_drop(struct day_service *ds, uint64_t *ret_profiles,
		      struct fault *fault) MUST_CHECK;

enum err embedded_delete(struct store *s, struct str tenant, const struct selection *selection,
			 struct ask *ask, uint64_t *ret_profiles) MUST_CHECK;
enum err embedded_backup(struct store *s, const char *destination, struct fault *fault) MUST_CHECK;
enum err embedded_stats(struct store *s, struct str tenant, struct store_stats *ret) MUST_CHECK;
enum err embedded_setting_set(struct store *s, struct str tenant, struct str name,
			      struct str value) MUST_CHECK;
enum err embedded_settings(struct store *s, struct str tenant,
			   struct setting_answer *ret) MUST_CHECK;
/* A line of the tenant's audit: what was done, and to what. */
enum err audit_add(struct tenant *t, const char *event, struct str detail,
		   struct fault *fault) MUST_CHECK;
