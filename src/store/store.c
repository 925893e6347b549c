/*
 * The façade: everything goes to the engine, or to the answers over its chunks.
 */
#include "store/store.h"

#include "base/clock.h"
#include "store/answer_services.h"
#include "store/question.h"
#include "store/store_engine.h"

const struct store_options store_options_default = {
	.limits =
		{
			.max_series = 100000,
			.max_labels = 30,
			.max_label_name = 1024,
			.max_label_value = 2048,
			.max_depth = 2048,
			.max_stacks = 4000000,
			.max_age_ns = 30 * NS_PER_DAY,
			.max_ahead_ns = 3600 * NS_PER_S,
			.max_spans_per_day = 5000000,
		},
	.span_retention_ns = 3 * NS_PER_DAY,
	.dictionary_memory = SIZE_MAX,
};

static enum err copy_tenant_sizes(struct store *s, const struct store_options *o)
{
	struct tenant_size *sizes =
		arena_zalloc(&s->arena, o->tenant_size_count + 1, sizeof(*sizes));

	if (!sizes)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < o->tenant_size_count; i++) {
		sizes[i].tenant = arena_str(&s->arena, o->tenant_sizes[i].tenant);
		sizes[i].max_size = o->tenant_sizes[i].max_size;
		if (!sizes[i].tenant.p)
			return ERR_NO_MEMORY;
	}
	s->options.tenant_sizes = sizes;
	return ERR_OK;
}

static enum err copy_options(struct store *s, const struct store_options *o)
{
	struct service_retention *overrides =
		arena_zalloc(&s->arena, o->override_count + 1, sizeof(*overrides));

	if (!overrides)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < o->override_count; i++) {
		overrides[i].service = arena_str(&s->arena, o->overrides[i].service);
		overrides[i].retention_ns = o->overrides[i].retention_ns;
		if (!overrides[i].service.p)
			return ERR_NO_MEMORY;
	}
	s->options = *o;
	s->options.overrides = overrides;
	TRY(copy_tenant_sizes(s, o));
	if (!o->directory)
		return ERR_OK;
	s->options.directory = arena_copy(&s->arena, str_of(o->directory));
	return s->options.directory ? ERR_OK : ERR_NO_MEMORY;
}

enum err store_base_init(struct store *s, const struct store_ops *ops,
			 const struct store_options *options, uint64_t seed)
{
	s->ops = ops;
	s->seed = seed;
	s->source = (struct source){
		.engine = s,
		.seed = seed,
		.partitions = ops->partitions,
		.scan = ops->scan,
		.services = ops->services,
		.indexes = ops->indexes,
		.apart = ops->apart,
		.starts = ops->starts,
	};
	trusted_clock_init(&s->clock, options);
	return copy_options(s, options);
}

void store_base_release(struct store *s)
{
	trusted_clock_release(&s->clock);
	arena_release(&s->arena);
}

int64_t store_now(const struct store *s)
{
	return s->options.now_ns ? s->options.now_ns() : clock_wall_ns();
}

enum err store_open(const struct store_options *options, struct store **ret, struct fault *fault)
{
	return options->directory ? store_embedded_open(options, ret, fault)
				  : store_memory_open(options, ret, fault);
}

void store_close(struct store *s)
{
	if (s)
		s->ops->close(s);
}

size_t store_shrink(struct store *s, struct str tenant, size_t wanted)
{
	return s->ops->shrink ? s->ops->shrink(s, tenant, wanted) : 0;
}

uint64_t store_seed(const struct store *s)
{
	return s->seed;
}

enum err store_merge(struct store *s, struct str tenant, const struct selection *selection,
		     const struct str *group_by, size_t group_count, struct ask *ask,
		     struct profile *dst)
{
	return answer_merge(&s->source, tenant, selection, group_by, group_count, ask, dst);
}

enum err store_series(struct store *s, struct str tenant, const struct selection *selection,
		      const struct series_question *question, struct ask *ask,
		      struct series_answer *ret)
{
	return answer_series(&s->source, tenant, selection, question, ask, ret);
}

enum err store_services(struct store *s, struct str tenant, const struct selection *selection,
			const struct services_question *question, struct ask *ask,
			enum err (*each)(void *context, struct str service,
					 const struct series_answer *answers),
			void *context, struct services_answer *ret)
{
	return answer_services(&s->source, tenant, selection, question, ask, each, context, ret);
}

enum err store_heatmap(struct store *s, struct str tenant, const struct selection *selection,
		       int64_t column_ns, int64_t row_ns, struct ask *ask,
		       struct heatmap_answer *ret)
{
	return answer_heatmap(&s->source, tenant, selection, column_ns, row_ns, ask, ret);
}

enum err store_exemplars(struct store *s, struct str tenant, const struct selection *selection,
			 const struct exemplar_question *question, struct ask *ask,
			 struct exemplar_answer *ret)
{
	return answer_exemplars(&s->source, tenant, selection, question, ask, ret);
}

