/*
 * The store: keeps profiles and answers queries. Other folders include only this header.
 *
 * Behind it is a table of functions per engine: embedded (SQLite, one file per day) and in memory.
 * Engines return results and never chunks. Internal ids never cross this interface, only text and
 * content hashes over dictionaries that the caller can see. Every call begins with the tenant,
 * whose data is fully separate from that of others.
 *
 * Terms. A *series* is a set of labels (service_name among them) that identifies the source of
 * profiles. A *type* is Pyroscope's five-part id, "process_cpu:cpu:nanoseconds:cpu:nanoseconds". A
 * row of a profile may carry *sample labels* (thread, endpoint …) and a *link* (trace, span).
 * Selectors and group-by accept labels of both kinds; a series label takes precedence over a sample
 * label.
 *
 * All functions are thread safe, except that a batch belongs to one thread at a time.
 */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory_budget.h"
#include "model/model.h"

struct store;

/* ------------------------------------------------------------------ how it is */

/* Whether the wall clock is trusted (trusted_clock.h). While it is not, nothing is deleted by
 * age. */
enum store_clock_trust { STORE_CLOCK_TRUSTED, STORE_CLOCK_AHEAD, STORE_CLOCK_BEHIND };

struct store_clock_state {
	enum store_clock_trust trust;
	int64_t off_by_ns;    /* wall clock minus trusted time; 0 while it is trusted */
	int64_t trusted_ns;   /* trusted time: the last known time plus measured time since */
	int64_t since_ns;     /* trusted time of the last change of trust; 0 = never */
	int64_t uncounted_ns; /* time the machine was off, which does not age data */
};

/* Whether the disk accepts writes (disk_guard.h). While it does not, uploads are refused. */
enum store_disk_state {
	STORE_DISK_OK,
	STORE_DISK_FULL,
	STORE_DISK_NO_INODES,
	STORE_DISK_QUOTA,
	STORE_DISK_READ_ONLY,
	STORE_DISK_FAILING,
	STORE_DISK_STATES_
};

struct store_disk {
	enum store_disk_state state;
	uint64_t free_bytes, total_bytes; /* of the file system; 0 for the in-memory engine */
	uint64_t reserve_bytes;		  /* kept free for deletes */
	int64_t since_ns;		  /* wall clock of the last change; 0 = never */
};
/* "read-only: disk full"; "ok". */
const char *store_disk_text(enum store_disk_state state);

enum store_deleted_why {
	STORE_DELETED_AGE,
	STORE_DELETED_QUOTA, /* the tenant is above its own limit */
	STORE_DELETED_SIZE,  /* the store is above its limit and the tenant above its share */
	STORE_DELETED_SELECTOR,
	STORE_DELETED_WHYS_
};
/* "age", "quota", "size", "selector". */
const char *store_deleted_text(enum store_deleted_why why);

struct store_deleted {
	enum store_deleted_why why;
	struct str tenant, service; /* service empty = all services */
	int64_t day;		    /* since 1970-01-01 */
	bool spans;
	uint64_t bytes; /* returned to the file system */
	uint64_t count; /* profiles or spans */
};

struct store_event {
	enum store_event_kind { STORE_DELETED, STORE_CLOCK_CHANGED, STORE_DISK_CHANGED } kind;
	const struct store_deleted *deleted;
	const struct store_clock_state *clock;
	const struct store_disk *disk;
};

/* ------------------------------------------------------------------ opening */

struct store_limits {
	uint32_t max_series; /* of a tenant and day */
	uint32_t max_labels; /* of a series */
	uint32_t max_label_name, max_label_value;
	uint32_t max_depth;  /* deeper stacks keep the root side; cut stacks are counted */
	uint64_t max_stacks; /* of a service and day */
	int64_t max_age_ns, max_ahead_ns; /* older or newer profiles are refused, with a reason */
	uint64_t max_spans_per_day;	  /* of traces */
};

