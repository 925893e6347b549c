#include "agent/kernel_side.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent.skel.h"
#include "agent/cpu_clocks.h"
#include "agent/own_events.h"
#include "agent/thread_records.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"

struct kernel_link {
	struct bpf_link *link;
	bool wait; /* FOR_WAITS */
};

struct kernel_side {
	struct kernel_options options;
	struct agent_bpf *skeleton;
	struct own_events *own; /* in place of the programs */
	bool returns;		/* threads that come back are seen: kernel_sees_returns */
	struct sideband *told;
	struct ring_buffer *ring;
	u8 *segments;
	struct unwind_rule *rules;
	struct cpu_clocks clocks;
	VEC(struct kernel_link) links;
	bool waits_off;		  /* see kernel_switch_waits */
	struct bpf_link *threads; /* over which threads are looked at; NULL = not */
	/* While draining. */
	void *context;
	enum err (*record)(void *context, const struct record_head *head, size_t size);
	enum err error;
};

/* The ring's part that is filled when the agent is woken. */
#define WAKE_SHARE    4
/* Whose memory is followed at one time. */
#define MAX_PROCESSES 4096

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static size_t segment_bytes(const struct kernel_side *k)
{
	return (size_t)k->options.table_mib * UNWIND_SEGMENT_SIZE;
}

static enum err load_fault(int error, struct fault *fault)
{
	if (error == EPERM || error == EACCES)
		return fault_set(fault, ERR_NO_PERMISSION,
				 "the kernel does not let this user load programs: run as root, or "
				 "with CAP_BPF and CAP_PERFMON");
	return fault_set(fault, ERR_UNSUPPORTED,
			 "the kernel refused the programs (%s): 5.17 or newer with BTF is needed",
			 strerror(error));
}

static int on_ring_record(void *context, void *data, size_t size)
{
	struct kernel_side *k = context;
	const struct record_head *head = data;
	size_t words = (size - sizeof(*head)) / 8;

	/* Our own program wrote it; a length that does not fit would be a bug of ours. */
	if (size < sizeof(*head) || k->error)
		return 0;
	if (head->flags & RECORD_RAW ? (size_t)head->kernel_frames + RECORD_REGISTERS > words
				     : (size_t)head->kernel_frames + head->user_frames > words)
		return 0;
	k->error = k->record(k->context, head, size);
	return 0;
}

/*
 * Whether something of the kernel runs in a thread that came back to its processor: from there its
 * stack can be read. (The variable is for tests of the other way, on kernels that have it.)
 */
bool kernel_sees_returns(void)
{
	return !getenv("VESTAL_NO_SCHED_EXIT") &&
	       libbpf_find_vmlinux_btf_id("sched_exit_tp", BPF_TRACE_RAW_TP) > 0;
}

/* The timer's and the threads' programs are attached in ways of their own. */
enum attach { ELSEWHERE, ATTACHED, FOR_WAITS };

/* Who needs which program. Those FOR_WAITS alone run with every switch of threads. */
struct need {
	struct bpf_program *program;
	bool load;
	enum attach attach;
};

#define NEEDS_MAX 20

static size_t needs_of(const struct kernel_side *k, struct need needs[NEEDS_MAX])
{
	struct agent_bpf *s = k->skeleton;
	unsigned types = k->options.types;
	bool waits = capture_needs_waits(types), mapped = types & CAPTURE_MAPPED,
	     loops = types & CAPTURE_LOOPS;
	const struct need all[] = {
		{s->progs.on_timer, capture_needs_timer(types), ELSEWHERE},
		{s->progs.on_thread, waits || types & CAPTURE_THREADS, ELSEWHERE},
		{s->progs.on_fork, true, ATTACHED},
		{s->progs.on_exec, true, ATTACHED},
		{s->progs.on_return, waits && k->returns, FOR_WAITS},
		{s->progs.on_waking, waits, FOR_WAITS},
		{s->progs.on_exit, waits, ATTACHED},
		{s->progs.on_switch, waits && k->returns, FOR_WAITS},
		{s->progs.on_switch_alone, waits && !k->returns, FOR_WAITS},
		{s->progs.on_pages, types & CAPTURE_FAULTS, ATTACHED},
		{s->progs.on_mmap, mapped, ATTACHED},
		{s->progs.on_mremap, mapped, ATTACHED},
		{s->progs.on_brk, mapped, ATTACHED},
		{s->progs.on_epoll_wait, loops, ATTACHED},
		{s->progs.on_epoll_pwait, loops, ATTACHED},
		{s->progs.on_epoll_pwait2, loops, ATTACHED},
		{s->progs.on_epoll_wait_end, loops, ATTACHED},
		{s->progs.on_epoll_pwait_end, loops, ATTACHED},
		{s->progs.on_epoll_pwait2_end, loops, ATTACHED},
	};

	memcpy(needs, all, sizeof(all));
	return sizeof(all) / sizeof(all[0]);
}

