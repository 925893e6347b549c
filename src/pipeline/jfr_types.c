#include "pipeline/jfr_types.h"

#include "pipeline/type_ids.h"

/* Period parts are Pyroscope's, not the reader's. */
static const struct {
	const char *type, *id;
} known[] = {
	{"samples", ""},
	{"cpu", "process_cpu:cpu:nanoseconds:cpu:nanoseconds"},
	{"wall_samples", ""},
	{"wall", "wall:wall:nanoseconds:wall:nanoseconds"},
	{"execution_samples", ""},
	{"execution", "process_cpu:execution:nanoseconds:cpu:nanoseconds"},
	{"native_samples", ""},
	{"native", "native:native:nanoseconds:native:nanoseconds"},
	{"alloc_in_new_tlab_objects", "memory:alloc_in_new_tlab_objects:count:space:bytes"},
	{"alloc_in_new_tlab_bytes", "memory:alloc_in_new_tlab_bytes:bytes:space:bytes"},
	{"alloc_outside_tlab_objects", "memory:alloc_outside_tlab_objects:count:space:bytes"},
	{"alloc_outside_tlab_bytes", "memory:alloc_outside_tlab_bytes:bytes:space:bytes"},
	{"alloc_sample_objects", "memory:alloc_sample_objects:count:space:bytes"},
	{"alloc_sample_bytes", "memory:alloc_sample_bytes:bytes:space:bytes"},
	{"live", "memory:live:count:objects:count"},
	{"live_space", "memory:live_space:bytes:objects:count"},
	{"malloc_objects", "memory:malloc_objects:count::"},
	{"malloc_bytes", "memory:malloc_bytes:bytes::"},
	{"contentions", "mutex:contentions:count:mutex:count"},
	{"delay", "mutex:delay:nanoseconds:mutex:count"},
	{"block_contentions", "block:contentions:count:block:count"},
	{"block_delay", "block:delay:nanoseconds:block:count"},
	{"exceptions", "exceptions:exception:count::"},
	{"method_calls", "method:method_calls:count::"},
	{"method_time", "method:method_time:nanoseconds::"},
};

enum err jfr_type_id(const struct profile *p, uint32_t column, struct arena *a, struct str *ret)
{
	struct type_words words = type_words_of(p, column);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (str_eq(words.type, str_of(known[i].type))) {
			*ret = str_of(known[i].id);
			return ERR_OK;
		}
	/* A hardware counter that async-profiler sampled by. */
	words.name = STR("process_cpu");
	return type_id_make(a, &words, ret);
}

static bool has_type(const struct profile *p, struct str type)
{
	for (uint32_t i = 0; i < p->type_count; i++)
		if (str_eq(dict_str(p->dict, p->types[i].type), type))
			return true;
	return false;
}

bool jfr_is_time(const struct profile *p)
{
	return has_type(p, STR("cpu")) || has_type(p, STR("wall")) || has_type(p, STR("execution"));
}

static bool is_running(const struct dict *d, uint32_t labels)
{
	const struct label *state = label_find(d, labels, STR("thread.state"));

	return state && state->type == LABEL_STRING &&
	       str_eq(dict_str(d, (uint32_t)state->value), STR("STATE_RUNNABLE"));
}

static enum err copy_running(const struct profile *wall, struct profile *cpu)
{
	struct dict *d = wall->dict;

	TRY(profile_add_type(cpu, STR("samples"), STR("count")));
	TRY(profile_add_type(cpu, STR("cpu"), STR("nanoseconds")));
	cpu->period_type = cpu->types[1];
	cpu->period = wall->period;
	cpu->time_ns = wall->time_ns;
	cpu->duration_ns = wall->duration_ns;
	for (size_t i = 0; i < wall->row_count; i++) {
		struct row row = profile_row(wall, i);

		if (is_running(d, row.labels))
			TRY(profile_add(cpu, &row, profile_values(wall, i)));
	}
	return ERR_OK;
}

enum err jfr_add_cpu(struct profile_list *list)
{
	const struct profile *wall = NULL;
	struct profile *cpu;

	for (size_t i = 0; i < list->n; i++) {
		const struct profile *p = list->v[i];

		if (has_type(p, STR("samples")) && p->row_count)
			return ERR_OK;
		if (has_type(p, STR("wall")) && p->type_count == 2)
			wall = p;
	}
	if (!wall)
		return ERR_OK;
	TRY(profile_list_add(list, wall->dict, &cpu));
	return copy_running(wall, cpu);
}
