#include "agent/capture_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent/prober.h"
#include "agent/worker_host.h"
#include "base/clock.h"
#include "base/log.h"

/* Pages of side band per CPU: 100 new processes per second need one page per quarter second. */
#define SIDE_BAND_PAGES	 64
/* From being woken to running; more on a machine that has too much to do. */
#define WAKER_LIFE_NS	 ((u64)2 * NS_PER_S)
/* Interval for checking waiting records if no event arrived for them. */
#define RETRY_NS	 ((u64)250 * NS_PER_MS)
/* Between two lines of the log about processes that cause too many events. */
#define OFFENDER_LINE_NS ((u64)30 * NS_PER_S)
#define OPEN_CEILING	 ((size_t)64 << 10)
#define PENDING_CEILING	 ((size_t)16 << 20)
/* Raw stacks come in bursts: what they took is not kept for the next one. */
#define PENDING_KEPT	 ((size_t)128 << 10)

const struct capture_options capture_options_default = {
	.kernel = {.types = CAPTURE_CPU,
		   .rate_hz = 99,
		   .table_mib = 12,
		   .ring_kib = 0,
		   .max_threads = 16384,
		   .raw_stacks = 0,
		   .wait_mean_ns = NS_PER_MS,
		   .memory_mean_bytes = 256 << 10},
	.look_ns = NS_PER_S,
	.waiting_bytes = (size_t)4 << 20,
};

static enum err watch(struct capture *c)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	worker_host_watch();
	c->wake = epoll_create1(EPOLL_CLOEXEC);
	/* Until the kernel side has a new table stacks through it are copied. */
	if (c->wake < 0 || epoll_ctl(c->wake, EPOLL_CTL_ADD, modules_wake_fd(c->modules), &event) ||
	    epoll_ctl(c->wake, EPOLL_CTL_ADD, prober_fd(c->prober), &event))
		return err_from_errno(errno);
	TRY(kernel_watch(c->kernel, c->wake));
	return sideband_watch(c->side_band, c->wake);
}

void capture_wait(struct capture *c, int64_t ns)
{
	struct epoll_event event;

	/* A signal also ends the wait, so that the owner can handle it. */
	epoll_wait(c->wake, &event, 1, (int)((ns + NS_PER_MS - 1) / NS_PER_MS));
}

/* Room for a quarter second of all CPUs, also when all that comes is raw stacks. */
#define RING_LEAST_KIB 2048u
#define RING_MOST_KIB  4096u
#define RING_CPU_KIB   128u
/* The ring's room for a raw stack: more of them than fit would push out whole ones. */
#define RING_RAW_KIB   16u

static void size_ring(struct kernel_options *o)
{
	u32 wanted = RING_CPU_KIB * (u32)sysconf(_SC_NPROCESSORS_ONLN), kib = RING_LEAST_KIB;

	while (kib < wanted && kib < RING_MOST_KIB)
		kib *= 2;
	if (!o->ring_kib)
		o->ring_kib = kib;
	if (!o->raw_stacks)
		o->raw_stacks = o->ring_kib / RING_RAW_KIB;
}

static enum err add_segment(void *context, u32 segment)
{
	return kernel_add_segment(context, segment);
}

static void remove_segment(void *context, u32 segment)
{
	kernel_remove_segment(context, segment);
}

enum err capture_open(const struct capture_options *o, struct capture **ret, struct fault *fault)
{
	struct capture *c = mem_zalloc(1, sizeof(*c));
	enum err e;

