#include <errno.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "agent/own_internal.h"
#include "agent/own_sample.h"
#include "agent/proc_maps.h"
#include "base/hash.h"

enum err own_events_allowed(struct fault *fault)
{
	struct own_rings rings;
	enum err e = own_rings_open(&rings, fault);

	own_rings_close(&rings);
	return e;
}

/* Every thread needs a descriptor per CPU. */
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
	o->kernel = own_kernel_allowed();
	raise_file_limit();
	*ret = o;
	return ERR_OK;
}

void own_events_free(struct own_events *o)
{
	if (!o)
		return;
	own_roots_close(o);
	vec_release(&o->roots);
	vec_release(&o->unused);
	own_tasks_release(&o->tasks);
	own_rings_close(&o->rings);
	buf_release(&o->sample);
	mem_free(o);
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
	own_roots_close(o);
	own_tasks_release(&o->tasks);
	o->options.everything = everything;
	o->next_scan = 0;
	return ERR_OK;
}

/* Changing the period of an event does not affect inherited ones, so all are reopened. */
enum err own_events_set_period(struct own_events *o, u64 period_ns)
{
	struct own_tasks old = o->tasks;
	enum err e = ERR_OK;

	o->options.period_ns = period_ns;
	o->tasks = (struct own_tasks){0};
	own_roots_close(o);
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
	struct own_task *parent, child = {.since = own_boot_time()};
	u32 ids[4];

	if (h->size < sizeof(*h) + sizeof(ids))
		return ERR_OK;
	memcpy(ids, h + 1, sizeof(ids));
	if (h->type == PERF_RECORD_EXIT)
		return own_forget(o, ids[2]);
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
	return own_scan(o);
}

void own_events_count(const struct own_events *o, struct kernel_counters *ret)
{
	*ret = o->counters;
}

u64 own_events_bytes(const struct own_events *o)
{
	return o->rings.list.n * (o->rings.page_size + o->rings.data_size);
}
