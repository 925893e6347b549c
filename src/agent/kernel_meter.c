/* Counters and cost of the BPF side. */
#include "agent/kernel_internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>

#include "agent/own_events.h"
#include "base/file.h"

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

/* Maps do not grow: they are counted once. */
static u64 fixed_bytes(struct kernel_side *k)
{
	struct bpf_map *map;

	if (k->map_bytes)
		return k->map_bytes;
	bpf_object__for_each_map(map, k->skeleton->obj) if (bpf_map__fd(map) >= 0) k->map_bytes +=
		locked_bytes(bpf_map__fd(map));
	return k->map_bytes;
}

u64 kernel_map_bytes(struct kernel_side *k)
{
	u64 sum;

	if (k->own)
		return own_events_bytes(k->own);
	sum = fixed_bytes(k);
	for (u32 i = 0; i < KERNEL_SEGMENTS_MAX; i++)
		sum += k->segment_fds[i] ? UNWIND_SEGMENT_SIZE : 0;
	return sum;
}

u64 kernel_mapped_bytes(const struct kernel_side *k)
{
	u64 sum = 0;

	if (k->own)
		return 0;
	for (u32 i = 0; i < KERNEL_SEGMENTS_MAX; i++)
		sum += k->segment_fds[i] ? UNWIND_SEGMENT_SIZE : 0;
	return sum + UNWIND_RULES_MAX * sizeof(*k->rules) + (u64)k->options.ring_kib * 1024;
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
	memset(all.v, 0, (size_t)cpus * sizeof(*all.v));
	if (!bpf_map__lookup_elem(k->skeleton->maps.counters, &zero, sizeof(zero), all.v,
				  (size_t)cpus * sizeof(*all.v), 0)) {
		for (int cpu = 0; cpu < cpus; cpu++)
			for (size_t i = 0; i < sizeof(*ret) / sizeof(u64); i++)
				((u64 *)ret)[i] += ((u64 *)&all.v[cpu])[i];
	}
	vec_release(&all);
}

/* Those for which the map of processes has no room: sums since the start. */
static void take_nobodys(struct kernel_side *k, void *context,
			 void (*take)(void *context, const struct loss_key *key,
				      const struct loss_count *lost))
{
	struct kernel_counters c;

	kernel_count(k, &c);
	for (unsigned i = 0; i < LOSS_NOBODYS; i++) {
		struct loss_key key = {.kind = (u16)(i / LOSS_KERNEL_SIDE_CAUSES),
				       .cause = (u16)(i % LOSS_KERNEL_SIDE_CAUSES)};
		struct loss_count lost = {.count = c.nobodys[i].count - k->nobodys[i].count,
					  .value = c.nobodys[i].value - k->nobodys[i].value};

		if (lost.count)
			take(context, &key, &lost);
	}
	memcpy(k->nobodys, c.nobodys, sizeof(k->nobodys));
}

/* Losses are few, and most windows have none. */
void kernel_losses(struct kernel_side *k, void *context,
		   void (*take)(void *context, const struct loss_key *key,
				const struct loss_count *lost))
{
	int fd = k->own ? -1 : bpf_map__fd(k->skeleton->maps.losses);
	struct loss_key key;
	struct loss_count lost;

	if (k->own)
		return;
	while (!bpf_map_get_next_key(fd, NULL, &key)) {
		if (bpf_map_lookup_and_delete_elem(fd, &key, &lost))
			break;
		take(context, &key, &lost);
	}
	take_nobodys(k, context, take);
}

double kernel_clockless(const struct kernel_side *k)
{
	return k->own ? 0 : cpu_clocks_missing(&k->clocks);
}

/* The setting of the whole machine. */
static bool always_counted(void)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64);

	return file_read("/proc/sys/kernel/bpf_stats_enabled", &text, NULL) == ERR_OK &&
	       str_starts(buf_view(&text), STR("1"));
}

bool kernel_statistics(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return fd >= 0 || always_counted();
}

static u64 run_time_of(const struct bpf_program *p)
{
	struct bpf_prog_info info = {0};
	u32 size = sizeof(info);

	if (bpf_program__fd(p) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size))
		return 0;
	return info.run_time_ns;
}

/* Of a switch that is not followed, and of what is done besides for one that is. */
#define SWITCH_NS 60

static u64 counted_wait_ns(const struct kernel_counters *c)
{
	return c->wait_ns + c->switches * SWITCH_NS;
}

u64 kernel_run_time_ns(const struct kernel_side *k)
{
	struct kernel_counters c;
	struct bpf_program *p;
	u64 sum = 0;

	if (k->own)
		return 0;
	if (k->options.meter) {
		kernel_count(k, &c);
		return c.timer_ns + counted_wait_ns(&c) + c.other_ns;
	}
	bpf_object__for_each_program(p, k->skeleton->obj) sum += run_time_of(p);
	return sum;
}

u64 kernel_wait_time_ns(const struct kernel_side *k)
{
	struct need needs[NEEDS_MAX];
	struct kernel_counters c;
	size_t n;
	u64 sum = 0;

	if (k->own)
		return 0;
	if (k->options.meter) {
		kernel_count(k, &c);
		return counted_wait_ns(&c);
	}
	n = kernel_needs(k, needs);
	for (size_t i = 0; i < n; i++)
		if (needs[i].types && needs[i].attach == FOR_WAITS)
			sum += run_time_of(needs[i].program);
	return sum;
}

u64 kernel_timer_time_ns(const struct kernel_side *k)
{
	struct kernel_counters c;

	if (k->own)
		return 0;
	if (!k->options.meter)
		return run_time_of(k->skeleton->progs.on_timer);
	kernel_count(k, &c);
	return c.timer_ns;
}
