// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Counts lost records by process, which is known when the ring buffer is full. Each lost record
 * counts with the weight it would have had.
 */
#pragma once

#include "maps.h"

/* Losses of processes for which it has no room are counted in kernel_counters.nobodys. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct loss_key);
	__type(value, struct loss_count);
} losses SEC(".maps");

static __always_inline struct kernel_counters *count(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&counters, &zero);
}

static __always_inline void loss_add_nobodys(const struct loss_key *key, u64 lost, u64 value)
{
	u32 at = key->kind * LOSS_KERNEL_SIDE_CAUSES + key->cause;
	struct kernel_counters *c = count();

	unwind_hide(at);
	if (!c || at >= LOSS_NOBODYS)
		return;
	__sync_fetch_and_add(&c->nobodys[at].count, lost);
	__sync_fetch_and_add(&c->nobodys[at].value, value);
}

static __always_inline bool loss_add(struct loss_key *key, u64 lost, u64 value)
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
	__sync_fetch_and_add(&known->count, lost);
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
	u64 lost = LOSS_ONE;
	u32 thin = how >> 8 & 15;

	/* Records that only add stacks or names to other records, or are repeated later, are no
	 * losses. */
	if ((!value && key.cause != LOSS_TABLE) || kind == RECORD_WAKER || kind == RECORD_LEFT ||
	    kind == RECORD_OPEN || kind == RECORD_THREAD)
		return 0;
	/* Kept with probability p = 1 - exp(-x): counts for 1/p = 1/x + 1/2 + x/12. */
	if (keep && keep < 4 * KEEP_ONE) {
		lost = (u64)LOSS_ONE * KEEP_ONE / keep + LOSS_ONE / 2 +
		       (u64)LOSS_ONE * keep / (12ull * KEEP_ONE);
		value = (value >> 8) * lost >> (LOSS_SHIFT - 8);
	}
	lost <<= thin;
	value <<= thin;
	if (!loss_add(&key, lost, value))
		loss_add_nobodys(&key, lost, value);
	return 0;
}