struct store_options {
	const char *directory; /* NULL = in memory */
	struct store_limits limits;
	int64_t retention_ns;	   /* 0 = for ever */
	int64_t span_retention_ns; /* of traces */
	/*
	 * Bytes on disk; 0 = no limit. A tenant above tenant_max_size loses its oldest data. If all
	 * tenants together exceed max_size, only those with more than their fair share lose their
	 * oldest data (fair_share.h).
	 */
	uint64_t max_size, tenant_max_size;
	/* Overrides of tenant_max_size per tenant. */
	const struct tenant_size {
		struct str tenant;
		uint64_t max_size;
	} * tenant_sizes;
	size_t tenant_size_count;
	/*
	 * Bytes of unused dictionaries that are kept in memory. SIZE_MAX: 1/32 of the machine's
	 * memory, 64 to 512 MiB. If uploads cycle through more services than fit, each upload reads
	 * its dictionary from disk.
	 */
	size_t dictionary_memory;
	/* Memory kept for a tenant is charged to the account of that name, as MEMORY_CACHED. NULL =
	 * not charged. */
	struct memory_budget *memory;
	/* Retention per service. */
	const struct service_retention {
		struct str service;
		int64_t retention_ns;
	} * overrides;
	size_t override_count;
	int64_t (*now_ns)(void); /* wall clock; NULL = the system's (tests set it) */
	/* Monotonic time, and the time that the machine was suspended. NULL: the system's; if a
	 * test sets now_ns, that one, and no suspension. */
	int64_t (*steady_ns)(void), (*asleep_ns)(void);
	/* Called for events worth logging, from any thread, with locks of the store held: it must
	 * not call the store. May be NULL. */
	void (*tell)(void *context, const struct store_event *event);
	void *tell_context;
};
extern const struct store_options store_options_default;

/* Creates the directory if it is missing. Refuses a directory that another process has open (and
 * reports its pid), and one with a newer format version. */
enum err store_open(const struct store_options *options, struct store **ret,
		    struct fault *fault) MUST_CHECK;
/* Waits for running commits. */
void store_close(struct store *s);
/* Frees about `wanted` bytes of cached data of a tenant, or, if the name is empty, of those that
 * use most; returns how many bytes it freed. */
size_t store_shrink(struct store *s, struct str tenant, size_t wanted);
/* The seed of all content hashes: dictionaries passed to store_batch_add must be created with
 * it. */
uint64_t store_seed(const struct store *s);

/* ------------------------------------------------------------------ writing */

/*
 * A batch holds the data of one request: all of it becomes durable, or none.
 *
 *	store_batch_new(store, tenant, &batch, fault)
 *	store_batch_service(batch, service, &dict)	 fast path: decode directly into the
 *	format_read(… dict …)				 service's dictionary, which is locked
 *	store_batch_add(batch, &profile, fault)		 … or add profiles over any dictionary
 *	store_batch_commit(batch, done, context)	 `done` is called when it is durable
 */
struct store_batch;

enum err store_batch_new(struct store *s, struct str tenant, struct store_batch **ret,
			 struct fault *fault) MUST_CHECK;
/* Locks today's dictionary of the service until the next call for another service, or the commit.
 * Entries interned there stay, even if decoding fails. */
enum err store_batch_service(struct store_batch *b, struct str service, struct dict **ret_dict,
			     struct fault *fault) MUST_CHECK;
enum err store_batch_add(struct store_batch *b, const struct series_profile *p,
			 struct fault *fault) MUST_CHECK;
/* Number of stacks cut at max_depth, for the reply to the client. */
uint64_t store_batch_cut_stacks(const struct store_batch *b);

enum err store_batch_span(struct store_batch *b, const struct trace_span *span,
			  struct fault *fault) MUST_CHECK;

/*
 * Submits the batch; `done` is called exactly once, from another thread or before this returns,
 * with ERR_OK when everything is durable. An empty batch succeeds at once.
 */
void store_batch_commit(struct store_batch *b,
			void (*done)(void *context, enum err error, const struct fault *fault),
			void *context);
/* Discards a batch; NULL is allowed. */
void store_batch_abandon(struct store_batch *b);

/* ------------------------------------------------------------------ asking */

enum match_op { MATCH_EQUAL, MATCH_NOT_EQUAL, MATCH_REGEX, MATCH_NOT_REGEX };

/* A missing label counts as empty, as in Prometheus. */
struct matcher {
	struct str name;
	enum match_op op;
	struct str value;
	/* For the two regex ops: anchored, matched in linear time. */
	const struct linear_regex *regex;
};

/*
 * Functions at a code address that were symbolized after the profile was stored. They replace the
 * stored frame.
 */
struct late_frame {
	struct str build_id;
	uint64_t offset;	 /* frame_offset() */
	const struct str *names; /* innermost first, at least one */
	size_t count;
};

