/*
 * The modules (program, libraries) that are loaded into this process, with their unwinding tables.
 *
 * One thread (the background's) looks which there are; it then publishes a view,
 * an immutable list that signal handlers search. A view that was replaced is freed when no reader
 * is left. A module keeps its number for ever, also after dlclose(): a sample that was taken in it
 * is named from its file.
 *
 * A table is made when several stacks have gone through its module: most modules of most programs
 * are in none, and programs that end at once have hardly a stack. Until then the stack is copied,
 * and each rule that it needs is searched for.
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
	bool own;     /* this library's */
	bool pending; /* nobody has needed the table yet */
};

/* Of a program's addresses few are seen again and again; their rules are kept, each with its
 * address in one word, so that any number of threads may read and write. */
#define LOADED_RECENT 2048u

struct loaded_view {
	struct loaded_view *previous; /* to be freed */
	_Atomic(u64) *recent;	      /* address << 16 | rule */
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
#define LOADED_VDSO	  "[vdso]"

struct loaded_module {
	char *path; /* LOADED_VDSO has no file */
	struct loaded_version version;
	struct unwind_image image;
	struct unwind_table table;
	bool has_table;
	u32 searched;	      /* rules that were searched for while there is no table */
	struct str searching; /* the file, for a moment */
	bool program;	      /* the file is /proc/self/exe */
	bool own;	      /* this library */
	bool present;	      /* in the last look */
	u64 low, high;	      /* all of it, data too, in the process */
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

/* Where the rule for an address is kept; 16 bits and the address must fit a word. */
static inline _Atomic(u64) *loaded_recent(const struct loaded_view *view, u64 address)
{
	return &view->recent[address * 0x9e3779b97f4a7c15u >> 53];
}

_Static_assert(LOADED_RECENT == 1u << 11, "loaded_recent takes as many bits");

/* Looks again if something was loaded or closed, and publishes. */
enum err loaded_update(struct loaded *l) MUST_CHECK;
/* Makes the table of a module that a walk missed. False when that changes nothing. */
bool loaded_need(struct loaded *l, u32 module);
/* The rule for an address of a module that has no table yet. False when it should have one. */
bool loaded_search(struct loaded *l, u32 module, u64 address, u32 *ret_rule);
/* Nobody asks until the next profile: gives files back. */
void loaded_searched(struct loaded *l);
/* The range that holds an address now, or held it before its module was closed; or NULL. */
const struct loaded_range *loaded_place(const struct loaded *l, u64 address);
/* The module that holds this address of code or data now; or NULL. */
const struct loaded_module *loaded_holds(const struct loaded *l, u64 address, u32 *ret_number);
/* The current view, for the thread that publishes. */
const struct loaded_view *loaded_current(void);
/* The file as it is now; all zero when there is none. */
struct loaded_version loaded_version(const char *path);
/* Reads who a new module is; of the kernel's also its table. */
enum err loaded_read(struct loaded *l, struct loaded_module *m) MUST_CHECK;
/* Publishes what is loaded now; frees what was published before, where nobody reads. */
enum err loaded_publish(const struct loaded *l) MUST_CHECK;
void loaded_free_old(void);
void loaded_view_in_child(bool was_busy);
/* Around fork(): nobody is inside the loader meanwhile. In the child no reader is left, and what
 * was being changed is begun anew. */
void loaded_before_fork(void);
void loaded_after_fork(struct loaded *l, bool child);
