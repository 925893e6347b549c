#include "agent/kernel_internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/doctor.h"
#include "agent/own_events.h"
#include "base/clock.h"

/* The ring's part that is filled when the agent is woken. */
#define WAKE_SHARE 4

/* Whose memory is followed at one time. */
#define MAX_PROCESSES 4096
/* Minimum time between two wakeups by new programs. */
#define NEWS_NS	      ((u64)100 * NS_PER_MS)

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
	/* The verifier refuses a program by the same number: not for the lack of a right then. */
	if (error == EPERM || (error == EACCES && !doctor_may_load()))
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
 * Whether the kernel has a tracepoint that runs in the thread that returned to its CPU, where its
 * stack can be read. (The variable disables it, for tests of the other way.)
 */
bool kernel_sees_returns(void)
{
	return !getenv("VESTAL_NO_SCHED_EXIT") &&
	       libbpf_find_vmlinux_btf_id("sched_exit_tp", BPF_TRACE_RAW_TP) > 0;
}

static void choose_programs(struct kernel_side *k)
{
	struct need needs[NEEDS_MAX];
	size_t n = kernel_needs(k, needs);

	for (size_t i = 0; i < n; i++)
		bpf_program__set_autoload(needs[i].program, needs[i].types);
}

static enum err load(struct kernel_side *k, struct fault *fault)
{
	const struct kernel_options *o = &k->options;
	struct agent_bpf *s;
	bool waits = capture_needs_waits(o->types), loops = o->types & CAPTURE_LOOPS;
	int status, processors = libbpf_num_possible_cpus();

	s = k->skeleton = agent_bpf__open();
	if (!s)
		return load_fault(errno, fault);
	/* Never raise the limit of locked memory: newer kernels do not need it, containers
	 * refuse. */
	bpf_map__set_max_entries(s->maps.segments, o->table_mib);
	bpf_map__set_max_entries(s->maps.ring, o->ring_kib * 1024);
	bpf_map__set_max_entries(s->maps.clock_periods, processors > 0 ? (u32)processors : 1);
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
	s->data->settings.meter = o->meter;
	status = agent_bpf__load(s);
	return status ? load_fault(-status, fault) : ERR_OK;
}

static enum err load_alone(struct kernel_side *k, unsigned types, struct fault *fault)
{
	agent_bpf__destroy(k->skeleton);
	k->skeleton = NULL;
	k->options.types = types;
	return load(k, fault);
}

/* All are loaded or none: when the kernel refuses one, those that it takes are found one by one. */
static enum err load_possible(struct kernel_side *k, struct fault *fault)
{
	unsigned wanted = k->options.types, refused = 0;
	enum err e = load(k, fault);

	if (e != ERR_UNSUPPORTED || !(wanted & (wanted - 1)))
		return e;
	for (unsigned type = 1; type & CAPTURE_ALL; type <<= 1) {
		struct capture_lack lack = {.types = type};

		if (!(wanted & type) || load_alone(k, type, &lack.why) == ERR_OK)
			continue;
		refused |= type;
		k->lacks[k->lack_count++] = lack;
	}
	return load_alone(k, refused == wanted ? wanted : wanted & ~refused, fault);
}

static enum err map_memory(struct kernel_side *k, struct fault *fault)
{
	void *segments, *rules;

	/* Addresses alone: kernel_add_segment puts memory there. */
	segments = mmap(NULL, segment_bytes(k), PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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

/* There are no BPF programs then, but the tables are at the usual place. */
static enum err open_own(struct kernel_side *k, struct fault *fault)
{
	struct own_options o = {.period_ns = (u64)NS_PER_S / k->options.rate_hz,
				.everything = !k->options.chosen || k->options.undecided};
	void *segments, *rules;

	if (k->options.types != CAPTURE_CPU)
		return fault_set(fault, ERR_NO_PERMISSION,
				 "without root only CPU time is available: leave out the other "
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
	/* Finding out reads all BTF types of the kernel: do it only on demand. */
	k->returns = capture_needs_waits(k->options.types) && kernel_sees_returns();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL & ~LIBBPF_STRICT_AUTO_RLIMIT_MEMLOCK);
	TRY(load_possible(k, fault));
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
	kernel_drop_wait_places(k);
	for (u32 i = 0; i < KERNEL_SEGMENTS_MAX; i++)
		if (k->segment_fds[i])
			close(k->segment_fds[i]);
	if (k->segments)
		munmap(k->segments, segment_bytes(k));
	if (k->rules)
		munmap(k->rules, UNWIND_RULES_MAX * sizeof(*k->rules));
	agent_bpf__destroy(k->skeleton);
	mem_free(k);
}

u8 *kernel_segments(const struct kernel_side *k, u32 *ret_count)
{
	*ret_count = k->options.table_mib;
	return k->segments;
}

bool kernel_segments_grow(const struct kernel_side *k)
{
	return !k->own;
}

enum err kernel_add_segment(struct kernel_side *k, u32 index)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	u8 *at = k->segments + (size_t)index * UNWIND_SEGMENT_SIZE;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "segment", sizeof(u32), UNWIND_SEGMENT_SIZE, 1,
				&o);

	if (fd < 0)
		return err_from_errno(-fd);
	if (mmap(at, UNWIND_SEGMENT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED) {
		close(fd);
		return ERR_NO_MEMORY;
	}
	k->segment_fds[index] = fd;
	if (!bpf_map__update_elem(k->skeleton->maps.segments, &index, sizeof(index), &fd,
				  sizeof(fd), BPF_ANY))
		return ERR_OK;
	kernel_remove_segment(k, index);
	return ERR_NO_MEMORY;
}

void kernel_remove_segment(struct kernel_side *k, u32 index)
{
	u8 *at = k->segments + (size_t)index * UNWIND_SEGMENT_SIZE;

	bpf_map__delete_elem(k->skeleton->maps.segments, &index, sizeof(index), 0);
	/* If this fails, the memory stays unused until the agent exits. */
	(void)!mmap(at, UNWIND_SEGMENT_SIZE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	close(k->segment_fds[index]);
	k->segment_fds[index] = 0;
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

void kernel_set_file(struct kernel_side *k, const struct file_key *key,
		     const struct file_entry *entry)
{
	/* Without room for it its stacks are sent raw until the process is known. */
	if (!k->own && bpf_map__update_elem(k->skeleton->maps.files, key, sizeof(*key), entry,
					    sizeof(*entry), BPF_ANY))
		return;
}

void kernel_forget_file(struct kernel_side *k, const struct file_key *key)
{
	if (!k->own)
		bpf_map__delete_elem(k->skeleton->maps.files, key, sizeof(*key), 0);
}

/* Limits the rate, because thousands of programs without tables may start. */
static void wake_on_news(struct kernel_side *k, u64 now)
{
	if (now < k->next_news)
		return;
	k->next_news = now + NEWS_NS;
	k->skeleton->data->settings.wake_on_news = 1;
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
	wake_on_news(k, (u64)clock_monotonic_ns());
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

enum err kernel_set_period(struct kernel_side *k, u64 period_ns)
{
	if (k->own)
		return own_events_set_period(k->own, period_ns);
	k->skeleton->data->settings.period_ns = period_ns;
	return cpu_clocks_set_period(&k->clocks, period_ns);
}
