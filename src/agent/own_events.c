#include "agent/own_events.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "agent/cpu_clocks.h"
#include "agent/own_rings.h"
#include "agent/own_sample.h"
#include "agent/own_scan.h"
#include "agent/own_tasks.h"
#include "agent/proc_maps.h"
#include "base/clock.h"
#include "base/hash.h"

/* How often processes are looked for that nobody who is followed began. */
#define SCAN_NS	   (2 * NS_PER_S)
/* A thread may begin others while its process's threads are listed. */
#define LIST_TRIES 3
#define TICK_NS	   ((u64)10 * NS_PER_MS)

struct own_root {
	int *fds; /* one per ring; NULL = the place is free */
};

struct own_events {
	struct own_options options;
	struct own_rings rings;
	struct own_tasks tasks;
	VEC(struct own_root) roots;
	VEC(u32) unused; /* places in roots */
	struct buf sample;
	struct kernel_counters counters;
	bool kernel; /* this user may see the kernel's part */
	bool on;
	int64_t next_scan;
	u64 random; /* the periods' */
	/* While draining. */
	struct sideband *side_band;
	void *context;
	enum err (*record)(void *context, const struct record_head *head, size_t size);
};

static struct perf_event_attr attributes(u64 period_ns, bool kernel)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.sample_type = OWN_SAMPLE_TYPE | (kernel ? PERF_SAMPLE_CALLCHAIN : 0),
		.sample_regs_user = OWN_SAMPLE_REGISTERS,
		.sample_stack_user = RECORD_RAW_STACK,
		.sample_id_all = 1,
		.exclude_callchain_user = kernel,
		.exclude_kernel = !kernel,
		.exclude_hv = 1,
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

static bool may_open(bool kernel)
{
	struct perf_event_attr attr = attributes(NS_PER_S, kernel);
	int fd = own_event_open(&attr, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

enum err own_events_allowed(struct fault *fault)
{
	struct own_rings rings;
	enum err e = own_rings_open(&rings, fault);

	own_rings_close(&rings);
	return e;
}

/* Every thread takes a file per processor. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	/* Without it fewer are followed. */
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return;
}

enum err own_events_new(const struct own_options *options, struct own_events **ret,
			struct fault *fault)
{
	struct own_events *o = mem_zalloc(1, sizeof(*o));
	enum err e;

	if (!o)
		return ERR_NO_MEMORY;
	o->options = *options;
	o->random = hash_random_seed();
	o->sample = BUF_INIT(65536 + sizeof(struct record_head));
	e = own_rings_open(&o->rings, fault);
	if (e) {
		own_events_free(o);
		return e;
	}
	o->kernel = may_open(true);
	raise_file_limit();
	*ret = o;
	return ERR_OK;
}

static void close_root(struct own_events *o, u32 root)
{
	for (size_t i = 0; i < o->rings.list.n; i++)
		if (o->roots.v[root].fds[i] >= 0)
			close(o->roots.v[root].fds[i]);
	mem_free(o->roots.v[root].fds);
	o->roots.v[root].fds = NULL;
}

static void close_roots(struct own_events *o)
{
	for (u32 i = 0; i < o->roots.n; i++)
		if (o->roots.v[i].fds)
			close_root(o, i);
	o->roots.n = o->unused.n = 0;
}

void own_events_free(struct own_events *o)
{
	if (!o)
		return;
	close_roots(o);
	vec_release(&o->roots);
	vec_release(&o->unused);
	own_tasks_release(&o->tasks);
	own_rings_close(&o->rings);
	buf_release(&o->sample);
	mem_free(o);
}

static enum err open_events(struct own_events *o, u32 tid, int *fds)
{
	u64 period = cpu_clock_draw(o->options.period_ns, &o->random);
	struct perf_event_attr attr = attributes(period, o->kernel);

	attr.disabled = !o->on;
	for (size_t i = 0; i < o->rings.list.n; i++)
		fds[i] = -1;
	for (size_t i = 0; i < o->rings.list.n; i++) {
		fds[i] = own_event_open(&attr, tid, o->rings.list.v[i].cpu);
		if (fds[i] < 0 && errno == ESRCH)
			return ERR_NOT_FOUND;
		if (fds[i] < 0 || ioctl(fds[i], PERF_EVENT_IOC_SET_OUTPUT, o->rings.list.v[i].fd))
			return errno == EACCES ? ERR_NO_PERMISSION : err_from_errno(errno);
	}
	return ERR_OK;
}

static enum err place_root(struct own_events *o, u32 *ret)
{
	if (o->unused.n) {
		*ret = o->unused.v[--o->unused.n];
		return ERR_OK;
	}
	*ret = (u32)o->roots.n;
	return vec_push(&o->roots, ((struct own_root){NULL}));
}

static u64 boot_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (u64)t.tv_sec * NS_PER_S + (u64)t.tv_nsec;
}

