// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Unwinds a user stack in the kernel. The searches are global functions with scalar arguments, so
 * that each is verified once: inlined into the loop they would multiply the verifier's work a
 * hundredfold.
 */
#pragma once

#include "maps.h"
#include "unwind/unwinders.h"

static const void *unwind_segment(u32 index)
{
	void *segment = bpf_map_lookup_elem(&segments, &index);
	u32 zero = 0;

	return segment ? bpf_map_lookup_elem(segment, &zero) : NULL;
}

#define unwind_hide(x) asm volatile("" : "+r"(x))

#include "unwind/unwind_search.h"

__attribute__((noinline)) u32 find_rule(u32 pages, u32 page_count, u64 address)
{
	return unwind_find_rule(pages, page_count, address);
}

#define MAPPINGS_STEPS 13

static __always_inline const struct unwind_mapping *mapping_at(const void *segment, u64 unit, u64 n)
{
	u64 offset = (unit % UNWIND_UNITS) * UNWIND_UNIT + n * sizeof(struct unwind_mapping);

	unwind_hide(offset);
	offset &= UNWIND_SEGMENT_SIZE - 1;
	if (offset > UNWIND_SEGMENT_SIZE - sizeof(struct unwind_mapping))
		return NULL;
	return segment + offset;
}

/* Selects the mapping that contains an address; 0 if there is none. */
__attribute__((noinline)) int enter_mapping(struct scratch *s, u64 address)
{
	const struct unwind_mapping *m;
	const void *segment;
	u32 from = 0, to;
	u64 unit;

	if (!s)
		return 0;
	s->mapping.length = 0;
	unit = s->process.mappings;
	to = s->process.count;
	segment = unwind_segment(unit / UNWIND_UNITS);
	if (!segment)
		return 0;
	/* The first that starts after it; the previous one may contain it. */
	for (int i = 0; i < MAPPINGS_STEPS && from < to; i++) {
		u32 middle = (from + to) >> 1;

		m = mapping_at(segment, unit, middle);
		if (!m)
			return 0;
		if (m->start <= address)
			from = middle + 1;
		else
			to = middle;
	}
	if (!from)
		return 0;
	m = mapping_at(segment, unit, from - 1);
	if (!m || !unwind_mapping_holds(m, address))
		return 0;
	s->mapping = *m;
	return 1;
}

#include "vmas.h"

/* Reads user memory through a window, so that adjacent words need only one call. */
static __always_inline bool unwind_read(void *context, u64 address, u64 *ret)
{
	struct scratch *s = context;
	u64 offset = address - s->window_start;

	if (address & 7)
		return false;
	if (offset >= s->window_size) {
		/* Never across a page boundary: if the next page is missing, the whole read
		 * fails. */
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

/* Appends a frame; false if there is no room. */
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

/* The other unwinders, also separate functions. */
static __always_inline int step_other(struct scratch *s, u32 number)
{
#define STEP_CALL(name, step)          \
	if (number == UNWINDER_##name) \
		return kernel_##step(s);
	UNWINDERS(STEP_CALL)
	return UNWIND_NO_RULE;
}

struct walk {
	struct scratch *s;
	struct pc_cache *cache;
	s32 end;
};

/* From this value on: not a rule, but the end of the walk. */
#define NO_RULE_FOUND 0x10000u

/*
 * The rule for an address. Callers are usually in the same mapping as their callees. Results are
 * cached in a small table by module and address, for all processes: one cache line instead of four.
 */
static __always_inline u32 rule_for(struct walk *w, u64 address)
{
	struct unwind_mapping *m = &w->s->mapping;
	u64 tag, slot, entry;
	u32 rule;

	if (!unwind_mapping_holds(m, address) && !enter_mapping(w->s, address) &&
	    !enter_vma(w->s, address))
		return NO_RULE_FOUND + UNWIND_UNMAPPED;
	if (m->unready)
		return NO_RULE_FOUND + UNWIND_NO_TABLE;
	if (m->unwinder)
		return UNWIND_RULE_OTHER(m->unwinder);
	address -= m->bias;
	tag = (address + m->table * 0x9e3779b97f4a7c15ull) & ((1ull << 48) - 1);
	slot = (tag * 0x9e3779b97f4a7c15ull) >> 40;
	unwind_hide(slot);
	slot &= PC_CACHE_SIZE - 1;
	entry = w->cache->entries[slot];
	if (entry >> 16 == tag)
		return entry & 0xffff;
	rule = find_rule(m->pages, m->page_count, address);
	w->cache->entries[slot] = tag << 16 | (rule & 0xffff);
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
	rule = rule_for(w, unwind_lookup_address(&s->frame));
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
	s->mapping.length = 0;
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
