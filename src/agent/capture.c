#include "agent/capture_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent/raw_stack.h"
#include "agent/worker_host.h"
#include "base/clock.h"

/* Pages of a processor's side band: at 100 new processes a second a quarter second needs one. */
#define SIDE_BAND_PAGES 64
/* From being woken to running; more on a machine that has too much to do. */
#define WAKER_LIFE_NS	((u64)2 * NS_PER_S)
#define OPEN_CEILING	((size_t)64 << 10)
#define PENDING_CEILING ((size_t)16 << 20)
/* Raw stacks come in bursts: what they took is not kept for the next one. */
#define PENDING_KEPT	((size_t)128 << 10)

const struct capture_options capture_options_default = {
	.kernel = {.types = CAPTURE_CPU,
		   .rate_hz = 99,
		   .table_mib = 12,
		   .ring_kib = 2048,
		   .max_threads = 16384,
		   .raw_stacks = 128,
		   .wait_mean_ns = NS_PER_MS,
		   .memory_mean_bytes = 256 << 10},
	.look_ns = NS_PER_S,
	.waiting_bytes = (size_t)8 << 20,
};

static enum err watch(struct capture *c)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	c->wake = epoll_create1(EPOLL_CLOEXEC);
	/* Until the kernel side has a new table stacks through it are copied. */
	if (c->wake < 0 || epoll_ctl(c->wake, EPOLL_CTL_ADD, modules_wake_fd(c->modules), &event))
		return err_from_errno(errno);
	TRY(kernel_watch(c->kernel, c->wake));
	return sideband_watch(c->side_band, c->wake);
}

