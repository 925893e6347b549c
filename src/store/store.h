/*
 * The store: keeps profiles, answers questions. Other folders include this header only.
 *
 * Behind it is a table of functions per engine: embedded (SQLite, one file a day) and in memory.
 * Engines answer questions and never hand out chunks; dense ids never cross this interface, only
 * text and content hashes over dictionaries that the caller sees. The tenant comes first in every
 * call and keeps data fully apart.
 *
 * Words. A *series* is a set of labels (service_name among them) that names where profiles come
 * from. A *type* is Pyroscope's five-part id, "process_cpu:cpu:nanoseconds:cpu:nanoseconds". A row
 * of a profile may carry *sample labels* (thread, endpoint …) and a *link* (trace, span); selectors
 * and group-by work on labels of both kinds, and a series' label wins over a sample's.
 *
 * All functions may be called from any thread, except that a batch belongs to one thread at a time.
 */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory_budget.h"
#include "model/model.h"

struct store;

/* ------------------------------------------------------------------ how it is */

/* Whether the wall clock is believed (trusted_clock.h). While it is not, nothing is deleted for its
 * age. */
enum store_clock_trust { STORE_CLOCK_TRUSTED, STORE_CLOCK_AHEAD, STORE_CLOCK_BEHIND };

struct store_clock_state {
	enum store_clock_trust trust;
	int64_t off_by_ns;    /* the wall clock against trusted time; 0 while it is trusted */
	int64_t trusted_ns;   /* what the time is as far as it was measured */
	int64_t since_ns;     /* trusted time of the last change of trust; 0 = never */
	int64_t uncounted_ns; /* while the machine was off, which does not age data */
};

/* Whether the disk takes writes (disk_guard.h). While it does not, uploads are refused. */
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
	uint64_t free_bytes, total_bytes; /* of the file system; 0 = in memory */
	uint64_t reserve_bytes;		  /* held for deletes */
	int64_t since_ns;		  /* wall clock of the last change; 0 = never */
};
/* "read-only: disk full"; "ok". */
const char *store_disk_text(enum store_disk_state state);

enum store_deleted_why {
	STORE_DELETED_AGE,
	STORE_DELETED_QUOTA, /* the tenant is above its own limit */
	STORE_DELETED_SIZE,  /* all together are above theirs, and the tenant above its share */
	STORE_DELETED_SELECTOR,
	STORE_DELETED_WHYS_
};
/* "age", "quota", "size", "selector". */
const char *store_deleted_text(enum store_deleted_why why);

struct store_deleted {
	enum store_deleted_why why;
	struct str tenant, service; /* service empty: of all */
	int64_t day;		    /* since 1970-01-01 */
	bool spans;
	uint64_t bytes; /* on disk, as far as it was given back */
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
	uint32_t max_depth;  /* deeper stacks keep the root side; the rest is counted */
	uint64_t max_stacks; /* of a service and day */
	int64_t max_age_ns, max_ahead_ns; /* older or newer profiles are refused, with the reason */
	uint64_t max_spans_per_day;	  /* of traces */
};

struct store_options {
	const char *directory; /* NULL = in memory */
	struct store_limits limits;
	int64_t retention_ns;	   /* 0 = for ever */
	int64_t span_retention_ns; /* of traces */
	/*
	 * Bytes on disk; 0 = no limit. A tenant above its own loses its oldest data. When all
	 * together have more than max_size, those with more than a fair share lose their oldest
	 * data (fair_share.h), and the others nothing.
	 */
	uint64_t max_size, tenant_max_size;
	/* Another limit than tenant_max_size for one tenant. */
	const struct tenant_size {
		struct str tenant;
		uint64_t max_size;
	} * tenant_sizes;
	size_t tenant_size_count;
	/*
	 * Dictionaries that nobody uses at the moment stay in memory up to so many bytes. SIZE_MAX:
	 * a 32nd of the machine's memory, 64 to 512 MiB. A fleet that sends for more services in
	 * turn than fit has one read from the disk for every upload.
	 */
	size_t dictionary_memory;
	/* What is kept of a tenant is charged to the account of its name, as cached. NULL = to
	 * nobody's. */
	struct memory_budget *memory;
	/* Per service: (service, retention_ns). */
	const struct service_retention {
		struct str service;
		int64_t retention_ns;
	} * overrides;
	size_t override_count;
	int64_t (*now_ns)(void); /* wall clock; NULL = the real one (tests move it) */
	/* Time that certainly passed, and how long the machine was suspended meanwhile. NULL: the
	 * machine's, or with a wall clock of the test as that one goes, and no suspension. */
	int64_t (*steady_ns)(void), (*asleep_ns)(void);
	/* Called for what a log should have, from any thread, with locks of the store held: it must
	 * not call the store. NULL = nobody is told. */
	void (*tell)(void *context, const struct store_event *event);
	void *tell_context;
};
extern const struct store_options store_options_default;

