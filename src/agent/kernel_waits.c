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

void kernel_drop_wait_places(struct kernel_side *k)
{
	if (k->places)
		munmap(k->places, PLACES_BYTES);
	k->places = NULL;
}

enum err kernel_set_process_levels(struct kernel_side *k, const u32 *pids, size_t n, u32 level)
{
	int map = bpf_map__fd(k->skeleton->maps.wait_levels), status = 0;
	u32 pid;

	while (!bpf_map_get_next_key(map, NULL, &pid))
		if (bpf_map_delete_elem(map, &pid))
			break;
	for (size_t i = 0; level && i < n && !status; i++)
		status = bpf_map_update_elem(map, &pids[i], &level, BPF_ANY);
	k->skeleton->data->settings.storms = level && n;
	kernel_forget_decisions(k);
	return status ? err_from_errno(-status) : ERR_OK;
}
