// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Counts lost records by process, which is known when the ring buffer is full. Each lost record
 * counts with the weight it would have had.
 */
#pragma once

#include "maps.h"

/* Processes without an entry are counted for process 0. */
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
		/* At a switch the record may belong to the next thread, which is not current
		 * yet. */
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

/* BPF functions have at most five arguments: packs the cause, and for waits the thinning (one in
 * 2^thin was followed). */
static __always_inline u32 loss_how(u32 cause, u32 thin)
{
	return cause | thin << 8;
}

/* Not inlined, so that it is verified once; called on failure paths only. */
__attribute__((noinline)) int lose(u32 pid, u32 kind, u32 how, u64 value, u32 keep)
{
	struct loss_key key = {.pid = pid, .kind = kind, .cause = how & 0xff};
	u64 count = LOSS_ONE;
	u32 thin = how >> 8 & 15;

	/* Records that only add stacks or names to other records, or are repeated later, are no
	 * losses. */
	if (!value || kind == RECORD_WAKER || kind == RECORD_LEFT || kind == RECORD_OPEN ||
	    kind == RECORD_THREAD)
		return 0;
	/* Kept with probability p = 1 - exp(-x): counts for 1/p = 1/x + 1/2 + x/12. */
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