static void choose_programs(struct kernel_side *k)
{
	struct need needs[NEEDS_MAX];
	size_t n = needs_of(k, needs);

	for (size_t i = 0; i < n; i++)
		bpf_program__set_autoload(needs[i].program, needs[i].load);
}

static enum err load(struct kernel_side *k, struct fault *fault)
{
	const struct kernel_options *o = &k->options;
	struct agent_bpf *s;
	bool waits = capture_needs_waits(o->types), loops = o->types & CAPTURE_LOOPS;
	int status;

	s = k->skeleton = agent_bpf__open();
	if (!s)
		return load_fault(errno, fault);
	/* Never raise the limit of locked memory: newer kernels do not need it, containers refuse.
	 */
	bpf_map__set_max_entries(s->maps.segments, o->table_mib);
	bpf_map__set_max_entries(s->maps.ring, o->ring_kib * 1024);
	bpf_map__set_max_entries(s->maps.waits, waits ? o->max_threads / 4 : 1);
	bpf_map__set_max_entries(s->maps.wait_places, waits ? WAIT_PLACES : 1);
	bpf_map__set_max_entries(s->maps.loops, loops ? o->max_threads : 1);
	bpf_map__set_max_entries(s->maps.memory,
				 capture_needs_memory(o->types) ? MAX_PROCESSES : 1);
	choose_programs(k);
	s->data->settings.wait_mean_ns = o->wait_mean_ns;
	s->data->settings.memory_mean_bytes = o->memory_mean_bytes;
	s->data->settings.period_ns = (u64)NS_PER_S / o->rate_hz;
	s->data->settings.wake_bytes = o->ring_kib * 1024 / WAKE_SHARE;
	s->data->settings.targets = o->chosen;
	s->data->settings.undecided = o->undecided;
	s->data->settings.old_waits = o->old_waits;
	s->data->settings.loops = loops;
	status = agent_bpf__load(s);
	return status ? load_fault(-status, fault) : ERR_OK;
}

static enum err map_memory(struct kernel_side *k, struct fault *fault)
{
	void *segments, *rules;

	segments = mmap(NULL, segment_bytes(k), PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(k->skeleton->maps.segments), 0);
	if (segments == MAP_FAILED)
		return fault_set(fault, ERR_NO_MEMORY, "the tables' memory cannot be mapped: %s",
				 strerror(errno));
	k->segments = segments;
	rules = mmap(NULL, UNWIND_RULES_MAX * sizeof(*k->rules), PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(k->skeleton->maps.rules), 0);
	if (rules == MAP_FAILED)
		return fault_set(fault, ERR_NO_MEMORY, "the rules' memory cannot be mapped: %s",
				 strerror(errno));
	k->rules = rules;
	k->ring = ring_buffer__new(bpf_map__fd(k->skeleton->maps.ring), on_ring_record, k, NULL);
	return k->ring ? ERR_OK
		       : fault_set(fault, ERR_NO_MEMORY, "the ring buffer cannot be mapped");
}

/* Nobody else reads the tables then, but they lie where they always do. */
static enum err open_own(struct kernel_side *k, struct fault *fault)
{
	struct own_options o = {.period_ns = (u64)NS_PER_S / k->options.rate_hz,
				.everything = !k->options.chosen || k->options.undecided};
	void *segments, *rules;

	if (k->options.types != CAPTURE_CPU)
		return fault_set(fault, ERR_NO_PERMISSION,
				 "without root only processor time is seen: leave out the other "
				 "types, or run as root");
	TRY(own_events_new(&o, &k->own, fault));
	segments = mmap(NULL, segment_bytes(k), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	k->segments = segments == MAP_FAILED ? NULL : segments;
	rules = mmap(NULL, UNWIND_RULES_MAX * sizeof(*k->rules), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	k->rules = rules == MAP_FAILED ? NULL : rules;
	return k->segments && k->rules ? ERR_OK : ERR_NO_MEMORY;
}

static enum err open_programs(struct kernel_side *k, struct fault *fault)
{
	libbpf_set_print(quiet);
	k->returns = kernel_sees_returns();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL & ~LIBBPF_STRICT_AUTO_RLIMIT_MEMLOCK);
	TRY(load(k, fault));
	return map_memory(k, fault);
}

enum err kernel_open(const struct kernel_options *o, struct kernel_side **ret, struct fault *fault)
{
	struct kernel_side *k = mem_zalloc(1, sizeof(*k));
	enum err e;

