/*
 * vestal live: what the machine does right now, painted again every second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/agent_child.h"
#include "cli/live_rows.h"
#include "cli/live_screen.h"
#include "cli/record_run.h"
#include "cli/sink.h"
#include "cli/table.h"
#include "cli/term.h"

#define SECONDS_KEPT  5
#define TURN_MS	      100
#define RATE_DEFAULT  99
#define ONCE_ROWS     30
/* There is no next picture that could have the names of files that are fetched. */
#define ONCE_FETCH_NS (60 * NS_PER_S)
#define LINES_BESIDES 3 /* headline, column titles, keys */
/* Bytes of kernel symbols read per step: all of them within a second or two. */
#define KALLSYMS_STEP ((size_t)1 << 20)

struct live_options {
	struct common_options common;
	struct text_list pids;
	bool all, once;
	int64_t rate;
	double interval;
	const char *types;
};

static const struct option table[] = {
	{"pid", 'p', OPT_LIST, "PID", "a process and its children; may be given several times",
	 AT(struct live_options, pids), NULL},
	{"all", 'a', OPT_FLAG, NULL, "the whole machine (as without -p)",
	 AT(struct live_options, all), NULL},
	{"type", 0, OPT_TEXT, "TYPES", "cpu, offcpu, or both with a comma (both)",
	 AT(struct live_options, types), NULL},
	{"rate", 'F', OPT_NUMBER, "HZ", "samples per second and CPU (99)",
	 AT(struct live_options, rate), NULL},
	{"interval", 0, OPT_SECONDS, "SECONDS", "between two refreshes (1)",
	 AT(struct live_options, interval), NULL},
	{"once", 0, OPT_FLAG, NULL, "one table after one interval, to standard output",
	 AT(struct live_options, once), NULL},
	{0},
};

static const struct option_group groups[] = {
	{"Options", table, 0},
	{"Common options", common_table, 0},
	{0},
};

static const struct example examples[] = {
	{"vestal live", "all processes, by function"},
	{"vestal live -p 1234", "one process and its children"},
	{"vestal live --once --type cpu | head", "a table of the last second, for a pipe"},
	{0},
};

static void set_defaults(void *options)
{
	struct live_options *o = options;

	o->rate = RATE_DEFAULT;
	o->interval = 1;
}

struct live {
	const struct live_options *options;
	struct capture *capture;
	struct debug_source *debug;
	struct names *names;
	struct gathered gathered; /* of the current second */
	unsigned types;
	struct live_rows seconds[SECONDS_KEPT]; /* the newest is at `newest` */
	double lengths[SECONDS_KEPT];
	unsigned newest;
	struct live_rows shown;
	struct live_look look;
};

static enum err open_names(struct live *l)
{
	struct debug_source_options debuginfod = {.urls = getenv("DEBUGINFOD_URLS")};
	/* While it runs, nothing waits for symbols: late ones appear with the next refresh. With
	 * --once the ring buffer no longer needs draining when the table is made, so it may
	 * wait. */
	struct names_options options = {.patience_ns = l->options->once ? ONCE_FETCH_NS : 0,
					.background = !l->options->once,
					.wake = -1,
					.kernel_step = KALLSYMS_STEP,
					.prober = capture_prober(l->capture)};
	struct fault fault = {0};

	if (debug_source_new(&debuginfod, &l->debug, &fault) != ERR_OK)
		say(&l->options->common, "DEBUGINFOD_URLS is not used: %s", fault.text);
	options.debug = l->debug;
	return names_new(capture_modules(l->capture), &options, &l->names);
}

/* Both types by default. */
static int open_capture(struct invocation *in, struct live *l)
{
	const struct live_options *o = l->options;
	struct capture_options c = capture_options_default;
	struct fault fault = {0};
	enum err e;
	int status = capture_types_read(in, o->types ? o->types : "cpu,offcpu", &c.kernel.types);

	if (status)
		return status;
	if (c.kernel.types & ~(unsigned)(CAPTURE_CPU | CAPTURE_WAITS))
		return complain_usage(in, "--type takes cpu and offcpu here");
	c.kernel.rate_hz = (u32)o->rate;
	c.kernel.chosen = o->pids.n > 0;
	e = capture_open_allowed(&c, &l->capture, &fault);
	if (e)
		return complain(status_of(e), "%s", fault.text[0] ? fault.text : err_text(e));
	for (size_t i = 0; !status && i < o->pids.n; i++)
		status = record_choose_pid(l->capture, o->pids.v[i]);
	if (status)
		return status;
	e = open_names(l);
	if (!e)
		e = capture_start(l->capture, &fault);
	if (e)
		return complain(status_of(e), "%s", fault.text[0] ? fault.text : err_text(e));
	l->types = capture_types(l->capture);
	capture_lacks_say(&o->common, l->capture);
	return EXIT_OK;
}

