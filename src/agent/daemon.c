#include "agent/daemon.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/confine.h"
#include "agent/daemon_control.h"
#include "agent/losses.h"
#include "agent/window.h"
#include "agent/worker_host.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "format/format.h"

#define TURN_NS		   (250 * NS_PER_MS)
#define REQUEST_CEILING	   ((size_t)64 << 20)
#define LAST_PATIENCE	   (5 * NS_PER_S)
#define LARGE_BUFFER	   (256 << 10)
#define SUSPENDED_LEAST_NS NS_PER_S
/* Show first data soon after the start. */
#define FIRST_WINDOW_NS	   (4 * NS_PER_S)
/* It does little work a few times per second, but on an overloaded machine the ring would fill up
 * before it is scheduled. */
#define PRIORITY	   (-10)
/* How long a window waits for missing symbols. */
#define NAMES_PATIENCE_NS  (10 * NS_PER_S)
/* The same for the last window, while the agent is stopping. */
#define LAST_NAMES_NS	   (5 * NS_PER_S)

const struct daemon_options daemon_options_default = {
	.exporter = {.waiting_bytes = (size_t)16 << 20,
		     .queue = {.max_bytes = (size_t)256 << 20,
			       .max_memory = (size_t)16 << 20,
			       .max_entries = 10000}},
	.interval_ns = 15 * NS_PER_S,
	.redact_names = true,
	.sample_times = true,
	.max_request = (size_t)7 << 19,
	.self.limits = {.cpu_share = 0.01, .memory_bytes = (u64)64 << 20},
};

/* A window that has ended and waits for names. */
struct ended_window {
	bool waits;
	struct collector collector;
	struct window window;
	struct losses losses;
	struct losses_window how; /* it was measured */
	struct budget_state budget;
	int64_t deadline;
	char about[EXPORTER_ABOUT];
};

struct daemon {
	const struct daemon_options *options;
	struct capture *capture;
	struct debug_source *debug;
	struct names *names;
	struct exporter *exporter;
	struct self_control self;
	struct daemon_control control;
	struct window window;
	struct ended_window ended;
	struct gathered gathered; /* collector whose symbols are being requested */
	struct buf request;
	bool meter; /* the programs count their own cost */
	size_t lacks_told;
	u64 lost;	      /* records, in all windows so far */
	int64_t suspended_ns; /* last value of clock_suspended_ns */
	char host[256];
};

static enum err open_names(struct daemon *d)
{
	/* A debug file is used as soon as it has come; no window waits for it. */
	struct names_options o = {.debug = d->debug,
				  .background = true,
				  .prober = capture_prober(d->capture),
				  .wake = capture_wake(d->capture)};

	d->gathered = (struct gathered){0};
	return names_new(capture_modules(d->capture), &o, &d->names);
}

/* Log refused types once, and continue with the others. */
static void note_lacks(struct daemon *d)
{
	const struct capture_lack *lacks;
	size_t n;

	for (lacks = capture_lacks(d->capture, &n); d->lacks_told < n; d->lacks_told++) {
		char names[CAPTURE_NAMES_ROOM];

		capture_types_write(lacks[d->lacks_told].types, names);
		log_warn("left out, the others continue; vestal doctor shows the fix",
			 log_text("types", names),
			 log_text("reason", lacks[d->lacks_told].why.text));
	}
	d->window.types &= capture_types(d->capture);
}

static enum err open_all(struct daemon *d, struct fault *fault)
{
	const struct daemon_options *o = d->options;
	struct capture_options capture = o->capture;
	struct fault why = {0};

	/* At least one in each window. */
	capture.look_ns = (u64)o->interval_ns / 2;
	capture.kernel.meter = d->meter;
	TRY(capture_open_allowed(&capture, &d->capture, fault));
	if (capture_is_own(d->capture))
		log_info(capture_own_note);
	/* Names are worth less than profiles. */
	if (debug_source_new(&o->debuginfod, &d->debug, &why) != ERR_OK)
		log_warn("debuginfod is not used", log_text("reason", why.text));
	TRY(open_names(d));
	TRY(exporter_new(&o->exporter, &d->exporter, fault));
	if (gethostname(d->host, sizeof(d->host) - 1))
		d->host[0] = 0;
	d->window.host = d->host;
	d->window.types = capture_types(d->capture);
	d->window.times = o->sample_times;
	d->window.processes = capture_processes(d->capture);
	d->window.wait_levels = capture_wait_levels(d->capture);
	d->window.wait_mean_ns = capture_wait_mean(d->capture);
	d->window.period_ns = (u64)NS_PER_S / o->capture.kernel.rate_hz;
	d->request = BUF_INIT(REQUEST_CEILING);
	TRY(self_control_open(&d->self, &o->self, d->capture, o->capture.kernel.rate_hz, fault));
	d->control = (struct daemon_control){.capture = d->capture,
					     .self = &d->self,
					     .exporter = d->exporter,
					     .targets = o->capture.targets};
	TRY(daemon_control_open(&d->control, o->control, fault));
	TRY(capture_start(d->capture, fault));
	note_lacks(d);
	return ERR_OK;
}

