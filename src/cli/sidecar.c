#include "cli/sidecar.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "format/format.h"
#include "query/query.h"

#define MAX_NESTING 8
#define MAX_NAME    1024

void sidecar_release(struct sidecar *s)
{
	vec_release(&s->labels);
	arena_release(&s->arena);
}

static bool is_one_of(struct str name, const char *words)
{
	struct str rest = str_of(words), word;

	while (str_split(&rest, ' ', &word))
		if (str_eq(word, name))
			return true;
	return false;
}

enum meaning { LABEL, SERVICE, COMMIT, BRANCH, BEGIN, END, MILLISECONDS, SECONDS, DURATION };

static enum meaning meaning_of(struct str name)
{
	static const struct {
		enum meaning meaning;
		const char *names;
	} known[] = {
		{SERVICE, "service service.name service_name serviceName app application"},
		{COMMIT, "commit git.commit git_commit gitCommit commit_sha commitSha git.sha "
			 "git.commit.sha git.commit.id commit_hash commitHash "
			 "vcs.ref.head.revision"},
		{BRANCH, "branch git.branch git_branch gitBranch vcs.ref.head.name"},
		{BEGIN,
		 "window_start windowStart window.start start start_time startTime started_at "
		 "startedAt from begin timestamp time captured_at capturedAt"},
		{END, "window_end windowEnd window.end end end_time endTime finished_at finishedAt "
		      "until to"},
		{MILLISECONDS, "duration_ms durationMs duration_millis durationMillis"},
		{SECONDS, "duration_s duration_seconds durationSeconds"},
		{DURATION, "duration"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (is_one_of(name, known[i].names))
			return known[i].meaning;
	return LABEL;
}

static enum err add_label(struct sidecar *s, struct str name, struct str value)
{
	struct label_pair pair = {{arena_copy(&s->arena, name), name.n},
				  {arena_copy(&s->arena, value), value.n}};

	if (!pair.name.p || !pair.value.p)
		return ERR_NO_MEMORY;
	vec_for_each (l, &s->labels)
		if (str_eq(l->name, name)) {
			l->value = pair.value;
			return ERR_OK;
		}
	return vec_push(&s->labels, pair);
}

static bool read_length(struct str text, double unit_ns, int64_t *ret)
{
	double number;

	if (str_to_double(text, &number) || !(number > 0) || number * unit_ns > 86400e9)
		return false;
	*ret = (int64_t)(number * unit_ns);
	return true;
}

/* A field with the name of a time whose value is no time becomes a label. */
static bool take_time(struct sidecar *s, enum meaning meaning, struct str text)
{
	switch (meaning) {
	case BEGIN:
		return when_parse(text, clock_wall_ns(), &s->from_ns, NULL) == ERR_OK;
	case END:
		return when_parse(text, clock_wall_ns(), &s->until_ns, NULL) == ERR_OK;
	case MILLISECONDS:
		return read_length(text, (double)NS_PER_MS, &s->duration_ns);
	case SECONDS:
		return read_length(text, (double)NS_PER_S, &s->duration_ns);
	case DURATION:
		return duration_parse(text, &s->duration_ns, NULL) == ERR_OK;
	default:
		return false;
	}
}

static enum err take(struct sidecar *s, struct str name, struct str value)
{
	enum meaning meaning = meaning_of(name);

	if (!value.n || take_time(s, meaning, value))
		return ERR_OK;
	return add_label(s,
			 meaning == SERVICE  ? STR("service_name")
			 : meaning == COMMIT ? STR("commit")
			 : meaning == BRANCH ? STR("branch")
					     : name,
			 value);
}

static bool only_wraps(struct str name)
{
	return is_one_of(name, "labels metadata attributes tags meta resource");
}

/* One value, under the name that its outer names and its own make. */
static enum err take_value(struct sidecar *s, struct json *j, struct str name)
{
	struct str text = {0};
	const char *begin;

	switch (json_peek(j)) {
	case JSON_STRING:
		return json_string(j, &text) ? take(s, name, text) : j->error;
	case JSON_NUMBER:
	case JSON_BOOL:
		/* As it is written: no digit is lost. */
		begin = j->p;
		json_skip(j);
		return j->error ? j->error
				: take(s, name, str_trim(str_n(begin, (size_t)(j->p - begin))));
	default:
		json_skip(j);
		return j->error;
	}
}

static enum err walk(struct sidecar *s, struct json *j, struct str outer, unsigned depth)
{
	char name[MAX_NAME];
	struct str key;

	if (!json_object(j))
		return j->error;
	while (json_key(j, &key)) {
		bool wraps = only_wraps(key);
		int n = snprintf(name, sizeof(name), "%.*s%s%.*s", (int)outer.n, outer.p,
				 outer.n ? "." : "", (int)(key.n < MAX_NAME ? key.n : MAX_NAME),
				 key.p);
		struct str whole = str_n(name, (size_t)n);

		if (n < 0 || (size_t)n >= sizeof(name) || depth > MAX_NESTING) {
			json_skip(j);
			continue;
		}
		if (json_peek(j) == JSON_OBJECT)
			TRY(walk(s, j, wraps ? outer : whole, depth + 1));
		else
			TRY(take_value(s, j, whole));
	}
	return j->error;
}

enum err sidecar_parse(struct str text, struct sidecar *ret, struct fault *fault)
{
	struct reading r = {.limits = LIMITS_DEFAULT};
	struct sidecar s = {0};
	struct json j;
	enum err e;

	json_init(&j, text, "sidecar", 64, &r);
	e = json_peek(&j) == JSON_OBJECT
		    ? walk(&s, &j, STR(""), 0)
		    : fault_set(&r.fault, ERR_CORRUPT, "a sidecar is a JSON object");
	if (e == ERR_OK)
		e = json_finish(&j);
	json_release(&j);
	if (e != ERR_OK) {
		sidecar_release(&s);
		if (fault)
			*fault = r.fault;
		return e;
	}
	if (s.from_ns && !s.until_ns && s.duration_ns)
		s.until_ns = s.from_ns + s.duration_ns;
	*ret = s;
	return ERR_OK;
}

/* ------------------------------------------------------------------ files */

bool sidecar_is(const char *path)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(SIDECAR_MAX_BYTES);

	return str_ends(str_of(path), STR(".json")) && file_read(path, &bytes, NULL) == ERR_OK &&
	       !format_sniff(buf_view(&bytes));
}

static bool is_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* cpu-1.pb.gz: cpu-1.pb.gz.json, cpu-1.pb.json, cpu-1.json. */
bool sidecar_find(const char *path, char *ret, size_t size)
{
	struct str stem = str_of(path);

	for (int i = 0; i < 3; i++) {
		size_t slash = str_rfind(stem, '/'), dot = str_rfind(stem, '.');
		int n = snprintf(ret, size, "%.*s.json", (int)stem.n, stem.p);

		if (n > 0 && (size_t)n < size && strcmp(ret, path) != 0 && is_there(ret) &&
		    sidecar_is(ret))
			return true;
		if (dot == stem.n || (slash < stem.n && dot < slash + 2))
			return false;
		stem.n = dot;
	}
	return false;
}