/* The samples since the last refresh become the newest second. */
static enum err end_second(struct live *l, double length)
{
	struct collector *c = capture_collector(l->capture);
	struct window w = {.types = l->types,
			   .period_ns = (u64)NS_PER_S / (u64)l->options->rate,
			   .duration_ns = (int64_t)(length * 1e9)};
	struct live_rows *rows;
	struct profile p;
	struct dict d;
	enum err e;

	l->newest = (l->newest + 1) % SECONDS_KEPT;
	rows = &l->seconds[l->newest];
	live_rows_release(rows);
	*rows = (struct live_rows){0};
	l->lengths[l->newest] = length;
	TRY(dict_init(&d, 0));
	profile_init(&p, &d);
	e = window_profile(c, l->names, &w, &p);
	names_end(l->names);
	l->gathered = (struct gathered){0};
	collector_clear(c);
	if (!e)
		e = live_rows_profile(rows, &p, l->look.by_process);
	profile_release(&p);
	dict_release(&d);
	return e;
}

static enum err sum_seconds(struct live *l)
{
	live_rows_release(&l->shown);
	l->shown = (struct live_rows){0};
	l->look.seconds = 0;
	for (unsigned i = 0; i < SECONDS_KEPT; i++) {
		TRY(live_rows_sum(&l->shown, &l->seconds[i]));
		l->look.seconds += l->lengths[i];
	}
	return ERR_OK;
}

static void paint(struct live *l)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 22);
	unsigned columns, rows;

	screen_size(&columns, &rows);
	l->look.width = columns;
	l->look.rows = rows > LINES_BESIDES ? rows - LINES_BESIDES : 1;
	live_rows_sort(&l->shown, l->look.order);
	live_render(&l->shown, &l->look, &out);
	text_cut(&out, STR("q quit  s sort  / filter  p pause  arrows and page keys scroll"),
		 columns);
	if (!buf_error(&out))
		screen_paint(buf_view(&out));
}

static void type_filter(struct live_look *look, int key)
{
	size_t n = strlen(look->filter);

	if (key == '\r' || key == '\n') {
		look->typing = false;
	} else if (key == KEY_ESCAPE) {
		look->typing = false;
		look->filter[0] = 0;
	} else if ((key == 127 || key == '\b') && n) {
		look->filter[n - 1] = 0;
	} else if (key >= ' ' && key < 127 && n + 1 < sizeof(look->filter)) {
		look->filter[n] = (char)key;
		look->filter[n + 1] = 0;
	}
	look->scroll = 0;
}

static void next_order(struct live_look *look)
{
	do
		look->order = (look->order + 1) % LIVE_ORDERS;
	while (!look->measures[look->order / 2]);
	look->scroll = 0;
}

static void scroll_by(struct live *l, long rows)
{
	size_t most = l->shown.list.n ? l->shown.list.n - 1 : 0, back = (size_t)-rows;
	struct live_look *look = &l->look;

	if (rows < 0)
		look->scroll = look->scroll > back ? look->scroll - back : 0;
	else
		look->scroll =
			look->scroll + (size_t)rows < most ? look->scroll + (size_t)rows : most;
}

/* False: it is over. */
static bool obey(struct live *l, int key)
{
	long page = l->look.rows;

	if (key == KEY_GONE)
		return false;
	if (l->look.typing) {
		type_filter(&l->look, key);
		return true;
	}
	if (key == 'q' || key == 'Q')
		return false;
	if (key == 's')
		next_order(&l->look);
	else if (key == '/')
		l->look.typing = true;
	else if (key == KEY_ESCAPE)
		l->look.filter[0] = 0;
	else if (key == 'p' || key == ' ')
		l->look.paused = !l->look.paused;
	else if (key == KEY_UP || key == 'k')
		scroll_by(l, -1);
	else if (key == KEY_DOWN || key == 'j')
		scroll_by(l, 1);
	else if (key == KEY_PAGE_UP)
		scroll_by(l, -page);
	else if (key == KEY_PAGE_DOWN)
		scroll_by(l, page);
	else if (key == KEY_HOME)
		l->look.scroll = 0;
	else if (key == KEY_END)
		scroll_by(l, (long)l->shown.list.n);
	return true;
}

