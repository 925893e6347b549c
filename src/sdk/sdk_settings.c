#include "sdk/sdk_settings.h"

#include <stdio.h>
#include <unistd.h>

#include "base/quantity.h"
#include "sdk/sample_slots.h"
#include "sdk/user_words.h"
#include "vestal.h"

#define PATH_PROFILES	 "/v1development/profiles"
#define DEFAULT_URL	 "http://127.0.0.1:4318"
/* Of waiting, between two samples. */
#define LOCK_INTERVAL_NS 100000

unsigned sdk_front_types;

/* OpenTelemetry's variable for profiles, else the one for everything. */
static const char *otel(const char *name, bool *ret_own)
{
	char full[80];
	const char *value;

	snprintf(full, sizeof(full), "OTEL_EXPORTER_OTLP_PROFILES_%s", name);
	value = word(full);
	if (ret_own)
		*ret_own = value != NULL;
	if (value)
		return value;
	snprintf(full, sizeof(full), "OTEL_EXPORTER_OTLP_%s", name);
	return word(full);
}

static enum err copy(char *to, size_t size, struct str from, const char *what, struct fault *fault)
{
	if (from.n >= size || !utf8_valid(from))
		return fault_set(fault, ERR_BAD_ARGUMENT, "%s is no text of up to %zu bytes", what,
				 size - 1);
	if (from.n)
		memcpy(to, from.p, from.n);
	to[from.n] = 0;
	return ERR_OK;
}

/* ------------------------------------------------------------------ who this is */

static struct str attribute(struct str list, struct str key)
{
	struct str one;

	while (str_split(&list, ',', &one)) {
		size_t at = str_find(one, '=');

		if (at < one.n && str_eq(str_trim(str_n(one.p, at)), key))
			return str_trim(str_skip(one, at + 1));
	}
	return (struct str){0};
}

static enum err read_attributes(const struct vestal_options *o, struct sdk_settings *s,
				struct fault *fault)
{
	const char *listed = word("OTEL_RESOURCE_ATTRIBUTES"), *given = o->resource_attributes;
	int n = snprintf(s->attributes, sizeof(s->attributes), "%s%s%s", listed ? listed : "",
			 listed && given ? "," : "", given ? given : "");

	if (n < 0 || (size_t)n >= sizeof(s->attributes))
		return fault_set(fault, ERR_TOO_LARGE, "the resource attributes are too long");
	return ERR_OK;
}

static enum err read_names(const struct vestal_options *o, struct sdk_settings *s,
			   struct fault *fault)
{
	ssize_t n = readlink("/proc/self/exe", s->program, sizeof(s->program) - 1);
	struct str program, service = str_of(o->service_name);

	s->program[n > 0 ? n : 0] = 0;
	program = str_of(s->program);
	if (gethostname(s->host, sizeof(s->host) - 1) != 0)
		s->host[0] = 0;
	TRY(read_attributes(o, s, fault));
	if (!service.n)
		service = str_of(word("OTEL_SERVICE_NAME"));
	if (!service.n)
		service = attribute(str_of(s->attributes), STR("service.name"));
	if (!service.n)
		service = str_rfind(program, '/') < program.n
				  ? str_skip(program, str_rfind(program, '/') + 1)
				  : STR("unknown_service");
	return copy(s->service, sizeof(s->service), service, "the service's name", fault);
}

/* ------------------------------------------------------------------ where to */

static enum err read_authority(struct sdk_settings *s, struct str authority, const char *url,
			       struct fault *fault)
{
	struct str host = authority, port = s->tls ? STR("443") : STR("80");
	size_t colon = str_rfind(authority, ':'), bracket = str_rfind(authority, ']');
	uint64_t number;

	if (colon < authority.n && (bracket == authority.n || bracket < colon)) {
		host = str_n(authority.p, colon);
		port = str_skip(authority, colon + 1);
	}
	if (host.n > 1 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		host = str_n(host.p + 1, host.n - 2);
	if (!host.n || str_to_u64(port, 10, &number) || !number || number > 65535)
		return fault_set(fault, ERR_BAD_ARGUMENT, "%.100s is no address: http://host:4318",
				 url);
	TRY(copy(s->host_name, sizeof(s->host_name), host, "the server's name", fault));
	return copy(s->port, sizeof(s->port), port, "the server's port", fault);
}

static enum err read_endpoint(const struct vestal_options *o, struct sdk_settings *s,
			      struct fault *fault)
{
	bool whole = false;
	const char *url = o->endpoint && *o->endpoint ? o->endpoint : otel("ENDPOINT", &whole);
	struct str rest, authority, path;