/* Creates the directory when it is missing. Refuses a directory that another process has open
 * (naming its pid), and one of a newer format version. */
enum err store_open(const struct store_options *options, struct store **ret,
		    struct fault *fault) MUST_CHECK;
/* Waits for commits under way. */
void store_close(struct store *s);
/* Gives up about `wanted` bytes of what is kept in memory of a tenant, or of those that have most
 * when the name is empty; returns how many it did. */
size_t store_shrink(struct store *s, struct str tenant, size_t wanted);
/* The seed of all content hashes: dictionaries given to store_batch_add must be made with it. */
uint64_t store_seed(const struct store *s);

/* ------------------------------------------------------------------ writing */

/*
 * A batch is what one request brings: all of it becomes durable, or none.
 *
 *	store_batch_new(store, tenant, &batch, fault)
 *	store_batch_service(batch, service, &dict)	 fast path: decode straight into the
 *	format_read(… dict …)				 service's dictionary, which is locked
 *	store_batch_add(batch, &profile, fault)		 … or add profiles over any dictionary
 *	store_batch_commit(batch, done, context)	 `done` is called when it is durable
 */
struct store_batch;

enum err store_batch_new(struct store *s, struct str tenant, struct store_batch **ret,
			 struct fault *fault) MUST_CHECK;
/* Locks today's dictionary of the service until the next call on this batch with another service,
 * or its commit. What is interned there stays, even if decoding then fails. */
enum err store_batch_service(struct store_batch *b, struct str service, struct dict **ret_dict,
			     struct fault *fault) MUST_CHECK;
enum err store_batch_add(struct store_batch *b, const struct series_profile *p,
			 struct fault *fault) MUST_CHECK;
/* How many stacks were cut at max_depth, for the answer to the client. */
uint64_t store_batch_cut_stacks(const struct store_batch *b);

enum err store_batch_span(struct store_batch *b, const struct trace_span *span,
			  struct fault *fault) MUST_CHECK;

/*
 * Hands the batch over; `done` is called exactly once, from another thread or before this returns,
 * with ERR_OK when everything is durable. An empty batch succeeds at once.
 */
void store_batch_commit(struct store_batch *b,
			void (*done)(void *context, enum err error, const struct fault *fault),
			void *context);
/* Throws a batch away; NULL is fine. */
void store_batch_abandon(struct store_batch *b);

/* ------------------------------------------------------------------ asking */

enum match_op { MATCH_EQUAL, MATCH_NOT_EQUAL, MATCH_REGEX, MATCH_NOT_REGEX };

/* A label that is absent counts as empty, as in Prometheus. */
struct matcher {
	struct str name;
	enum match_op op;
	struct str value;
	/* For the two regex ops: anchored, matched in linear time. */
	const struct linear_regex *regex;
};

/*
 * The functions of a place in a program that were not known when it was stored: who asks knows
 * better by now. They take the place of what the stored frame says.
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
	struct str type; /* five-part id; empty where a question does not need one */
	int64_t from_ns, until_ns;
	/* Only rows linked to one of these; zero trace or span part = not looked at. */
	const struct link *links;
	size_t link_count;
	/* Only these profiles, by the id that an exemplar has. */
	const uint64_t *profiles;
	size_t profile_count;
	/* Only rows taken in one of these, in order and apart: by the time of a row where it has
	 * one, else that of its profile. */
	const struct time_span *times;
	size_t time_count;
};

/* Parts of what is stored that a question could not read: the answer lacks them. */
#define DAMAGE_NOTES 8
struct damage_notes {
	unsigned n; /* of which the first DAMAGE_NOTES have a text */
	struct fault v[DAMAGE_NOTES];
};