static void close_all(struct daemon *d)
{
	daemon_control_close(&d->control);
	self_control_close(&d->self);
	collector_clear(&d->ended.collector);
	names_free(d->names);
	debug_source_free(d->debug);
	capture_close(d->capture);
	exporter_free(d->exporter, LAST_PATIENCE);
	buf_release(&d->request);
	losses_release(&d->ended.losses);
}

/* The profiles, with completeness profiles about each request's contents, so that dropping a
 * request can be accounted for. */
static enum err write_request(struct daemon *d, const struct profile_list *list)
{
	struct profile_list about = {0};
	VEC(struct profile *) both = {0};
	enum err e = completeness_of_profiles(list, list->v[0]->dict, &about);

	if (!e)
		e = vec_append(&both, list->v, list->n);
	if (!e)
		e = vec_append(&both, about.v, about.n);
	if (!e) {
		struct profile_list all = {.v = both.v, .n = both.n};
		struct writing w = {.list = &all, .type = -1, .compress = 0};

		e = format_write(&formats[FORMAT_OTLP], &w, &d->request);
		notes_release(&w.notes);
	}
	vec_release(&both);
	profile_list_release(&about);
	return e;
}

/* Servers refuse what is larger than they like (4 MiB is usual with gRPC): half of the profiles at
 * a time, until it fits or is one profile. */
static enum err send_part(struct daemon *d, const struct profile_list *list, size_t from, size_t n)
{
	struct profile_list part = {.v = list->v + from, .n = n};
	enum err e;

	if (!n)
		return ERR_OK;
	buf_clear(&d->request);
	e = write_request(d, &part);
	if (n > 1 && (e == ERR_TOO_LARGE || (!e && d->request.n > d->options->max_request))) {
		TRY(send_part(d, list, from, n / 2));
		return send_part(d, list, from + n / 2, n - n / 2);
	}
	if (e == ERR_TOO_LARGE) {
		log_warn("a profile is too large to be sent", log_u64("bytes", d->request.ceiling));
		return ERR_OK;
	}
	TRY(e);
	exporter_send(d->exporter, &d->request);
	return ERR_OK;
}

/* The new dictionary contains no redacted text; the old one is not sent. */
static enum err send_redacted(struct daemon *d, const struct profile_list *list)
{
	struct redact_options options = d->options->redact;
	struct profile_list clean = {0};
	struct dict dict;
	bool needed = false;
	enum err e;

	/* Service names are exempt, because services are found by them; use a rule to rename
	 * one. */
	options.kept_key = STR("service.name");
	options.paths_only = !d->options->redact_names;
	if (list->n)
		TRY(redact_is_needed(list->v[0]->dict, &options, &needed, NULL));
	/* Most windows contain nothing to redact and are sent unchanged. */
	if (!needed)
		return send_part(d, list, 0, list->n);
	TRY(dict_init(&dict, 0));
	e = profile_list_redact(list, &options, &dict, &clean, NULL, NULL);
	if (!e)
		e = send_part(d, &clean, 0, clean.n);
	profile_list_release(&clean);
	dict_release(&dict);
	return e;
}

/* Adds the losses of the window. */
static enum err add_losses(struct daemon *d, struct dict *dict, struct profile_list *list)
{
	struct ended_window *w = &d->ended;

	w->how.window = &w->window;
	w->how.budget = &w->budget;
	w->how.processes = capture_processes(d->capture);
	w->how.unread = names_unread(d->names, &w->how.unread_count);
	return losses_profiles(&w->losses, &w->how, dict, list);
}

static enum err make_window(struct daemon *d)
{
	struct ended_window *w = &d->ended;
	struct profile_list list = {0};
	struct dict dict;
	enum err e = dict_init(&dict, 0);

	if (e)
		return e;
	e = window_profiles(&w->collector, d->names, &w->window, &dict, &list);
	if (!e)
		e = add_losses(d, &dict, &list);
	if (!e)
		e = send_redacted(d, &list);
	profile_list_release(&list);
	dict_release(&dict);
	return e;
}

