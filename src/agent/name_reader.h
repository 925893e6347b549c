/*
 * Has workers asked for the names at addresses of modules, many at a time (name_line.h), and keeps
 * what they say in a name_cache. A module whose file is too much for a worker has no names. Nobody
 * waits but name_reader_learn.
 */
#pragma once

#include "agent/debug_source.h"
#include "agent/modules.h"
#include "agent/name_cache.h"
#include "agent/name_line.h"
#include "agent/worker_wire.h"

/* Addresses of code made at run time are known by the process, whose serial has this bit. */
#define CODE_SERIAL ((u64)1 << 63)

/*
 * `serial` says which module had the number then; 0 = the one that has it now. Of MODULE_NONE it is
 * that of the process, whose code was made at run time.
 */
struct wanted_name {
	u32 module;
	u32 pid, owner; /* of MODULE_NONE */
	u64 serial, address;
};

/* A module that is named better when its debug file has come. */
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
	u64 offset; /* of the address behind its begin */
	char name[VARIABLE_NAME_MAX];
};

struct name_reader {
	struct name_cache cache;
	struct debug_source *debug; /* stays the caller's; NULL = this machine alone */
	struct name_line *line;	    /* NULL: nothing is named */
	VEC(struct awaited_module) awaited;
	VEC(u64) refused; /* serial numbers of modules that ended workers */
	VEC(struct known_variable) variables;
	u32 outstanding; /* questions */
};

struct prober;

enum err name_reader_init(struct name_reader *r, struct debug_source *debug,
			  struct prober *prober) MUST_CHECK;
void name_reader_release(struct name_reader *r);
/* Readable when there are answers. */
int name_reader_fd(const struct name_reader *r);
/*
 * Makes the cache know these, by the deadline. Sorts the list. ERR_NO_MEMORY only: what else goes
 * wrong is a place without a name.
 */
enum err name_reader_learn(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			   size_t count, int64_t deadline) MUST_CHECK;
/*
 * The same without waiting: takes out of the list (whose order is lost) what was asked, or is known
 * by now.
 */
enum err name_reader_ask(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			 size_t *count) MUST_CHECK;
/* Takes what has come; `*ret_busy` when questions are still under way. */
enum err name_reader_poll(struct name_reader *r, bool *ret_busy) MUST_CHECK;
/* Until nothing is under way, or the time has come. */
enum err name_reader_wait(struct name_reader *r, int64_t deadline) MUST_CHECK;
/* Forgets what is known of modules whose debug files have come since; true when there were some. */
bool name_reader_settle(struct name_reader *r);
/* What is known of a variable; asks, when nobody did. NULL: it cannot be asked now. Until the next
 * call of anything. */
const struct known_variable *name_reader_variable(struct name_reader *r,
						  const struct module *module, u64 address);
/* Whether workers ended over this module: none is asked about it again. */
bool name_reader_refuses(const struct name_reader *r, u64 serial);
/* A window ended: gives back what is too much. */
void name_reader_tidy(struct name_reader *r);