	if (!k)
		return ERR_NO_MEMORY;
	k->options = *o;
	e = o->own ? open_own(k, fault) : open_programs(k, fault);
	if (e) {
		kernel_close(k);
		return e;
	}
	*ret = k;
	return ERR_OK;
}

static void detach_all(struct kernel_side *k)
{
	vec_for_each (one, &k->links)
		bpf_link__destroy(one->link);
	k->links.n = 0;
}

static void detach_waits(struct kernel_side *k)
{
	size_t kept = 0;

	vec_for_each (one, &k->links) {
		if (one->wait)
			bpf_link__destroy(one->link);
		else
			k->links.v[kept++] = *one;
	}
	k->links.n = kept;
}

void kernel_detach(struct kernel_side *k)
{
	if (k->own)
		own_events_switch(k->own, false);
	cpu_clocks_stop(&k->clocks);
	detach_all(k);
}

void kernel_close(struct kernel_side *k)
{
	if (!k)
		return;
	kernel_detach(k);
	own_events_free(k->own);
	cpu_clocks_release(&k->clocks);
	vec_release(&k->links);
	bpf_link__destroy(k->threads);
	ring_buffer__free(k->ring);
	if (k->segments)
		munmap(k->segments, segment_bytes(k));
	if (k->rules)
		munmap(k->rules, UNWIND_RULES_MAX * sizeof(*k->rules));
	agent_bpf__destroy(k->skeleton);
	mem_free(k);
}

static enum err attach_program(struct kernel_side *k, const struct need *need, struct fault *fault)
{
	struct kernel_link one = {bpf_program__attach(need->program), need->attach == FOR_WAITS};
	enum err e;

	if (!one.link)
		return fault_set(fault, ERR_UNSUPPORTED, "%s cannot be attached: %s",
				 bpf_program__name(need->program), strerror(errno));
	e = vec_push(&k->links, one);
	if (e)
		bpf_link__destroy(one.link);
	return e;
}

enum err kernel_switch_waits(struct kernel_side *k, bool on, struct fault *fault)
{
	struct need needs[NEEDS_MAX];
	size_t n;

	if (k->own || k->waits_off == !on)
		return ERR_OK;
	k->waits_off = !on;
	n = needs_of(k, needs);
	detach_waits(k);
	/* Those under way are not told of: nobody will see how they end, or saw what was between.
	 */
	k->skeleton->data->settings.waits_since = on ? (u64)clock_monotonic_ns() : UINT64_MAX;
	for (size_t i = 0; on && i < n; i++)
		if (needs[i].load && needs[i].attach == FOR_WAITS)
			TRY(attach_program(k, &needs[i], fault));
	return ERR_OK;
}

/* Kernels that cannot: waits are then seen when they end. */
static enum err attach_threads(struct kernel_side *k, struct fault *fault)
{
	if (!k->threads)
		k->threads = bpf_program__attach_iter(k->skeleton->progs.on_thread, NULL);
	if (k->threads || !(k->options.types & CAPTURE_THREADS))
		return ERR_OK;
	return fault_set(fault, ERR_UNSUPPORTED, "threads cannot be counted: %s", strerror(errno));
}

static enum err attach_programs(struct kernel_side *k, struct fault *fault)
{
	struct need needs[NEEDS_MAX];
	size_t n = needs_of(k, needs);

	for (size_t i = 0; i < n; i++)
		if (needs[i].load && needs[i].attach != ELSEWHERE &&
		    !(needs[i].attach == FOR_WAITS && k->waits_off))
			TRY(attach_program(k, &needs[i], fault));
	if (capture_needs_waits(k->options.types) || k->options.types & CAPTURE_THREADS)
		return attach_threads(k, fault);
	return ERR_OK;
}

enum err kernel_attach(struct kernel_side *k, struct fault *fault)
{
	if (k->own) {
		own_events_switch(k->own, true);
		return ERR_OK;
	}
	k->skeleton->data->settings.raw_left = k->options.raw_stacks;
	if (capture_needs_timer(k->options.types))
		TRY(cpu_clocks_start(&k->clocks, bpf_program__fd(k->skeleton->progs.on_timer),
				     k->skeleton->data->settings.period_ns, fault));
	return attach_programs(k, fault);
}

void kernel_pause(struct kernel_side *k)
{
	if (k->own) {
		own_events_switch(k->own, false);
		return;
	}
	/* One that goes on is heard of and told: nothing is wrong with that. */
	(void)!cpu_clocks_switch(&k->clocks, false, NULL);
	detach_all(k);
}

enum err kernel_resume(struct kernel_side *k, struct fault *fault)
{
	if (k->own) {
		own_events_switch(k->own, true);
		return ERR_OK;
	}
	TRY(cpu_clocks_switch(&k->clocks, true, fault));
	if (!k->waits_off)
		k->skeleton->data->settings.waits_since = (u64)clock_monotonic_ns();
	return attach_programs(k, fault);
}

/* "memlock: 4096" among what the kernel says of a descriptor. */
static u64 locked_bytes(int fd)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
	struct str rest, line;
	char path[64];
	u64 bytes;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (file_read(path, &text, NULL) != ERR_OK)
		return 0;
	rest = buf_view(&text);
	while (str_split(&rest, '\n', &line))
		if (str_starts(line, STR("memlock:")) &&
		    str_to_u64(str_trim(str_skip(line, 8)), 10, &bytes) == ERR_OK)
			return bytes;
	return 0;
}

