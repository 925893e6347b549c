#include "agent/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/event_gate.h"
#include "agent/processors.h"
#include "agent/sideband_records.h"
#include "base/clock.h"
#include "base/vec.h"

enum ring_kind { RING_TASKS, RING_MAPS, RING_KINDS };

struct cpu_ring {
	int cpu, fd;
	enum ring_kind kind;
	u64 time_before;		   /* see processor_event_lives */
	struct perf_event_mmap_page *page; /* followed by the data */
	u64 credit, credit_time;	   /* bytes that may be read */
	u64 stopped_until;		   /* 0 = it is written to */
};

struct read_event {
	struct sideband_event event;
	size_t name_at; /* in `text` */
	size_t name_size;
	size_t order;
};

struct sideband {
	VEC(struct cpu_ring) rings;
	VEC(struct read_event) events;
	struct buf text, record;
	size_t next; /* event to be handed out */
	size_t data_size, page_size;
	u64 lost, stops;
	u64 next_look; /* at which processors there are */
	struct event_gate gate;
	VEC(u32) offenders;
	size_t next_offender;
	u64 now;
};

/* Interval for checking the online CPUs. */
#define LOOK_NS	      ((u64)2 * NS_PER_S)
/*
 * Limits of bytes read from a ring, at once and per second. A process with ten mappings takes about
 * 2 KB. More would exceed the agent's budget.
 */
#define RING_BURST    ((u64)1 << 20)
#define RING_RATE     ((u64)64 << 10)
#define RING_STOP_NS  ((u64)NS_PER_S)
/* Processes reported individually; further ones are only counted. */
#define OFFENDERS_MAX 64u
/* Names of one read: enough for a ring full of the longest names on every CPU. */
#define TEXT_CEILING  ((size_t)64 << 20)

static void close_ring(const struct sideband *s, const struct cpu_ring *ring)
{
	munmap(ring->page, s->page_size + s->data_size);
	close(ring->fd);
}

static enum err open_ring(struct sideband *s, int cpu, enum ring_kind kind, struct fault *fault)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		/* Only executable mappings. */
		.mmap = kind == RING_MAPS,
		.mmap2 = kind == RING_MAPS,
		.comm = kind == RING_TASKS,
		.comm_exec = kind == RING_TASKS,
		.task = kind == RING_TASKS,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (u32)(s->data_size / 2),
		.read_format = PROCESSOR_EVENT_FORMAT,
	};
	struct cpu_ring ring = {.cpu = cpu, .kind = kind, .credit = RING_BURST};
	enum err e;

	ring.fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring.fd < 0 && errno == ENODEV)
		return ERR_OK;
	if (ring.fd < 0)
		return fault_set(fault, err_from_errno(errno),
				 "processes cannot be followed on CPU %d: %s", cpu,
				 strerror(errno));
	ring.page = mmap(NULL, s->page_size + s->data_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 ring.fd, 0);
	if (ring.page == MAP_FAILED) {
		close(ring.fd);
		return fault_set(fault, ERR_NO_MEMORY, "no memory to follow processes: %s",
				 strerror(errno));
	}
	ring.credit_time = (u64)clock_monotonic_ns();
	e = vec_push(&s->rings, ring);
	if (e)
		close_ring(s, &ring);
	return e;
}

static enum err open_rings(struct sideband *s, int cpu, struct fault *fault)
{
	for (unsigned kind = 0; kind < RING_KINDS; kind++)
		TRY(open_ring(s, cpu, (enum ring_kind)kind, fault));
	return ERR_OK;
}

enum err sideband_open(u32 ring_pages, struct sideband **ret, struct fault *fault)
{
	struct sideband *s = mem_zalloc(1, sizeof(*s));
	struct processors online;
	enum err e = ERR_OK;

	if (!s)
		return ERR_NO_MEMORY;
	s->page_size = (size_t)sysconf(_SC_PAGESIZE);
	s->data_size = ring_pages * s->page_size;
	s->text = BUF_INIT(TEXT_CEILING);
	s->record = BUF_INIT(65536);
	processors_read(&online);
	for (int cpu = 0; ring_pages && !e && cpu < PROCESSORS_MAX; cpu++)
		if (processors_have(&online, cpu))
			e = open_rings(s, cpu, fault);
	if (e) {
		sideband_close(s);
		return e;
	}
	*ret = s;
	return ERR_OK;
}

void sideband_close(struct sideband *s)
{
	if (!s)
		return;
	vec_for_each (ring, &s->rings)
		close_ring(s, ring);
	vec_release(&s->rings);
	vec_release(&s->events);
	vec_release(&s->offenders);
	buf_release(&s->text);
	buf_release(&s->record);
	mem_free(s);
}

static enum err watch_ring(const struct cpu_ring *ring, int epoll)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, ring->fd, &event) ? err_from_errno(errno) : ERR_OK;
}

enum err sideband_watch(const struct sideband *s, int epoll)
{
	vec_for_each (ring, &s->rings)
		TRY(watch_ring(ring, epoll));
	return ERR_OK;
}

static void forget_handed_out(struct sideband *s)
{
	if (s->next < s->events.n)
		return;
	s->events.n = 0;
	s->next = 0;
	buf_clear(&s->text);
}

/* Begins and ends of processes always: they are what everything else hangs on. */
static bool may_pass(struct sideband *s, const struct sideband_event *e)
{
	bool first, passes;

	if (e->kind != SIDEBAND_MAP && e->kind != SIDEBAND_COMM)
		return true;
	passes = event_gate_pass(&s->gate, e->pid, s->now, &first);
	if (first && s->offenders.n < OFFENDERS_MAX)
		/* Without memory it is counted and not named. */
		(void)!vec_push(&s->offenders, e->pid);
	return passes;
}

