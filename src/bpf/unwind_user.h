// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The walk through a user stack, in the kernel. What is searched is verified once, as global
 * functions with plain numbers for arguments: inlined into the loop they would multiply the
 * verifier's work a hundredfold.
 */
#pragma once

#include "maps.h"

static const void *unwind_segment(u32 index)
{
	return bpf_map_lookup_elem(&segments, &index);
}

#define unwind_hide(x) asm volatile("" : "+r"(x))

#include "unwind/unwind_search.h"

__attribute__((noinline)) u32 find_rule(u32 pages, u32 page_count, u64 address)
{
	return unwind_find_rule(pages, page_count, address);
}

#define MAPPINGS_STEPS 13
#define NO_MAPPING     0xffffffffu

static __always_inline const struct unwind_mapping *mapping_at(const void *segment, u64 unit, u64 n)
{
	u64 offset = (unit % UNWIND_UNITS) * UNWIND_UNIT + n * sizeof(struct unwind_mapping);

	unwind_hide(offset);
	offset &= UNWIND_SEGMENT_SIZE - 1;
	if (offset > UNWIND_SEGMENT_SIZE - sizeof(struct unwind_mapping))
		return NULL;
	return segment + offset;
}

/* The number of the mapping that holds an address, among the sorted ones from a unit on. */
__attribute__((noinline)) u32 find_mapping(u32 unit, u32 count, u64 address)
{
	const void *segment = unwind_segment(unit / UNWIND_UNITS);
	const struct unwind_mapping *m;
	u32 from = 0, to = count;

	if (!segment)
		return NO_MAPPING;
	for (int i = 0; i < MAPPINGS_STEPS && from < to; i++) {
		u32 middle = (from + to) >> 1;

		m = mapping_at(segment, unit, middle);
		if (!m)
			return NO_MAPPING;
		if (m->end <= address)
			from = middle + 1;
		else
			to = middle;
	}
	m = mapping_at(segment, unit, from);
	if (!m || from >= count || address < m->start || address >= m->end)
		return NO_MAPPING;
	return from;
}

/* Memory of the process through a window, so that neighbouring words cost one call. */
static __always_inline bool unwind_read(void *context, u64 address, u64 *ret)
{
	struct scratch *s = context;
	u64 offset = address - s->window_start;

	if (address & 7)
		return false;
	if (offset >= s->window_size) {
		/* Never across a page: a missing one behind would spoil the whole read. */
		u64 size = 4096 - (address & 4095);

		if (size > WINDOW_SIZE)
			size = WINDOW_SIZE;
		s->window_size = 0;
		if (bpf_probe_read_user(s->window, size, (const void *)address))
			return false;
		s->window_start = address;
		s->window_size = size;
		offset = 0;
	}
	unwind_hide(offset);
	offset &= WINDOW_SIZE - 1;
	*ret = *(u64 *)(s->window + offset);
	return true;
}

/* One more frame behind those that are there; false when there is no room. */
static __always_inline bool unwind_add(void *context, u64 word)
{
	struct scratch *s = context;
	u64 at = s->first_word + s->user_frames;

	unwind_hide(at);
	if (s->user_frames >= RECORD_FRAMES_MAX ||
	    at >= RECORD_KERNEL_FRAMES_MAX + RECORD_FRAMES_MAX)
		return false;
	s->words[at] = word;
	s->user_frames++;
	return true;
}

#include "unwind/unwind_step.h"
#include "unwind/unwinders.h"

/* The steps as functions of their own; -1 = go on, else enum unwind_end. */
__attribute__((noinline)) int step_short(struct scratch *s, u32 rule)
{
	if (!s)
		return UNWIND_NO_RULE;
	return unwind_step_short(s, &s->frame, rule);
}

__attribute__((noinline)) int step_long(struct scratch *s, u32 rule, u32 first)
{
	u32 zero = 0;
	struct all_rules *all = bpf_map_lookup_elem(&rules, &zero);
	u64 n = rule;

	if (!s || !all)
		return UNWIND_NO_RULE;
	unwind_hide(n);
	n &= UNWIND_RULES_MAX - 1;
	return unwind_step_long(s, &s->frame, &all->list[n], s->registers, first);
}