/* How much a question may cost, and whether anybody still wants the answer. */
struct ask {
	atomic_bool *cancelled; /* or NULL */
	size_t max_memory;	/* bytes for the answer and what it takes; 0 = 256 MiB */
	struct fault *fault;	/* or NULL */
	/* NULL: a damaged part is ERR_DAMAGED. Else it is noted here, and the answer is what can be
	 * read. */
	struct damage_notes *damage;
	/* Filled: what was read. */
	uint64_t chunks, blocks, rollups, rows, bytes;
	/* Filled by store_merge and store_series: how much of the range was profiled. Divide by it
	 * to get what there was while it ran. Of several types, where a series was asked for each,
	 * that of the one that was profiled longest. */
	int64_t covered_ns;
};

/* Merges everything selected into `dst` (initialised over a dictionary of the store's seed): one
 * column, sums as sums, gauges as the mean of their time line over the range: the mean within a
 * series, for the share of the points of presence.h in which it was seen, summed over series. With
 * `group_by`, rows carry those labels as their label set. Times and links are dropped. */
enum err store_merge(struct store *s, struct str tenant, const struct selection *selection,
		     const struct str *group_by, size_t group_count, struct ask *ask,
		     struct profile *dst) MUST_CHECK;

struct point {
	int64_t time_ns;
	double value;
	int64_t sum; /* of sums: the value, all digits of it */
};
struct series_points {
	const struct label_pair *labels; /* the group */
	size_t label_count;
	bool other;	      /* the sum of the groups beyond the limit; it has no labels */
	struct str type;      /* when every type was asked for */
	struct point *points; /* one per bucket from..until, NAN where nothing was measured */
	size_t n;
	/* Of sums their sum, of a gauge its mean over the range in whole units; nothing of means
	 * over profiles, and where nothing was measured. */
	bool whole;
	int64_t total;
	/* As in struct ask, of the series that are in this group, and of each bucket. */
	int64_t covered_ns;
	int64_t *covered;
};
struct series_question {
	const struct str *group_by;
	size_t group_count;
	int64_t step_ns; /* buckets are aligned to it; at most 11,000 of them */
	bool average;	 /* else the type's own habit: sums summed, gauges averaged and held */
	bool force_sum;
	bool each_type; /* a series for every type that is selected, in one pass over the data */
	/* Only stacks that contain these functions, root first as a path; empty = all. */
	const struct str *call_site;
	size_t call_site_count;
	struct str function;	       /* value of this function over time; empty = of everything */
	bool function_self;	       /* its own, not with what it calls */
	const struct late_frame *late; /* in order of build id and offset */
	size_t late_count;
	/* Series in the answer, largest first; 0 = all. The rest is one more, `other`, at the end
	 * (one for each type). */
	uint32_t limit;
};
struct series_answer {
	struct arena arena; /* holds all of it */
	struct series_points *series;
	size_t n;
};
enum err store_series(struct store *s, struct str tenant, const struct selection *selection,
		      const struct series_question *question, struct ask *ask,
		      struct series_answer *ret) MUST_CHECK;

/*
 * All services over time: as store_series by service_name, of each type, for up to two ranges at
 * once. One service is answered after the other, so that the memory it takes is that of one.
 */
#define SERVICES_RANGES 2
struct services_question {
	struct time_span ranges[SERVICES_RANGES]; /* in place of the selection's */
	size_t range_count;
	int64_t step_ns;
};
/* In the first range, of all services together. */
struct services_answer {
	struct arena arena;
	struct type_coverage {
		struct str type;
		int64_t covered_ns;
	} * types;
	size_t n;
};
/* `each` gets SERVICES_RANGES answers, empty beyond the last range, and copies what it wants to
 * keep; services without any series are left out. */
enum err store_services(struct store *s, struct str tenant, const struct selection *selection,
			const struct services_question *question, struct ask *ask,
			enum err (*each)(void *context, struct str service,
					 const struct series_answer *answers),
			void *context, struct services_answer *ret) MUST_CHECK;

/* Sums of value in cells of (time, position within the second): from per-sample times where rows
 * have them, else spread over the cells that the profile's interval touches. */
struct heatmap_answer {
	size_t columns, rows;
	int64_t *cells;	  /* [column * rows + row]; the caller frees it with mem_free */
	uint64_t untimed; /* rows without a time of their own */
};
enum err store_heatmap(struct store *s, struct str tenant, const struct selection *selection,
		       int64_t column_ns, int64_t row_ns, struct ask *ask,
		       struct heatmap_answer *ret) MUST_CHECK;
