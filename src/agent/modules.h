/*
 * Files that are mapped for execution, each known once: what it is, its unwinding table, where its
 * symbols come from. A file is opened when it is first mapped, since its process may be gone a
 * moment later, by a thread that may wait for it (prober.h), and read (by a worker) when a stack
 * goes through it; until that is done a module is not ready, and stacks through it are kept raw.
 *
 * What nobody maps any more is kept for a while, for programs come back; modules_tidy gives it
 * away, and its number is then used again: whoever keeps numbers compares the serial number too.
 */
#pragma once

#include "agent/table_space.h"
#include "base/map.h"
#include "bpf/records.h"

enum module_state {
	MODULE_UNREAD, /* no stack went through it yet */
	MODULE_READING,
	MODULE_READY,
	MODULE_FAILED, /* not an ELF file, not to be opened: addresses keep their offsets in it */
};

struct module {
	struct str path; /* as the process sees it */
	u64 serial;	 /* never used twice */
	u32 number;	 /* of this module */
	u64 device, inode;
	u64 idle_since; /* when `users` became 0; 0 = not told yet */
	u64 settled;	/* modules_turn when its table came or found its place */
	enum module_state state;
	bool no_table; /* says nothing about unwinding: frame pointers are tried */
	bool vdso, kernel;
	bool forgotten; /* not found by its file any more */
	bool opening;	/* `fd` is not known yet */
	bool ahead;	/* modules_read_ahead */
	bool late;	/* no stack waits for its table any more */
	u32 pid;	/* of the process that mapped it first */
	u32 users;	/* mappings and processes that lead here */
	int fd;		/* kept for the symbols; -1 = closed */
	u32 owner;	/* the file's uid, and how it was when it was opened */
	u64 size;
	s64 seconds;
	u64 nanoseconds;
	struct unwind_image image;
	struct placed_table placed;
	struct file_key file; /* known by it in the kernel side, while `told` */
	bool told;
	struct unwind_table kept; /* when it did not fit into the kernel side's memory */
	bool in_heap;
};

#define MODULE_NONE	   UINT32_MAX
#define MODULE_IDLE_MIN_NS ((u64)10 * 1000000000)
/* Fixed numbers. */
#define MODULE_KERNEL	   0u
#define MODULE_VDSO	   1u

struct modules;

struct prober;

/* worker_host_start comes before: without it no file is read. `prober` stays the caller's; without
 * one files are opened at once, which may take long. */
enum err modules_new(struct table_space *space, struct unwind_rule *rules, struct prober *prober,
		     struct modules **ret) MUST_CHECK;
void modules_free(struct modules *m);

struct kernel_side;
/* Who is told of files whose tables are there. */
void modules_tell(struct modules *m, struct kernel_side *k);

/*
 * The module of a mapped file; new ones are opened through `pid`'s own view of the file system.
 * Adds a user.
 */
enum err modules_use(struct modules *m, u32 pid, u64 start, u64 end, struct str path, u64 device,
		     u64 inode, u32 *ret) MUST_CHECK;
void modules_add_user(struct modules *m, u32 module);
void modules_drop_user(struct modules *m, u32 module);
/* Its table is needed: read it, if nobody asked before. */
void modules_read(struct modules *m, u32 module);
/* It may be needed soon: a small file is read before a stack goes through it. */
void modules_read_ahead(struct modules *m, u32 module);
/* NULL when there is none with this number. */
struct module *modules_get(struct modules *m, u32 module);
/* Takes what was opened and read; true when a module became ready or failed. */
bool modules_settle(struct modules *m);
/* Counts calls of modules_settle. */
u64 modules_turn(const struct modules *m);
/* Becomes readable (EPOLLET) when modules_settle has something to take. */
int modules_wake_fd(const struct modules *m);
/*
 * Gives away what nobody has used for a while, or sooner when there is much of it. Stacks that were
 * collected before `kept_since` are not kept any more; wakers may be, if they are younger than
 * MODULE_IDLE_MIN_NS.
 */
void modules_tidy(struct modules *m, u64 now, u64 kept_since);
/* Files that are still being opened to be read, or read. */
u32 modules_pending(const struct modules *m);

struct modules_stats {
	u32 live, idle; /* known; and of these without users */
	u32 open;	/* descriptors */
	u64 freed;	/* since the start */
	u64 refused;	/* files that were not opened because too many were */
	u64 heap_bytes; /* tables that the kernel side has no room for */
};

void modules_stats(const struct modules *m, struct modules_stats *ret);
/* The rules that tables refer to, for walks outside the kernel. */
const struct unwind_rule *modules_rules(const struct modules *m, size_t *ret_count);
/* -1 and the rule for an address of a module, or enum unwind_end. */
int module_rule(struct modules *m, u32 module, u64 address, u32 *ret);
/* Where a mapping of a file at an offset puts the file's addresses: process address - module's. */
bool module_bias(const struct module *m, u64 start, u64 file_offset, u64 *ret);
