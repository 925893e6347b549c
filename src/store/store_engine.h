/*
 * Private to src/store: the interface of an engine. An engine has a `struct store` as its first
 * member, initialized by store_base_init; store.c dispatches.
 */
#pragma once

#include "store/answer.h"
#include "store/trusted_clock.h"

struct batch_chunk {
	struct partition *partition; /* referenced until the batch is finished */
	size_t at, n;		     /* bytes of the chunk in the batch's buffer */
	struct encoded_chunk info;
};

struct store_batch {
	struct store *store;
	struct str tenant;
	struct arena arena;	  /* tenant, spans */
	struct partition *locked; /* locked by store_batch_service */
	VEC(struct batch_chunk) chunks;
	VEC(struct partition *) held; /* each once */
	struct buf bytes;
	VEC(struct trace_span) spans;
	uint64_t cut_stacks, rows;
	void (*done)(void *context, enum err error, const struct fault *fault);
	void *context;
	struct store_batch *next; /* for the engine's queue */
	size_t delta_bytes;	  /* estimated size of its dictionary entries */
	bool filling;		  /* counted in store->filling */
};

/* Stops counting the batch in `filling`, when it is queued or abandoned. */
void batch_filled(struct store_batch *b);
/* Calls done, releases partitions, frees the batch. */
void batch_finish(struct store_batch *b, enum err error, const struct fault *fault);

struct store_ops {
	const char *name;
	void (*close)(struct store *s);
	/*
	 * The partition, created or loaded if necessary and referenced until `give_back`. It is
	 * returned unlocked, and the caller must not hold a lock on any partition. Refuses tenant
	 * and service names that the engine cannot store.
	 */
	enum err (*partition)(struct store *s, struct str tenant, struct str service, int64_t day,
			      struct partition **ret, struct fault *fault);
	void (*give_back)(struct store *s, struct partition *p);
	/* Takes ownership of the batch and calls batch_finish, now or later. */
	void (*commit)(struct store *s, struct store_batch *b);
	enum err (*partitions)(void *engine, struct str tenant, const struct selection *selection,
			       int64_t since_ns, struct ask *ask,
			       enum err (*each)(void *context, struct partition *p), void *context);
	enum err (*scan)(void *engine, struct partition *p, const struct scan *scan);
	/* May be NULL; see struct source. */
	enum err (*services)(void *engine, struct str tenant, const struct selection *selection,
			     struct ask *ask, enum err (*each)(void *context, struct str name),
			     void *context);
	enum err (*apart)(void *engine, struct str tenant, const struct selection *selection,
			  int64_t since_ns, struct ask *ask, const struct apart_use *use);
	enum err (*starts)(void *engine, struct partition *p, struct time_span *ret,
			   struct fault *fault);
	enum err (*indexes)(void *engine, struct str tenant, const struct selection *selection,
			    struct ask *ask,
			    enum err (*each)(void *context, struct series_index *x,
					     const uint64_t *services),
			    void *context);
	enum err (*spans)(struct store *s, struct str tenant, const struct span_question *question,
			  struct ask *ask, struct span_answer *ret);
	/* `refused` is set by store.c. */
	enum err (*stats)(struct store *s, struct str tenant, struct store_stats *ret);
	enum err (*tenants)(struct store *s, struct text_answer *ret);
	enum err (*delete)(struct store *s, struct str tenant, const struct selection *selection,
			   struct ask *ask, uint64_t *ret_profiles);
	enum err (*backup)(struct store *s, const char *destination, struct damage_notes *damage,
			   struct fault *fault);
	enum err (*settle)(struct store *s, bool all, struct fault *fault);
	enum err (*setting_set)(struct store *s, struct str tenant, struct str name,
				struct str value);
	enum err (*settings)(struct store *s, struct str tenant, struct setting_answer *ret);
	/* The disk part of store_state; this and all below may be NULL. */
	void (*disk)(struct store *s, struct store_disk *ret);
	void (*use_reserve)(struct store *s);
	/* After store_clock_confirm. */
	void (*confirmed)(struct store *s);
	/* store_shrink. */
	size_t (*shrink)(struct store *s, struct str tenant, size_t wanted);
};

struct store {
	const struct store_ops *ops;
	struct store_options options; /* a copy; its strings are in `arena` */
	struct arena arena;
	uint64_t seed;
	struct source source; /* of ops->partitions, scan and services */
	struct trusted_clock clock;
	atomic_ullong refused[ERR_COUNT_];
	atomic_size_t filling; /* batches begun and neither queued nor abandoned */
};

enum err store_base_init(struct store *s, const struct store_ops *ops,
			 const struct store_options *options, uint64_t seed) MUST_CHECK;
void store_base_release(struct store *s);
int64_t store_now(const struct store *s);
/* Calls options.tell, if set. */
void store_tell(const struct store *s, const struct store_event *event);

enum err store_memory_open(const struct store_options *options, struct store **ret,
			   struct fault *fault) MUST_CHECK;
enum err store_embedded_open(const struct store_options *options, struct store **ret,
			     struct fault *fault) MUST_CHECK;
enum err store_embedded_check(const char *directory,
			      void (*each)(void *context, const char *problem), void *context,
			      struct store_checked *ret, struct fault *fault) MUST_CHECK;
enum err store_embedded_repair(const char *directory,
			       void (*each)(void *context, const struct store_lost *),
			       void *context, struct store_repaired *ret,
			       struct fault *fault) MUST_CHECK;
