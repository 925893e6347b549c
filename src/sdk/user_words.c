#include "sdk/user_words.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/quantity.h"

#define FILE_MAX  65536
#define DEPTH_MAX 4
#define PATH_SIZE 128

/* Converts a value of the file to that of a variable. */
enum kind { PLAIN, SWITCH, MILLISECONDS, GROUP_CPU, GROUP_MEMORY, GROUP_SHEDDING };

/* A key below `profiling:`, and its variable. */
struct known {
	const char *key;
	const char *variable;
	enum kind kind;
};

static const struct known known[] = {
	{"enabled", "VESTAL_PROFILING", SWITCH},
	{"cpu.enabled", NULL, GROUP_CPU},
	{"cpu.sample_rate", "VESTAL_RATE", PLAIN},
	{"memory.enabled", NULL, GROUP_MEMORY},
	{"memory.sample_rate", "VESTAL_ALLOC_INTERVAL", PLAIN},
	{"types", "VESTAL_TYPES", PLAIN},
	{"conditional.slow_request_threshold", "VESTAL_SLOW", PLAIN},
	{"conditional.cpu_threshold_percent", "VESTAL_SLOW_CPU", PLAIN},
	{"conditional.profile_errors", "VESTAL_KEEP_FAILED", SWITCH},
	{"conditional.sample_rate", "VESTAL_KEEP_RATE", PLAIN},
	{"conditional.buffer", "VESTAL_KEEP", PLAIN},
	{"max_stack_depth", "VESTAL_MAX_STACK_DEPTH", PLAIN},
	{"max_profile_size", "VESTAL_MAX_PROFILE_SIZE", PLAIN},
	{"upload_interval", "VESTAL_INTERVAL_MS", MILLISECONDS},
	{"load_shedding.enabled", NULL, GROUP_SHEDDING},
	{"load_shedding.cpu_threshold", "VESTAL_LOAD_LIMIT", PLAIN},
	{"window", "VESTAL_WINDOW", PLAIN},
	{"budget", "VESTAL_BUDGET", PLAIN},
	{"listen", "VESTAL_LISTEN", PLAIN},
	{"signal", "VESTAL_SIGNAL", PLAIN},
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

static struct {
	char values[KNOWN][96];
	bool cpu_said, cpu_off, memory_said, memory_off, no_shedding;
	char types[32];
} said;

const char *word(const char *variable)
{
	const char *value = getenv(variable);

	if (value && *value)
		return value;
	for (size_t i = 0; i < KNOWN; i++)
		if (known[i].variable && !strcmp(known[i].variable, variable) && said.values[i][0])
			return said.values[i];
	if (!strcmp(variable, "VESTAL_TYPES") && said.types[0])
		return said.types;
	return NULL;
}

void words_forget(void)
{
	memset(&said, 0, sizeof(said));
}

/* ------------------------------------------------------------------ one value */

static bool read_switch(struct str text, bool *ret)
{
	*ret = str_eq(text, STR("true")) || str_eq(text, STR("yes")) || str_eq(text, STR("on"));
	return *ret || str_eq(text, STR("false")) || str_eq(text, STR("no")) ||
	       str_eq(text, STR("off"));
}

static enum err keep(const struct known *k, struct str value, struct fault *fault)
{
	char *to = said.values[k - known];
	bool on = false;
	int64_t ns;

	if (k->kind == MILLISECONDS) {
		TRY(duration_parse(value, &ns, fault));
		snprintf(to, sizeof(said.values[0]), "%lld", (long long)(ns / NS_PER_MS));
		return ERR_OK;
	}
	if (k->kind == PLAIN) {
		if (value.n >= sizeof(said.values[0]))
			return fault_set(fault, ERR_TOO_LARGE, "%s is too long", k->key);
		memcpy(to, value.p, value.n);
		to[value.n] = 0;
		return ERR_OK;
	}
	if (!read_switch(value, &on))
		return fault_set(fault, ERR_BAD_ARGUMENT, "%s is true or false", k->key);
	if (k->kind == SWITCH)
		snprintf(to, sizeof(said.values[0]), "%s", on ? "on" : "off");
	else if (k->kind == GROUP_CPU)
		said.cpu_off = !on;
	else if (k->kind == GROUP_MEMORY)
		said.memory_off = !on;
	else
		said.no_shedding = !on;
	return ERR_OK;
}

static enum err set(const char *path, struct str value, struct fault *fault)
{
	if (!strncmp(path, "cpu.", 4))
		said.cpu_said = true;
	if (!strncmp(path, "memory.", 7))
		said.memory_said = true;
	for (size_t i = 0; i < KNOWN; i++)
		if (!strcmp(path, known[i].key))
			return keep(&known[i], value, fault);
	return fault_set(fault, ERR_BAD_ARGUMENT, "profiling has no key %s", path);
}

/* ------------------------------------------------------------------ lines */

struct reader {
	struct fault *fault;
	bool inside;		   /* below `profiling:` */
	size_t indents[DEPTH_MAX]; /* of the keys that are open */
	size_t lengths[DEPTH_MAX]; /* of `path` before them */
	unsigned depth;
	char path[PATH_SIZE];
};

/* Without the comment; a # inside quotes or a word is none. */
static struct str without_comment(struct str line)
{
	char quote = 0;

	for (size_t i = 0; i < line.n; i++) {
		char c = line.p[i];

		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '#' && (!i || line.p[i - 1] == ' ' || line.p[i - 1] == '\t'))
			return str_n(line.p, i);
	}
	return line;
}