/* Individual profiles or spans with their value, for heat maps of values and exemplars. */
struct exemplar {
	int64_t time_ns, value;
	struct link link; /* zero when a whole profile is meant */
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
	struct str function; /* of spans: the value of stacks that contain it; empty = of all */
	const struct late_frame *late;
	size_t late_count;
	uint32_t limit; /* the largest; 0 = all */
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
/* The distinct label sets of selected series, reduced to `names` (all when there are none);
 * __profile_type__ may be among them. */
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

/* How the rounds of compaction and retention go: what fails is tried again in the next. */
struct upkeep {
	uint64_t failures;	   /* rounds that failed */
	enum err error;		   /* of the last round */
	struct fault last_failure; /* the last there was, also when it is over */
};

struct store_stats {
	uint64_t profiles, rows, series, services, spans; /* of the tenant */
	int64_t oldest_ns, newest_ns;			  /* 0 = nothing stored */
	uint64_t disk_bytes, dictionary_bytes;		  /* of the tenant */
	/* Of the whole store. */
	uint64_t commits, queued_batches, fresh_chunks, blocks, rollups;
	int64_t compaction_lag_ns; /* age of the oldest chunk that should be in a block */
	uint64_t connections;	   /* to files of days and tenants, open */
	uint64_t lock_steps;	   /* the longest loop while everybody had to wait for it */
	uint64_t refused[ERR_COUNT_];
	bool full; /* the disk takes nothing: writes are refused, questions answered */
	struct upkeep upkeep;
	uint64_t max_size; /* of the tenant: its own limit or its fair share; 0 = none */
	/* Of the tenant, since the store was opened. */
	struct store_deleted_sum {
		uint64_t times, bytes, count;
	} deleted[STORE_DELETED_WHYS_];
};
/* Of clock and disk alone; quick, and never waits for a disk. */
struct store_state {
	struct store_clock_state clock;
	struct store_disk disk;
};
void store_state(struct store *s, struct store_state *ret);
/* The wall clock is right as it is: data ages by it again, also by the time nobody measured. */
void store_clock_confirm(struct store *s);
/* Gives up the reserve for something that frees space or must be written down; until it is rebuilt
 * uploads are refused. */
void store_use_reserve(struct store *s);

enum err store_stats(struct store *s, struct str tenant, struct store_stats *ret) MUST_CHECK;
enum err store_tenants(struct store *s, struct text_answer *ret) MUST_CHECK;

/* What a merge of stored bytes gives as its period: the interval is not stored, and every profiler
 * of the heap samples by this unless told otherwise (Go, jemalloc, V8, async-profiler). */
#define STORE_USUAL_PERIOD_BYTES (512 << 10)

/* Deletes what is selected (type empty = all types), dictionary included; frees the disk space.
 * Profiles that start in the range go whole. */
enum err store_delete(struct store *s, struct str tenant, const struct selection *selection,
		      struct ask *ask, uint64_t *ret_profiles) MUST_CHECK;
/* A consistent copy of the whole store into a new directory, while it runs. */
enum err store_backup(struct store *s, const char *destination, struct fault *fault) MUST_CHECK;
/* Compaction and retention as far as they are due; the engine does so by itself in the background,
 * this waits for it (tests, `vestal check`). `all` also takes what is not ten minutes old. */
enum err store_settle(struct store *s, bool all, struct fault *fault) MUST_CHECK;
/* Verifies all of a directory that no server has open; problems go to `each`. */
struct store_checked {
	uint64_t pieces;
	uint64_t unsealed; /* files with rows of before rows had checksums of their own */
};
enum err store_check(const char *directory, void (*each)(void *context, const char *problem),
		     void *context, struct store_checked *ret, struct fault *fault) MUST_CHECK;

/*
 * Makes a damaged directory answer again: each damaged file goes to DIR/<tenant>/detached/, where a
 * manifest says what is missing since, and a new one with all that is good takes its place. Nothing
 * is deleted; a second time there is nothing to do. What is missing goes to `each`.
 */
struct store_lost {
	struct str tenant;
	const char *file;     /* in the folder of the tenant */
	const char *detached; /* where it is now, there */
	const char *service;  /* NULL = of any */
	int64_t from_ns, until_ns;
	int64_t profiles; /* -1 = not known */
	const char *reason;
};
struct store_repaired {
	uint64_t files, losses;
};
enum err store_repair(const char *directory, void (*each)(void *context, const struct store_lost *),
		      void *context, struct store_repaired *ret, struct fault *fault) MUST_CHECK;

/* Small named values of a tenant (settings, saved filters). A value of p == NULL deletes. */
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