static enum err follow_thread(struct own_events *o, u32 pid, u32 tid)
{
	struct own_task task = {.tid = tid, .pid = pid, .since = boot_time()};
	enum err e;

	TRY(place_root(o, &task.root));
	o->roots.v[task.root].fds = mem_zalloc(o->rings.list.n, sizeof(int));
	e = o->roots.v[task.root].fds ? open_events(o, tid, o->roots.v[task.root].fds)
				      : ERR_NO_MEMORY;
	if (!e) {
		proc_comm_read(tid, task.comm);
		e = own_tasks_add(&o->tasks, &task);
	}
	if (e) {
		if (o->roots.v[task.root].fds)
			close_root(o, task.root);
		TRY(vec_push(&o->unused, task.root));
	}
	return e;
}

struct listing {
	struct own_events *o;
	u32 pid, found, followed;
	enum err refused;
};

static enum err list_thread(void *context, u32 tid)
{
	struct listing *l = context;
	enum err e;

	if (own_tasks_find(&l->o->tasks, tid))
		return ERR_OK;
	l->found++;
	e = follow_thread(l->o, l->pid, tid);
	if (e == ERR_NO_MEMORY)
		return e;
	if (e)
		l->refused = e;
	else
		l->followed++;
	return ERR_OK;
}

enum err own_events_follow(struct own_events *o, u32 pid)
{
	struct listing l = {.o = o, .pid = pid};
	u32 followed = 0;
	enum err e;

	for (int i = 0; i < LIST_TRIES; i++) {
		l.found = l.followed = 0;
		e = scan_threads(pid, &l, list_thread);
		followed += l.followed;
		if (e || !l.followed)
			break;
	}
	return followed && e != ERR_NO_MEMORY ? ERR_OK : e ? e : l.refused;
}

/* One that was begun by somebody who is followed has inherited the event. */
static bool inherited(struct own_events *o, u32 pid)
{
	struct own_task *parent;
	u32 parent_pid;
	u64 start;

	if (!stat_read(pid, &parent_pid, &start))
		return true;
	parent = own_tasks_find(&o->tasks, parent_pid);
	return parent && start + TICK_NS > parent->since;
}

static enum err follow_new(void *context, u32 pid)
{
	struct own_events *o = context;
	enum err e;

	if (own_tasks_find(&o->tasks, pid) || inherited(o, pid))
		return ERR_OK;
	e = own_events_follow(o, pid);
	return e == ERR_NO_MEMORY ? e : ERR_OK;
}

static enum err forget_task(struct own_events *o, u32 tid)
{
	u32 root;

	if (!own_tasks_remove(&o->tasks, tid, &root))
		return ERR_OK;
	close_root(o, root);
	return vec_push(&o->unused, root);
}

/* The end of one may have been lost, or read before its beginning. */
static enum err forget_ended(struct own_events *o)
{
	for (size_t i = o->tasks.list.n; i-- > 0;) {
		char path[60];

		snprintf(path, sizeof(path), "/proc/%u/task/%u", o->tasks.list.v[i].pid,
			 o->tasks.list.v[i].tid);
		if (access(path, F_OK))
			TRY(forget_task(o, o->tasks.list.v[i].tid));
	}
	return ERR_OK;
}

static enum err scan_when_due(struct own_events *o)
{
	int64_t now = clock_monotonic_ns();

	if (!o->options.everything || !o->on || now < o->next_scan)
		return ERR_OK;
	o->next_scan = now + SCAN_NS;
	TRY(forget_ended(o));
	return scan_processes(geteuid(), o, follow_new);
}

