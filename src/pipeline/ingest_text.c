/*
 * The formats of /ingest that do not say what they measured: the last part of the service's name
 * does. "shop.checkout.alloc_space" is alloc_space of shop.checkout; a name without a dot is cpu.
 * speedscope says at least in which unit it measured, and the name must not say otherwise.
 */
#include "base/clock.h"
#include "pipeline/ingest.h"

/* The unit of values. For timers, each sample counts for one interval. */
enum text_amount { OF_TIMER, OF_COUNT, OF_BYTES, OF_TIME };

struct suffix {
	const char *name;
	enum text_amount amount;
	struct type_words words;
};

#define WORDS(name_, type_, unit_)                                         \
	{                                                                  \
		.name = STR(name_), .type = STR(type_), .unit = STR(unit_) \
	}

static const struct suffix suffixes[] = {
	{"cpu", OF_TIMER, WORDS("process_cpu", "samples", "count")},
	{"itimer", OF_TIMER, WORDS("process_cpu", "samples", "count")},
	{"wall", OF_TIMER, WORDS("wall", "samples", "count")},
	{"seconds", OF_TIME, WORDS("wall", "wall", "seconds")},
	{"milliseconds", OF_TIME, WORDS("wall", "wall", "milliseconds")},
	{"microseconds", OF_TIME, WORDS("wall", "wall", "microseconds")},
	{"nanoseconds", OF_TIME, WORDS("wall", "wall", "nanoseconds")},
	{"inuse_objects", OF_COUNT, WORDS("memory", "inuse_objects", "count")},
	{"inuse_space", OF_BYTES, WORDS("memory", "inuse_space", "bytes")},
	{"alloc_objects", OF_COUNT, WORDS("memory", "alloc_objects", "count")},
	{"alloc_space", OF_BYTES, WORDS("memory", "alloc_space", "bytes")},
	{"bytes", OF_BYTES, WORDS("memory", "samples", "bytes")},
	{"live", OF_COUNT, WORDS("memory", "live", "count")},
	{"alloc_in_new_tlab_objects", OF_COUNT,
	 WORDS("memory", "alloc_in_new_tlab_objects", "count")},
	{"alloc_in_new_tlab_bytes", OF_BYTES, WORDS("memory", "alloc_in_new_tlab_bytes", "bytes")},
	{"alloc_outside_tlab_objects", OF_COUNT,
	 WORDS("memory", "alloc_outside_tlab_objects", "count")},
	{"alloc_outside_tlab_bytes", OF_BYTES,
	 WORDS("memory", "alloc_outside_tlab_bytes", "bytes")},
	{"goroutines", OF_COUNT, WORDS("goroutine", "goroutines", "count")},
	{"mutex_count", OF_COUNT, WORDS("mutex", "contentions", "count")},
	{"mutex_duration", OF_TIME, WORDS("mutex", "delay", "nanoseconds")},
	{"block_count", OF_COUNT, WORDS("block", "contentions", "count")},
	{"block_duration", OF_TIME, WORDS("block", "delay", "nanoseconds")},
	{"lock_count", OF_COUNT, WORDS("block", "contentions", "count")},
	{"lock_duration", OF_TIME, WORDS("block", "delay", "nanoseconds")},
	{"exceptions", OF_COUNT, WORDS("exceptions", "samples", "count")},
};

static const struct suffix as_cpu = {"cpu", OF_TIMER, WORDS("process_cpu", "samples", "count")};
static const struct suffix as_wall = {"wall", OF_TIMER, WORDS("wall", "samples", "count")};
static const struct suffix as_bytes = {"bytes", OF_BYTES, WORDS("memory", "samples", "bytes")};

/* The type a service's name ends in; the rest of the name is the service. NULL: it says none. */
static enum err find_suffix(struct str service, struct str *ret_app, const struct suffix **ret,
			    struct fault *fault)
{
	size_t dot = str_rfind(service, '.');
	struct str last = str_skip(service, dot + 1);

	*ret = NULL;
	*ret_app = str_n(service.p, dot);
	if (dot == service.n)
		return ERR_OK;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (str_eq(last, str_of(suffixes[i].name))) {
			*ret = &suffixes[i];
			return ERR_OK;
		}
	return fault_set(fault, ERR_BAD_ARGUMENT,
			 "the name of the service ends in .%.*s, which is no type of profile",
			 (int)(last.n < 60 ? last.n : 60), last.p);
}

/* Rounds to the nearest value, and saturates at 64 bits. */
static void scale(struct receive *r, struct profile *p, int64_t times, int64_t by)
{
	uint64_t clamped = 0;

	for (size_t i = 0; i < p->row_count * p->type_count; i++) {
		__int128 value = ((__int128)p->values[i] * times + by / 2) / by;

		clamped += value > INT64_MAX;
		p->values[i] = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	}
	r->result.clamped_values += clamped;
}

