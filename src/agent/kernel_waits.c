/* Levels of off-CPU time, of all processes and of single ones. */
#include "agent/kernel_internal.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#define PLACES_BYTES (WAIT_PLACES * sizeof(struct wait_start))

void kernel_set_wait_level(struct kernel_side *k, u32 level)
{
	if (!k->own)
		k->skeleton->data->settings.wait_level =
			level < WAIT_LEVEL_MAX ? level : WAIT_LEVEL_MAX;
}

const struct wait_start *kernel_wait_places(struct kernel_side *k)
{
	void *places;

	if (k->own || !capture_needs_waits(k->options.types))
		return NULL;
	if (k->places)
		return k->places;
	places = mmap(NULL, PLACES_BYTES, PROT_READ, MAP_SHARED,
		      bpf_map__fd(k->skeleton->maps.wait_places), 0);
	if (places != MAP_FAILED)
		k->places = places;
	return k->places;
}

static void empty_map(const struct bpf_map *map)
{
	int fd = bpf_map__fd(map);
	u32 tid;

	while (!bpf_map_get_next_key(fd, NULL, &tid))
		if (bpf_map_delete_elem(fd, &tid))
			break;
}

void kernel_forget_threads(struct kernel_side *k)
{
	void *places = MAP_FAILED;

	if (k->options.types & CAPTURE_LOOPS)
		empty_map(k->skeleton->maps.loops);
	if (!capture_needs_waits(k->options.types))
		return;
	empty_map(k->skeleton->maps.waits);
	places = mmap(NULL, PLACES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(k->skeleton->maps.wait_places), 0);
	/* Without memory for it some threads may have no entry later, and are told as lost. */
	if (places == MAP_FAILED)
		return;
	memset(places, 0, PLACES_BYTES);
	munmap(places, PLACES_BYTES);
}

void kernel_drop_wait_places(struct kernel_side *k)
{
	if (k->places)
		munmap(k->places, PLACES_BYTES);
	k->places = NULL;
}

enum err kernel_set_process_levels(struct kernel_side *k, const u32 *pids, size_t n, u32 level)
{
	int map = bpf_map__fd(k->skeleton->maps.wait_levels), status = 0;

	empty_map(k->skeleton->maps.wait_levels);
	for (size_t i = 0; level && i < n && !status; i++)
		status = bpf_map_update_elem(map, &pids[i], &level, BPF_ANY);
	k->skeleton->data->settings.storms = level && n;
	kernel_forget_decisions(k);
	return status ? err_from_errno(-status) : ERR_OK;
}
