#include "cli/input.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/readahead.h"
#include "cli/stored.h"
#include "cli/term.h"
#include "net/net.h"

#define READING_STEP ((size_t)1 << 20)

const struct option input_table[] = {
	{"from", 0, OPT_TEXT, "FORMAT", "read inputs as FORMAT instead of looking at the content",
	 AT(struct input_options, from), NULL},
	{"max-bytes", 0, OPT_SIZE, "SIZE", "refuse inputs that unpack to more than SIZE (512M)",
	 AT(struct input_options, max_bytes), NULL},
	{"timeout", 0, OPT_SECONDS, "SECONDS",
	 "time out for URLs, in SECONDS (its seconds=N plus 30)", AT(struct input_options, timeout),
	 NULL},
	{"insecure", 'k', OPT_FLAG, NULL, "fetch https URLs whose certificate cannot be verified",
	 AT(struct input_options, insecure), NULL},
	{"sum-gauges", 0, OPT_FLAG, NULL,
	 "add up heap and thread counts of merged inputs, as pprof does, instead of averaging",
	 AT(struct input_options, sum_gauges), NULL},
	{"time-range", 0, OPT_TEXT, "TIME",
	 "of a selector: the last TIME in which it has profiles (1h)",
	 AT(struct input_options, time_range), NULL},
	{0},
};

void input_defaults(struct input_options *o)
{
	o->max_bytes = LIMITS_DEFAULT.max_bytes;
}

void inputs_init(struct inputs *in, const struct common_options *common,
		 const struct input_options *options)
{
	*in = (struct inputs){.common = common, .options = options};
}

void inputs_release(struct inputs *in)
{
	vec_for_each (s, &in->sources) {
		notes_release(&s->notes);
		mem_free(s->name);
		mem_free(s->title);
	}
	vec_release(&in->sources);
	profile_list_release(&in->list);
	if (in->dict == &in->own)
		dict_release(&in->own);
}

void inputs_share(struct inputs *in, const struct inputs *other)
{
	in->dict = other->dict;
}

static void on_tick(void *context, uint64_t received, uint64_t total, double elapsed)
{
	double *seconds = context;

	(void)total;
	/* The bar counts the seconds of the server where there are such, else bytes. */
	if (*seconds > 0)
		progress_update((uint64_t)(elapsed < *seconds ? elapsed : *seconds));
	else
		progress_update(received);
}

static enum err read_url(const struct inputs *in, const char *url, struct buf *bytes,
			 struct fault *fault)
{
	double seconds = fetch_server_seconds(str_of(url));
	struct fetch request = {
		.url = url,
		.user_agent = "vestal/" VESTAL_VERSION,
		.timeout = in->options->timeout,
		.insecure = in->options->insecure,
		.tick = on_tick,
		.context = &seconds,
	};
	enum err e;

	if (seconds > 0 && !in->common->quiet && term_is(STDERR_FILENO))
		say(in->common, "the server profiles for %g s…", seconds);
	progress_begin(seconds > 0 ? "profiling" : "fetching",
		       seconds > 0 ? PROGRESS_SECONDS : PROGRESS_BYTES, (uint64_t)seconds,
		       in->common->quiet);
	e = fetch(&request, bytes, fault);
	progress_end();
	return e;
}

/* The bytes of an input; `bytes` is born with the ceiling. */
static enum err read_bytes(const struct inputs *in, const char *name, struct buf *bytes,
			   struct fault *fault)
{
	if (strcmp(name, "-") == 0)
		return file_read_fd(STDIN_FILENO, "stdin", bytes, fault);
	if (fetch_is_url(str_of(name)))
		return read_url(in, name, bytes, fault);
	return file_read(name, bytes, fault);
}

static char *display_name(const char *name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);

	if (strcmp(name, "-") == 0)
		return mem_strdup("stdin");
	if (!fetch_is_url(str_of(name)))
		return mem_strdup(name);
	fetch_display_url(&text, str_of(name));
	return mem_strndup(text.data, text.n);
}

/* Reports are shared: do not include the directory of a file, or a token in the query of a URL. */
static char *title_of(const char *display, bool stored)
{
	struct str name = str_of(display);
	size_t slash = stored ? name.n : str_rfind(name, '/');

	if (fetch_is_url(name))
		return mem_strndup(name.p, str_find(name, '?'));
	return mem_strdup(slash + 1 < name.n ? display + slash + 1 : display);
}

static int find_format(const struct inputs *in, const struct format **ret)
{
	const char *names[FORMAT_COUNT_], *near;

	*ret = NULL;
	if (!in->options->from)
		return EXIT_OK;
	*ret = format_by_name(str_of(in->options->from));
	if (*ret)
		return EXIT_OK;
	for (unsigned i = 0; i < FORMAT_COUNT_; i++)
		names[i] = formats[i].name;
	near = nearest_word(str_of(in->options->from), names, FORMAT_COUNT_);
	return complain(EXIT_USAGE, "--from %s: no such format%s%s%s", in->options->from,
			near ? " (did you mean " : " (vestal help formats lists them)",
			near ? near : "", near ? "?)" : "");
}

