#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "agent/confine.h"
#include "agent/cpu_clocks.h"
#include "agent/own_internal.h"
#include "agent/own_sample.h"
#include "agent/own_scan.h"
#include "agent/proc_maps.h"
#include "base/clock.h"

/* Interval for finding processes whose parent is not followed. */
#define SCAN_NS	   (2 * NS_PER_S)
/* A thread may begin others while its process's threads are listed. */
#define LIST_TRIES 3
#define TICK_NS	   ((u64)10 * NS_PER_MS)

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

bool own_kernel_allowed(void)
{
	struct perf_event_attr attr = attributes(NS_PER_S, true);
	int fd = own_event_open(&attr, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void close_root(struct own_events *o, u32 root)
{
	for (size_t i = 0; i < o->rings.list.n; i++)
		if (o->roots.v[root].fds[i] >= 0)
			close(o->roots.v[root].fds[i]);
	mem_free(o->roots.v[root].fds);
	o->roots.v[root].fds = NULL;
}

void own_roots_close(struct own_events *o)
{
	for (u32 i = 0; i < o->roots.n; i++)
		if (o->roots.v[i].fds)
			close_root(o, i);
	o->roots.n = o->unused.n = 0;
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

u64 own_boot_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (u64)t.tv_sec * NS_PER_S + (u64)t.tv_nsec;
}

static enum err follow_thread(struct own_events *o, u32 pid, u32 tid)
{
	struct own_task task = {.tid = tid, .pid = pid, .since = own_boot_time()};
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

/* A child of a followed process has inherited the event. */
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

enum err own_forget(struct own_events *o, u32 tid)
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
			TRY(own_forget(o, o->tasks.list.v[i].tid));
	}
	return ERR_OK;
}

enum err own_scan(struct own_events *o)
{
	int64_t now = clock_monotonic_ns();

	if (!o->options.everything || !o->on || now < o->next_scan)
		return ERR_OK;
	o->next_scan = now + SCAN_NS;
	TRY(forget_ended(o));
	return scan_processes(confine_first_uid(), o, follow_new);
}
