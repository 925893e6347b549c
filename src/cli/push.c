#include "cli/push.h"

#include <stdio.h>

#include "base/file.h"
#include "base/jsonout.h"
#include "cli/small_answer.h"

/* Above this an upload is likely to be refused: it is sent as pprof, which is small. */
#define LARGE ((size_t)48 << 20)

static struct str label_name(const char *text)
{
	return str_n(text, str_find(str_of(text), '='));
}

static bool has_label(const struct push_options *o, struct str name)
{
	if (str_eq(name, STR("service_name")))
		return o->service != NULL;
	for (size_t i = 0; i < o->labels.n; i++)
		if (str_eq(label_name(o->labels.v[i]), name))
			return true;
	return false;
}

static void put_label(struct call *c, struct str name, struct str value)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);

	if (str_eq(name, STR("service_name"))) {
		call_param(c, "service", value);
		return;
	}
	buf_str(&text, name);
	buf_byte(&text, '=');
	buf_str(&text, value);
	if (text.error)
		c->url.error = text.error;
	call_param(c, "label", buf_view(&text));
}

static void put_time(struct call *c, const char *name, const char *given, int64_t of_sidecar)
{
	char text[24];

	snprintf(text, sizeof(text), "%019lld", (long long)of_sidecar);
	if (given)
		call_param_text(c, name, given);
	else if (of_sidecar > 0)
		call_param_text(c, name, text);
}

/* The command line takes precedence over the sidecar. */
static void make_call(const struct push_options *o, const struct sidecar *sidecar, struct call *c)
{
	call_init(c, &o->input.client, "/api/v1/profiles");
	call_param_text(c, "service", o->service);
	for (size_t i = 0; i < o->labels.n; i++)
		call_param_text(c, "label", o->labels.v[i]);
	for (size_t i = 0; sidecar && i < sidecar->labels.n; i++)
		if (!has_label(o, sidecar->labels.v[i].name))
			put_label(c, sidecar->labels.v[i].name, sidecar->labels.v[i].value);
	put_time(c, "from", o->from, sidecar ? sidecar->from_ns : 0);
	put_time(c, "until", o->until, sidecar ? sidecar->until_ns : 0);
	call_param_text(c, "format", o->format);
}

/* ------------------------------------------------------------------ bytes */

static bool is_perf_data(struct str bytes)
{
	const struct format *f = format_sniff(bytes);

	return f && f->id == FORMAT_PERF_DATA;
}

static enum err convert(const struct push_options *o, struct str bytes, struct buf *ret,
			struct fault *fault)
{
	struct profile_list list = {0};
	struct reading r = {.list = &list, .limits = LIMITS_DEFAULT};
	struct writing w = {.list = &list, .type = -1, .compress = -1};
	const struct format *found;
	struct dict dict;
	enum err e = dict_init(&dict, 0);

	if (e)
		return e;
	r.dict = &dict;
	r.limits.max_bytes = o->input.max_bytes;
	e = format_read(bytes, o->format ? format_by_name(str_of(o->format)) : NULL, &r, &found);
	if (e)
		*fault = r.fault;
	if (!e) {
		e = format_write(&formats[FORMAT_PPROF], &w, ret);
		if (e)
			*fault = w.fault;
	}
	notes_release(&r.notes);
	notes_release(&w.notes);
	profile_list_release(&list);
	dict_release(&dict);
	return e;
}

/* perf.data needs the perf of this machine, and what is very large would be refused. */
static bool make_small(const struct push_options *o, struct buf *bytes, struct call *c,
		       struct pushed *ret)
{
	struct buf small = BUF_INIT(o->input.max_bytes);
	enum err e;

	if (bytes->n <= LARGE && !is_perf_data(buf_view(bytes)))
		return true;
	e = convert(o, buf_view(bytes), &small, &ret->fault);
	if (e) {
		ret->status = status_of(e);
		if (!ret->fault.text[0])
			fault_set(&ret->fault, e, "%s", err_text(e));
		buf_release(&small);
		return false;
	}
	if (o->format)
		call_param_text(c, "format", "pprof");
	buf_release(bytes);
	*bytes = small;
	return true;
}

bool push_bytes(const struct push_options *o, const char *name, struct buf *bytes,
		const struct sidecar *sidecar, struct pushed *ret)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
	CLEANUP(call_release) struct call c;
	struct answer_field fields[] = {{.key = "profiles"}, {.key = "samples"}, {0}};
	struct client_failure failure;
	struct str body;

	*ret = (struct pushed){0};
	make_call(o, sidecar, &c);
	if (!make_small(o, bytes, &c, ret)) {
		fault_prefix(&ret->fault, name);
		return false;
	}
	body = buf_view(bytes);
	if (client_ask(&c, &body, &answer, &failure) != ERR_OK) {
		ret->again = failure.again;
		ret->status = failure.status;
		ret->fault = failure.fault;
		fault_prefix(&ret->fault, name);
		return false;
	}
	ret->status = answer_fields(&answer, fields);
	ret->profiles = fields[0].value;
	ret->samples = fields[1].value;
	return ret->status == EXIT_OK;
}

void push_address(const struct push_options *o, const struct sidecar *sidecar, struct buf *out)
{
	struct str service = str_of(o->service);
	const char *comma = "";

	for (size_t i = 0; sidecar && !service.n && i < sidecar->labels.n; i++)
		if (str_eq(sidecar->labels.v[i].name, STR("service_name")))
			service = sidecar->labels.v[i].value;
	buf_str(out, service.n ? service : STR("unknown_service"));
	buf_byte(out, '{');
	for (size_t i = 0; i < o->labels.n; i++, comma = ",") {
		struct str name = label_name(o->labels.v[i]);

		buf_text(out, comma);
		buf_str(out, name);
		buf_byte(out, '=');
		json_quote(out, str_skip(str_of(o->labels.v[i]), name.n + 1));
	}
	for (size_t i = 0; sidecar && i < sidecar->labels.n; i++) {
		const struct label_pair *l = &sidecar->labels.v[i];

		if (has_label(o, l->name) || str_eq(l->name, STR("service_name")))
			continue;
		buf_text(out, comma);
		buf_str(out, l->name);
		buf_byte(out, '=');
		json_quote(out, l->value);
		comma = ",";
	}
	buf_byte(out, '}');
}

static enum err read_sidecar(const char *path, struct sidecar *ret, struct fault *fault)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(SIDECAR_MAX_BYTES);

	TRY(file_read(path, &text, fault));
	return sidecar_parse(buf_view(&text), ret, fault);
}

bool push_file(const struct push_options *o, const char *path, char *sidecar_path, size_t size,
	       struct buf *address, struct pushed *ret)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(o->input.max_bytes);
	struct sidecar sidecar = {0};
	enum err e;
	bool good;

	*ret = (struct pushed){0};
	e = file_read(path, &bytes, &ret->fault);
	if (!e && sidecar_find(path, sidecar_path, size)) {
		e = read_sidecar(sidecar_path, &sidecar, &ret->fault);
		if (e)
			fault_prefix(&ret->fault, sidecar_path);
	} else {
		sidecar_path[0] = 0;
	}
	if (e) {
		ret->status = e == ERR_BAD_ARGUMENT ? EXIT_NO_INPUT : status_of(e);
		return false;
	}
	push_address(o, &sidecar, address);
	good = push_bytes(o, path, &bytes, &sidecar, ret);
	sidecar_release(&sidecar);
	return good;
}
