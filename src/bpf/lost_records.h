// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Records that nobody gets, by process: whoever runs when the ring is full is known. Each counts
 * for what it would have counted for.
 */
#pragma once

#include "maps.h"

/* Those of processes without a place here are counted for process 0. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct loss_key);
	__type(value, struct loss_count);
} losses SEC(".maps");

static __always_inline bool loss_add(struct loss_key *key, u64 count, u64 value)
{
	struct loss_count fresh = {0}, *known = bpf_map_lookup_elem(&losses, key);

	if (!known) {
		/* At a switch it may be of the thread that comes, which does not run yet. */
		if (key->pid == bpf_get_current_pid_tgid() >> 32)
			bpf_get_current_comm(fresh.comm, sizeof(fresh.comm));
		if (bpf_map_update_elem(&losses, key, &fresh, BPF_NOEXIST))
			return false;
		known = bpf_map_lookup_elem(&losses, key);
	}
	if (!known)
		return false;
	__sync_fetch_and_add(&known->count, count);
	__sync_fetch_and_add(&known->value, value);
	return true;
}

/* Functions have five arguments at most: a cause, and of waits that only one in 2^thin was
 * followed. */
static __always_inline u32 loss_how(u32 cause, u32 thin)
{
	return cause | thin << 8;
}

/* A function of its own: verified once, and called where nothing goes right any more. */
__attribute__((noinline)) int lose(u32 pid, u32 kind, u32 how, u64 value, u32 keep)
{
	struct loss_key key = {.pid = pid, .kind = kind, .cause = how & 0xff};
	u64 count = LOSS_ONE;
	u32 thin = how >> 8 & 15;

	/* Stacks and names of what is told elsewhere, and what is looked at again, are none. */
	if (!value || kind == RECORD_WAKER || kind == RECORD_LEFT || kind == RECORD_OPEN ||
	    kind == RECORD_THREAD)
		return 0;
	/* Kept with probability p = 1 - exp(-x): stands for 1/p = 1/x + 1/2 + x/12. */
	if (keep && keep < 4 * KEEP_ONE) {
		count = (u64)LOSS_ONE * KEEP_ONE / keep + LOSS_ONE / 2 +
			(u64)LOSS_ONE * keep / (12ull * KEEP_ONE);
		value = (value >> 8) * count >> (LOSS_SHIFT - 8);
	}
	count <<= thin;
	value <<= thin;
	if (!loss_add(&key, count, value)) {
		key.pid = 0;
		loss_add(&key, count, value);
	}
	return 0;
}
