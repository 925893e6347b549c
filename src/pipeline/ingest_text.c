/*
 * The formats of /ingest that do not say what they measured: the last part of the service's name
 * does. "shop.checkout.alloc_space" is alloc_space of shop.checkout; a name without a dot is cpu.
 */
#include "base/clock.h"
#include "pipeline/ingest.h"

struct suffix {
	const char *name;
	struct type_words words;
};

#define WORDS(name_, type_, unit_)                                         \
	{                                                                  \
		.name = STR(name_), .type = STR(type_), .unit = STR(unit_) \
	}

static const struct suffix suffixes[] = {
	{"cpu", WORDS("process_cpu", "samples", "count")},
	{"itimer", WORDS("process_cpu", "samples", "count")},
	{"wall", WORDS("wall", "samples", "count")},
	{"seconds", WORDS("wall", "samples", "count")},
	{"milliseconds", WORDS("wall", "samples", "count")},
	{"microseconds", WORDS("wall", "samples", "count")},
	{"nanoseconds", WORDS("wall", "samples", "count")},
	{"inuse_objects", WORDS("memory", "inuse_objects", "count")},
	{"inuse_space", WORDS("memory", "inuse_space", "bytes")},
	{"alloc_objects", WORDS("memory", "alloc_objects", "count")},
	{"alloc_space", WORDS("memory", "alloc_space", "bytes")},
	{"bytes", WORDS("memory", "samples", "bytes")},
	{"live", WORDS("memory", "live", "count")},
	{"alloc_in_new_tlab_objects", WORDS("memory", "alloc_in_new_tlab_objects", "count")},
	{"alloc_in_new_tlab_bytes", WORDS("memory", "alloc_in_new_tlab_bytes", "bytes")},
	{"alloc_outside_tlab_objects", WORDS("memory", "alloc_outside_tlab_objects", "count")},
	{"alloc_outside_tlab_bytes", WORDS("memory", "alloc_outside_tlab_bytes", "bytes")},
	{"goroutines", WORDS("goroutine", "goroutines", "count")},
	{"mutex_count", WORDS("mutex", "contentions", "count")},
	{"mutex_duration", WORDS("mutex", "delay", "nanoseconds")},
	{"block_count", WORDS("block", "contentions", "count")},
	{"block_duration", WORDS("block", "delay", "nanoseconds")},
	{"lock_count", WORDS("block", "contentions", "count")},
	{"lock_duration", WORDS("block", "delay", "nanoseconds")},
	{"exceptions", WORDS("exceptions", "samples", "count")},
};

/* The type a service's name ends in; the rest of the name is the service. */
static enum err find_suffix(struct str service, struct str *ret_app, struct type_words *ret,
			    struct fault *fault)
{
	size_t dot = str_rfind(service, '.');
	struct str last = dot < service.n ? str_skip(service, dot + 1) : STR("cpu");

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (!str_eq(last, str_of(suffixes[i].name)))
			continue;
		*ret = suffixes[i].words;
		*ret_app = str_n(service.p, dot);
		return ERR_OK;
	}
	return fault_set(fault, ERR_BAD_ARGUMENT,
			 "the name of the service ends in .%.*s, which is no type of profile",
			 (int)(last.n < 60 ? last.n : 60), last.p);
}

/* Samples of a timer are time: `period` nanoseconds each. */
static void scale(struct profile *p, int64_t period)
{
	for (size_t i = 0; i < p->row_count * p->type_count; i++)
		if (__builtin_mul_overflow(p->values[i], period, &p->values[i]))
			p->values[i] = INT64_MAX;
}

static void as_time(const struct ingest *in, struct type_words *words, struct profile *p,
		    bool already_time)
{
	bool wall = str_eq(words->name, STR("wall"));

	if (!in->sample_rate || (!wall && !str_eq(words->name, STR("process_cpu"))))
		return;
	if (!already_time)
		scale(p, NS_PER_S / in->sample_rate);
	words->type = wall ? STR("wall") : STR("cpu");
	words->unit = STR("nanoseconds");
	words->period_type = STR("cpu");
	words->period_unit = STR("nanoseconds");
}

/* A file with one profile is of the type the name says. One with several says it itself. */
static void scope_words(const struct profile *p, size_t profiles, struct type_words *words)
{
	struct str unit = dict_str(p->dict, p->types[0].unit);

	if (profiles < 2)
		return;
	*words = (struct type_words)WORDS("process_cpu", "samples", "count");
	if (str_eq(unit, STR("nanoseconds")))
		*words = (struct type_words)WORDS("wall", "samples", "count");
	if (str_eq(unit, STR("bytes")))
		*words = (struct type_words)WORDS("memory", "samples", "bytes");
}

static enum err decode(struct ingest *in, struct decoding *d, enum ingest_text kind,
		       struct fault *fault)
{
	struct str body = in->request->body;

	switch (kind) {
	case INGEST_GROUPS:
		return decoding_read_with(d, body, pyroscope_groups_read, fault);
	case INGEST_LINES:
		return decoding_read_with(d, body, pyroscope_lines_read, fault);
	case INGEST_TREE:
		return decoding_read_with(d, body, pyroscope_tree_read, fault);
	case INGEST_TRIE:
		return decoding_read_with(d, body, pyroscope_trie_read, fault);
	case INGEST_SPEEDSCOPE:
		break;
	}
	return decoding_read(d, body, &formats[FORMAT_SPEEDSCOPE], NULL, fault);
}

static enum err take_profiles(struct ingest *in, struct decoding *d, enum ingest_text kind,
			      const struct type_words *words, struct fault *fault)
{
	TRY(decode(in, d, kind, fault));
	for (size_t i = 0; i < d->list.n; i++) {
		struct profile *p = d->list.v[i];
		struct address to = {.labels = &in->labels};
		struct type_words own = *words;

		if (kind == INGEST_SPEEDSCOPE)
			scope_words(p, d->list.n, &own);
		as_time(in, &own, p,
			str_eq(dict_str(p->dict, p->types[0].unit), STR("nanoseconds")));
		TRY(type_id_make(&in->arena, &own, &to.types[0]));
		ingest_window(in, p, &to);
		/* The window is the request's: these files have no clock. */
		to.time_ns = in->from_ns;
		TRY(hand_over(in->r, &to, p, fault));
	}
	return ERR_OK;
}

enum err ingest_text(struct ingest *in, enum ingest_text kind, struct fault *fault)
{
	struct type_words words;
	struct decoding d;
	struct str app, service;
	enum err e;

	TRY(find_suffix(in->name.service, &app, &words, fault));
	TRY(ingest_labels(in, app, true, fault));
	/* Uploads for one id are not part of the whole. */
	if (series_labels_get(&in->labels, STR("profile_id")).n || !in->request->body.n)
		return ERR_OK;
	service = series_labels_service(&in->labels);
	TRY(decoding_init(&d, in->r, &service, fault));
	e = take_profiles(in, &d, kind, &words, fault);
	decoding_release(&d);
	return e;
}