	if (!c)
		return ERR_NO_MEMORY;
	c->options = *o;
	c->wake = -1;
	c->pending = BUF_INIT(PENDING_CEILING);
	c->open_record = BUF_INIT(OPEN_CEILING);
	waiting_stacks_init(&c->waiting, o->waiting_bytes);
	size_ring(&c->options.kernel);
	c->filter = (struct target_filter){o->targets, o->rules, 1};
	c->options.kernel.chosen |= target_filter_chooses(&c->filter);
	c->options.kernel.undecided |= target_filter_undecided(&c->filter);
	/* First of all: it must not have what comes now. */
	e = worker_host_start();
	if (!e)
		e = kernel_open(&c->options.kernel, &c->kernel, fault);
	if (!e) {
		u32 count;
		u8 *memory = kernel_segments(c->kernel, &count);

		e = table_space_init(&c->space, memory, count);
		if (!e && kernel_segments_grow(c->kernel))
			table_space_grows(&c->space, c->kernel, add_segment, remove_segment);
	}
	if (!e)
		e = prober_new(&c->prober);
	if (!e)
		e = modules_new(&c->space, kernel_rules(c->kernel), c->prober, &c->modules);
	if (!e)
		modules_tell(c->modules, c->kernel);
	if (!e)
		e = processes_new(c->kernel, c->modules, &c->space, c->prober, &c->processes);
	/* With targets, it is unknown whether a new program will be selected. */
	if (!e && !c->options.kernel.chosen && !c->options.kernel.own)
		processes_read_ahead(c->processes);
	if (!e)
		e = sideband_open(o->kernel.own ? 0 : SIDE_BAND_PAGES, &c->side_band, fault);
	if (!e) {
		kernel_tell(c->kernel, c->side_band);
		e = watch(c);
	}
	if (e) {
		capture_close(c);
		return e;
	}
	*ret = c;
	return ERR_OK;
}

enum err capture_open_allowed(const struct capture_options *o, struct capture **ret,
			      struct fault *fault)
{
	struct capture_options own = *o;
	enum err e = capture_open(o, ret, fault);

	if (e != ERR_NO_PERMISSION)
		return e;
	own.kernel.own = true;
	if (own.kernel.types & CAPTURE_CPU)
		own.kernel.types = CAPTURE_CPU;
	return capture_open(&own, ret, fault);
}

const char capture_own_note[] = "not root: only CPU time of your own processes; use sudo for all "
				"processes, kernel stacks and off-CPU time";

unsigned capture_types(const struct capture *c)
{
	return kernel_types(c->kernel);
}

const struct capture_lack *capture_lacks(const struct capture *c, size_t *ret_count)
{
	return kernel_lacks(c->kernel, ret_count);
}

bool capture_is_own(const struct capture *c)
{
	return c->options.kernel.own;
}

u64 capture_wait_mean(const struct capture *c)
{
	return c->options.kernel.wait_mean_ns;
}

void capture_close(struct capture *c)
{
	if (!c)
		return;
	if (c->wake >= 0)
		close(c->wake);
	collector_release(&c->collector);
	losses_release(&c->losses);
	wakers_release(&c->wakers);
	turns_release(&c->turns);
	open_waits_release(&c->open);
	open_waits_release(&c->reopened);
	wait_stacks_release(&c->left);
	wait_levels_release(&c->wait_levels);
	processes_free(c->processes);
	modules_free(c->modules);
	prober_free(c->prober);
	table_space_release(&c->space);
	sideband_close(c->side_band);
	kernel_close(c->kernel);
	buf_release(&c->pending);
	buf_release(&c->open_record);
	vec_release(&c->order);
	waiting_stacks_release(&c->waiting);
	mem_free(c);
}

enum err capture_choose(struct capture *c, u32 pid)
{
	return kernel_choose(c->kernel, pid);
}

enum err capture_set_targets(struct capture *c, const struct targets *t)
{
	c->filter.targets = t;
	c->filter.number++;
	TRY(kernel_choose_anew(c->kernel, target_filter_chooses(&c->filter),
			       target_filter_undecided(&c->filter)));
	return target_filter_begin(&c->filter, c->kernel);
}

enum err capture_start(struct capture *c, struct fault *fault)
{
	c->window_start = (u64)clock_monotonic_ns();
	TRY(target_filter_begin(&c->filter, c->kernel));
	return kernel_attach(c->kernel, fault);
}

void capture_stop(struct capture *c)
{
	kernel_detach(c->kernel);
}

static enum err take_record(void *context, const struct record_head *head, size_t size)
{
	struct capture *c = context;
	size_t at = c->pending.n;

	/* More than there is room for in one turn: counted, as if the ring had been full. */
	if (record_append(&c->pending, head, size) != ERR_OK) {
		c->pending.n = at;
		c->pending.error = ERR_OK;
		c->records_lost++;
		losses_add_record(&c->losses, head);
		return ERR_OK;
	}
	return vec_push(&c->order, at);
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct buf *pending = context;
	u64 size, x = record_at(pending, *(const size_t *)a, &size)->time;
	u64 y = record_at(pending, *(const size_t *)b, &size)->time;

