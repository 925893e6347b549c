/*
 * Executable files that are mapped, each listed once: its identity, its unwind table, and where its
 * symbols come from. A file is opened when it is first mapped, because its process may exit at any
 * moment, on a thread that may block (prober.h). It is read by a worker when a stack goes through
 * it. Until then the module is not ready, and stacks through it are kept raw.
 *
 * A file that is no longer mapped is kept for a while, since programs are often restarted. Then
 * modules_tidy frees the module, and its number is reused: to recognize a stale number, compare the
 * serial number, too.
 */
#pragma once

#include "agent/table_space.h"
#include "base/map.h"
#include "bpf/records.h"

enum module_state {
	MODULE_UNREAD, /* no stack has gone through it yet */
	MODULE_READING,
	MODULE_READY,
	MODULE_FAILED, /* not an ELF file, or cannot be opened: addresses remain file offsets */
};

struct module {
	struct str path; /* in the mount namespace of the process */
	u64 serial;	 /* unique, never reused */
	u32 number;	 /* index of this module */
	u64 device, inode;
	u64 idle_since; /* when `users` became 0; 0 = not recorded yet */
	u64 settled;	/* modules_turn when its table became ready or was placed */
	enum module_state state;
	bool no_table; /* no unwind information: frame pointers are used */
	bool vdso, kernel;
	bool forgotten; /* no longer in the index by file */
	bool opening;	/* being opened, no `fd` yet */
	bool ahead;	/* modules_read_ahead */
	bool late;	/* stacks no longer wait for its table */
	u32 pid;	/* of the process that mapped it first, */
	u32 user;	/* and the uid of that */
	u32 users;	/* mappings and processes that refer to it */
	int fd;		/* kept open for symbolization; -1 = closed */
	u32 owner;	/* uid of the file; with size and mtime as of open */
	u64 size;
	s64 seconds;
	u64 nanoseconds;
	struct unwind_image image;
	struct placed_table placed;
	struct file_key file; /* key in the BPF map, while `told` */
	bool told;
	struct unwind_table kept; /* table that did not fit into the BPF maps */
	bool in_heap;
};

#define MODULE_NONE	   UINT32_MAX
#define MODULE_IDLE_MIN_NS ((u64)10 * 1000000000)
/* Fixed numbers. */
#define MODULE_KERNEL	   0u
#define MODULE_VDSO	   1u

struct modules;

struct prober;

/* Requires worker_host_start, or no file is read. The caller keeps ownership of `prober`; if it is
 * NULL, files are opened synchronously, which may block for long. */
enum err modules_new(struct table_space *space, struct unwind_rule *rules, struct prober *prober,
		     struct modules **ret) MUST_CHECK;
void modules_free(struct modules *m);

struct kernel_side;
/* Sets the kernel side that is notified of files with tables. */
void modules_tell(struct modules *m, struct kernel_side *k);

/*
 * The module of a mapped file; a new one is opened in the mount namespace of `pid`. Adds a user.
 */
enum err modules_use(struct modules *m, u32 pid, u64 start, u64 end, struct str path, u64 device,
		     u64 inode, u32 *ret) MUST_CHECK;
void modules_add_user(struct modules *m, u32 module);
void modules_drop_user(struct modules *m, u32 module);
/* Requests its table, once. */
void modules_read(struct modules *m, u32 module);
/* Requests the table of a small file before a stack goes through it. */
void modules_read_ahead(struct modules *m, u32 module);
/* NULL if no module has this number. */
struct module *modules_get(struct modules *m, u32 module);
/* Processes files that were opened or read; true if a module became ready or failed. */
bool modules_settle(struct modules *m);
/* Counts calls of modules_settle. */
u64 modules_turn(const struct modules *m);
/* Becomes readable (EPOLLET) when modules_settle has work. */
int modules_wake_fd(const struct modules *m);
/*
 * Frees modules that were unused for a while, or sooner if there are many. Stacks collected before
 * `kept_since` no longer refer to modules; wakers may, if younger than MODULE_IDLE_MIN_NS.
 */
void modules_tidy(struct modules *m, u64 now, u64 kept_since);
/* Number of files being opened or read. */
u32 modules_pending(const struct modules *m);

struct modules_stats {
	u32 live, idle; /* all modules; those without users */
	u32 open;	/* descriptors */
	u64 freed;	/* since the start */
	u64 refused;	/* files not opened, or closed, because too many are open */
	u64 heap_bytes; /* tables that do not fit into the BPF maps */
};

void modules_stats(const struct modules *m, struct modules_stats *ret);
/* The rules that tables refer to, for unwinding in user space. */
const struct unwind_rule *modules_rules(const struct modules *m, size_t *ret_count);
/* Finds the rule for an address of a module: -1 and *ret, or an enum unwind_end. */
int module_rule(struct modules *m, u32 module, u64 address, u32 *ret);
/* The load bias of a mapping: process address - module address. */
bool module_bias(const struct module *m, u64 start, u64 file_offset, u64 *ret);
