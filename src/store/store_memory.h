/*
 * Private to src/store: the in-memory engine. A partition has a list of chunks; a batch is visible
 * as soon as it is committed. Used by `vestal server --memory`, and as a reference in tests.
 *
 * `lock` guards the lists, and must not be held while locking a partition; the partition's lock
 * guards its chunks. Chunks do not move while queries run: deletes wait for queries, and queries
 * for deletes.
 */
#pragma once

#include "store/store_engine.h"

struct stored_chunk {
	char *bytes;
	size_t n;
	int64_t time_ns, duration_ns;
	uint32_t series, rows;
};

/* The target of a partition's `engine`. */
struct memory_partition {
	VEC(struct stored_chunk) chunks;
};

struct memory_quota {
	struct str tenant;
	int64_t day;
	struct quota quota;
};

struct memory_span {
	struct str tenant;
	struct trace_span span;
};

struct memory_setting {
	struct str tenant;
	char *name, *value;
	size_t value_n;
	int64_t modified_ns;
};

struct memory_store {
	struct store base;   /* first */
	struct mutex commit; /* one batch at a time; taken before any other lock */
	struct mutex lock;
	struct cond idle;
	unsigned questions; /* running */
	bool deleting;
	VEC(struct partition *) partitions; /* the list holds a reference to each */
	VEC(struct memory_quota *) quotas;
	struct arena arena; /* strings of quotas and spans */
	VEC(struct memory_span) spans;
	VEC(struct memory_setting) settings;
	atomic_ullong commits;
};

/* Queries read chunks between these two calls; a delete waits for them and blocks new ones. */
void memory_enter(struct memory_store *m);
void memory_leave(struct memory_store *m);
void memory_enter_alone(struct memory_store *m);
void memory_leave_alone(struct memory_store *m);

void memory_drop(struct partition *p); /* a reference */

/* The partitions of a tenant, each with a reference. */
struct partition_list {
	struct partition **v;
	size_t n;
};
enum err memory_list(struct memory_store *m, struct str tenant,
		     struct partition_list *ret) MUST_CHECK;
void partition_list_release(struct partition_list *l);

/* Operations in other files. */
enum err memory_delete(struct store *s, struct str tenant, const struct selection *selection,
		       struct ask *ask, uint64_t *ret_profiles) MUST_CHECK;
enum err memory_settle(struct store *s, bool all, struct fault *fault) MUST_CHECK;
enum err memory_spans(struct store *s, struct str tenant, const struct span_question *question,
		      struct ask *ask, struct span_answer *ret) MUST_CHECK;
enum err memory_add_spans(struct memory_store *m, const struct store_batch *b,
			  struct fault *fault) MUST_CHECK;
enum err memory_setting_set(struct store *s, struct str tenant, struct str name,
			    struct str value) MUST_CHECK;
enum err memory_settings(struct store *s, struct str tenant, struct setting_answer *ret) MUST_CHECK;
enum err memory_stats(struct store *s, struct str tenant, struct store_stats *ret) MUST_CHECK;
enum err memory_tenants(struct store *s, struct text_answer *ret) MUST_CHECK;
