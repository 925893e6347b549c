#include "sdk/control_pages.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/jsonout.h"
#include "sdk/background.h"
#include "sdk/sampling.h"

#define SECONDS_USUAL 30
#define SECONDS_MOST  3600

/* The profiles that can be requested. */
struct profile_page {
	struct str name;
	enum ask_kind kind;
	unsigned types; /* the columns */
	unsigned needs; /* one of these must be on; 0 = nothing */
	int only;	/* enum sample_kind; -1 = all of them */
	bool spans;	/* ?seconds= is what happens from now on, else since the start */
	const char *about, *missing;
};

#define NEEDS_ALLOC                                            \
	"allocations are not watched: start the program with " \
	"LD_PRELOAD=libvestal-preload.so VESTAL_TYPES=cpu,alloc,heap"

#define NEEDS_LOCK                                                 \
	"waits for locks are not watched: start the program with " \
	"LD_PRELOAD=libvestal-preload.so VESTAL_TYPES=cpu,lock"

static const struct profile_page profile_pages[] = {
	{STR("profile"), ASK_CAPTURE, SDK_CPU, 0, -1, true, "CPU time of the next ?seconds=30",
	 NULL},
	{STR("heap"), ASK_SINCE_START, SDK_ALLOC | SDK_HEAP, SDK_HEAP, -1, false,
	 "live heap, and allocations since the start", NEEDS_ALLOC},
	{STR("allocs"), ASK_SINCE_START, SDK_ALLOC, SDK_ALLOC | SDK_HEAP, -1, true,
	 "allocations since the start, or in the next ?seconds=", NEEDS_ALLOC},
	{STR("mutex"), ASK_SINCE_START, SDK_LOCK, SDK_LOCK, SAMPLE_LOCK, true,
	 "waits for mutexes and other locks since the start, or in the next ?seconds=", NEEDS_LOCK},
	{STR("block"), ASK_SINCE_START, SDK_LOCK, SDK_LOCK, SAMPLE_BLOCK, true,
	 "waits for conditions and semaphores since the start, or in the next ?seconds=",
	 NEEDS_LOCK},
	{STR("threads"), ASK_SINCE_START, SDK_THREADS, SDK_THREADS, SAMPLE_THREADS, false,
	 "threads by current stack",
	 "threads are not counted: start the program with VESTAL_TYPES=cpu,threads"},
	{STR("threadcreate"), ASK_THREADS_BORN, 0, 0, -1, false,
	 "threads that run, by the function they began with", NULL},
};
#define PROFILE_PAGES (sizeof(profile_pages) / sizeof(profile_pages[0]))

static void text_page(struct page *p, int status, const char *text)
{
	p->status = status;
	p->type = PAGE_TEXT;
	buf_printf(&p->body, "%s\n", text);
}

void page_of_error(enum err e, struct page *ret)
{
	text_page(ret, e == ERR_EXISTS ? 503 : 500,
		  e == ERR_EXISTS ? "as many profiles as are possible at a time are being taken"
				  : err_text(e));
}

/* ------------------------------------------------------------------ /debug/pprof */

static void index_page(const struct sdk_settings *s, struct page *p)
{
	p->status = 200;
	p->type = "text/html; charset=utf-8";
	buf_text(&p->body, "<!doctype html><meta charset=utf-8><title>/debug/pprof/</title>"
			   "<h1>/debug/pprof/</h1><table>");
	for (size_t i = 0; i < PROFILE_PAGES; i++) {
		const struct profile_page *one = &profile_pages[i];
		bool off = one->needs && !(s->types & one->needs);

		buf_printf(&p->body, "<tr><td><a href=\"%s\">%s</a><td>%s%s", one->name.p,
			   one->name.p, one->about, off ? " (off)" : "");
	}
	buf_text(&p->body, "<tr><td><a href=cmdline>cmdline</a><td>how the program was started"
			   "<tr><td><a href=symbol>symbol</a><td>names of addresses"
			   "<tr><td><a href=/vestal/profiling>/vestal/profiling</a>"
			   "<td>GET: what goes on; POST: on; DELETE: off</table>\n");
}

/* False when it is no number within the limits. */
static bool read_seconds(struct str text, u32 *ret)
{
	uint64_t value;

	if (!text.n)
		return true;
	if (str_to_u64(text, 10, &value) || !value || value > SECONDS_MOST)
		return false;
	*ret = (u32)value;
	return true;
}

static void profile_page(const struct profile_page *one, struct str query,
			 const struct sdk_settings *s, struct ask *ask, struct page *p)
{
	u32 seconds = one->kind == ASK_CAPTURE ? SECONDS_USUAL : 0;

	if (one->needs && !(s->types & one->needs)) {
		text_page(p, 404, one->missing);
		return;
	}
	if (!read_seconds(http_parameter(query, STR("seconds")), &seconds)) {
		text_page(p, 400, "seconds is a number from 1 to 3600");
		return;
	}
	if (seconds && !one->spans) {
		text_page(p, 400, "this is the current state: it does not accept seconds");
		return;
	}
	ask->kind = seconds ? ASK_CAPTURE : one->kind;
	ask->types = one->types;
	ask->only = one->only;
	ask->seconds = seconds;
	p->type = "application/octet-stream";
	p->asks = true;
}

static void cmdline_page(struct page *p)
{
	p->status = 200;
	p->type = PAGE_TEXT;
	/* Without /proc it is empty. */
	(void)!file_read("/proc/self/cmdline", &p->body, NULL);
}

