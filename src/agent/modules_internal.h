/* Shared by modules.c and modules_tidy.c. */
#pragma once

#include "agent/modules.h"
#include "agent/table_reader.h"

/* Open files that processes of a user mapped first. */
struct user_files {
	u32 user, open;
};

struct modules {
	struct table_space *space;
	struct table_reader *reader;
	struct prober *prober;
	struct kernel_side *kernel; /* NULL = none to notify */
	struct unwind_rule *rules;
	VEC(struct module *) list; /* by number; NULL = unused */
	VEC(u32) unused;	   /* numbers */
	struct map by_file;
	u64 serial;
	u64 turn;			    /* calls of modules_settle */
	u32 pending, live, open, files_max; /* open files, and those being opened */
	VEC(struct user_files) users;
	u32 cursor; /* where to look for the next file to close */
	u64 freed, refused, heap_bytes;
	u64 now;      /* in the last turn */
	bool changed; /* a table that had no room was placed */
};

u64 module_file_hash(const struct module *module);
/* Publishes its table to the BPF side, or withdraws it. */
void module_tell(struct modules *m, struct module *module);
void module_untell(struct modules *m, struct module *module);
/* Frees the module and its number. */
void modules_remove(struct modules *m, u32 number);
/* Counts a file that is opened, or closed. */
void module_count_open(struct modules *m, const struct module *module, bool open);
/* If too many files are open, closes a file of the user with most of them, unless `user` would then
 * have as many. Functions of that file have no names from then on. */
void modules_close_one(struct modules *m, u32 user);
/* If too many files are open, closes those that are unused and that no stack went through. */
void modules_drop_unread(struct modules *m);
/* If table memory is full, frees tables of files that no process maps. The memory can be reused two
 * turns later. */
void modules_make_room(struct modules *m);
/* If table memory is full, frees tables of the owner with most of them, for `bytes` of a file of
 * `owner`, unless that would then have more. Processes that map these files are unwound by frame
 * pointers. */
void modules_take_tables(struct modules *m, u32 owner, u64 bytes);
/* Keeps a table for which the BPF side has no room, or drops it. */
void module_keep_in_heap(struct modules *m, struct module *module, struct unwind_table *table);
void module_drop_heap(struct modules *m, struct module *module);