u64 kernel_map_bytes(const struct kernel_side *k)
{
	struct bpf_map *map;
	u64 sum = 0;

	if (k->own)
		return own_events_bytes(k->own);
	bpf_object__for_each_map(map, k->skeleton->obj) if (bpf_map__fd(map) >= 0) sum +=
		locked_bytes(bpf_map__fd(map));
	return sum;
}

u8 *kernel_segments(const struct kernel_side *k, u32 *ret_count)
{
	*ret_count = k->options.table_mib;
	return k->segments;
}

struct unwind_rule *kernel_rules(const struct kernel_side *k)
{
	return k->rules;
}

enum err kernel_set_process(struct kernel_side *k, const struct process_key *key,
			    const struct process_entry *entry)
{
	int status;

	if (k->own)
		return ERR_OK;
	status = bpf_map__update_elem(k->skeleton->maps.processes, key, sizeof(*key), entry,
				      sizeof(*entry), BPF_ANY);
	return status ? err_from_errno(-status) : ERR_OK;
}

void kernel_forget_process(struct kernel_side *k, const struct process_key *key)
{
	if (!k->own)
		bpf_map__delete_elem(k->skeleton->maps.processes, key, sizeof(*key), 0);
}

static enum err decide(struct kernel_side *k, u32 pid, u32 decision)
{
	int status = bpf_map__update_elem(k->skeleton->maps.targets, &pid, sizeof(pid), &decision,
					  sizeof(decision), BPF_ANY);

	return status ? err_from_errno(-status) : ERR_OK;
}

enum err kernel_choose(struct kernel_side *k, u32 pid)
{
	return k->own ? own_events_follow(k->own, pid) : decide(k, pid, TARGET_CHOSEN);
}

void kernel_refuse(struct kernel_side *k, u32 pid)
{
	/* Without room for it the agent itself leaves it out, again and again. */
	if (!k->own && decide(k, pid, TARGET_REFUSED) != ERR_OK)
		return;
}

void kernel_undecide(struct kernel_side *k, u32 pid)
{
	if (!k->own)
		bpf_map__delete_elem(k->skeleton->maps.targets, &pid, sizeof(pid), 0);
}

bool kernel_is_chosen(const struct kernel_side *k, u32 pid)
{
	u32 decision = 0;

	if (k->own)
		return k->options.chosen && !k->options.undecided;
	return !bpf_map__lookup_elem(k->skeleton->maps.targets, &pid, sizeof(pid), &decision,
				     sizeof(decision), 0) &&
	       decision == TARGET_CHOSEN;
}

enum err kernel_choose_anew(struct kernel_side *k, bool chosen, bool undecided)
{
	u32 pid;

	k->options.chosen = chosen;
	k->options.undecided = undecided;
	if (k->own)
		return own_events_begin_anew(k->own, !chosen || undecided);
	/* Everything is undecided in between: too much is better than too little. */
	k->skeleton->data->settings.undecided = 1;
	while (!bpf_map_get_next_key(bpf_map__fd(k->skeleton->maps.targets), NULL, &pid))
		if (bpf_map_delete_elem(bpf_map__fd(k->skeleton->maps.targets), &pid))
			break;
	k->skeleton->data->settings.targets = chosen;
	k->skeleton->data->settings.undecided = undecided;
	return ERR_OK;
}

enum err kernel_drain(struct kernel_side *k, void *context,
		      enum err (*record)(void *context, const struct record_head *head,
					 size_t size))
{
	int status;

	if (k->own)
		return own_events_drain(k->own, k->told, context, record);
	k->context = context;
	k->record = record;
	k->error = ERR_OK;
	k->skeleton->data->settings.raw_left = k->options.raw_stacks;
	status = ring_buffer__consume(k->ring);
	return status < 0 ? ERR_IO : k->error;
}