/* As pprof expects: GET returns whether there are symbols, POST returns symbols. */
static void symbol_page(const struct http_request *r, struct ask *ask, struct page *p)
{
	struct str list = str_eq(r->method, STR("POST")) ? r->body : r->query;

	if (!list.n) {
		text_page(p, 200, "num_symbols: 1");
		return;
	}
	if (list.n >= sizeof(ask->text)) {
		text_page(p, 413, "too many addresses at a time");
		return;
	}
	memcpy(ask->text, list.p, list.n);
	ask->text[list.n] = 0;
	ask->kind = ASK_SYMBOLS;
	ask->seconds = 0;
	ask->types = 0;
	p->type = PAGE_TEXT;
	p->asks = true;
}

static void debug_page(const struct http_request *r, struct str name, const struct sdk_settings *s,
		       struct ask *ask, struct page *p)
{
	if (!name.n) {
		index_page(s, p);
		return;
	}
	if (str_eq(name, STR("cmdline"))) {
		cmdline_page(p);
		return;
	}
	if (str_eq(name, STR("symbol"))) {
		symbol_page(r, ask, p);
		return;
	}
	for (size_t i = 0; i < PROFILE_PAGES; i++)
		if (str_eq(name, profile_pages[i].name)) {
			profile_page(&profile_pages[i], r->query, s, ask, p);
			return;
		}
	text_page(p, 404, "no such profile: /debug/pprof/ lists them");
}

/* ------------------------------------------------------------------ /vestal/profiling */

static void put_types(struct jsonout *o, unsigned types)
{
	jsonout_key(o, STR("types"));
	jsonout_array(o);
	for (unsigned bit = 1; bit && bit <= types; bit <<= 1)
		if (types & bit)
			jsonout_text(o, sdk_type_name(bit));
	jsonout_end_array(o);
}

static void put_reasons(struct jsonout *o, unsigned paused)
{
	jsonout_key(o, STR("paused_by"));
	jsonout_array(o);
	if (paused & PAUSED_BY_USER)
		jsonout_text(o, "user");
	if (paused & PAUSED_BY_SCHEDULE)
		jsonout_text(o, "schedule");
	if (paused & PAUSED_BY_LOAD)
		jsonout_text(o, "load");
	jsonout_end_array(o);
}

static void state_page(const struct sdk_settings *s, struct page *p)
{
	struct jsonout o = jsonout_of(&p->body, false);
	struct background_counts counts = background_counts();
	unsigned paused = sampling_paused();

	p->status = 200;
	p->type = "application/json";
	jsonout_object(&o);
	jsonout_put_bool(&o, "enabled", !(paused & PAUSED_BY_USER));
	put_reasons(&o, paused);
	jsonout_put_str(&o, "service", str_of(s->service));
	jsonout_put_i64(&o, "pid", getpid());
	put_types(&o, s->types);
	jsonout_put_u64(&o, "rate_hz", s->rate_hz);
	jsonout_put_u64(&o, "rate_hz_now", sampling_rate());
	jsonout_put_u64(&o, "interval_ms", s->interval_ms);
	jsonout_put_u64(&o, "samples", counts.samples);
	jsonout_put_u64(&o, "lost", counts.lost);
	jsonout_put_u64(&o, "exports", counts.delivered);
	jsonout_put_u64(&o, "exports_failed", counts.given_up);
	jsonout_end_object(&o);
	buf_text(&p->body, "\n");
}

/* ------------------------------------------------------------------ who may */

/*
 * A host name that resolves to this address may belong to a foreign page (DNS rebinding). If it
 * listens for other hosts, local names without dots are accepted, too.
 */
static bool is_known_name(struct str host, bool anywhere)
{
	return host_is_address(host) || host_is_localhost(host) || host_is_this_machine(host) ||
	       (anywhere && host_is_local_word(host));
}

/* Pages of other sites must not do what only the user of this machine may. */
static bool may(const struct http_request *r, const struct sdk_settings *s)
{
	if (!is_known_name(host_without_port(r->host), s->control.listen_anywhere))
		return false;
	if (r->from_elsewhere)
		return false;
	return !r->origin.n || host_equal(origin_authority(r->origin), r->host);
}

void page_of(const struct http_request *r, const struct sdk_settings *s, struct ask *ask,
	     struct page *ret)
{
	bool get = str_eq(r->method, STR("GET")), post = str_eq(r->method, STR("POST"));
	bool control = str_eq(r->path, STR("/vestal/profiling"));

	if (!may(r, s)) {
		text_page(ret, 403, "not for pages of other sites");
	} else if (control && (post || str_eq(r->method, STR("DELETE")))) {
		sampling_pause(PAUSED_BY_USER, !post);
		state_page(s, ret);
	} else if (control && get) {
		state_page(s, ret);
	} else if (!get && !(post && str_eq(r->path, STR(PAGE_INDEX "symbol")))) {
		text_page(ret, 405, "this address answers to GET");
	} else if (str_starts(r->path, STR(PAGE_INDEX))) {
		debug_page(r, str_skip(r->path, sizeof(PAGE_INDEX) - 1), s, ask, ret);
	} else if (str_eq(r->path, STR("/debug/pprof"))) {
		text_page(ret, 301, PAGE_INDEX);
	} else {
		text_page(ret, 404, "there are /debug/pprof/ and /vestal/profiling");
	}
}
