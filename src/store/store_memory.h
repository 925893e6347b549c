/*
 * Private to src/store: the engine that keeps everything in memory. A partition has a list of
 * chunks; a batch is there as soon as it is committed. It is what opens files in the UI, and what
 * the tests compare the other engine with.
 *
 * `lock` guards the lists, and is never held while a partition's lock is waited for; the chunks of
 * a partition are guarded by that one. Bytes of chunks stay where they are while questions run:
 * deleting waits for those, and they for it.
 */
#pragma once

#include "store/store_engine.h"

struct stored_chunk {
	char *bytes;
	size_t n;
	int64_t time_ns, duration_ns;
	uint32_t series, rows;
};

/* What `engine` of a partition points to. */
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
	VEC(struct partition *) partitions; /* each with a reference of the list */
	VEC(struct memory_quota *) quotas;
	struct arena arena; /* texts of quotas, spans */
	VEC(struct memory_span) spans;
	VEC(struct memory_setting) settings;
	atomic_ullong commits;
};

/* Questions may read chunks between these two; deleting waits for them and keeps new ones out. */
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

/* The operations that live in files of their own. */
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
