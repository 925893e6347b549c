/* Shared by modules.c and modules_tidy.c. */
#pragma once

#include "agent/modules.h"
#include "agent/table_reader.h"

struct modules {
	struct table_space *space;
	struct table_reader *reader;
	struct prober *prober;
	struct kernel_side *kernel; /* NULL = nobody is told */
	struct unwind_rule *rules;
	VEC(struct module *) list; /* by number; NULL = not in use */
	VEC(u32) unused;	   /* numbers */
	struct map by_file;
	u64 serial;
	u64 turn;			    /* calls of modules_settle */
	u32 pending, live, open, files_max; /* `open`: or being opened */
	u64 freed, refused, heap_bytes;
	u64 now;      /* of the last turn */
	bool changed; /* a table found its place after all */
};

u64 module_file_hash(const struct module *module);
/* The kernel side knows of its table, or no more. */
void module_tell(struct modules *m, struct module *module);
void module_untell(struct modules *m, struct module *module);
/* Frees the module and its number. */
void modules_remove(struct modules *m, u32 number);
/* Too many files are open: those go that nobody uses and no stack went through. */
void modules_drop_unread(struct modules *m);
/* Table memory is full: tables go that no process maps. It can be used two turns later. */
void modules_make_room(struct modules *m);
/* Keeps a table that the kernel side has no room for, or none at all. */
void module_keep_in_heap(struct modules *m, struct module *module, struct unwind_table *table);
void module_drop_heap(struct modules *m, struct module *module);