static int no_memory(void)
{
	return complain(EXIT_OS, "out of memory");
}

static int make_dict(struct inputs *in)
{
	if (in->dict)
		return EXIT_OK;
	if (dict_init(&in->own, hash_random_seed()))
		return no_memory();
	in->dict = &in->own;
	return EXIT_OK;
}

/* Suggests a fix for a name that is no file: `localhost:6060/debug/pprof/heap`, `ftp://…`. */
static const char *url_advice(struct str name)
{
	size_t colon = str_find(name, ':'), port = colon + 1;

	if (str_search(name, STR("://")) < name.n)
		return "only http:// and https:// are fetched";
	while (port < name.n && name.p[port] >= '0' && name.p[port] <= '9')
		port++;
	if (port > colon + 1 && (port == name.n || name.p[port] == '/'))
		return "no such file; a URL begins with http://";
	return NULL;
}

/* Faults of files begin with the path already, those of readers do not. */
static int input_failed(const char *name, enum err e, const struct fault *fault)
{
	const char *text = fault->text[0] ? fault->text : err_text(e);
	int status = status_of(e);

	if (e == ERR_NOT_FOUND && stored_may_be_service(name))
		return complain(status, "%s: no such file (of a server: '%s{}')", name, name);
	if (e == ERR_NOT_FOUND && url_advice(str_of(name)))
		return complain(status, "%s: %s", name, url_advice(str_of(name)));
	if (fetch_is_url(str_of(name)) && e == ERR_NO_PERMISSION)
		status = EXIT_DENIED;
	if (e == ERR_BAD_ARGUMENT) /* a directory */
		status = EXIT_NO_INPUT;
	if (str_starts(str_of(text), str_of(name)))
		return complain(status, "%s%s", text,
				e == ERR_TOO_LARGE ? " (raise --max-bytes)" : "");
	return complain(status, "%s: %s", name, text);
}

static int bad_data(const struct source *s, enum err e, const struct fault *fault)
{
	return complain(e == ERR_NO_MEMORY ? EXIT_OS : EXIT_BAD_DATA, "%s: %s", s->name,
			fault->text[0] ? fault->text : err_text(e));
}

/* Called after every line: check the clock only sometimes. */
struct reading_bar {
	size_t bytes, next;
};

static void on_reading(void *context, size_t done, size_t of)
{
	struct reading_bar *bar = context;
	size_t at = of ? (size_t)((double)bar->bytes * (double)done / (double)of) : 0;

	if (at < bar->next)
		return;
	bar->next = at + READING_STEP;
	progress_update(at);
}

/* Reads plain bytes, of which something may be `prepared`. */
static int decode(struct inputs *in, struct source *s, struct str plain, const struct format *as,
		  struct prepared *prepared)
{
	struct reading r = {.dict = in->dict, .list = &in->list, .limits = LIMITS_DEFAULT};
	struct reading_bar bar = {.bytes = plain.n};
	bool own_bar = !progress_is_active(); /* else files are counted */
	enum err e;

	if (own_bar) {
		progress_begin("reading", PROGRESS_BYTES, plain.n, in->common->quiet);
		r.ticks = (struct read_ticks){on_reading, &bar};
	}
	r.limits.max_bytes = in->options->max_bytes;
	r.first_type_only = in->first_type_only;
	if (prepared->state)
		e = format_read_prepared(prepared, &r, &s->format);
	else
		e = format_read(plain, as, &r, &s->format);
	s->notes = r.notes;
	if (own_bar)
		progress_end();
	if (e)
		return bad_data(s, e, &r.fault);
	s->variant = r.variant;
	s->plain_bytes = r.plain_bytes;
	return EXIT_OK;
}

/* The compressed bytes are given back before decoding: of large files they are a good part. */
static int unpack_and_decode(struct inputs *in, struct source *s, struct buf *bytes,
			     const struct format *as)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT(0);
	struct limits limits = LIMITS_DEFAULT;
	struct fault fault = {0};
	enum err e;

	limits.max_bytes = in->options->max_bytes;
	s->file_bytes = bytes->n;
	e = decompress(buf_view(bytes), &limits, &plain, &s->compression, &fault);
	if (e)
		return bad_data(s, e, &fault);
	if (strcmp(s->compression, "none") == 0)
		return decode(in, s, buf_view(bytes), as, &(struct prepared){0});
	buf_release(bytes);
	return decode(in, s, buf_view(&plain), as, &(struct prepared){0});
}

static int read_and_decode(struct inputs *in, const char *name, struct source *s,
			   const struct format *as)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(in->options->max_bytes);
	struct fault fault = {0};
	enum err e = read_bytes(in, name, &bytes, &fault);

	if (e)
		return input_failed(s->name, e, &fault);
	return unpack_and_decode(in, s, &bytes, as);
}

int inputs_bytes(const struct inputs *in, const char *name, struct buf *ret)
{
	CLEANUP(mem_free_ptr) char *display = display_name(name);
	struct fault fault = {0};
	enum err e = display ? read_bytes(in, name, ret, &fault) : ERR_NO_MEMORY;

	return e ? input_failed(display ? display : name, e, &fault) : EXIT_OK;
}

