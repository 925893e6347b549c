/*
 * Private to src/store: what an engine is. An engine embeds `struct store` as its first member and
 * fills it with store_base_init; store.c dispatches.
 */
#pragma once

#include "store/answer.h"
#include "store/trusted_clock.h"

struct batch_chunk {
	struct partition *partition; /* held until the batch is finished */
	size_t at, n;		     /* bytes of the chunk in the batch's buffer */
	struct encoded_chunk info;
};

struct store_batch {
	struct store *store;
	struct str tenant;
	struct arena arena;	  /* tenant, spans */
	struct partition *locked; /* by store_batch_service */
	VEC(struct batch_chunk) chunks;
	VEC(struct partition *) held; /* each once */
	struct buf bytes;
	VEC(struct trace_span) spans;
	uint64_t cut_stacks, rows;
	void (*done)(void *context, enum err error, const struct fault *fault);
	void *context;
	struct store_batch *next; /* for the engine's queue */
	size_t delta_bytes;	  /* about what goes with it of dictionaries */
	bool filling;		  /* counted in the store's `filling` */
};

/* No longer counted in `filling`: it is in the engine's queue, or ends. */
void batch_filled(struct store_batch *b);
/* Calls done, gives partitions back, frees the batch. */
void batch_finish(struct store_batch *b, enum err error, const struct fault *fault);

struct store_ops {
	const char *name;
	void (*close)(struct store *s);
	/*
	 * The partition, made or loaded when needed, held until `give_back`, not locked; no
	 * partition is locked by the caller either. Refuses a tenant or service name that it
	 * cannot keep.
	 */
	enum err (*partition)(struct store *s, struct str tenant, struct str service, int64_t day,
			      struct partition **ret, struct fault *fault);
	void (*give_back)(struct store *s, struct partition *p);
	/* Owns the batch from here on, and ends with batch_finish, now or later. */
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
			  int64_t since_ns, struct ask *ask,
			  enum err (*each)(void *context, struct str service,
					   struct partition *const *partitions, size_t n),
			  void *context);
	enum err (*indexes)(void *engine, struct str tenant, const struct selection *selection,
			    struct ask *ask,
			    enum err (*each)(void *context, const struct series_index *x,
					     const uint64_t *services),
			    void *context);
	enum err (*spans)(struct store *s, struct str tenant, const struct span_question *question,
			  struct ask *ask, struct span_answer *ret);
	/* What the engine knows; `refused` is filled by store.c. */
	enum err (*stats)(struct store *s, struct str tenant, struct store_stats *ret);
	enum err (*tenants)(struct store *s, struct text_answer *ret);
	enum err (*delete)(struct store *s, struct str tenant, const struct selection *selection,
			   struct ask *ask, uint64_t *ret_profiles);
	enum err (*backup)(struct store *s, const char *destination, struct fault *fault);
	enum err (*settle)(struct store *s, bool all, struct fault *fault);
	enum err (*setting_set)(struct store *s, struct str tenant, struct str name,
				struct str value);
	enum err (*settings)(struct store *s, struct str tenant, struct setting_answer *ret);
	/* What store_state says of the disk; these may be NULL. */
	void (*disk)(struct store *s, struct store_disk *ret);
	void (*use_reserve)(struct store *s);
	/* The clock was confirmed. */
	void (*confirmed)(struct store *s);
	/* store_shrink; may be NULL. */
	size_t (*shrink)(struct store *s, struct str tenant, size_t wanted);
};

struct store {
	const struct store_ops *ops;
	struct store_options options; /* a copy; texts are in `arena` */
	struct arena arena;
	uint64_t seed;
	struct source source; /* of ops->partitions, scan and services */
	struct trusted_clock clock;
	atomic_ullong refused[ERR_COUNT_];
	atomic_size_t filling; /* batches begun, and neither given to the engine nor abandoned */
};

enum err store_base_init(struct store *s, const struct store_ops *ops,
			 const struct store_options *options, uint64_t seed) MUST_CHECK;
void store_base_release(struct store *s);
int64_t store_now(const struct store *s);
/* Tells whoever wants to know. */
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
