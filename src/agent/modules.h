/*
 * Files that are mapped for execution, each known once: what it is, its unwinding table, where its
 * symbols come from. Files are read by a thread of low priority; until it is done a module is not
 * ready, and stacks through it are kept raw.
 */
#pragma once

#include "agent/table_space.h"
#include "base/map.h"

enum module_state {
	MODULE_READING,
	MODULE_READY,
	MODULE_FAILED, /* not an ELF file, not to be opened: addresses keep their offsets in it */
};

struct module {
	struct str path; /* as the process sees it */
	u64 device, inode;
	enum module_state state;
	bool no_table; /* says nothing about unwinding: frame pointers are tried */
	bool vdso, kernel;
	u32 users; /* mappings that lead here */
	int fd;	   /* kept for the symbols; -1 = closed */
	struct unwind_image image;
	struct placed_table placed;
	struct unwind_table kept; /* when it did not fit into the kernel side's memory */
	bool in_heap;
};

#define MODULE_NONE   UINT32_MAX
/* Fixed numbers. */
#define MODULE_KERNEL 0u
#define MODULE_VDSO   1u

struct modules;

enum err modules_new(struct table_space *space, struct unwind_rule *rules,
		     struct modules **ret) MUST_CHECK;
void modules_free(struct modules *m);

/*
 * The module of a mapped file; new ones are opened through `pid`'s own view of the file system and
 * queued for reading. Adds a user.
 */
enum err modules_use(struct modules *m, u32 pid, u64 start, u64 end, struct str path, u64 device,
		     u64 inode, u32 *ret) MUST_CHECK;
void modules_add_user(struct modules *m, u32 module);
void modules_drop_user(struct modules *m, u32 module);
struct module *modules_get(struct modules *m, u32 module);
u32 modules_count(const struct modules *m);
/* Takes what the reading thread has finished; true when a module became ready or failed. */
bool modules_settle(struct modules *m);
/* Files that are still to be read. */
u32 modules_pending(const struct modules *m);
/* The rules that tables refer to, for walks outside the kernel. */
const struct unwind_rule *modules_rules(const struct modules *m, size_t *ret_count);
/* -1 and the rule for an address of a module, or enum unwind_end. */
int module_rule(struct modules *m, u32 module, u64 address, u32 *ret);
/* Where a mapping of a file at an offset puts the file's addresses: process address - module's. */
bool module_bias(const struct module *m, u64 start, u64 file_offset, u64 *ret);