/* Places in frames are of names_begin to names_end. */
static void gather_again(struct daemon *d)
{
	struct collector *c = capture_collector(d->capture);

	vec_for_each (frame, &c->frames)
		frame->place = 0;
	d->gathered = (struct gathered){0};
}

/* Passes the finished window to the exporter, with the symbols known so far. */
static enum err send_ended(struct daemon *d)
{
	struct ended_window *w = &d->ended;
	struct exporter_stats stats;
	u64 samples = w->collector.samples;
	enum err e;

	if (!w->waits)
		return ERR_OK;
	w->waits = false;
	exporter_describe(d->exporter, w->about);
	e = make_window(d);
	collector_clear(&w->collector);
	capture_keep_since(d->capture, 0);
	names_end(d->names);
	gather_again(d);
	buf_release(&d->request);
	/* A window is made in one go: what it took would lie around until the next one. */
	mem_trim();
	TRY(e);
	exporter_stats(d->exporter, &stats);
	self_control_tell(&d->self, &stats, samples);
	log_debug("window sent", log_u64("samples", samples), log_u64("dropped", stats.dropped),
		  log_u64("queued", stats.queue.entries + stats.queue.memory_entries));
	return ERR_OK;
}

/*
 * Symbols are requested during the window, and missing ones are awaited for some seconds after its
 * end, so that workers can be slow.
 */
static enum err turn_names(struct daemon *d)
{
	struct collector *c = capture_collector(d->capture);
	struct ended_window *w = &d->ended;
	bool complete;

	if (!w->waits)
		TRY(names_gather(d->names, c, &d->gathered));
	complete = names_turn(d->names, w->waits);
	return w->waits && (complete || clock_monotonic_ns() >= w->deadline) ? send_ended(d)
									     : ERR_OK;
}

static void begin_window(struct window *w)
{
	w->start_ns = clock_wall_ns();
	w->start_monotonic_ns = clock_monotonic_ns();
}

/* A lack of room takes anything: what is there says how much is missing. */
static void count_lost(struct daemon *d)
{
	struct capture_stats stats;
	u64 all;

	capture_stats(d->capture, &stats);
	all = stats.kernel.dropped + stats.records_lost;
	d->window.lost = all - d->lost;
	d->lost = all;
	if (d->window.lost)
		log_warn("samples were lost: there was no room for them",
			 log_u64("lost", d->window.lost));
}

/* As it was in this window, before anything changes. */
static void note_losses(struct daemon *d)
{
	struct ended_window *w = &d->ended;

	losses_take(capture_losses(d->capture), &w->losses);
	w->budget = d->self.state;
	w->how = (struct losses_window){.asked = d->options->capture.kernel.types,
					.had = capture_types(d->capture),
					.wait_mean_ns = capture_wait_mean(d->capture),
					.clockless = kernel_clockless(capture_kernel(d->capture))};
}

/* Ends the window: what came in it is sent when it has names; the next one begins. */
static enum err end_window(struct daemon *d)
{
	struct collector *c = capture_collector(d->capture);
	struct window *w = &d->window, next;
	struct ended_window *ended = &d->ended;

	TRY(send_ended(d));
	TRY(capture_open_waits(d->capture));
	window_follow(w, d->self.state.paused);
	next = *w;
	begin_window(&next);
	w->duration_ns = window_length(next.start_ns - w->start_ns,
				       next.start_monotonic_ns - w->start_monotonic_ns);
	if (w->duration_ns != next.start_ns - w->start_ns)
		window_follow(&next, true);
	count_lost(d);
	self_control_end_window(&d->self, w);
	self_control_describe(&d->self, w, c->samples, ended->about);
	note_losses(d);
	TRY(names_gather(d->names, c, &d->gathered));
	collector_take(c, &ended->collector);
	capture_keep_since(d->capture, (u64)w->start_monotonic_ns);
	ended->window = *w;
	ended->waits = true;
	ended->deadline = next.start_monotonic_ns + NAMES_PATIENCE_NS;
	*w = next;
	return ERR_OK;
}

/* The period is true for all of a window: a change of the rate ends it. */
static enum err change_rate(struct daemon *d, bool levels)
{
	TRY(end_window(d));
	TRY(self_control_apply(&d->self, &d->window));
	if (levels)
		TRY(capture_apply_levels(d->capture));
	d->window.wait_levels = capture_wait_levels(d->capture);
	note_lacks(d);
	if (!d->self.state.trim)
		return ERR_OK;
	TRY(send_ended(d));
	/* Names are most of what can be made again. */
	names_free(d->names);
	d->names = NULL;
	gather_again(d);
	return open_names(d);
}

