/*
 * Private to src/store: implements the queries of store.h on top of any engine, which provides
 * partitions, and of a partition the chunks of a time range (single ones, of blocks, or of
 * roll-ups). Series are matched once per partition, sample labels once per label set, links once
 * per chunk.
 */
#pragma once

#include "base/work_scope.h"
#include "store/block.h"
#include "store/partition.h"
#include "store/series_index.h"

enum chunk_origin { ORIGIN_CHUNK, ORIGIN_BLOCK, ORIGIN_ROLLUP };

/*
 * What a query reads of a partition: profiles whose interval overlaps [from, until), and those that
 * start in [since, until). An engine may return others, too.
 */
struct scan {
	int64_t since_ns, from_ns, until_ns;
	/* Bit per series; an engine may skip the others. NULL = all. */
	const uint64_t *series;
	uint32_t series_count;
	/* Bit per type, likewise. */
	const uint64_t *types;
	uint32_t type_count;
	/* For queries by links: blocks whose filter has none of them may be skipped. */
	const struct link *links;
	size_t link_count;
	/* Resolution of the query: roll-ups inside the range and inside one multiple of this may
	 * replace what they sum up, together with the part beyond their end. 0 = no roll-ups. */
	int64_t rollup_ns;
	struct ask *ask; /* statistics, and cancellation */
	enum err (*each)(void *context, const struct chunk_view *v);
	void *context;
};

struct service_totals;

/* Callbacks for each service (struct source: apart). */
struct apart_use {
	void *context;
	/* Restricts the walk to these services; 0 = all that match. */
	const struct str *only;
	size_t only_count;
	/* Before the first `each`: at most how many services follow. May be NULL. */
	void (*begin)(void *context, size_t services);
	/* Gets the partitions of a service. `*ret_totals`, if set, is passed to the engine, which
	 * may cache it and frees it with mem_free. It may point to strings of a light partition. */
	enum err (*each)(void *context, struct str service, struct partition *const *partitions,
			 size_t n, struct service_totals **ret_totals);
	/* May be NULL. Gets the cached totals of a service that has not changed since; `each` is
	 * called unless they suffice. Called with a lock held: must not call the engine. */
	enum err (*known)(void *context, struct str service, const struct service_totals *totals,
			  bool *ret_enough);
};

struct source {
	void *engine;
	uint64_t seed;
	/*
	 * Calls `each` for every partition of the tenant with data in the range and a service that
	 * passes selection_takes_service, in order of days, without its lock held. The partition is
	 * valid while `each` runs. The range begins at `since_ns` if that is earlier than the
	 * selection's; an earlier day counts if a scan would return data of it.
	 */
	enum err (*partitions)(void *engine, struct str tenant, const struct selection *selection,
			       int64_t since_ns, struct ask *ask,
			       enum err (*each)(void *context, struct partition *p), void *context);
	/* Calls scan->each, without the partition's lock. */
	enum err (*scan)(void *engine, struct partition *p, const struct scan *scan);
	/* The names of services that `partitions` would open, without opening them; a name may come
	 * several times. NULL = not supported. */
	enum err (*services)(void *engine, struct str tenant, const struct selection *selection,
			     struct ask *ask, enum err (*each)(void *context, struct str name),
			     void *context);
	/*
	 * As `partitions`, but service by service, with the partitions of one in order of days.
	 * They are light if row labels do not matter. May be NULL.
	 */
	enum err (*apart)(void *engine, struct str tenant, const struct selection *selection,
			  int64_t since_ns, struct ask *ask, const struct apart_use *use);
	/* A span that contains the start times of all profiles of a light partition. */
	enum err (*starts)(void *engine, struct partition *p, struct time_span *ret,
			   struct fault *fault);
	/*
	 * Calls `each` with the index of every day that has data in the range; `services`: a bit
	 * per service of it; NULL = all. Nobody else uses it while `each` runs. NULL = the engine
	 * has no index: its partitions are searched.
	 */
	enum err (*indexes)(void *engine, struct str tenant, const struct selection *selection,
			    struct ask *ask,
			    enum err (*each)(void *context, struct series_index *x,
					     const uint64_t *services),
			    void *context);
};