/* RANGE_COMMENT: from, until, covered. */
static bool read_comment(struct str text, int64_t ret[3])
{
	static const char *const keys[] = {"from_ns=", "until_ns=", "covered_ns="};
	struct str word;

	if (!str_split(&text, ' ', &word) || !str_eq(word, STR("vestal:")))
		return false;
	for (int i = 0; i < 3; i++) {
		struct str key = str_of(keys[i]);

		if (!str_split(&text, ' ', &word) || !str_starts(word, key) ||
		    str_to_i64(str_skip(word, key.n), &ret[i]) != ERR_OK)
			return false;
	}
	return true;
}

/* A server says which range it took; one that does not is taken by its profiles' times. */
static void read_range(const struct profile *p, struct source *s)
{
	int64_t told[3];

	s->from_ns = p->time_ns;
	s->until_ns = s->from_ns + p->duration_ns;
	s->covered_ns = AMOUNT_UNKNOWN;
	vec_for_each (id, &p->comments) {
		if (!read_comment(dict_str(p->dict, *id), told))
			continue;
		s->from_ns = told[0];
		s->until_ns = told[1];
		s->covered_ns = told[2];
	}
}

/* The profiles of a selector, and of which time they are. */
static int fetch_and_decode(struct inputs *in, struct source *s)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT(in->options->max_bytes);
	size_t before = in->list.n;
	int status = stored_fetch(in->options, s->name, in->type, &bytes);

	if (!status)
		status = unpack_and_decode(in, s, &bytes, &formats[FORMAT_PPROF]);
	for (size_t i = before; !status && i < in->list.n; i++)
		read_range(in->list.v[i], s);
	return status;
}

/* An input that was read ahead: plain bytes already, or more. */
static int decode_ahead(struct inputs *in, struct source *s, struct readahead_slot *ahead,
			const struct format *as)
{
	int status = decode(in, s, buf_view(&ahead->plain), as, &ahead->prepared);

	s->compression = ahead->compression;
	s->file_bytes = ahead->file_bytes;
	readahead_slot_release(ahead);
	return status;
}

int inputs_read_next(struct inputs *in, const char *name, struct readahead *ahead, size_t index)
{
	const struct format *as;
	struct source s = {.name = display_name(name), .stored = stored_is_selector(name)};
	struct readahead_slot slot = {0};
	int status = find_format(in, &as);

	if (s.name)
		s.title = title_of(s.name, s.stored);
	if (!status)
		status = s.title ? make_dict(in) : no_memory();
	if (!status)
		status = ahead && readahead_take(ahead, index, &slot)
				 ? decode_ahead(in, &s, &slot, as)
			 : s.stored ? fetch_and_decode(in, &s)
				    : read_and_decode(in, name, &s, as);
	if (vec_push(&in->sources, s)) {
		notes_release(&s.notes);
		mem_free(s.name);
		mem_free(s.title);
		return no_memory();
	}
	return status;
}

int inputs_read(struct inputs *in, const char *name)
{
	return inputs_read_next(in, name, NULL, 0);
}

int inputs_check_stdin(const struct text_list *names)
{
	size_t count = 0;

	for (size_t i = 0; i < names->n; i++)
		count += strcmp(names->v[i], "-") == 0;
	return count > 1 ? complain(EXIT_USAGE, "stdin (-) can be read only once") : EXIT_OK;
}

int inputs_start_ahead(struct inputs *in, const struct text_list *names, size_t first,
		       struct readahead *ahead)
{
	struct readahead_target target = {.dict = in->dict, .max_bytes = in->options->max_bytes};
	int status = find_format(in, &target.format);

	if (!status)
		readahead_start(ahead, names, first, target);
	return status;
}

int inputs_read_all(struct inputs *in, const struct text_list *names)
{
	int status = inputs_check_stdin(names);
	struct readahead ahead;

	if (!status)
		status = make_dict(in);
	if (!status)
		status = inputs_start_ahead(in, names, 0, &ahead);
	if (status)
		return status;
	for (size_t i = 0; !status && i < names->n; i++) {
		if (names->n > 1)
			progress_begin("reading", PROGRESS_FILES, names->n, in->common->quiet);
		progress_update(i);
		status = inputs_read_next(in, names->v[i], &ahead, i);
	}
	progress_end();
	readahead_stop(&ahead);
	return status;
}

void inputs_say_windows(const struct inputs *in)
{
	char from[CLOCK_TEXT_SIZE], until[CLOCK_TEXT_SIZE];

	vec_for_each (s, &in->sources)
		if (s->stored && s->from_ns)
			say(in->common, "%s: %s to %s", s->name, clock_format(s->from_ns, 0, from),
			    clock_format(s->until_ns, 0, until));
}

void inputs_say_notes(const struct inputs *in)
{
	vec_for_each (s, &in->sources) {
		vec_for_each (note, &s->notes.list) {
			if (note->count > 1)
				say(in->common, "%s: %s (%llu times)", s->name, note->text,
				    (unsigned long long)note->count);
			else
				say(in->common, "%s: %s", s->name, note->text);
		}
	}
}
