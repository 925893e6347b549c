#include "net/debuginfod.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"

#define SERVERS_MAX	 8
#define URL_MAX		 8192
#define DEFAULT_MAX_FILE ((uint64_t)512 << 20)
#define DEFAULT_TIMEOUT	 90.0
#define SOURCE_TIMEOUT	 10.0
/* How long an unreachable server is skipped. */
#define AWAY_NS		 (60 * NS_PER_S)

struct debug_server {
	char *url; /* without a slash at its end */
	_Atomic int64_t away_until_ns;
};

struct debuginfod {
	struct debuginfod_options options;
	struct debug_server servers[SERVERS_MAX];
	size_t count;
};

static enum err add_server(struct debuginfod *d, struct str url, struct fault *fault)
{
	while (url.n && url.p[url.n - 1] == '/')
		url.n--;
	if (!url.n)
		return ERR_OK;
	if (!fetch_is_url(url))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "\"%.*s\" is no URL of a debuginfod server",
				 (int)(url.n < 100 ? url.n : 100), url.p);
	if (d->count == SERVERS_MAX)
		return fault_set(fault, ERR_TOO_LARGE, "more than %d debuginfod servers",
				 SERVERS_MAX);
	d->servers[d->count].url = mem_strndup(url.p, url.n);
	if (!d->servers[d->count].url)
		return ERR_NO_MEMORY;
	d->count++;
	return ERR_OK;
}

enum err debuginfod_new(const struct debuginfod_options *o, struct debuginfod **ret,
			struct fault *fault)
{
	struct str rest = str_of(o->urls ? o->urls : ""), one;
	struct debuginfod *d = mem_zalloc(1, sizeof(*d));
	enum err error = ERR_OK;

	if (!d)
		return ERR_NO_MEMORY;
	d->options = *o;
	if (!d->options.max_file)
		d->options.max_file = DEFAULT_MAX_FILE;
	if (d->options.timeout <= 0)
		d->options.timeout = DEFAULT_TIMEOUT;
	while (!error && str_split(&rest, ' ', &one))
		error = add_server(d, one, fault);
	if (error || !d->count) {
		debuginfod_free(d);
		d = NULL;
	}
	if (!error)
		*ret = d;
	return error;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->count; i++)
		mem_free(d->servers[i].url);
	mem_free(d);
}

/* One server; into the file, or into `text`. */
static enum err ask(const struct debuginfod *d, struct debug_server *s, const char *path,
		    struct fetch_file *file, struct buf *text, struct fault *fault)
{
	CLEANUP(buf_release) struct buf url = BUF_INIT(URL_MAX), unused = BUF_INIT(1);
	struct fetch_failure failure = {0};
	struct fetch request = {.user_agent = "vestal/" VESTAL_VERSION,
				.timeout = text ? SOURCE_TIMEOUT : d->options.timeout,
				.unattended = true,
				.failure = &failure,
				.file = file};
	enum err error;

	if (atomic_load(&s->away_until_ns) > clock_monotonic_ns())
		return ERR_UNAVAILABLE;
	buf_printf(&url, "%s%s", s->url, path);
	TRY(buf_error(&url));
	request.url = url.data;
	error = fetch(&request, text ? text : &unused, fault);
	if (!error || error == ERR_NO_MEMORY || error == ERR_TOO_LARGE)
		return error;
	if (failure.status >= 400 && failure.status < 500 && failure.status != 429)
		return ERR_NOT_FOUND;
	atomic_store(&s->away_until_ns, clock_monotonic_ns() + AWAY_NS);
	return ERR_UNAVAILABLE;
}

static bool stopped(const struct debuginfod *d)
{
	return d->options.stop && atomic_load(d->options.stop);
}

/* A file that one server has begun is emptied before the next is asked. */
static enum err ask_all(struct debuginfod *d, const char *path, struct fetch_file *file,
			struct buf *text, struct fault *fault)
{
	enum err error = ERR_NOT_FOUND;

	for (size_t i = 0; i < d->count && !stopped(d); i++) {
		enum err e;

		if (file && (ftruncate(file->fd, 0) || lseek(file->fd, 0, SEEK_SET)))
			return ERR_IO;
		if (file)
			file->written = 0;
		e = ask(d, &d->servers[i], path, file, text, fault);
		if (!e || e == ERR_NO_MEMORY)
			return e;
		if (error == ERR_NOT_FOUND)
			error = e;
	}
	return stopped(d) ? ERR_CANCELLED : error;
}

enum err debuginfod_debug_file(struct debuginfod *d, const char *build_id, int fd,
			       struct fault *fault)
{
	struct fetch_file file = {.fd = fd, .most = d->options.max_file, .stop = d->options.stop};
	char path[256];

	if ((size_t)snprintf(path, sizeof(path), "/buildid/%s/debuginfo", build_id) >= sizeof(path))
		return ERR_TOO_LARGE;
	return ask_all(d, path, &file, NULL, fault);
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       memchr("-._~+", c, 5);
}

/* The path without "." and "..": it must not lead to what else the server has. */
static bool put_path(struct buf *out, struct str path)
{
	size_t begin = out->n;
	struct str part;

	if (!path.n || path.p[0] != '/' || memchr(path.p, 0, path.n))
		return false;
	while (str_split(&path, '/', &part)) {
		if (!part.n || str_eq(part, STR(".")))
			continue;
		if (str_eq(part, STR(".."))) {
			size_t slash = str_rfind(str_skip(buf_view(out), begin), '/');

			if (out->n == begin)
				return false;
			out->n = begin + slash;
			continue;
		}
		buf_byte(out, '/');
		for (size_t i = 0; i < part.n; i++)
			if (is_plain(part.p[i]))
				buf_byte(out, (unsigned char)part.p[i]);
			else
				buf_printf(out, "%%%02X", (unsigned char)part.p[i]);
	}
	return out->n > begin;
}

enum err debuginfod_source(struct debuginfod *d, const char *build_id, struct str path,
			   struct buf *ret, struct fault *fault)
{
	CLEANUP(buf_release) struct buf question = BUF_INIT(URL_MAX);

	buf_printf(&question, "/buildid/%s/source", build_id);
	if (!put_path(&question, path) || buf_error(&question))
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "debuginfod knows sources by their absolute paths");
	return ask_all(d, question.data, NULL, ret, fault);
}
