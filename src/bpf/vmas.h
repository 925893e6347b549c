// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Finds mappings in the kernel's own data: for processes whose mappings the agent has not published
 * yet, or that have mapped more since. The kernel keeps the memory areas of a process in a maple
 * tree (Linux 6.1 or newer), which is walked here by copying its nodes, without locks. Therefore
 * the result is checked: an area that does not contain the address is ignored. The file of the area
 * leads to the unwind table, if the agent knows the file.
 */
#pragma once

#define MAPLE_NODE_MASK	 255ull
#define MAPLE_LEAF	 1u
#define MAPLE_ARANGE	 3u
#define MAPLE_DEPTH	 8
/* A node: its parent, then pivots, then slots. */
#define PIVOTS_OF_RANGE	 15u
#define PIVOTS_OF_ARANGE 9u

#define VM_EXEC 4u

/* Reads the tree of a process; call it before any search. */
static __always_inline void vmas_begin(struct scratch *s, struct mm_struct *mm)
{
	s->vma_root = 0;
	s->vdso = 0;
	if (!bpf_core_field_exists(mm->mm_mt))
		return;
	s->vma_root = (u64)BPF_CORE_READ(mm, mm_mt.ma_root);
	s->vdso = (u64)BPF_CORE_READ(mm, context.vdso);
}

/* The slot of a node that contains the address; 0 = none. */
__attribute__((noinline)) u64 maple_step(struct scratch *s, u64 node, u64 address)
{
	u32 type = node >> 3 & 15,
	    pivots = type == MAPLE_ARANGE ? PIVOTS_OF_ARANGE : PIVOTS_OF_RANGE;
	u64 at = 0;

	if (!s ||
	    bpf_probe_read_kernel(s->node, sizeof(s->node), (void *)(node & ~MAPLE_NODE_MASK)))
		return 0;
	for (u32 i = 0; i < PIVOTS_OF_RANGE; i++) {
		u64 pivot = s->node[1 + i];

		if (i >= pivots || !pivot || pivot >= address)
			break;
		at++;
	}
	at += 1 + pivots;
	unwind_hide(at);
	at &= 31;
	return s->node[at];
}

/* Finds the area that contains an address and stores it in s->vma; 0 if there is none. */
__attribute__((noinline)) int find_vma(struct scratch *s, u64 address)
{
	u64 node;

	if (!s)
		return 0;
	node = s->vma_root;
	/* The root is marked as a node, too; a tree of one area has no node. */
	if ((node & 3) != 2)
		return 0;
	for (int i = 0; i < MAPLE_DEPTH; i++) {
		struct vm_area_struct *area;
		u32 type = node >> 3 & 15;

		if (node < 4096 || type < MAPLE_LEAF || type > MAPLE_ARANGE)
			return 0;
		node = maple_step(s, node, address);
		if (type != MAPLE_LEAF)
			continue;
		area = (void *)node;
		if (!area || bpf_core_read(&s->vma.start, 8, &area->vm_start) ||
		    bpf_core_read(&s->vma.end, 8, &area->vm_end) ||
		    bpf_core_read(&s->vma.flags, 8, &area->vm_flags) ||
		    bpf_core_read(&s->vma.page, 8, &area->vm_pgoff) ||
		    bpf_core_read(&s->vma.file, 8, &area->vm_file))
			return 0;
		return s->vma.start <= address && address < s->vma.end;
	}
	return 0;
}

static __always_inline bool file_key_of(u64 file, struct file_key *ret)
{
	struct file *f = (void *)file;
	struct inode *inode = BPF_CORE_READ(f, f_inode);
	u32 device = BPF_CORE_READ(inode, i_sb, s_dev);

	if (!inode)
		return false;
	ret->inode = BPF_CORE_READ(inode, i_ino);
	ret->size = BPF_CORE_READ(inode, i_size);
	ret->device = (u64)(device >> 20) << 32 | (device & 0xfffff);
	if (bpf_core_field_exists(inode->i_mtime_sec)) {
		ret->seconds = BPF_CORE_READ(inode, i_mtime_sec);
		ret->nanoseconds = BPF_CORE_READ(inode, i_mtime_nsec);
	} else {
		struct inode___before_6_11 *old = (void *)inode;
		struct inode___before_6_7 *older = (void *)inode;

		if (bpf_core_field_exists(old->__i_mtime)) {
			ret->seconds = BPF_CORE_READ(old, __i_mtime.tv_sec);
			ret->nanoseconds = BPF_CORE_READ(old, __i_mtime.tv_nsec);
		} else {
			ret->seconds = BPF_CORE_READ(older, i_mtime.tv_sec);
			ret->nanoseconds = BPF_CORE_READ(older, i_mtime.tv_nsec);
		}
	}
	return true;
}

/* The part of the file that is mapped determines the load bias. */
static __always_inline bool place_in_file(struct unwind_mapping *m, const struct file_entry *entry,
					  u64 offset)
{
	for (u32 i = 0; i < FILE_LOADS; i++) {
		u64 page = entry->loads[i].offset & ~4095ull;

		if (i >= entry->count)
			break;
		if (offset >= page && offset < entry->loads[i].offset + entry->loads[i].size) {
			m->bias = m->start - offset + entry->loads[i].shift;
			return true;
		}
	}
	return false;
}

/* Selects the mapping that contains an address, as enter_mapping does. */
__attribute__((noinline)) int enter_vma(struct scratch *s, u64 address)
{
	struct unwind_mapping *m;
	struct file_entry *entry;
	struct file_key key = {0};

	if (!s || !s->vma_root || !find_vma(s, address) || !(s->vma.flags & VM_EXEC))
		return 0;
	m = &s->mapping;
	__builtin_memset(m, 0, sizeof(*m));
	m->start = s->vma.start;
	m->length = (s->vma.end - s->vma.start) / UNWIND_LENGTH_UNIT;
	/* JIT-compiled code, or the vdso, whose key is zero. */
	if (!s->vma.file && s->vma.start != s->vdso) {
		m->unwinder = UNWINDER_FRAME_POINTERS;
		return 1;
	}
	m->unready = 1;
	if (s->vma.file && !file_key_of(s->vma.file, &key))
		return 1;
	entry = bpf_map_lookup_elem(&files, &key);
	if (!entry)
		return 1;
	if (!s->vma.file)
		m->bias = m->start;
	else if (!place_in_file(m, entry, s->vma.page << 12))
		return 1;
	m->unready = 0;
	m->unwinder = entry->unwinder;
	m->pages = entry->pages;
	m->page_count = entry->page_count;
	m->table = entry->table;
	return 1;
}