/* Another rate was requested. */
static enum err take_rate(struct daemon *d)
{
	TRY(end_window(d));
	TRY(self_control_set_rate(&d->self, d->control.rate_wanted, &d->window));
	d->control.rate_wanted = 0;
	return ERR_OK;
}

/* Samples from before a suspend belong to the time before it. */
static bool was_suspended(struct daemon *d)
{
	int64_t before = d->suspended_ns;

	d->suspended_ns = clock_suspended_ns();
	if (d->suspended_ns - before < SUSPENDED_LEAST_NS)
		return false;
	log_info("the machine was suspended",
		 log_u64("seconds", (u64)((d->suspended_ns - before) / NS_PER_S)));
	return true;
}

static enum err loop(struct daemon *d, atomic_bool *stop)
{
	int64_t interval = d->options->interval_ns,
		end = clock_monotonic_ns() +
		      (interval < FIRST_WINDOW_NS ? interval : FIRST_WINDOW_NS);

	bool levels;

	begin_window(&d->window);
	d->suspended_ns = clock_suspended_ns();
	while (!atomic_load(stop)) {
		capture_wait(d->capture, TURN_NS);
		TRY(capture_turn(d->capture));
		TRY(turn_names(d));
		if (was_suspended(d) || clock_monotonic_ns() >= end) {
			TRY(end_window(d));
			end += interval;
			/* Stopped for a while: what was missed is not made up for. */
			if (end < clock_monotonic_ns())
				end = clock_monotonic_ns() + interval;
		}
		daemon_control_turn(&d->control);
		if (d->control.rate_wanted) {
			TRY(take_rate(d));
			end = clock_monotonic_ns() + d->options->interval_ns;
		}
		levels = capture_levels_due(d->capture);
		if (self_control_due(&d->self, d->exporter) || levels) {
			TRY(change_rate(d, levels));
			end = clock_monotonic_ns() + d->options->interval_ns;
		}
	}
	capture_stop(d->capture);
	self_control_hurry(&d->self);
	TRY(capture_finish(d->capture, NS_PER_S));
	names_hurry(d->names, LAST_NAMES_NS);
	TRY(end_window(d));
	return send_ended(d);
}

/* The folder of the control socket, which is only the agent's if nothing else is in it. */
static const char *control_folder(const char *path, char *room, size_t size)
{
	size_t slash = path ? str_rfind(str_of(path), '/') : 0;

	if (!path || !slash || !path[slash] || slash >= size)
		return NULL;
	memcpy(room, path, slash);
	room[slash] = 0;
	return room;
}

/* Before there are threads: each has privileges of its own. */
static enum err confine(const struct daemon_options *o, struct fault *fault)
{
	struct fault kept = {0};
	char control[108], cache[4096];
	struct confine_options c = {
		.folders = {o->exporter.queue.directory, NULL,
			    control_folder(o->control, control, sizeof(control))}};

	if (o->debuginfod.urls && o->debuginfod.urls[0])
		c.folders[1] = o->debuginfod.directory			   ? o->debuginfod.directory
			       : debug_source_folder(cache, sizeof(cache)) ? cache
									   : NULL;
	if (o->control && !geteuid())
		TRY(control_prepare(o->control, fault));
	if (confine_self(&c, &kept) != ERR_OK)
		log_warn("the agent has more privileges than it needs",
			 log_text("reason", kept.text));
	return ERR_OK;
}

enum err daemon_run(const struct daemon_options *o, atomic_bool *stop, struct fault *fault)
{
	struct daemon d = {.options = o};
	int64_t begun = clock_monotonic_ns();
	enum err e;

	/* Use mmap for large buffers, so that freeing them always returns the memory. */
	mallopt(M_MMAP_THRESHOLD, LARGE_BUFFER);
	/* Threads that wait most of the time need no heaps of their own. */
	mallopt(M_ARENA_MAX, 1);
	d.meter = !kernel_statistics();
	/* While it can still change its uid. */
	e = worker_host_start();
	if (e)
		return fault_set(fault, e, "no process can be started that reads files");
	/* Without the permission the priority stays. Workers were started above and are not
	 * affected. */
	(void)setpriority(PRIO_PROCESS, 0, PRIORITY);
	e = confine(o, fault);
	if (!e)
		e = open_all(&d, fault);
	if (!e) {
		log_info("agent started", log_u64("rate_hz", o->capture.kernel.rate_hz),
			 log_u64("after_ms", (u64)(clock_monotonic_ns() - begun) / NS_PER_MS));
		e = loop(&d, stop);
	}
	close_all(&d);
	return e;
}
