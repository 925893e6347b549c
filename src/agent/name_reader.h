/*
 * Requests symbols of addresses from workers, many at a time (name_line.h), and stores the answers
 * in a name_cache. A module whose file exceeds the workers' limits has no symbols. Only
 * name_reader_learn and name_reader_wait block.
 */
#pragma once

#include "agent/debug_source.h"
#include "agent/modules.h"
#include "agent/name_cache.h"
#include "agent/name_line.h"
#include "agent/worker_wire.h"

/* JIT-compiled code is identified by its process, with this bit set in the serial. */
#define CODE_SERIAL ((u64)1 << 63)

/*
 * `serial` identifies the module; 0 = the current one with that number. For MODULE_NONE it is that
 * of the process with JIT-compiled code.
 */
struct wanted_name {
	u32 module;
	u32 pid, owner; /* of MODULE_NONE */
	u64 serial, address;
};

/* A module that will have better symbols once its debug file is fetched. */
struct awaited_module {
	u64 serial;
	struct unwind_image image;
};

#define VARIABLE_NAME_MAX 200

/* The variable that holds an address of a module; `error` is ERR_NOT_FOUND when it has no name,
 * anything else when there is nothing of that file. */
struct known_variable {
	u64 serial, address;
	bool asked; /* no answer yet */
	enum err error;
	u64 offset; /* of the address in the variable */
	char name[VARIABLE_NAME_MAX];
};

struct name_reader {
	struct name_cache cache;
	struct debug_source *debug; /* owned by the caller; NULL = this machine only */
	struct name_line *line;	    /* NULL = no symbols */
	VEC(struct awaited_module) awaited;
	VEC(u64) refused; /* serials of modules that crashed workers */
	VEC(struct known_variable) variables;
	u32 outstanding; /* requests */
};

struct prober;

enum err name_reader_init(struct name_reader *r, struct debug_source *debug,
			  struct prober *prober) MUST_CHECK;
void name_reader_release(struct name_reader *r);
/* Readable when there are answers. */
int name_reader_fd(const struct name_reader *r);
/*
 * Gets these into the cache, by the deadline. Sorts the list. Fails with ERR_NO_MEMORY only: other
 * errors leave an address without a symbol.
 */
enum err name_reader_learn(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			   size_t count, int64_t deadline) MUST_CHECK;
/*
 * The same without waiting: removes from the list, whose order is lost, what was requested or is
 * known.
 */
enum err name_reader_ask(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			 size_t *count) MUST_CHECK;
/* Processes answers; `*ret_busy` if requests are outstanding. */
enum err name_reader_poll(struct name_reader *r, bool *ret_busy) MUST_CHECK;
/* Waits until no request is outstanding, or for the deadline. */
enum err name_reader_wait(struct name_reader *r, int64_t deadline) MUST_CHECK;
/* Drops cached symbols of modules whose debug files arrived; true if there were any. */
bool name_reader_settle(struct name_reader *r);
/* A cached variable; requests it if necessary. NULL = it cannot be requested now. Valid until the
 * next call of any function. */
const struct known_variable *name_reader_variable(struct name_reader *r,
						  const struct module *module, u64 address);
/* Whether this module crashed workers, and is not requested again. */
bool name_reader_refuses(const struct name_reader *r, u64 serial);
/* Call at the end of a window: frees memory above the limits. */
void name_reader_tidy(struct name_reader *r);
