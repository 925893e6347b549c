/*
 * Asks workers (worker_host.h) for the names at addresses of modules, many at a time, and keeps
 * what they say in a name_cache. A module whose file is too much for a worker has no names.
 */
#pragma once

#include "agent/debug_source.h"
#include "agent/modules.h"
#include "agent/name_cache.h"
#include "agent/worker_host.h"
#include "agent/worker_wire.h"

/* `serial` says which module had the number then; 0 = the one that has it now. */
struct wanted_name {
	u32 module;
	u64 serial, address;
};

/* A module that is named better when its debug file has come. */
struct awaited_module {
	u64 serial;
	struct unwind_image image;
};

/* A question that a worker works on, and what came of its answer. */
struct name_question {
	bool active;
	struct wanted_name first; /* its module */
	VEC(u64) addresses;
	struct wire_names head;
	size_t head_got;
	struct buf answer;
	/* Of the worker's CPU time: a worker that does not work any more is given up. */
	u64 cpu_begun, cpu_seen;
	int64_t seen;
};

struct name_reader {
	struct name_cache cache;
	enum worker_kind kind;
	struct debug_source *debug; /* stays the caller's; NULL = this machine alone */
	VEC(struct awaited_module) awaited;
	int worker;	    /* its socket; -1 = none */
	int wake;	    /* an epoll instance that is told of answers; -1 = none */
	VEC(u64) refused;   /* serial numbers of modules that ended a worker */
	u32 unused_windows; /* since it was asked last */
	u64 memory;	    /* of the worker, when it answered last */
	struct name_question question;
};

void name_reader_init(struct name_reader *r, enum worker_kind kind, struct debug_source *debug);
void name_reader_release(struct name_reader *r);
/*
 * Makes the cache know these. Sorts the list. ERR_NO_MEMORY only: what else goes wrong is a place
 * without a name.
 */
enum err name_reader_learn(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			   size_t count) MUST_CHECK;
/*
 * The same without waiting: asks about the module that the list begins with, and takes out of the
 * list (whose order is lost) what was asked. Nothing while a question is under way.
 */
enum err name_reader_ask(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			 size_t *count) MUST_CHECK;
/* Takes what has come; `*ret_busy` when a question is still under way. */
enum err name_reader_poll(struct name_reader *r, struct modules *m, bool *ret_busy) MUST_CHECK;
/* Forgets what is known of modules whose debug files have come since; true when there were some. */
bool name_reader_settle(struct name_reader *r);
/*
 * The variable that holds an address of a module, and how far behind its begin. ERR_NOT_FOUND: it
 * has no name; anything else: there is nothing of that file.
 */
enum err name_reader_variable(struct name_reader *r, const struct module *module, u64 address,
			      char *name, size_t size, u64 *ret_offset) MUST_CHECK;
/* Whether a worker ended over this module: none is asked about it again. */
bool name_reader_refuses(const struct name_reader *r, u64 serial);
/* Sends its worker away. */
void name_reader_rest(struct name_reader *r);
/* A window ended: gives back what is too much. */
void name_reader_tidy(struct name_reader *r);