/* [from, until) */
struct time_span {
	int64_t from_ns, until_ns;
};

struct selection {
	const struct matcher *matchers; /* all must hold; __profile_type__ and __name__ work too */
	size_t matcher_count;
	struct str type; /* five-part id; empty where a query does not need one */
	int64_t from_ns, until_ns;
	/* Only rows linked to one of these; a zero trace or span id matches any. */
	const struct link *links;
	size_t link_count;
	/* Only these profiles, by exemplar.profile. */
	const uint64_t *profiles;
	size_t profile_count;
	/* Only rows in one of these, which are sorted and disjoint: by the time of a row if it has
	 * one, else by that of its profile. */
	const struct time_span *times;
	size_t time_count;
};

/* Damaged parts of the store that a query could not read; they are missing from its result. */
#define DAMAGE_NOTES 8
struct damage_notes {
	unsigned n; /* the first DAMAGE_NOTES of them have a text */
	struct fault v[DAMAGE_NOTES];
};

/* Limits of a query, its cancellation, and what it read. */
struct ask {
	atomic_bool *cancelled; /* or NULL */
	size_t max_memory;	/* bytes for the query and its result; 0 = 256 MiB */
	struct fault *fault;	/* or NULL */
	/* NULL: damaged data fails the query with ERR_DAMAGED. Else the damage is recorded here,
	 * and the result is partial. */
	struct damage_notes *damage;
	/* Set by the query: what it read. */
	uint64_t chunks, blocks, rollups, rows, bytes;
	/* Set by store_merge and store_series: how much of the range was profiled. Values divided
	 * by it are rates while the service ran. With several types, the largest of theirs. */
	int64_t covered_ns;
};

/* Merges everything selected into `dst` (initialised over a dictionary with the store's seed), as
 * one column. Sums are added. A gauge is the mean over the range of its time series (coverage.h),
 * added up over series. With `group_by`, rows carry those labels as their label set. Times and
 * links are dropped. */
enum err store_merge(struct store *s, struct str tenant, const struct selection *selection,
		     const struct str *group_by, size_t group_count, struct ask *ask,
		     struct profile *dst) MUST_CHECK;

struct point {
	int64_t time_ns;
	double value;
	int64_t sum; /* of sums: the exact value */
};
struct series_points {
	const struct label_pair *labels; /* the group */
	size_t label_count;
	bool other;	      /* sum of the groups beyond the limit; has no labels */
	struct str type;      /* set if all types were requested */
	struct point *points; /* one per bucket from..until, NAN where there is no data */
	size_t n;
	/* `total` is valid: the sum, or for a gauge the mean over the range in whole units. Not for
	 * means over profiles, nor where there is no data. */
	bool whole;
	int64_t total;
	/* As in struct ask, for the series of this group, and per bucket. */
	int64_t covered_ns;
	int64_t *covered;
};
struct series_question {
	const struct str *group_by;
	size_t group_count;
	int64_t step_ns; /* buckets are aligned to it; at most 11,000 of them */
	bool average;	 /* else by type: sums are added, gauges averaged over time */
	bool force_sum;
	bool each_type; /* one series per selected type, in one pass over the data */
	/* Only stacks that contain this path of functions, root first; empty = all. */
	const struct str *call_site;
	size_t call_site_count;
	struct str function;	       /* only this function's value; empty = all */
	bool function_self;	       /* self value, not total */
	const struct late_frame *late; /* sorted by build id and offset */
	size_t late_count;
	/* Maximum number of series, largest first; 0 = all. The rest is added up in one more series
	 * at the end, `other` (one per type). */
	uint32_t limit;
};
struct series_answer {
	struct arena arena; /* owns everything below */
	struct series_points *series;
	size_t n;
};
enum err store_series(struct store *s, struct str tenant, const struct selection *selection,
		      const struct series_question *question, struct ask *ask,
		      struct series_answer *ret) MUST_CHECK;

/*
 * All services over time: as store_series by service_name, for each type and up to two ranges at
 * once. Services are processed one after the other, so that memory is needed for one at a time.
 */