	return x < y ? -1 : x > y;
}

static enum err apply_events(struct capture *c, u64 until)
{
	const struct sideband_event *event = sideband_next(c->side_band, until);
	int64_t begun;

	if (!event)
		return ERR_OK;
	begun = clock_thread_cpu_ns();
	for (; event; event = sideband_next(c->side_band, until)) {
		TRY(processes_event(c->processes, event));
		target_filter_event(&c->filter, c->kernel, event);
	}
	c->followed_ns += (u64)(clock_thread_cpu_ns() - begun);
	return ERR_OK;
}

/* Processes above their event limit: log them, but not each of a thousand. */
static void note_offenders(struct capture *c)
{
	u32 pid;

	while (sideband_offender(c->side_band, &pid)) {
		struct process *process = processes_last(c->processes, pid);

		processes_limit(c->processes, pid);
		if (c->now < c->next_offender_line)
			continue;
		c->next_offender_line = c->now + OFFENDER_LINE_NS;
		log_warn("a process changes its mappings or its name continuously: it is followed "
			 "less closely, others are not affected",
			 log_u64("pid", pid),
			 log_str("name", process ? str_n(process->comm, strnlen(process->comm, 16))
						 : STR("")));
	}
}

/* The lost events may concern any process. */
static void mend_loss(struct capture *c)
{
	u64 lost = sideband_lost(c->side_band);

	if (lost == c->lost_before)
		return;
	c->lost_before = lost;
	c->reread += processes_reread_all(c->processes, c->now);
}

/* Takes what is new of processes and modules. `ret_changed`: modules have tables now; `ret_known`: processes
 * are known now. */
static enum err follow_processes(struct capture *c, bool *ret_changed, bool *ret_known)
{
	int64_t begun = clock_thread_cpu_ns();

	TRY(sideband_follow(c->side_band, c->wake, c->now));
	TRY(sideband_collect(c->side_band));
	prober_turn(c->prober);
	*ret_known = processes_take(c->processes);
	*ret_changed = modules_settle(c->modules);
	c->followed_ns += (u64)(clock_thread_cpu_ns() - begun);
	return ERR_OK;
}

static enum err settle_processes(struct capture *c, bool changed)
{
	int64_t begun = clock_thread_cpu_ns();

	note_offenders(c);
	mend_loss(c);
	TRY(processes_settle(c->processes, changed));
	table_space_settle(&c->space);
	c->followed_ns += (u64)(clock_thread_cpu_ns() - begun);
	return ERR_OK;
}

enum err capture_turn(struct capture *c)
{
	bool changed, known;

	c->now = (u64)clock_monotonic_ns();
	/* A window has just ended: stacks of older ones alone refer to modules that their processes
	 * do not map. */
	if (!c->collector.list.n)
		modules_tidy(c->modules, c->now, c->kept_since ? c->kept_since : c->now);
	buf_clear(&c->pending);
	c->order.n = 0;
	/* Records first, side band second: all that led to a record is then known. */
	TRY(kernel_drain(c->kernel, c, take_record));
	TRY(kernel_turn_clocks(c->kernel, c->now));
	TRY(follow_processes(c, &changed, &known));
	if (c->order.n)
		qsort_r(c->order.v, c->order.n, sizeof(*c->order.v), by_time, &c->pending);
	/* Records wait for their process for at most a second. */
	if ((changed || known || c->now >= c->next_retry) && c->waiting.list.n) {
		c->next_retry = c->now + RETRY_NS;
		TRY(capture_retry_waiting(c));
	}
	vec_for_each (at, &c->order) {
		u64 size;
		const struct record_head *head = record_at(&c->pending, *at, &size);

		TRY(apply_events(c, head->time));
		TRY(capture_handle(c, head, size));
	}
	TRY(apply_events(c, UINT64_MAX));
	TRY(wakers_settle(&c->wakers, c->now - WAKER_LIFE_NS));
	TRY(capture_settle_turns(c));
	TRY(capture_look_at_threads(c));
	TRY(settle_processes(c, changed));
	if (c->pending.cap > PENDING_KEPT)
		buf_release(&c->pending);
	return ERR_OK;
}

