/*
 * Asks workers (worker_host.h) for the names at addresses of modules, many at a time, and keeps
 * what they say in a name_cache. A module whose file is too much for a worker has no names.
 */
#pragma once

#include "agent/modules.h"
#include "agent/name_cache.h"

struct name_reader {
	struct name_cache cache;
	int worker;	    /* its socket; -1 = none */
	VEC(u64) refused;   /* serial numbers of modules that ended a worker */
	u32 unused_windows; /* since it was asked last */
	u64 memory;	    /* of the worker, when it answered last */
	u64 worker_cpu_ns;  /* told by this worker so far */
};

struct wanted_name {
	u32 module;
	u64 address;
};

void name_reader_init(struct name_reader *r);
void name_reader_release(struct name_reader *r);
/*
 * Makes the cache know these. Sorts the list. ERR_NO_MEMORY only: what else goes wrong is a place
 * without a name.
 */
enum err name_reader_learn(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			   size_t count) MUST_CHECK;
/*
 * The variable that holds an address of a module, and how far behind its begin. ERR_NOT_FOUND: it
 * has no name; anything else: there is nothing of that file.
 */
enum err name_reader_variable(struct name_reader *r, const struct module *module, u64 address,
			      char *name, size_t size, u64 *ret_offset) MUST_CHECK;
/* A window ended: gives back what is too much. */
void name_reader_tidy(struct name_reader *r);