#define SERVICES_RANGES 2
struct services_question {
	struct time_span ranges[SERVICES_RANGES]; /* replace the selection's range */
	size_t range_count;
	int64_t step_ns;
	/* Accept cached totals: `each` may get series without points (NULL) and `covered_ns`, and
	 * services in any order. Ignored if ask->damage is set. */
	bool totals_only;
	/* Restricts the answer to these services; 0 = all. */
	const struct str *only;
	size_t only_count;
};
/* Of the first range and all services together. */
struct services_answer {
	struct arena arena;
	struct type_coverage {
		struct str type;
		int64_t covered_ns;
	} * types;
	size_t n;
};
/* `each` gets SERVICES_RANGES answers, empty beyond the last range, and must copy what it keeps;
 * services without any series are left out. */
enum err store_services(struct store *s, struct str tenant, const struct selection *selection,
			const struct services_question *question, struct ask *ask,
			enum err (*each)(void *context, struct str service,
					 const struct series_answer *answers),
			void *context, struct services_answer *ret) MUST_CHECK;

/* Sums of value in cells of (time, position within the second): by sample time where rows have one,
 * else spread over the cells that the profile's interval overlaps. */
struct heatmap_answer {
	size_t columns, rows;
	int64_t *cells;	  /* [column * rows + row]; the caller frees it with mem_free */
	uint64_t untimed; /* rows without a time of their own */
};
enum err store_heatmap(struct store *s, struct str tenant, const struct selection *selection,
		       int64_t column_ns, int64_t row_ns, struct ask *ask,
		       struct heatmap_answer *ret) MUST_CHECK;
/* Individual profiles or spans with their value, for heat maps and exemplars. */
struct exemplar {
	int64_t time_ns, value;
	struct link link; /* zero for a whole profile */
	uint64_t profile; /* its id, for `selection.profiles` */
	const struct label_pair *labels;
	size_t label_count;
};
struct exemplar_answer {
	struct arena arena;
	struct exemplar *v;
	size_t n;
};
struct exemplar_question {
	bool by_span;
	struct str function; /* by_span: value of stacks that contain it; empty = all */
	const struct late_frame *late;
	size_t late_count;
	uint32_t limit; /* only the largest; 0 = all */
};
enum err store_exemplars(struct store *s, struct str tenant, const struct selection *selection,
			 const struct exemplar_question *question, struct ask *ask,
			 struct exemplar_answer *ret) MUST_CHECK;

struct text_answer {
	struct arena arena;
	struct str *v; /* sorted, distinct */
	size_t n;
	bool more; /* cut at `limit` */
};
enum err store_label_names(struct store *s, struct str tenant, const struct selection *selection,
			   struct ask *ask, struct text_answer *ret) MUST_CHECK;
enum err store_label_values(struct store *s, struct str tenant, struct str name,
			    const struct selection *selection, size_t limit, struct ask *ask,
			    struct text_answer *ret) MUST_CHECK;
enum err store_types(struct store *s, struct str tenant, const struct selection *selection,
		     struct ask *ask, struct text_answer *ret) MUST_CHECK;
struct label_set_answer {
	struct arena arena;
	struct label_group {
		struct label_pair *labels;
		size_t n;
	} * v;
	size_t n;
};
/* The distinct label sets of the selected series, reduced to `names` (all labels if empty);
 * __profile_type__ is allowed. */
enum err store_label_sets(struct store *s, struct str tenant, const struct selection *selection,
			  const struct str *names, size_t name_count, struct ask *ask,
			  struct label_set_answer *ret) MUST_CHECK;

/* Spans of traces, newest first. */
struct span_question {
	struct str service, operation; /* empty = any */
	int64_t from_ns, until_ns, min_duration_ns;
	const uint8_t *trace_id; /* 16 bytes, or NULL */
	size_t limit;
};
struct span_answer {
	struct arena arena;
	struct trace_span *v;
	size_t n;
};
enum err store_spans(struct store *s, struct str tenant, const struct span_question *question,
		     struct ask *ask, struct span_answer *ret) MUST_CHECK;

/* ------------------------------------------------------------------ keeping */

/* Status of the background upkeep (compaction, retention); failed work is retried in the next
 * round. */
struct upkeep {
	uint64_t failures;	   /* rounds that failed */
	enum err error;		   /* of the last round */
	struct fault last_failure; /* the most recent one, even if later rounds succeeded */
};

