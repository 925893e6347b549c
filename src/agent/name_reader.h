/*
 * Asks workers (worker_host.h) for the names at addresses of modules, many at a time, and keeps
 * what they say in a name_cache. A module whose file is too much for a worker has no names.
 */
#pragma once

#include "agent/debug_source.h"
#include "agent/modules.h"
#include "agent/name_cache.h"

/* A module that is named better when its debug file has come. */
struct awaited_module {
	u64 serial;
	struct unwind_image image;
};

struct name_reader {
	struct name_cache cache;
	struct debug_source *debug; /* stays the caller's; NULL = this machine alone */
	VEC(struct awaited_module) awaited;
	int worker;	    /* its socket; -1 = none */
	VEC(u64) refused;   /* serial numbers of modules that ended a worker */
	u32 unused_windows; /* since it was asked last */
	u64 memory;	    /* of the worker, when it answered last */
};

struct wanted_name {
	u32 module;
	u64 address;
};

void name_reader_init(struct name_reader *r, struct debug_source *debug);
void name_reader_release(struct name_reader *r);
/*
 * Makes the cache know these. Sorts the list. ERR_NO_MEMORY only: what else goes wrong is a place
 * without a name.
 */
enum err name_reader_learn(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			   size_t count) MUST_CHECK;
/* Forgets what is known of modules whose debug files have come since; true when there were some. */
bool name_reader_settle(struct name_reader *r);
/*
 * The variable that holds an address of a module, and how far behind its begin. ERR_NOT_FOUND: it
 * has no name; anything else: there is nothing of that file.
 */
enum err name_reader_variable(struct name_reader *r, const struct module *module, u64 address,
			      char *name, size_t size, u64 *ret_offset) MUST_CHECK;
/* A window ended: gives back what is too much. */
void name_reader_tidy(struct name_reader *r);
