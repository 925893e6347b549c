/*
 * The modules (program, libraries) that are loaded into this process, with their unwinding tables.
 *
 * One thread (the background's) looks which there are; it then publishes a view,
 * an immutable list that signal handlers search. A view that was replaced is freed when no reader
 * is left. A module keeps its number for ever, also after dlclose(): a sample that was taken in it
 * is named from its file.
 *
 * A table is made when the first stack goes through its module: most modules of most programs are
 * in none, and programs that end at once have no stacks at all. Until then the stack is copied.
 */
#pragma once

#include <stdatomic.h>

#include "base/vec.h"
#include "unwind/unwind.h"

struct loaded_range {
	u64 start, end;			  /* code, in the process */
	u64 bias;			  /* address in the process - address in the module */
	const struct unwind_table *table; /* NULL = none: frame pointers */
	u32 module;
	bool pending; /* nobody has needed the table yet */
};

struct loaded_view {
	struct loaded_view *previous; /* to be freed */
	struct unwind_rule *rules;
	size_t rule_count;
	size_t count;
	struct loaded_range ranges[]; /* by start */
};

/* A file changes under its name. */
struct loaded_version {
	u64 device, inode, size, changed;
};

#define LOADED_RANGES_MAX 8

struct loaded_module {
	char *path; /* "[vdso]" has no file */
	struct loaded_version version;
	struct unwind_image image;
	struct unwind_table table;
	bool has_table;
	bool program;  /* the file is /proc/self/exe */
	bool own;      /* this library */
	bool present;  /* in the last look */
	u64 low, high; /* all of it, data too, in the process */
	u32 range_count;
	struct loaded_range ranges[LOADED_RANGES_MAX];
};

struct loaded {
	VEC(struct loaded_module *) modules; /* by number */
	struct unwind_rules *rules;
	unsigned long long adds, subs; /* as the loader counts them */
	bool looked;
	atomic_bool busy; /* being changed */
};

/* For readers in any context: between enter and leave the view stays. */
const struct loaded_view *loaded_view_enter(void);
void loaded_view_leave(void);

/* The range that holds an address, or NULL. */
const struct loaded_range *loaded_find(const struct loaded_view *view, u64 address);

/* Looks again if something was loaded or closed, and publishes. */
enum err loaded_update(struct loaded *l) MUST_CHECK;
/* Makes the table of a module that a walk missed. False when that changes nothing. */
bool loaded_need(struct loaded *l, u32 module);
/* The range that holds an address now, or held it before its module was closed; or NULL. */
const struct loaded_range *loaded_place(const struct loaded *l, u64 address);
/* The module that holds this address of code or data now; or NULL. */
const struct loaded_module *loaded_holds(const struct loaded *l, u64 address, u32 *ret_number);
/* The current view, for the thread that publishes. */
const struct loaded_view *loaded_current(void);
/* Publishes what is loaded now; frees what was published before, where nobody reads. */
enum err loaded_publish(const struct loaded *l) MUST_CHECK;
void loaded_free_old(void);
void loaded_view_in_child(bool was_busy);
/* Around fork(): nobody is inside the loader meanwhile. In the child no reader is left, and what
 * was being changed is begun anew. */
void loaded_before_fork(void);
void loaded_after_fork(struct loaded *l, bool child);