struct store_stats {
	/* Of the tenant. Series: of each service those of the day that has most. */
	uint64_t profiles, rows, series, services, spans;
	int64_t oldest_ns, newest_ns; /* when profiles begin, to the millisecond; 0 = none stored */
	uint64_t disk_bytes, dictionary_bytes; /* of the tenant */
	/* Of the whole store. */
	uint64_t commits, queued_batches, fresh_chunks, blocks, rollups;
	int64_t compaction_lag_ns; /* age of the oldest chunk that is due for compaction */
	uint64_t connections;	   /* open SQLite connections */
	uint64_t lock_steps;	   /* longest loop under the engine lock, in iterations */
	uint64_t refused[ERR_COUNT_];
	bool full; /* the disk is full: writes are refused, queries work */
	struct upkeep upkeep;
	uint64_t max_size; /* of the tenant: its own limit or its fair share; 0 = none */
	/* Of the tenant, since the store was opened. */
	struct store_deleted_sum {
		uint64_t times, bytes, count;
	} deleted[STORE_DELETED_WHYS_];
};
/* Clock and disk only; quick, never waits for the disk. */
struct store_state {
	struct store_clock_state clock;
	struct store_disk disk;
};
void store_state(struct store *s, struct store_state *ret);
/* Declares the wall clock correct: data ages by it again, including time that was not measured. */
void store_clock_confirm(struct store *s);
/* Releases the disk reserve for an operation that frees space or must be recorded; uploads are
 * refused until it is rebuilt. */
void store_use_reserve(struct store *s);

enum err store_stats(struct store *s, struct str tenant, struct store_stats *ret) MUST_CHECK;
enum err store_tenants(struct store *s, struct text_answer *ret) MUST_CHECK;

/* The period of merged heap profiles in bytes: the sampling interval is not stored, and this is the
 * default of all common heap profilers (Go, jemalloc, V8, async-profiler). */
#define STORE_USUAL_PERIOD_BYTES (512 << 10)

/* Deletes the selected profiles (type empty = all types) and their dictionary entries, and frees
 * the disk space. Profiles that start in the range are deleted whole. */
enum err store_delete(struct store *s, struct str tenant, const struct selection *selection,
		      struct ask *ask, uint64_t *ret_profiles) MUST_CHECK;
/* A consistent copy of the whole store into a new directory, while it runs. Files too damaged to be
 * copied are left out; these, and copied files with known damage, are noted in `damage`. With NULL
 * the first file that cannot be copied is an error. */
enum err store_backup(struct store *s, const char *destination, struct damage_notes *damage,
		      struct fault *fault) MUST_CHECK;
/* Runs compaction and retention as far as they are due, and waits for it (tests, `vestal check`);
 * the engine also does so in the background. `all` includes data less than ten minutes old. */
enum err store_settle(struct store *s, bool all, struct fault *fault) MUST_CHECK;
/* Verifies a whole directory that no server has open; calls `each` per problem. */
struct store_checked {
	uint64_t pieces;
	uint64_t unsealed; /* files in an older format, with rows without seals */
};
enum err store_check(const char *directory, void (*each)(void *context, const char *problem),
		     void *context, struct store_checked *ret, struct fault *fault) MUST_CHECK;

/*
 * Repairs a damaged directory. Each damaged file is moved to DIR/<tenant>/detached/, next to a
 * manifest of what was lost, and replaced by a new file with all intact rows. Nothing is deleted,
 * and a second run finds nothing to do. Calls `each` per loss.
 */
struct store_lost {
	struct str tenant;
	const char *file;     /* in the tenant's directory */
	const char *detached; /* where it is now, in the same directory */
	const char *service;  /* NULL = any */
	int64_t from_ns, until_ns;
	int64_t profiles; /* -1 = unknown */
	const char *reason;
};
struct store_repaired {
	uint64_t files, losses;
};
enum err store_repair(const char *directory, void (*each)(void *context, const struct store_lost *),
		      void *context, struct store_repaired *ret, struct fault *fault) MUST_CHECK;

/* Small named values of a tenant (settings, saved filters). value.p == NULL deletes. */
enum err store_setting_set(struct store *s, struct str tenant, struct str name,
			   struct str value) MUST_CHECK;
struct setting {
	struct str name, value;
	int64_t modified_ns;
};
struct setting_answer {
	struct arena arena;
	struct setting *v;
	size_t n;
};
enum err store_settings(struct store *s, struct str tenant, struct setting_answer *ret) MUST_CHECK;