/* Takes the new records and requests their symbols. */
static enum err turn(struct live *l)
{
	TRY(capture_turn(l->capture));
	TRY(names_gather(l->names, capture_collector(l->capture), &l->gathered));
	(void)names_turn(l->names, true);
	return ERR_OK;
}

static enum err watch(struct live *l)
{
	int64_t begun = clock_monotonic_ns(), length = (int64_t)(l->options->interval * 1e9);

	paint(l);
	for (;;) {
		int key = screen_key(TURN_MS);
		int64_t now;

		if (!obey(l, key))
			return ERR_OK;
		TRY(turn(l));
		now = clock_monotonic_ns();
		if (now - begun >= length) {
			TRY(end_second(l, (double)(now - begun) / 1e9));
			begun = now;
			if (!l->look.paused)
				TRY(sum_seconds(l));
		} else if (key == KEY_NONE) {
			continue;
		}
		paint(l);
	}
}

static enum err once(struct live *l, struct buf *out)
{
	int64_t begun = clock_monotonic_ns(), now = begun;
	int64_t length = (int64_t)(l->options->interval * 1e9);

	while (now - begun < length) {
		capture_wait(l->capture, TURN_MS * NS_PER_MS);
		TRY(capture_turn(l->capture));
		now = clock_monotonic_ns();
	}
	capture_stop(l->capture);
	TRY(capture_finish(l->capture, 5 * NS_PER_S));
	TRY(end_second(l, (double)(now - begun) / 1e9));
	TRY(sum_seconds(l));
	l->look.width = term_width(STDOUT_FILENO);
	l->look.rows = ONCE_ROWS;
	l->look.color = term_color(STDOUT_FILENO, l->options->common.color);
	live_rows_sort(&l->shown, l->look.order);
	live_render(&l->shown, &l->look, out);
	return buf_error(out);
}

static void close_all(struct live *l)
{
	names_free(l->names);
	debug_source_free(l->debug);
	capture_close(l->capture);
	for (unsigned i = 0; i < SECONDS_KEPT; i++)
		live_rows_release(&l->seconds[i]);
	live_rows_release(&l->shown);
}

static int show(struct live *l)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 22);
	enum err e;

	l->look.measures[LIVE_CPU] = l->types & CAPTURE_CPU;
	l->look.measures[LIVE_WAIT] = l->types & CAPTURE_WAITS;
	l->look.order = l->types & CAPTURE_CPU ? LIVE_BY_CPU : LIVE_BY_WAIT;
	l->look.by_process = !l->options->pids.n;
	if (l->options->once) {
		e = once(l, &out);
		return e ? complain(status_of(e), "%s", err_text(e)) : sink_stdout(&out);
	}
	if (!screen_open())
		return complain(EXIT_USAGE,
				"this is no terminal: vestal live --once prints a table");
	l->look.color = term_color(STDOUT_FILENO, l->options->common.color);
	e = watch(l);
	screen_close();
	return e ? complain(status_of(e), "%s", err_text(e)) : EXIT_OK;
}

static int run(struct invocation *in)
{
	const struct live_options *o = in->options;
	struct live l = {.options = o};
	int status;

	if (in->arguments.n)
		return complain_usage(in, "%s is not understood", in->arguments.v[0]);
	if (o->rate < 1 || o->rate > 5000)
		return complain_usage(in, "-F takes 1 to 5000");
	if (o->interval < 0.1 || o->interval > 3600)
		return complain_usage(in, "--interval takes 0.1 to 3600 seconds");
	if (o->all && o->pids.n)
		return complain_usage(in, "-a is the whole machine: leave out -p");
	status = open_capture(in, &l);
	if (!status)
		status = show(&l);
	close_all(&l);
	return status;
}

const struct command command_live = {
	.name = "live",
	.summary = "which functions run and which block, right now",
	.arguments = "",
	.examples = examples,
	.description = "A table of the last five seconds, refreshed every second: per function its "
		       "self CPU time (cpu) and its CPU time with callees (cum), in percent of one "
		       "CPU, and how many threads were blocked in it on average. For the whole "
		       "machine each row also shows the process.\n\n"
		       "Keys: q quits, s sorts by the next column, / filters by function or "
		       "process (Escape clears the filter), p pauses, arrow and page keys scroll. "
		       "With --once one table is printed to standard output.\n\n"
		       "Without root (or CAP_BPF and CAP_PERFMON) it shows the CPU time of your "
		       "own processes; vestal doctor shows what is missing.",
	.groups = groups,
	.options_size = sizeof(struct live_options),
	.defaults = set_defaults,
	.words = "",
	.run = run,
};