enum err capture_finish(struct capture *c, u64 limit_ns)
{
	int64_t deadline = clock_monotonic_ns() + (int64_t)limit_ns;

	TRY(capture_turn(c));
	while ((modules_pending(c->modules) || prober_pending(c->prober, PROBE_PROCESS)) &&
	       clock_monotonic_ns() < deadline) {
		clock_sleep_ns(5 * NS_PER_MS);
		prober_turn(c->prober);
		processes_take(c->processes);
		modules_settle(c->modules);
		/* Records that waited for a process may now need tables. */
		TRY(capture_retry_waiting(c));
	}
	c->closing = true;
	return capture_retry_waiting(c);
}

void capture_want_wait_level(struct capture *c, unsigned level)
{
	if (level == c->wait_levels.wanted)
		return;
	c->wait_levels.wanted = level;
	c->wait_levels.next = 0;
}

bool capture_levels_due(struct capture *c)
{
	return capture_needs_waits(c->options.kernel.types) && !c->options.kernel.own &&
	       wait_levels_due(&c->wait_levels, c->kernel, (u64)clock_monotonic_ns());
}

enum err capture_apply_levels(struct capture *c)
{
	return wait_levels_apply(&c->wait_levels, c->kernel, (u64)clock_monotonic_ns());
}

const struct wait_level_set *capture_wait_levels(const struct capture *c)
{
	return wait_levels_now(&c->wait_levels);
}

struct collector *capture_collector(struct capture *c)
{
	return &c->collector;
}

int capture_wake(const struct capture *c)
{
	return c->wake;
}

void capture_keep_since(struct capture *c, u64 time)
{
	c->kept_since = time;
}

struct prober *capture_prober(struct capture *c)
{
	return c->prober;
}

struct modules *capture_modules(struct capture *c)
{
	return c->modules;
}

struct kernel_side *capture_kernel(struct capture *c)
{
	return c->kernel;
}

struct processes *capture_processes(struct capture *c)
{
	return c->processes;
}

static void take_loss(void *context, const struct loss_key *key, const struct loss_count *lost)
{
	struct loss one = {*key, (double)lost->count / LOSS_ONE, (double)lost->value, ""};

	memcpy(one.comm, lost->comm, sizeof(one.comm));
	losses_add(context, &one);
}

/* The process of records lost by a per-CPU ring is unknown. */
static void take_own_losses(struct capture *c)
{
	struct kernel_counters counters;
	double lost, period = (double)NS_PER_S / c->options.kernel.rate_hz;

	kernel_count(c->kernel, &counters);
	lost = (double)(counters.dropped - c->own_lost);
	c->own_lost = counters.dropped;
	if (lost > 0)
		losses_add(&c->losses,
			   &(struct loss){{0, RECORD_CPU, LOSS_RING}, lost, lost * period, ""});
}

const double *capture_lost(const struct capture *c)
{
	return c->losses.totals;
}

struct losses *capture_losses(struct capture *c)
{
	if (capture_is_own(c))
		take_own_losses(c);
	else
		kernel_losses(c->kernel, &c->losses, take_loss);
	return &c->losses;
}

void capture_stats(const struct capture *c, struct capture_stats *ret)
{
	struct sideband_stats side_band;

	sideband_stats(c->side_band, &side_band);
	*ret = (struct capture_stats){.side_band_lost = side_band.lost,
				      .events_shut = side_band.shut,
				      .ring_stops = side_band.stops,
				      .reread = c->reread,
				      .followed_ns = c->followed_ns + prober_cpu_ns(c->prober),
				      .raw_walked = c->raw_walked,
				      .raw_dropped = c->raw_dropped,
				      .records_lost = c->records_lost,
				      .processes = processes_count(c->processes),
				      .table_bytes = c->space.used_bytes};
	processes_limits(c->processes, &ret->limits);
	prober_counts(c->prober, &ret->probes_hung, &ret->probes_refused);
	modules_stats(c->modules, &ret->modules);
	kernel_count(c->kernel, &ret->kernel);
}