static enum text_amount amount_of(const struct profile *p)
{
	double factor;

	switch (unit_kind(dict_str(p->dict, p->types[0].unit), &factor)) {
	case UNIT_TIME:
		return OF_TIME;
	case UNIT_BYTES:
		return OF_BYTES;
	default:
		return OF_COUNT;
	}
}

/* Whether a name that ends in this can mean numbers of that kind. Counts that are all a file holds
 * may be of anything: then it names no unit. */
static bool agrees(const struct suffix *s, enum text_amount amount, bool alone)
{
	switch (amount) {
	case OF_TIME:
		return s->amount == OF_TIME || s->amount == OF_TIMER;
	case OF_BYTES:
		return s->amount == OF_BYTES;
	default:
		return alone || s->amount == OF_COUNT || s->amount == OF_TIMER;
	}
}

static enum err contradiction(const struct profile *p, const struct suffix *s, struct fault *fault)
{
	struct str unit = dict_str(p->dict, p->types[0].unit);

	return fault_set(fault, ERR_UNPROCESSABLE,
			 "the file measures %.*s, but the name of the service ends in .%s: name it "
			 "after what the file holds, or without a type",
			 (int)(unit.n < 40 ? unit.n : 40), unit.p, s->name);
}

/* Time that was sampled or measured, as Pyroscope names it. */
static void as_time(struct type_words *words)
{
	bool wall = str_eq(words->name, STR("wall"));

	words->type = wall ? STR("wall") : STR("cpu");
	words->unit = STR("nanoseconds");
	words->period_type = STR("cpu");
	words->period_unit = STR("nanoseconds");
}

/* The words of a column and its values in their unit. `amount` is what the file says it has. */
static void settle_values(const struct ingest *in, const struct suffix *s, enum text_amount amount,
			  struct profile *p, struct type_words *words)
{
	double factor;

	*words = s->words;
	if (s->amount == OF_TIMER && amount == OF_COUNT && in->sample_rate)
		scale(in->r, p, NS_PER_S, in->sample_rate);
	if (s->amount == OF_TIMER && (amount == OF_TIME || in->sample_rate))
		as_time(words);
	if (!str_eq(words->type, STR("wall")))
		return;
	/* Only what no unit of its own has is in that of the name. */
	if (amount == OF_COUNT && unit_kind(words->unit, &factor) == UNIT_TIME)
		scale(in->r, p, (int64_t)factor, 1);
	as_time(words);
}

/* If the name has no type: that of the file's profile, if it is one of these, else by its unit. A
 * single profile of times is CPU time; in a file with several, it is wall time. */
static const struct suffix *own_suffix(const struct profile *p, enum text_amount amount, bool alone)
{
	struct str type = dict_str(p->dict, p->types[0].type);

	for (size_t i = 0; !alone && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (str_eq(type, str_of(suffixes[i].name)) && agrees(&suffixes[i], amount, false))
			return &suffixes[i];
	if (amount == OF_BYTES)
		return &as_bytes;
	return amount == OF_TIME && !alone ? &as_wall : &as_cpu;
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

static enum err take_profile(struct ingest *in, const struct suffix *named, bool alone,
			     struct profile *p, struct fault *fault)
{
	struct address to = {.labels = &in->labels};
	enum text_amount amount = amount_of(p);
	struct type_words words;

	if (!named || !alone)
		named = own_suffix(p, amount, alone);
	settle_values(in, named, amount, p, &words);
	TRY(type_id_make(&in->arena, &words, &to.types[0]));
	ingest_window(in, p, true, &to);
	return hand_over(in->r, &to, p, fault);
}

/* All or nothing: what is refused is found before anything is kept. */
static enum err take_profiles(struct ingest *in, struct decoding *d, const struct suffix *named,
			      struct fault *fault)
{
	bool alone = d->list.n == 1;

	for (size_t i = 0; named && i < d->list.n; i++)
		if (!agrees(named, amount_of(d->list.v[i]), alone))
			return contradiction(d->list.v[i], named, fault);
	for (size_t i = 0; i < d->list.n; i++)
		TRY(take_profile(in, named, alone, d->list.v[i], fault));
	return ERR_OK;
}

enum err ingest_text(struct ingest *in, enum ingest_text kind, struct fault *fault)
{
	const struct suffix *named;
	struct decoding d;
	struct str app, service;
	enum err e;

	TRY(find_suffix(in->name.service, &app, &named, fault));
	TRY(ingest_labels(in, app, true, fault));
	/* Uploads for one id are not part of the whole. */
	if (series_labels_get(&in->labels, STR("profile_id")).n || !in->request->body.n)
		return ERR_OK;
	service = series_labels_service(&in->labels);
	TRY(decoding_init(&d, in->r, &service, fault));
	e = decode(in, &d, kind, fault);
	if (!e)
		e = take_profiles(in, &d, named, fault);
	decoding_release(&d);
	return e;
}