#define STEP_FUNCTION(name, step)                                      \
	__attribute__((noinline)) int kernel_##step(struct scratch *s) \
	{                                                              \
		return s ? step(s, &s->frame) : UNWIND_NO_RULE;        \
	}
UNWINDERS(STEP_FUNCTION)

/* By the other unwinders, called as functions of their own too. */
static __always_inline int step_other(struct scratch *s, u32 number)
{
#define STEP_CALL(name, step)          \
	if (number == UNWINDER_##name) \
		return kernel_##step(s);
	UNWINDERS(STEP_CALL)
	return UNWIND_NO_RULE;
}

/*
 * The rule for an address of a process whose mappings are these, or, from NO_RULE_FOUND on, how
 * the walk ends.
 */
#define NO_RULE_FOUND 0x10000u

__attribute__((noinline)) u32 look_up_rule(u32 mappings, u32 count, u64 address)
{
	u32 n = find_mapping(mappings, count, address);
	const struct unwind_mapping *m;
	const void *segment;

	if (n == NO_MAPPING)
		return NO_RULE_FOUND + UNWIND_UNMAPPED;
	segment = unwind_segment(mappings / UNWIND_UNITS);
	if (!segment)
		return NO_RULE_FOUND + UNWIND_UNMAPPED;
	m = mapping_at(segment, mappings, n);
	if (!m)
		return NO_RULE_FOUND + UNWIND_UNMAPPED;
	if (m->unready)
		return NO_RULE_FOUND + UNWIND_NO_TABLE;
	if (m->unwinder)
		return UNWIND_RULE_OTHER(m->unwinder);
	return find_rule(m->pages, m->page_count, address - m->bias);
}

struct walk {
	struct scratch *s;
	struct pc_cache *cache;
	s32 end;
};

/*
 * What was found is kept in a small table, by address and generation of the process's mappings:
 * one cache line instead of four.
 */
static __always_inline u32 cached_rule(struct walk *w, u64 address)
{
	struct process_entry *p = &w->s->process;
	u64 tag = (address + p->generation * 0x9e3779b97f4a7c15ull) & ((1ull << 48) - 1);
	u64 slot = (tag * 0x9e3779b97f4a7c15ull) >> 40, entry;
	u32 rule;

	unwind_hide(slot);
	slot &= PC_CACHE_SIZE - 1;
	entry = w->cache->entries[slot];
	if (entry >> 16 == tag)
		return entry & 0xffff;
	rule = look_up_rule(p->mappings, p->count, address);
	if (rule < NO_RULE_FOUND)
		w->cache->entries[slot] = tag << 16 | rule;
	return rule;
}

static long walk_step(u32 i, void *context)
{
	struct walk *w = context;
	struct scratch *s = w->s;
	s32 end;
	u32 rule;

	if (!unwind_add(s, s->frame.pc & FRAME_ADDRESS_MASK))
		return 1;
	rule = cached_rule(w, unwind_lookup_address(&s->frame));
	if (rule >= NO_RULE_FOUND)
		end = rule - NO_RULE_FOUND;
	else if (!(rule & UNWIND_ESCAPE))
		end = step_short(s, rule);
	else if (rule & UNWIND_OTHER)
		end = step_other(s, rule & (UNWIND_OTHER_MAX - 1));
	else
		end = step_long(s, rule, i == 0);
	w->end = end;
	return end >= 0;
}

/* Fills s->words from `first_word` on, and s->user_frames; returns enum unwind_end. */
static __always_inline u32 walk_user(struct scratch *s, u32 first_word)
{
	u32 zero = 0;
	struct walk w = {.s = s, .end = -1};

	s->first_word = first_word;
	s->user_frames = 0;
	w.cache = bpf_map_lookup_elem(&cache, &zero);
	if (!w.cache)
		return UNWIND_NO_TABLE;
	s->frame.pc = s->registers[ARCH_DWARF_RA];
	s->frame.sp = s->registers[ARCH_DWARF_RSP];
	s->frame.bp = s->registers[ARCH_DWARF_RBP];
	s->frame.leaf = 1;
	s->window_size = 0;
	bpf_loop(RECORD_FRAMES_MAX, walk_step, &w, 0);
	return w.end < 0 ? UNWIND_CUT : (u32)w.end;
}