enum err kernel_watch(const struct kernel_side *k, int epoll)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	if (k->own)
		return own_events_watch(k->own, epoll);
	return epoll_ctl(epoll, EPOLL_CTL_ADD, bpf_map__fd(k->skeleton->maps.ring), &event)
		       ? err_from_errno(errno)
		       : ERR_OK;
}

enum err kernel_turn_clocks(struct kernel_side *k, u64 now)
{
	return k->own ? ERR_OK : cpu_clocks_turn(&k->clocks, now);
}

void kernel_tell(struct kernel_side *k, struct sideband *s)
{
	k->told = s;
}

static enum err look_at_threads(struct kernel_side *k, void *context,
				enum err (*record)(void *context, const struct record_head *head,
						   size_t size))
{
	enum err e;
	int fd;

	if (!k->threads)
		return ERR_OK;
	fd = bpf_iter_create(bpf_link__fd(k->threads));
	if (fd < 0)
		return err_from_errno(-fd);
	e = thread_records_read(fd, context, record);
	close(fd);
	return e;
}

enum err kernel_open_waits(struct kernel_side *k, void *context,
			   enum err (*record)(void *context, const struct record_head *head,
					      size_t size))
{
	return capture_needs_waits(k->options.types) ? look_at_threads(k, context, record) : ERR_OK;
}

enum err kernel_count_threads(struct kernel_side *k, void *context,
			      enum err (*record)(void *context, const struct record_head *head,
						 size_t size))
{
	enum err e;

	if (!k->threads)
		return ERR_OK;
	k->skeleton->data->settings.count_threads = 1;
	e = look_at_threads(k, context, record);
	k->skeleton->data->settings.count_threads = 0;
	return e;
}

u64 kernel_turn(const struct kernel_side *k, u32 tid)
{
	u64 start = 0;

	if (!k->skeleton || bpf_map__lookup_elem(k->skeleton->maps.loops, &tid, sizeof(tid), &start,
						 sizeof(start), 0))
		return 0;
	return start;
}

void kernel_count(const struct kernel_side *k, struct kernel_counters *ret)
{
	int cpus = libbpf_num_possible_cpus();
	VEC(struct kernel_counters) all = {0};
	u32 zero = 0;

	*ret = (struct kernel_counters){0};
	if (k->own) {
		own_events_count(k->own, ret);
		return;
	}
	if (cpus <= 0 || vec_reserve(&all, (size_t)cpus) != ERR_OK)
		return;
	if (!bpf_map__lookup_elem(k->skeleton->maps.counters, &zero, sizeof(zero), all.v,
				  (size_t)cpus * sizeof(*all.v), 0)) {
		for (int cpu = 0; cpu < cpus; cpu++)
			for (size_t i = 0; i < sizeof(*ret) / sizeof(u64); i++)
				((u64 *)ret)[i] += ((u64 *)&all.v[cpu])[i];
	}
	vec_release(&all);
}

enum err kernel_set_period(struct kernel_side *k, u64 period_ns)
{
	if (k->own)
		return own_events_set_period(k->own, period_ns);
	k->skeleton->data->settings.period_ns = period_ns;
	return cpu_clocks_set_period(&k->clocks, period_ns);
}

void kernel_set_wait_level(struct kernel_side *k, u32 level)
{
	if (!k->own)
		k->skeleton->data->settings.wait_level =
			level < WAIT_LEVEL_MAX ? level : WAIT_LEVEL_MAX;
}

void kernel_statistics(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
}

static u64 run_time_of(const struct bpf_program *p)
{
	struct bpf_prog_info info = {0};
	u32 size = sizeof(info);

	if (bpf_program__fd(p) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size))
		return 0;
	return info.run_time_ns;
}

u64 kernel_run_time_ns(const struct kernel_side *k)
{
	struct bpf_program *p;
	u64 sum = 0;

	if (k->own)
		return 0;
	bpf_object__for_each_program(p, k->skeleton->obj) sum += run_time_of(p);
	return sum;
}

u64 kernel_wait_time_ns(const struct kernel_side *k)
{
	struct need needs[NEEDS_MAX];
	size_t n;
	u64 sum = 0;

	if (k->own)
		return 0;
	n = needs_of(k, needs);
	for (size_t i = 0; i < n; i++)
		if (needs[i].load && needs[i].attach == FOR_WAITS)
			sum += run_time_of(needs[i].program);
	return sum;
}