/* Labels that are parts of the type id, not of a series: __name__, __type__ …, and all of it as
 * __profile_type__. False for others. */
bool type_label(struct str name, struct str id, struct str *ret);
/* Whether rows of a dictionary may have a label with this name. */
bool samples_have(const struct dict *d, struct str name);
/* Whether a matcher accepts a value. */
enum err matcher_takes(const struct matcher *m, struct str value, bool *ret) MUST_CHECK;
/* Whether the matchers of service_name accept it; engines need not open other partitions. */
enum err selection_takes_service(const struct selection *selection, struct str service,
				 bool *ret) MUST_CHECK;
/* Whether the query was not cancelled; engines call it regularly. */
static inline bool ask_cancelled(const struct ask *ask)
{
	if (work_stopped())
		return true;
	return ask && ask->cancelled && atomic_load_explicit(ask->cancelled, memory_order_relaxed);
}

enum err answer_merge(const struct source *source, struct str tenant,
		      const struct selection *selection, const struct str *group_by,
		      size_t group_count, struct ask *ask, struct profile *dst) MUST_CHECK;
enum err answer_series(const struct source *source, struct str tenant,
		       const struct selection *selection, const struct series_question *question,
		       struct ask *ask, struct series_answer *ret) MUST_CHECK;
enum err answer_heatmap(const struct source *source, struct str tenant,
			const struct selection *selection, int64_t column_ns, int64_t row_ns,
			struct ask *ask, struct heatmap_answer *ret) MUST_CHECK;
enum err answer_exemplars(const struct source *source, struct str tenant,
			  const struct selection *selection,
			  const struct exemplar_question *question, struct ask *ask,
			  struct exemplar_answer *ret) MUST_CHECK;
enum err answer_label_names(const struct source *source, struct str tenant,
			    const struct selection *selection, struct ask *ask,
			    struct text_answer *ret) MUST_CHECK;
enum err answer_label_values(const struct source *source, struct str tenant, struct str name,
			     const struct selection *selection, size_t limit, struct ask *ask,
			     struct text_answer *ret) MUST_CHECK;
enum err answer_types(const struct source *source, struct str tenant,
		      const struct selection *selection, struct ask *ask,
		      struct text_answer *ret) MUST_CHECK;
enum err answer_label_sets(const struct source *source, struct str tenant,
			   const struct selection *selection, const struct str *names,
			   size_t name_count, struct ask *ask,
			   struct label_set_answer *ret) MUST_CHECK;

/* ------------------------------------------------------------------ selecting in a partition */

#define MATCHERS_MAX 64

struct set_mask {
	uint32_t set;
	uint64_t mask;
};

/*
 * A selection applied to one partition. Bits of `series` and `types`: what may match. A series with
 * `open` != 0 has matchers that depend on row labels.
 */
struct choice {
	struct arena arena;
	const struct selection *selection;
	uint64_t *series, *types;
	uint64_t *gauges; /* bit per type, whether it matches or not */
	uint64_t *open;	  /* per series: matchers not decided by the series */
	uint32_t series_count, type_count;
	uint32_t matching_series, matching_types;
	bool all_series; /* every series matches, and no matcher is open */
	/* Per label set, computed on demand: the matchers it satisfies. */
	struct map set_index;
	VEC(struct set_mask) set_masks;
};

/* Requires the partition's lock. */
enum err choice_init(struct choice *c, const struct partition *p,
		     const struct selection *selection) MUST_CHECK;
void choice_release(struct choice *c);
static inline bool choice_has_series(const struct choice *c, uint32_t series)
{
	return series < c->series_count && c->series[series / 64] >> (series % 64) & 1;
}
static inline bool choice_has_type(const struct choice *c, uint32_t type)
{
	return type < c->type_count && c->types[type / 64] >> (type % 64) & 1;
}
static inline bool choice_is_gauge(const struct choice *c, uint32_t type)
{
	return type < c->type_count && c->gauges[type / 64] >> (type % 64) & 1;
}
/* Whether rows of this series with this label set match; takes the lock if the set is new. */
enum err choice_takes_labels(struct choice *c, struct partition *p, uint32_t series,
			     uint32_t label_set, bool *ret) MUST_CHECK;
