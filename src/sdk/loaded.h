/*
 * The modules (program, libraries) loaded into this process, with their unwind tables.
 *
 * The background thread scans the modules and publishes a view, an immutable list that signal
 * handlers search. A replaced view is freed when it has no readers. A module keeps its number
 * forever, also after dlclose(), so that its samples can be symbolized from its file.
 *
 * A table is built after several stacks have gone through its module: most modules are in no stack,
 * and short programs have few stacks. Until then stacks are copied, and each rule is looked up
 * individually.
 */
#pragma once

#include <stdatomic.h>

#include "base/vec.h"
#include "unwind/unwind.h"

struct loaded_range {
	u64 start, end;			  /* address range of code in the process */
	u64 bias;			  /* address in the process - address in the module */
	const struct unwind_table *table; /* NULL = none: use frame pointers */
	u32 module;
	bool own;     /* it is this library */
	bool pending; /* the table was not needed yet */
};

/* A cache of rules by address, each entry in one word, so that threads may read and write it
 * without locks. */
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
	u32 searched;	      /* number of rules looked up without a table */
	struct str searching; /* the open file, temporarily */
	bool program;	      /* the file is /proc/self/exe */
	bool own;	      /* this library */
	bool present;	      /* seen in the last scan */
	u64 low, high;	      /* the whole mapped range, including data */
	u32 range_count;
	struct loaded_range ranges[LOADED_RANGES_MAX];
};

struct loaded {
	VEC(struct loaded_module *) modules; /* by number */
	struct unwind_rules *rules;
	unsigned long long adds, subs; /* the loader's counters of loads and unloads */
	bool looked;
	atomic_bool busy; /* being changed */
};

/* For readers in any context: the view stays valid between enter and leave. */
const struct loaded_view *loaded_view_enter(void);
void loaded_view_leave(void);

/* The range that contains an address, or NULL. */
const struct loaded_range *loaded_find(const struct loaded_view *view, u64 address);

/* The cache entry for an address: rule (16 bits) and address in one word. */
static inline _Atomic(u64) *loaded_recent(const struct loaded_view *view, u64 address)
{
	return &view->recent[address * 0x9e3779b97f4a7c15u >> 53];
}

_Static_assert(LOADED_RECENT == 1u << 11, "loaded_recent takes as many bits");

/* Scans again if modules were loaded or unloaded, and publishes a view. */
enum err loaded_update(struct loaded *l) MUST_CHECK;
/* Builds the table of a module that a walk needed. False if that changes nothing. */
bool loaded_need(struct loaded *l, u32 module);
/* The rule for an address of a module without a table. False if the table should be built. */
bool loaded_search(struct loaded *l, u32 module, u64 address, u32 *ret_rule);
/* Closes files until the next profile. */
void loaded_searched(struct loaded *l);
/* The range that contains an address, or contained it before its module was unloaded; or NULL. */
const struct loaded_range *loaded_place(const struct loaded *l, u64 address);
/* The module that currently contains this address of code or data; or NULL. */
const struct loaded_module *loaded_holds(const struct loaded *l, u64 address, u32 *ret_number);
/* The current view, for the thread that publishes. */
const struct loaded_view *loaded_current(void);
/* Identity of the file; all zero if there is none. */
struct loaded_version loaded_version(const char *path);
/* Reads the identity of a new module, and for the vdso also its table. */
enum err loaded_read(struct loaded *l, struct loaded_module *m) MUST_CHECK;
/* Publishes a new view; frees old ones without readers. */
enum err loaded_publish(const struct loaded *l) MUST_CHECK;
void loaded_free_old(void);
void loaded_view_in_child(bool was_busy);
/* Around fork(): ensures that no thread is inside the loader. In the child there are no readers,
 * and the construction of a view is restarted. */
void loaded_before_fork(void);
void loaded_after_fork(struct loaded *l, bool child);