enum err store_label_names(struct store *s, struct str tenant, const struct selection *selection,
			   struct ask *ask, struct text_answer *ret)
{
	return answer_label_names(&s->source, tenant, selection, ask, ret);
}

enum err store_label_values(struct store *s, struct str tenant, struct str name,
			    const struct selection *selection, size_t limit, struct ask *ask,
			    struct text_answer *ret)
{
	return answer_label_values(&s->source, tenant, name, selection, limit, ask, ret);
}

enum err store_types(struct store *s, struct str tenant, const struct selection *selection,
		     struct ask *ask, struct text_answer *ret)
{
	return answer_types(&s->source, tenant, selection, ask, ret);
}

enum err store_label_sets(struct store *s, struct str tenant, const struct selection *selection,
			  const struct str *names, size_t name_count, struct ask *ask,
			  struct label_set_answer *ret)
{
	return answer_label_sets(&s->source, tenant, selection, names, name_count, ask, ret);
}

enum err store_spans(struct store *s, struct str tenant, const struct span_question *question,
		     struct ask *ask, struct span_answer *ret)
{
	return s->ops->spans(s, tenant, question, ask, ret);
}

enum err store_stats(struct store *s, struct str tenant, struct store_stats *ret)
{
	struct store_stats stats = {0};

	TRY(s->ops->stats(s, tenant, &stats));
	/* More is known of some profiles, by engine and by how far compaction has come. */
	stats.oldest_ns -= stats.oldest_ns % NS_PER_MS;
	stats.newest_ns -= stats.newest_ns % NS_PER_MS;
	for (unsigned i = 0; i < ERR_COUNT_; i++)
		stats.refused[i] = atomic_load(&s->refused[i]);
	*ret = stats;
	return ERR_OK;
}

void store_state(struct store *s, struct store_state *ret)
{
	struct store_state state = {0};

	if (s->ops->disk) {
		/* The engine checks the clock itself, and reports changes. */
		trusted_clock_peek(&s->clock, &state.clock);
		s->ops->disk(s, &state.disk);
	} else {
		(void)trusted_clock_look(&s->clock, &state.clock);
	}
	*ret = state;
}

void store_clock_confirm(struct store *s)
{
	trusted_clock_confirm(&s->clock);
	if (s->ops->confirmed)
		s->ops->confirmed(s);
}

void store_use_reserve(struct store *s)
{
	if (s->ops->use_reserve)
		s->ops->use_reserve(s);
}

void store_tell(const struct store *s, const struct store_event *event)
{
	if (s->options.tell)
		s->options.tell(s->options.tell_context, event);
}

const char *store_disk_text(enum store_disk_state state)
{
	static const char *const texts[STORE_DISK_STATES_] = {
		[STORE_DISK_OK] = "ok",
		[STORE_DISK_FULL] = "read-only: disk full",
		[STORE_DISK_NO_INODES] = "read-only: no inodes left",
		[STORE_DISK_QUOTA] = "read-only: disk quota exceeded",
		[STORE_DISK_READ_ONLY] = "read-only: file system is mounted read-only",
		[STORE_DISK_FAILING] = "read-only: writing to the disk fails",
	};

	return texts[state];
}

const char *store_deleted_text(enum store_deleted_why why)
{
	static const char *const texts[STORE_DELETED_WHYS_] = {
		[STORE_DELETED_AGE] = "age",
		[STORE_DELETED_QUOTA] = "quota",
		[STORE_DELETED_SIZE] = "size",
		[STORE_DELETED_SELECTOR] = "selector",
	};

	return texts[why];
}

enum err store_tenants(struct store *s, struct text_answer *ret)
{
	return s->ops->tenants(s, ret);
}

enum err store_delete(struct store *s, struct str tenant, const struct selection *selection,
		      struct ask *ask, uint64_t *ret_profiles)
{
	return s->ops->delete (s, tenant, selection, ask, ret_profiles);
}

enum err store_backup(struct store *s, const char *destination, struct damage_notes *damage,
		      struct fault *fault)
{
	return s->ops->backup(s, destination, damage, fault);
}

enum err store_settle(struct store *s, bool all, struct fault *fault)
{
	return s->ops->settle(s, all, fault);
}

enum err store_check(const char *directory, void (*each)(void *context, const char *problem),
		     void *context, struct store_checked *ret, struct fault *fault)
{
	return store_embedded_check(directory, each, context, ret, fault);
}

enum err store_repair(const char *directory, void (*each)(void *context, const struct store_lost *),
		      void *context, struct store_repaired *ret, struct fault *fault)
{
	return store_embedded_repair(directory, each, context, ret, fault);
}

enum err store_setting_set(struct store *s, struct str tenant, struct str name, struct str value)
{
	return s->ops->setting_set(s, tenant, name, value);
}

enum err store_settings(struct store *s, struct str tenant, struct setting_answer *ret)
{
	return s->ops->settings(s, tenant, ret);
}