void capture_wait(struct capture *c, int64_t ns)
{
	struct epoll_event event;

	/* A signal ends it as well: its owner looks at what was asked. */
	epoll_wait(c->wake, &event, 1, (int)((ns + NS_PER_MS - 1) / NS_PER_MS));
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
	c->waiting = BUF_INIT(o->waiting_bytes);
	c->judge = (struct judge){o->targets, o->rules, 1};
	c->options.kernel.chosen |= judge_chooses(&c->judge);
	c->options.kernel.undecided |= judge_undecided(&c->judge);
	/* First of all: it must not have what comes now. */
	e = worker_host_start();
	if (!e)
		e = kernel_open(&c->options.kernel, &c->kernel, fault);
	if (!e) {
		u32 count;
		u8 *memory = kernel_segments(c->kernel, &count);

		e = table_space_init(&c->space, memory, count);
	}
	if (!e)
		e = modules_new(&c->space, kernel_rules(c->kernel), &c->modules);
	if (!e)
		e = processes_new(c->kernel, c->modules, &c->space, &c->processes);
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

const char capture_own_note[] =
	"not root: processor time of your own processes alone; sudo adds all others, the kernel's "
	"part and what they wait for";

unsigned capture_types(const struct capture *c)
{
	return c->options.kernel.types;
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
	wakers_release(&c->wakers);
	turns_release(&c->turns);
	open_waits_release(&c->open);
	open_waits_release(&c->reopened);
	wait_stacks_release(&c->left);
	processes_free(c->processes);
	modules_free(c->modules);
	table_space_release(&c->space);
	sideband_close(c->side_band);
	kernel_close(c->kernel);
	buf_release(&c->pending);
	buf_release(&c->open_record);
	buf_release(&c->waiting);
	vec_release(&c->order);
	vec_release(&c->waiting_processes);
	mem_free(c);
}

enum err capture_choose(struct capture *c, u32 pid)
{
	return kernel_choose(c->kernel, pid);
}

enum err capture_set_targets(struct capture *c, const struct targets *t)
{
	c->judge.targets = t;
	c->judge.number++;
	TRY(kernel_choose_anew(c->kernel, judge_chooses(&c->judge), judge_undecided(&c->judge)));
	return judge_begin(&c->judge, c->kernel);
}

enum err capture_start(struct capture *c, struct fault *fault)
{
	c->window_start = (u64)clock_monotonic_ns();
	TRY(judge_begin(&c->judge, c->kernel));
	return kernel_attach(c->kernel, fault);
}

void capture_stop(struct capture *c)
{
	kernel_detach(c->kernel);
}

/* Records lie one behind the other, each padded to 8 bytes and preceded by its size. */
static enum err keep_record(struct buf *to, const struct record_head *head, u64 size)
{
	static const char padding[8];

	buf_append(to, &size, sizeof(size));
	buf_append(to, head, size);
	buf_append(to, padding, (8 - size % 8) % 8);
	return buf_error(to);
}

static const struct record_head *record_in(const struct buf *b, size_t at, u64 *ret_size)
{
	memcpy(ret_size, b->data + at, sizeof(*ret_size));
	return (const struct record_head *)(b->data + at + sizeof(*ret_size));
}

static enum err take_record(void *context, const struct record_head *head, size_t size)
{
	struct capture *c = context;
	size_t at = c->pending.n;

	/* More than there is room for in one turn: counted, as if the ring had been full. */
	if (keep_record(&c->pending, head, size) != ERR_OK) {
		c->pending.n = at;
		c->pending.error = ERR_OK;
		c->raw_dropped++;
		return ERR_OK;
	}
	return vec_push(&c->order, at);
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct buf *pending = context;
	u64 size, x = record_in(pending, *(const size_t *)a, &size)->time;
	u64 y = record_in(pending, *(const size_t *)b, &size)->time;

	return x < y ? -1 : x > y;
}

/*
 * A user address as frame: a return address counts as the call before it. Callers are mostly in the
 * same file: `*last` is the mapping of the frame before.
 */
static struct sample_frame user_frame(struct capture *c, struct process *process, u64 address,
				      bool leaf, struct process_mapping **last)
{
	u64 wanted = leaf ? address : address - 1;
	struct process_mapping *m = *last;

	if (!m || wanted < m->start || wanted >= m->end)
		m = *last = process_find(process, wanted);
	if (!m || m->module == MODULE_NONE)
		return (struct sample_frame){wanted, MODULE_NONE, 0};
	/* A file that could not be read: the offset in it still says where. */
	if (!processes_place(c->processes, m))
		return (struct sample_frame){wanted - m->start + m->file_offset, m->module, 0};
	return (struct sample_frame){wanted - m->bias, m->module, 0};
}

double capture_kept(const struct record_head *head)
{
	return -expm1(-(double)head->keep / KEEP_ONE);
}

enum err capture_add(struct capture *c, struct process *process, const struct record_head *head,
		     const u64 *user, size_t user_count, enum unwind_end end)
{
	struct sample_frame frames[RECORD_KERNEL_FRAMES_MAX + RECORD_FRAMES_MAX];
	const u64 *kernel = (const u64 *)(head + 1);
	struct sample s = {.process = process,
			   .kind = head->kind,
			   .wait_state = head->wait_state,
			   .end = (u8)end,
			   .syscall = head->syscall,
			   .frames = frames};
	struct process_mapping *last = NULL;
	double value = (double)head->value, count = 1;
	u32 n = 0;

	memcpy(s.thread, head->comm, strnlen(head->comm, sizeof(s.thread)));
	for (u32 i = 0; i < head->kernel_frames && n < RECORD_KERNEL_FRAMES_MAX; i++)
		frames[n++] = (struct sample_frame){kernel[i] - (i ? 1 : 0), MODULE_KERNEL, 0};
	for (size_t i = 0; i < user_count && n < sizeof(frames) / sizeof(frames[0]); i++)
		frames[n++] = user_frame(c, process, user[i] & FRAME_ADDRESS_MASK, i == 0, &last);
	s.frame_count = n;
	if (head->kind == RECORD_WAKER)
		return wakers_add(&c->wakers, head->wait_id, head->time, process, s.thread, frames,
				  n);
	if (head->kind == RECORD_THREAD) {
		/* A table came late: another look has told of this thread since. */
		if (head->time < c->threads_time)
			return ERR_OK;
		value = 1;
		s.syscall = -1;
	} else if (head->kind == RECORD_OPEN) {
		s.kind = RECORD_WAIT;
		s.lock = head->lock;
		count = 0;
	} else if (head->kind == RECORD_WAIT) {
		/* Kept with probability p: stands for 1/p waits like it. */
		double p = capture_kept(head);

		count = 1 / p;
		value = (value - (double)open_waits_told(&c->open, head->wait_id)) / p;
		s.lock = head->lock;
		wakers_find(&c->wakers, head->wait_id, &s);
	} else if (head->kind == RECORD_LOOP) {
		return capture_add_turn(c, head, &s);
	} else if (head->kind == RECORD_FAULT || head->kind == RECORD_MAP) {
		value /= -expm1(-value / (double)c->options.kernel.memory_mean_bytes);
		s.syscall = -1;
	} else {
		s.syscall = -1;
		s.time = head->time;
	}
	if (head->turn && s.kind != RECORD_THREAD)
		TRY(turns_add(&c->turns, head->tid, head->turn, head->time, &s, value));
	return collector_add(&c->collector, &s, value, count);
}

static enum err wait_for_tables(struct capture *c, struct process *process,
				const struct record_head *head, u64 size)
{
	size_t at = c->waiting.n;

	if (keep_record(&c->waiting, head, size) != ERR_OK) {
		c->waiting.n = at;
		c->waiting.error = ERR_OK;
		c->raw_dropped++;
		return capture_add(c, process, head,
				   (const u64 *)(head + 1) + head->kernel_frames + 16, 1,
				   UNWIND_NO_TABLE);
	}
	TRY(vec_push(&c->waiting_processes, process));
	process->references++;
	return ERR_OK;
}

enum err capture_walk_raw(struct capture *c, struct process *process,
			  const struct record_head *head, u64 size, bool may_wait)
{
	u64 addresses[RECORD_FRAMES_MAX];
	size_t n;
	enum unwind_end end = raw_stack_walk(c->processes, c->modules, process, head, addresses,
					     RECORD_FRAMES_MAX, &n);

	if (end == UNWIND_UNMAPPED && may_wait) {
		processes_reread(c->processes, process, c->now);
		end = raw_stack_walk(c->processes, c->modules, process, head, addresses,
				     RECORD_FRAMES_MAX, &n);
	}
	if (end == UNWIND_NO_TABLE && may_wait)
		return wait_for_tables(c, process, head, size);
	c->raw_walked++;
	/* Only as much of the stack was copied: what is missing is cut, not wrong. */
	if (end == UNWIND_BAD_MEMORY && head->stack_size == RECORD_RAW_STACK)
		end = UNWIND_CUT;
	return capture_add(c, process, head, addresses, n, end);
}

static enum err handle(struct capture *c, const struct record_head *head, u64 size);

/* A thread came back whose stack was sent when it left. */
static enum err join_stack(struct capture *c, const struct record_head *head,
			   struct process *process)
{
	size_t size;
	struct record_head *whole = wait_stacks_take(&c->left, head->wait_id, &size);
	enum err e;

	if (!head->value) {
		mem_free(whole);
		return ERR_OK;
	}
	/* There was no room for it, here or in the ring. */
	if (!whole)
		return capture_add(c, process, head, NULL, 0, UNWIND_NO_TABLE);
	whole->kind = RECORD_WAIT;
	whole->time = head->time;
	whole->value = head->value;
	whole->keep = head->keep;
	whole->turn = head->turn;
	e = handle(c, whole, size);
	mem_free(whole);
	return e;
}

static enum err handle(struct capture *c, const struct record_head *head, u64 size)
{
	struct process *process;
	bool wanted;

	TRY(processes_get(c->processes, head->pid, &process));
	if (!process->comm[0])
		memcpy(process->comm, head->comm, sizeof(process->comm));
	if (!(head->flags & RECORD_APART))
		process->kernel = head->flags & RECORD_KERNEL_THREAD;
	/* First seen when its memory was gone already: nobody will tell its end again. */
	if (head->flags == RECORD_NO_USER && !process->mappings.n && !process->ended)
		process->ended = head->time;
	TRY(judge_process(&c->judge, c->kernel, c->processes, process, &wanted));
	/* Whoever wakes somebody that is wanted is told of, wanted or not. */
	if (!wanted && head->kind != RECORD_WAKER)
		return ERR_OK;
	if (head->flags & RECORD_APART)
		return join_stack(c, head, process);
	/* Also when it was not sent raw: others may use up all that may be sent so. */
	if (!(head->flags & RECORD_NO_USER))
		processes_want(c->processes, process, (u32)head->address_space);
	if (head->kind == RECORD_LEFT)
		return wait_stacks_add(&c->left, head, size);
	if (head->flags & RECORD_NO_USER)
		return capture_add(c, process, head, NULL, 0, UNWIND_ROOT);
	if (!(head->flags & RECORD_RAW))
		return capture_add(c, process, head, (const u64 *)(head + 1) + head->kernel_frames,
				   head->user_frames, head->end);
	return capture_walk_raw(c, process, head, size, true);
}

static enum err apply_events(struct capture *c, u64 until)
{
	const struct sideband_event *event;

	while ((event = sideband_next(c->side_band, until))) {
		TRY(processes_event(c->processes, event));
		judge_event(&c->judge, c->kernel, event);
	}
	return ERR_OK;
}

/* What waited, as far as its tables have come; `last` = now or never. */
static enum err retry_waiting(struct capture *c, bool last)
{
	CLEANUP(buf_release) struct buf old = c->waiting;
	size_t at = 0, i = 0, n = c->waiting_processes.n;
	enum err e = ERR_OK;

	c->waiting = BUF_INIT(c->options.waiting_bytes);
	for (; i < n && !e; i++) {
		u64 size;
		const struct record_head *head = record_in(&old, at, &size);
		struct process *process = c->waiting_processes.v[i];

		at += sizeof(size) + (size + 7) / 8 * 8;
		process->references--;
		e = capture_walk_raw(c, process, head, size, !last);
	}
	if (i)
		memmove(c->waiting_processes.v, c->waiting_processes.v + i,
			(c->waiting_processes.n - i) * sizeof(*c->waiting_processes.v));
	c->waiting_processes.n -= i;
	return e;
}

/* What was lost may have been anything, of anybody. */
static void mend_loss(struct capture *c)
{
	u64 lost = sideband_lost(c->side_band);

	if (lost == c->lost_before)
		return;
	c->lost_before = lost;
	c->reread += processes_reread_all(c->processes, c->now);
}

enum err capture_turn(struct capture *c)
{
	bool changed;

	c->now = (u64)clock_monotonic_ns();
	/* A window has just ended: no stack refers to a module that its process does not map. */
	if (!c->collector.list.n)
		modules_tidy(c->modules, c->now);
	buf_clear(&c->pending);
	c->order.n = 0;
	/* Records first, side band second: all that led to a record is then known. */
	TRY(kernel_drain(c->kernel, c, take_record));
	TRY(kernel_turn_clocks(c->kernel, c->now));
	TRY(sideband_follow(c->side_band, c->wake, c->now));
	TRY(sideband_collect(c->side_band));
	if (c->order.n)
		qsort_r(c->order.v, c->order.n, sizeof(*c->order.v), by_time, &c->pending);
	changed = modules_settle(c->modules);
	if (changed && c->waiting_processes.n)
		TRY(retry_waiting(c, false));
	vec_for_each (at, &c->order) {
		u64 size;
		const struct record_head *head = record_in(&c->pending, *at, &size);

		TRY(apply_events(c, head->time));
		TRY(handle(c, head, size));
	}
	TRY(apply_events(c, UINT64_MAX));
	mend_loss(c);
	TRY(wakers_settle(&c->wakers, c->now - WAKER_LIFE_NS));
	TRY(capture_settle_turns(c));
	TRY(capture_look_at_threads(c));
	TRY(processes_settle(c->processes, changed));
	table_space_settle(&c->space);
	if (c->pending.cap > PENDING_KEPT)
		buf_release(&c->pending);
	return ERR_OK;
}

enum err capture_finish(struct capture *c, u64 limit_ns)
{
	int64_t deadline = clock_monotonic_ns() + (int64_t)limit_ns;

	TRY(capture_turn(c));
	while (modules_pending(c->modules) && clock_monotonic_ns() < deadline) {
		clock_sleep_ns(5 * NS_PER_MS);
		modules_settle(c->modules);
	}
	return retry_waiting(c, true);
}

struct collector *capture_collector(struct capture *c)
{
	return &c->collector;
}

struct modules *capture_modules(struct capture *c)
{
	return c->modules;
}

struct kernel_side *capture_kernel(struct capture *c)
{
	return c->kernel;
}

void capture_stats(const struct capture *c, struct capture_stats *ret)
{
	*ret = (struct capture_stats){.side_band_lost = sideband_lost(c->side_band),
				      .reread = c->reread,
				      .raw_walked = c->raw_walked,
				      .raw_dropped = c->raw_dropped,
				      .processes = processes_count(c->processes),
				      .table_bytes = c->space.used_bytes};
	modules_stats(c->modules, &ret->modules);
	kernel_count(c->kernel, &ret->kernel);
}