	if (!url)
		url = DEFAULT_URL;
	s->tls = str_starts(str_of(url), STR("https://"));
	if (!s->tls && !str_starts(str_of(url), STR("http://")))
		return fault_set(fault, ERR_UNSUPPORTED,
				 "%.100s: profiles are sent to http:// and https:// addresses",
				 url);
	rest = str_skip(str_of(url), s->tls ? 8 : 7);
	authority = str_n(rest.p, str_find(rest, '/'));
	path = str_skip(rest, authority.n);
	while (!whole && path.n && path.p[path.n - 1] == '/')
		path.n--;
	if (path.n + sizeof(PATH_PROFILES) > sizeof(s->path))
		return fault_set(fault, ERR_TOO_LARGE, "the endpoint's path is too long");
	snprintf(s->path, sizeof(s->path), "%.*s%s", (int)path.n, path.p,
		 whole || str_ends(path, STR(PATH_PROFILES)) ? "" : PATH_PROFILES);
	if (!s->path[0])
		memcpy(s->path, "/", 2);
	for (size_t i = 0; i < rest.n; i++)
		if ((unsigned char)rest.p[i] <= ' ')
			return fault_set(fault, ERR_BAD_ARGUMENT, "an address has no spaces");
	return read_authority(s, authority, url, fault);
}

/* Of TLS: whom to trust, and who we are. */
static enum err read_certificates(struct sdk_settings *s, struct fault *fault)
{
	TRY(copy(s->ca, sizeof(s->ca), str_of(otel("CERTIFICATE", NULL)), "the certificate's name",
		 fault));
	TRY(copy(s->certificate, sizeof(s->certificate), str_of(otel("CLIENT_CERTIFICATE", NULL)),
		 "the client certificate's name", fault));
	return copy(s->key, sizeof(s->key), str_of(otel("CLIENT_KEY", NULL)),
		    "the client key's name", fault);
}

static enum err read_headers(const struct vestal_options *o, struct sdk_settings *s,
			     struct fault *fault)
{
	/* The environment's headers may contain credentials for its own endpoint only. */
	const char *given = o->headers ? o->headers : o->endpoint ? NULL : otel("HEADERS", NULL);
	struct str list = str_of(given), one;
	size_t used = 0;

	while (str_split(&list, ',', &one)) {
		size_t at = str_find(one, '=');
		struct str name = str_trim(str_n(one.p, at)), value;
		int n;

		if (!str_trim(one).n)
			continue;
		if (at == one.n || !name.n)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "headers are a list like name=value,name=value");
		value = str_trim(str_skip(one, at + 1));
		for (size_t i = 0; i < one.n; i++)
			if ((unsigned char)one.p[i] < 0x20)
				return fault_set(fault, ERR_BAD_ARGUMENT, "a header is one line");
		n = snprintf(s->headers + used, sizeof(s->headers) - used, "%.*s: %.*s\r\n",
			     (int)name.n, name.p, (int)value.n, value.p);
		if (n < 0 || (size_t)n >= sizeof(s->headers) - used)
			return fault_set(fault, ERR_TOO_LARGE, "the headers are too long");
		used += (size_t)n;
	}
	return ERR_OK;
}

/* ------------------------------------------------------------------ numbers */

/* The program's word, else the environment's, else the default; within its limits. */
static enum err number(u32 given, const char *variable, u32 usual, u32 least, u32 most, u32 *ret,
		       struct fault *fault)
{
	const char *text = given || !variable ? NULL : word(variable);
	uint64_t value = given ? given : usual;

	if (text && str_to_u64(str_of(text), 10, &value))
		value = 0;
	if (value < least || value > most)
		return fault_set(fault, ERR_BAD_ARGUMENT, "%s is a number from %u to %u",
				 variable ? variable : "an option", least, most);
	*ret = (u32)value;
	return ERR_OK;
}

static enum err read_profile_size(const struct vestal_options *o, struct sdk_settings *s,
				  struct fault *fault)
{
	const char *text = o->max_profile_bytes ? NULL : word("VESTAL_MAX_PROFILE_SIZE");
	size_t bytes = o->max_profile_bytes ? o->max_profile_bytes : 10 << 20;

	if ((text && size_parse(str_of(text), &bytes)) || bytes < 1024 || bytes > 1 << 30)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "VESTAL_MAX_PROFILE_SIZE is a size from 1KB to 1GB");
	s->max_bytes = (u32)bytes;
	return ERR_OK;
}

static enum err read_numbers(const struct vestal_options *o, struct sdk_settings *s,
			     struct fault *fault)
{
	const char *timeout = otel("TIMEOUT", NULL);
	uint64_t ms = 10000;