void own_events_switch(struct own_events *o, bool on)
{
	o->on = on;
	o->next_scan = 0;
	vec_for_each (root, &o->roots)
		for (size_t i = 0; root->fds && i < o->rings.list.n; i++)
			ioctl(root->fds[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

enum err own_events_begin_anew(struct own_events *o, bool everything)
{
	close_roots(o);
	own_tasks_release(&o->tasks);
	o->options.everything = everything;
	o->next_scan = 0;
	return ERR_OK;
}

/* A period given to an event does not reach those who inherited it: all are made anew. */
enum err own_events_set_period(struct own_events *o, u64 period_ns)
{
	struct own_tasks old = o->tasks;
	enum err e = ERR_OK;

	o->options.period_ns = period_ns;
	o->tasks = (struct own_tasks){0};
	close_roots(o);
	vec_for_each (task, &old.list)
		if (!e && task->tid == task->pid) {
			e = own_events_follow(o, task->pid);
			if (e != ERR_NO_MEMORY)
				e = ERR_OK;
		}
	own_tasks_release(&old);
	return e;
}

enum err own_events_watch(const struct own_events *o, int epoll)
{
	vec_for_each (ring, &o->rings.list) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLET};

		if (epoll_ctl(epoll, EPOLL_CTL_ADD, ring->fd, &event))
			return err_from_errno(errno);
	}
	return ERR_OK;
}

static enum err take_sample(struct own_events *o, const struct perf_event_header *h)
{
	struct record_head *head;
	struct own_task *task;

	if (!own_sample_parse(h, o->kernel, &o->sample))
		return ERR_OK;
	head = (struct record_head *)o->sample.data;
	task = own_tasks_find(&o->tasks, head->tid);
	if (task)
		memcpy(head->comm, task->comm, sizeof(head->comm));
	else
		proc_comm_read(head->tid, head->comm);
	o->counters.samples++;
	o->counters.raw++;
	return o->record(o->context, head, o->sample.n);
}

/* FORK and EXIT: process, parent, thread, parent's thread. */
static enum err take_task(struct own_events *o, const struct perf_event_header *h)
{
	struct own_task *parent, child = {.since = boot_time()};
	u32 ids[4];

	if (h->size < sizeof(*h) + sizeof(ids))
		return ERR_OK;
	memcpy(ids, h + 1, sizeof(ids));
	if (h->type == PERF_RECORD_EXIT)
		return forget_task(o, ids[2]);
	parent = own_tasks_find(&o->tasks, ids[3]);
	if (!parent)
		return ERR_OK;
	child.tid = ids[2];
	child.pid = ids[0];
	child.root = parent->root;
	memcpy(child.comm, parent->comm, sizeof(child.comm));
	return own_tasks_add(&o->tasks, &child);
}

static void take_name(struct own_events *o, const struct perf_event_header *h)
{
	const char *name = (const char *)(h + 1) + 8, *end = (const char *)h + h->size;
	struct own_task *task;
	u32 ids[2];

	if (h->size < sizeof(*h) + sizeof(ids))
		return;
	memcpy(ids, h + 1, sizeof(ids));
	task = own_tasks_find(&o->tasks, ids[1]);
	if (!task)
		return;
	memset(task->comm, 0, sizeof(task->comm));
	for (size_t i = 0; name < end && *name && i < sizeof(task->comm) - 1; i++)
		task->comm[i] = *name++;
}

static enum err take(void *context, const struct perf_event_header *h)
{
	struct own_events *o = context;

	if (h->type == PERF_RECORD_SAMPLE)
		return take_sample(o, h);
	if (h->type == PERF_RECORD_FORK || h->type == PERF_RECORD_EXIT)
		TRY(take_task(o, h));
	else if (h->type == PERF_RECORD_COMM)
		take_name(o, h);
	return sideband_add(o->side_band, h);
}

enum err own_events_drain(struct own_events *o, struct sideband *side_band, void *context,
			  enum err (*record)(void *context, const struct record_head *head,
					     size_t size))
{
	o->side_band = side_band;
	o->context = context;
	o->record = record;
	TRY(own_rings_read(&o->rings, o, take));
	o->counters.dropped = sideband_lost(side_band);
	return scan_when_due(o);
}

void own_events_count(const struct own_events *o, struct kernel_counters *ret)
{
	*ret = o->counters;
}

u64 own_events_bytes(const struct own_events *o)
{
	return o->rings.list.n * (o->rings.page_size + o->rings.data_size);
}
