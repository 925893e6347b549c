#include "pipeline/push_request.h"

enum { PUSH_SERIES = 1 };
enum { SERIES_LABELS = 1, SERIES_SAMPLES = 2 };
enum { LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { SAMPLE_RAW_PROFILE = 1 };

struct push_reader {
	push_series_fn fn;
	void *context;
	struct fault *fault;
	VEC(struct label_pair) labels;
	VEC(struct str) profiles;
	size_t series;
};

static enum err add_label(struct push_reader *r, struct label_pair pair)
{
	if (r->labels.n >= PUSH_MAX_LABELS)
		return fault_set(r->fault, ERR_BAD_ARGUMENT, "a series has more than %d labels",
				 PUSH_MAX_LABELS);
	return vec_push(&r->labels, pair);
}

static enum err begin_series(struct push_reader *r)
{
	r->labels.n = 0;
	r->profiles.n = 0;
	if (++r->series > PUSH_MAX_SERIES)
		return fault_set(r->fault, ERR_TOO_LARGE, "the request has more than %d series",
				 PUSH_MAX_SERIES);
	return ERR_OK;
}

static enum err end_series(struct push_reader *r)
{
	struct push_series series = {.labels = r->labels.v,
				     .label_count = r->labels.n,
				     .profiles = r->profiles.v,
				     .profile_count = r->profiles.n};

	return r->fn(r->context, &series, r->fault);
}

static void reader_release(struct push_reader *r)
{
	vec_release(&r->labels);
	vec_release(&r->profiles);
}

static enum err malformed(struct push_reader *r, const struct pb *c, const char *what)
{
	return fault_set(r->fault, ERR_CORRUPT, "%s is cut or malformed at byte %zu", what,
			 pb_offset(c));
}

static enum err read_label(struct push_reader *r, const struct pb *at)
{
	struct pb c = pb_sub(at);
	struct label_pair pair = {{NULL, 0}, {NULL, 0}};

	while (pb_next(&c)) {
		if (c.type != PB_BYTES)
			continue;
		if (c.field == LABEL_NAME)
			pair.name = c.bytes;
		else if (c.field == LABEL_VALUE)
			pair.value = c.bytes;
	}
	return c.failed ? malformed(r, &c, "LabelPair") : add_label(r, pair);
}

static enum err read_sample(struct push_reader *r, const struct pb *at)
{
	struct pb c = pb_sub(at);
	struct str profile = {NULL, 0};

	while (pb_next(&c))
		if (c.field == SAMPLE_RAW_PROFILE && c.type == PB_BYTES)
			profile = c.bytes;
	return c.failed ? malformed(r, &c, "RawSample") : vec_push(&r->profiles, profile);
}

static enum err read_series(struct push_reader *r, const struct pb *at)
{
	struct pb c = pb_sub(at);

	TRY(begin_series(r));
	while (pb_next(&c)) {
		if (c.type != PB_BYTES)
			continue;
		if (c.field == SERIES_LABELS)
			TRY(read_label(r, &c));
		else if (c.field == SERIES_SAMPLES)
			TRY(read_sample(r, &c));
	}
	return c.failed ? malformed(r, &c, "RawProfileSeries") : end_series(r);
}

enum err push_request_read(struct str body, const struct limits *limits, push_series_fn fn,
			   void *context, struct fault *fault)
{
	struct push_reader r = {.fn = fn, .context = context, .fault = fault};
	struct pb c = pb_of(body);
	enum err e = ERR_OK;

	(void)limits;
	/* Whether it is a message at all is known before anything of it is taken. */
	while (pb_next(&c))
		if (c.field == PUSH_SERIES && c.type != PB_BYTES)
			c.failed = true;
	if (c.failed)
		return malformed(&r, &c, "PushRequest");
	c = pb_of(body);
	while (!e && pb_next(&c))
		if (c.field == PUSH_SERIES)
			e = read_series(&r, &c);
	reader_release(&r);
	return e;
}

struct push_json {
	struct push_reader r;
	struct json j;
	struct reading out;
	struct arena arena; /* of one series */
};

static void take_label(struct push_json *p)
{
	struct label_pair pair = {{NULL, 0}, {NULL, 0}};
	struct str key;
	enum err e;

	if (json_object(&p->j))
		while (json_key(&p->j, &key)) {
			if (str_eq(key, STR("name")))
				json_string_keep(&p->j, &p->arena, &pair.name);
			else if (str_eq(key, STR("value")))
				json_string_keep(&p->j, &p->arena, &pair.value);
			else
				json_skip(&p->j);
		}
	e = add_label(&p->r, pair);
	if (e)
		json_fail(&p->j, e, "a series has too many labels");
}

static void take_sample(struct push_json *p)
{
	struct str key, profile = {NULL, 0};
	enum err e;

	if (json_object(&p->j))
		while (json_key(&p->j, &key)) {
			if (str_eq(key, STR("rawProfile")) || str_eq(key, STR("raw_profile")))
				json_base64(&p->j, &p->arena, p->out.limits.max_bytes, &profile);
			else
				json_skip(&p->j);
		}
	e = vec_push(&p->r.profiles, profile);
	if (e)
		json_fail(&p->j, e, "%s", err_text(e));
}

static enum err take_series(struct push_json *p)
{
	struct str key;

	arena_release(&p->arena);
	arena_init(&p->arena, 2 * p->out.limits.max_bytes);
	TRY(begin_series(&p->r));
	if (json_object(&p->j))
		while (json_key(&p->j, &key)) {
			bool labels = str_eq(key, STR("labels"));

			if (!labels && !str_eq(key, STR("samples")))
				json_skip(&p->j);
			else if (json_array(&p->j))
				while (json_item(&p->j))
					labels ? take_label(p) : take_sample(p);
		}
	TRY(p->j.error);
	return end_series(&p->r);
}

static enum err take_request(struct push_json *p)
{
	struct str key;

	if (json_object(&p->j))
		while (json_key(&p->j, &key)) {
			if (!str_eq(key, STR("series")))
				json_skip(&p->j);
			else if (json_array(&p->j))
				while (json_item(&p->j))
					TRY(take_series(p));
		}
	return json_finish(&p->j);
}

enum err push_request_read_json(struct str body, const struct limits *limits, push_series_fn fn,
				void *context, struct fault *fault)
{
	struct push_json p = {.r = {.fn = fn, .context = context, .fault = fault},
			      .out = {.limits = *limits}};
	enum err e;

	json_init(&p.j, body, "PushRequest", 16, &p.out);
	e = take_request(&p);
	if (p.j.error && fault)
		*fault = p.out.fault;
	json_release(&p.j);
	arena_release(&p.arena);
	reader_release(&p.r);
	return e;
}