bool sideband_offender(struct sideband *s, u32 *ret_pid)
{
	if (s->next_offender == s->offenders.n) {
		s->next_offender = s->offenders.n = 0;
		return false;
	}
	*ret_pid = s->offenders.v[s->next_offender++];
	return true;
}

void sideband_stats(const struct sideband *s, struct sideband_stats *ret)
{
	*ret = (struct sideband_stats){.lost = s->lost, .shut = s->gate.shut, .stops = s->stops};
}

enum err sideband_add(struct sideband *s, const struct perf_event_header *h)
{
	struct read_event r;

	forget_handed_out(s);
	r = (struct read_event){.order = s->events.n};
	if (!sideband_record_parse(h, &r.event, &s->lost) || !may_pass(s, &r.event))
		return ERR_OK;
	r.name_at = s->text.n;
	r.name_size = r.event.name.n;
	buf_str(&s->text, r.event.name);
	TRY(buf_error(&s->text));
	return vec_push(&s->events, r);
}

/* The kernel counts records as lost meanwhile. */
static void stop_ring(struct sideband *s, struct cpu_ring *ring)
{
	if (ioctl(ring->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1))
		return;
	ring->stopped_until = s->now + RING_STOP_NS;
	s->stops++;
}

static void count_credit(struct sideband *s, struct cpu_ring *ring, u64 used)
{
	u64 more = (s->now - ring->credit_time) * RING_RATE / NS_PER_S;

	if (more) {
		ring->credit += more;
		ring->credit_time = s->now;
	}
	if (ring->credit > RING_BURST)
		ring->credit = RING_BURST;
	ring->credit -= used < ring->credit ? used : ring->credit;
	if (ring->stopped_until && s->now >= ring->stopped_until) {
		(void)ioctl(ring->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
		ring->stopped_until = 0;
	} else if (!ring->stopped_until && !ring->credit) {
		stop_ring(s, ring);
	}
}

/* Skip mappings of a process above its limit without parsing: there may be a hundred thousand. */
static bool is_shut_out(struct sideband *s, const struct perf_event_header *h)
{
	u32 pid;

	if (h->type != PERF_RECORD_MMAP2 || h->size < sizeof(*h) + sizeof(pid))
		return false;
	memcpy(&pid, h + 1, sizeof(pid));
	if (!event_gate_shut(&s->gate, pid, s->now))
		return false;
	s->gate.shut++;
	return true;
}

static enum err read_ring(struct sideband *s, struct cpu_ring *ring)
{
	const char *data = (const char *)ring->page + s->page_size;
	u64 head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	u64 tail = ring->page->data_tail, begun = tail;
	enum err e = ERR_OK;

	while (!e && tail < head) {
		const struct perf_event_header *h =
			sideband_record_at(data, s->data_size, tail, head, &s->record);

		if (!h) {
			tail = head;
			break;
		}
		tail += h->size;
		if (!is_shut_out(s, h))
			e = sideband_add(s, h);
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	count_credit(s, ring, tail - begun);
	return e;
}

static int by_time(const void *a, const void *b)
{
	const struct read_event *x = a, *y = b;

	if (x->event.time != y->event.time)
		return x->event.time < y->event.time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

enum err sideband_collect(struct sideband *s)
{
	forget_handed_out(s);
	s->now = (u64)clock_monotonic_ns();
	vec_for_each (ring, &s->rings)
		TRY(read_ring(s, ring));
	if (s->events.n)
		qsort(s->events.v, s->events.n, sizeof(*s->events.v), by_time);
	vec_for_each (r, &s->events)
		r->event.name = str_n(s->text.data + r->name_at, r->name_size);
	return ERR_OK;
}

/* Closes rings of CPUs that went offline, and those that stopped because of it, after reading
 * them. */
static enum err drop_dead(struct sideband *s, const struct processors *online)
{
	size_t kept = 0;
	enum err e = ERR_OK;

	vec_for_each (ring, &s->rings) {
		if (processors_have(online, ring->cpu) &&
		    processor_event_lives(ring->fd, &ring->time_before)) {
			s->rings.v[kept++] = *ring;
			continue;
		}
		if (!e)
			e = read_ring(s, ring);
		close_ring(s, ring);
		/* Events on it since then were missed. */
		s->lost++;
	}
	s->rings.n = kept;
	return e;
}

static bool has_ring(const struct sideband *s, int cpu)
{
	vec_for_each (ring, &s->rings)
		if (ring->cpu == cpu)
			return true;
	return false;
}

enum err sideband_follow(struct sideband *s, int epoll, u64 now)
{
	struct processors online;

	if (!s->data_size || now < s->next_look)
		return ERR_OK;
	s->next_look = now + LOOK_NS;
	processors_read(&online);
	TRY(drop_dead(s, &online));
	for (int cpu = 0; cpu < PROCESSORS_MAX; cpu++) {
		size_t before = s->rings.n;

		/* Failures are retried at the next check. */
		if (!processors_have(&online, cpu) || has_ring(s, cpu) ||
		    open_rings(s, cpu, NULL) != ERR_OK || s->rings.n == before)
			continue;
		s->lost++;
		for (; before < s->rings.n; before++)
			TRY(watch_ring(&s->rings.v[before], epoll));
	}
	return ERR_OK;
}

const struct sideband_event *sideband_next(struct sideband *s, u64 until)
{
	if (s->next >= s->events.n || s->events.v[s->next].event.time > until)
		return NULL;
	return &s->events.v[s->next++].event;
}

u64 sideband_lost(const struct sideband *s)
{
	return s->lost;
}