static struct str unquoted(struct str s)
{
	s = str_trim(s);
	if (s.n >= 2 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.n - 1] == s.p[0])
		return str_n(s.p + 1, s.n - 2);
	return s;
}

/* "key: value" */
static enum err split_pair(struct reader *r, struct str pair, struct str *ret_key,
			   struct str *ret_value)
{
	size_t at = str_find(pair, ':');

	*ret_key = unquoted(str_n(pair.p, at));
	if (at == pair.n || !ret_key->n || pair.p[0] == '-')
		return fault_set(r->fault, ERR_BAD_ARGUMENT, "a key and its value are expected");
	*ret_value = str_trim(str_skip(pair, at + 1));
	return ERR_OK;
}

static enum err enter(struct reader *r, struct str key)
{
	size_t n = strlen(r->path);

	if (n + key.n + 2 > sizeof(r->path))
		return fault_set(r->fault, ERR_TOO_LARGE, "a key is too long");
	snprintf(r->path + n, sizeof(r->path) - n, "%s%.*s", n ? "." : "", (int)key.n, key.p);
	return ERR_OK;
}

/* "{a: b, c: d}" */
static enum err read_flow(struct reader *r, struct str value)
{
	size_t before = strlen(r->path);
	struct str rest, one, key, inner;

	if (value.p[value.n - 1] != '}')
		return fault_set(r->fault, ERR_UNSUPPORTED, "a { must be closed on its line");
	rest = str_n(value.p + 1, value.n - 2);
	while (str_split(&rest, ',', &one)) {
		if (!str_trim(one).n)
			continue;
		TRY(split_pair(r, str_trim(one), &key, &inner));
		TRY(enter(r, key));
		TRY(set(r->path, unquoted(inner), r->fault));
		r->path[before] = 0;
	}
	return ERR_OK;
}

static enum err read_inside(struct reader *r, struct str line, size_t indent)
{
	struct str key, value;

	while (r->depth && indent <= r->indents[r->depth - 1])
		r->path[r->lengths[--r->depth]] = 0;
	TRY(split_pair(r, line, &key, &value));
	if (r->depth == DEPTH_MAX)
		return fault_set(r->fault, ERR_TOO_DEEP, "nested too deeply");
	r->indents[r->depth] = indent;
	r->lengths[r->depth++] = strlen(r->path);
	TRY(enter(r, key));
	if (!value.n)
		return ERR_OK;
	return value.p[0] == '{' ? read_flow(r, value) : set(r->path, unquoted(value), r->fault);
}

static enum err read_line(struct reader *r, struct str line)
{
	struct str text = str_trim(without_comment(line));
	size_t indent = 0;

	while (indent < line.n && line.p[indent] == ' ')
		indent++;
	if (!text.n || str_eq(text, STR("---")))
		return ERR_OK;
	if (!indent) {
		/* Other keys of the file are ignored. */
		r->inside = str_eq(text, STR("profiling:"));
		r->depth = 0;
		r->path[0] = 0;
		return ERR_OK;
	}
	if (!r->inside)
		return ERR_OK;
	if (line.p[indent] == '\t')
		return fault_set(r->fault, ERR_BAD_ARGUMENT, "indent with spaces");
	return read_inside(r, text, indent);
}

/* A group that is spoken of is on, unless it says otherwise. */
static void settle(void)
{
	bool cpu = !said.cpu_off, memory = said.memory_said && !said.memory_off;

	if (said.cpu_said || said.memory_said)
		snprintf(said.types, sizeof(said.types), "%s%s%s", cpu ? "cpu" : "",
			 cpu && memory ? "," : "", memory ? "alloc,heap" : "");
	for (size_t i = 0; i < KNOWN; i++)
		if (said.no_shedding && known[i].variable &&
		    !strcmp(known[i].variable, "VESTAL_LOAD_LIMIT"))
			said.values[i][0] = 0;
}

enum err words_read(struct str text, struct fault *fault)
{
	struct reader r = {.fault = fault};
	struct str line;
	unsigned number = 0;

	words_forget();
	while (str_split(&text, '\n', &line)) {
		enum err e = read_line(&r, line);
		char prefix[40];

		number++;
		if (!e)
			continue;
		snprintf(prefix, sizeof(prefix), "line %u", number);
		fault_prefix(fault, prefix);
		words_forget();
		return e;
	}
	settle();
	return ERR_OK;
}

enum err words_load(struct fault *fault)
{
	const char *path = getenv("VESTAL_CONFIG");
	CLEANUP(buf_release) struct buf text = BUF_INIT(FILE_MAX);
	enum err e;

	words_forget();
	if (!path || !*path)
		return ERR_OK;
	TRY(file_read(path, &text, fault));
	e = words_read(buf_view(&text), fault);
	if (e)
		fault_prefix(fault, path);
	return e;
}
