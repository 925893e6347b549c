#include "format/json_kind.h"

#include "format/formats_internal.h"
#include "format/json.h"

#define WINDOW ((size_t)64 << 10)

enum top_key {
	KEY_NODES = 1 << 0,
	KEY_HEAD = 1 << 1,
	KEY_SAMPLES = 1 << 2,
	KEY_TIMES = 1 << 3,
	KEY_PROFILES = 1 << 4,
	KEY_SHARED = 1 << 5,
	KEY_SCHEMA = 1 << 6,
	KEY_META = 1 << 7,
	KEY_THREADS = 1 << 8,
	KEY_RESOURCE_PROFILES = 1 << 9,
	KEY_DICTIONARY = 1 << 10,
};

static unsigned top_key(struct str key)
{
	static const struct {
		const char *name;
		unsigned key;
	} keys[] = {
		{"nodes", KEY_NODES},
		{"head", KEY_HEAD},
		{"samples", KEY_SAMPLES},
		{"timeDeltas", KEY_TIMES},
		{"timestamps", KEY_TIMES},
		{"startTime", KEY_TIMES},
		{"endTime", KEY_TIMES},
		{"profiles", KEY_PROFILES},
		{"shared", KEY_SHARED},
		{"$schema", KEY_SCHEMA},
		{"meta", KEY_META},
		{"threads", KEY_THREADS},
		{"resourceProfiles", KEY_RESOURCE_PROFILES},
		{"resource_profiles", KEY_RESOURCE_PROFILES},
		{"dictionary", KEY_DICTIONARY},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (str_eq(key, str_of(keys[i].name)))
			return keys[i].key;
	return 0;
}

/* The known keys of the outermost object that begin inside the window; *ret_cut when the window
 * ended before the object did. */
static unsigned top_keys(struct str window, bool *ret_cut)
{
	struct reading out = {.limits = LIMITS_DEFAULT};
	struct json j;
	struct str key;
	unsigned seen = 0;

	json_init(&j, window, "", 2 * JSON_SKIP_NESTING, &out);
	if (json_peek(&j) == JSON_OBJECT && json_object(&j)) {
		while (json_key(&j, &key)) {
			seen |= top_key(key);
			json_skip(&j);
		}
	}
	*ret_cut = j.error != ERR_OK;
	json_release(&j);
	return seen;
}

static bool says(struct str window, struct str tail, const char *text)
{
	struct str needle = str_of(text);

	return str_search(window, needle) < window.n || str_search(tail, needle) < tail.n;
}

/* The beginning alone is not sufficient: also look inside of large values, and after them. */
static enum json_kind kind_by_content(unsigned seen, struct str window, struct str tail)
{
	if (seen & KEY_NODES && says(window, tail, "\"callFrame\""))
		return JSON_KIND_CPUPROFILE;
	if (seen & KEY_SAMPLES && says(window, tail, "\"timeDeltas\""))
		return JSON_KIND_CPUPROFILE;
	if (seen & KEY_SAMPLES && says(window, tail, "\"nodeId\""))
		return JSON_KIND_HEAPPROFILE;
	if (seen & (KEY_META | KEY_THREADS | KEY_SHARED) &&
	    (says(window, tail, "\"stackTable\"") || says(window, tail, "\"stringArray\"") ||
	     says(window, tail, "\"preprocessedProfileVersion\"")))
		return JSON_KIND_FIREFOX;
	if (seen & (KEY_PROFILES | KEY_SHARED) &&
	    (says(window, tail, "\"sampled\"") || says(window, tail, "\"evented\"") ||
	     says(window, tail, "\"frames\"")))
		return JSON_KIND_SPEEDSCOPE;
	return JSON_KIND_NONE;
}

enum json_kind json_kind(struct str text)
{
	struct str window = {text.p, text.n < WINDOW ? text.n : WINDOW}, tail = {NULL, 0};
	bool cut;
	unsigned seen = top_keys(window, &cut);

	if (cut && text.n > WINDOW) {
		size_t n = text.n - WINDOW < WINDOW ? text.n - WINDOW : WINDOW;

		tail = (struct str){text.p + text.n - n, n};
	}
	if (seen & (KEY_RESOURCE_PROFILES | KEY_DICTIONARY))
		return JSON_KIND_OTLP;
	if (seen & KEY_SCHEMA && says(window, tail, "speedscope.app"))
		return JSON_KIND_SPEEDSCOPE;
	if (seen & KEY_META && seen & KEY_THREADS)
		return JSON_KIND_FIREFOX;
	if (seen & KEY_SHARED && seen & KEY_PROFILES)
		return JSON_KIND_SPEEDSCOPE;
	if (seen & KEY_HEAD)
		return says(window, tail, "\"selfSize\"") ? JSON_KIND_HEAPPROFILE
							  : JSON_KIND_CPUPROFILE;
	if (seen & KEY_NODES && seen & (KEY_SAMPLES | KEY_TIMES))
		return JSON_KIND_CPUPROFILE;
	return kind_by_content(seen, window, tail);
}

int speedscope_sniff(struct str head)
{
	return json_kind(head) == JSON_KIND_SPEEDSCOPE ? 95 : 0;
}

int cpuprofile_sniff(struct str head)
{
	enum json_kind kind = json_kind(head);

	return kind == JSON_KIND_CPUPROFILE || kind == JSON_KIND_FIREFOX ? 95 : 0;
}

int heapprofile_sniff(struct str head)
{
	return json_kind(head) == JSON_KIND_HEAPPROFILE ? 95 : 0;
}

int otlp_json_sniff(struct str head)
{
	return json_kind(head) == JSON_KIND_OTLP ? 95 : 0;
}