	TRY(number(o->sample_rate_hz, "VESTAL_RATE", 100, 1, 1000, &s->rate_hz, fault));
	TRY(number(o->export_interval_ms, "VESTAL_INTERVAL_MS", 10000, 100, 3600000,
		   &s->interval_ms, fault));
	TRY(number(o->max_stack_depth, "VESTAL_MAX_STACK_DEPTH", SAMPLE_FRAMES_MAX, 1,
		   SAMPLE_FRAMES_MAX, &s->depth, fault));
	TRY(number(o->max_samples_per_export, NULL, 10000, 1, 10000000, &s->max_rows, fault));
	TRY(read_profile_size(o, s, fault));
	if (timeout && (str_to_u64(str_of(timeout), 10, &ms) || !ms || ms > 3600000))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "OTEL_EXPORTER_OTLP_TIMEOUT is a number of milliseconds");
	s->timeout_ms = (u32)ms;
	return ERR_OK;
}

static const struct {
	struct str name;
	unsigned type;
} type_names[] = {{STR("cpu"), SDK_CPU},   {STR("alloc"), SDK_ALLOC},
		  {STR("heap"), SDK_HEAP}, {STR("lock"), SDK_LOCK},
		  {STR("wall"), SDK_WALL}, {STR("threads"), SDK_THREADS}};
#define TYPE_NAMES (sizeof(type_names) / sizeof(type_names[0]))

const char *sdk_type_name(unsigned type)
{
	for (size_t i = 0; i < TYPE_NAMES; i++)
		if (type_names[i].type == type)
			return type_names[i].name.p;
	return NULL;
}

static enum err read_types(struct sdk_settings *s, struct fault *fault)
{
	struct str list = str_of(word("VESTAL_TYPES")), one;
	const char *interval = word("VESTAL_ALLOC_INTERVAL");
	size_t bytes = 512 << 10;
	int64_t wait = LOCK_INTERVAL_NS;

	s->types = list.n ? 0 : SDK_CPU;
	while (str_split(&list, ',', &one)) {
		unsigned found = 0;

		for (size_t i = 0; i < TYPE_NAMES; i++)
			if (str_eq(str_trim(one), type_names[i].name))
				found = type_names[i].type;
		if (!found)
			return fault_set(
				fault, ERR_BAD_ARGUMENT,
				"VESTAL_TYPES is a list of cpu, wall, alloc, heap, lock and "
				"threads, not %.*s",
				(int)(one.n < 40 ? one.n : 40), one.p);
		s->types |= found;
	}
	if (interval && (size_parse(str_of(interval), &bytes) || !bytes))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "VESTAL_ALLOC_INTERVAL is a size such as 512KB");
	s->alloc_interval = bytes;
	interval = word("VESTAL_LOCK_INTERVAL");
	if (interval && (duration_parse(str_of(interval), &wait, NULL) || wait < 1))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "VESTAL_LOCK_INTERVAL is a time such as 100us");
	s->lock_interval = (u64)wait;
	return ERR_OK;
}

enum err sdk_settings_read(const struct vestal_options *given, struct sdk_settings *ret,
			   struct fault *fault)
{
	struct vestal_options o = {0};
	const char *packing = otel("COMPRESSION", NULL), *output;

	/* A program built with an older header knows fewer members, one with a newer header more.
	 */
	if (given && (given->size < sizeof(size_t) || given->size > 4096))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "the options' size is not set: begin with VESTAL_OPTIONS_DEFAULT");
	if (given)
		memcpy(&o, given, given->size < sizeof(o) ? given->size : sizeof(o));
	memset(ret, 0, sizeof(*ret));
	TRY(words_load(fault));
	TRY(control_settings_read(o.listen, &ret->control, fault));
	TRY(read_names(&o, ret, fault));
	TRY(read_endpoint(&o, ret, fault));
	TRY(read_certificates(ret, fault));
	TRY(read_headers(&o, ret, fault));
	TRY(read_numbers(&o, ret, fault));
	TRY(read_types(ret, fault));
	output = o.output ? o.output : word("VESTAL_OUTPUT");
	TRY(copy(ret->output, sizeof(ret->output), str_of(output), "the output's name", fault));
	ret->gzip = !packing || strcmp(packing, "none") != 0;
	return ERR_OK;
}

u32 sdk_timer_rate(const struct sdk_settings *s)
{
	return control_keeps(&s->control) && s->control.keep_rate_hz > s->rate_hz
		       ? s->control.keep_rate_hz
		       : s->rate_hz;
}
