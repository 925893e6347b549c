/*
 * From (module, address) to frames of a dictionary: inlined functions, file and line where the
 * module has them, and always the module with its build id and the address, so that a name can be
 * found later elsewhere.
 */
#pragma once

#include "agent/collector.h"
#include "agent/debug_source.h"
#include "agent/name_reader.h"
#include "model/model.h"

/* Most functions that a place has: inlined ones and what they were inlined into. */
#define NAMES_PER_PLACE	    64
#define SYMBOL_NAME_CEILING 8192

struct names;

struct names_options {
	struct debug_source *debug; /* stays the caller's; NULL = this machine alone is searched */
	/* How long names_begin waits for debug files that are fetched; 0 = they are used when they
	 * have come. */
	int64_t patience_ns;
	/*
	 * Nobody waits for workers: names_gather and names_turn are called a few times a second,
	 * and names_begin takes what is known by then; until names_hurry.
	 */
	bool background;
	int wake;	       /* with it: an epoll instance that is told when there is an answer */
	size_t kernel_step;    /* in the background: bytes of kallsyms at a time; 0 = 160 KiB */
	int64_t learn_ns;      /* how long names_begin waits for workers; 0 = two minutes */
	struct prober *prober; /* stays the caller's: opens what processes have; NULL = nobody */
};

enum err names_new(struct modules *m, const struct names_options *o, struct names **ret) MUST_CHECK;
void names_free(struct names *n);
/* How far a collector's rows and frames were gathered. */
struct gathered {
	size_t frames, rows;
};

/*
 * Frames from here on go into this dictionary; what was kept for another is forgotten. The
 * collector's frames are those that will be asked for: their names are fetched all at once, and
 * they are told their places.
 */
enum err names_begin(struct names *n, struct dict *d, struct collector *c) MUST_CHECK;
/*
 * In the background: names of what the collector has will be wanted. Its frames are told their
 * places, and names_end takes these back. What was gathered before is passed over.
 */
enum err names_gather(struct names *n, struct collector *c, struct gathered *g) MUST_CHECK;
/*
 * Takes answers and asks on: at once with `now`, else when enough may have come together. True when
 * nothing is missing that was gathered.
 */
bool names_turn(struct names *n, bool now);
/* No background any more: names_begin waits, so long at most. */
void names_hurry(struct names *n, int64_t limit_ns);
/* Gives back what only the dictionary needed; what was learnt stays. */
void names_end(struct names *n);
/*
 * Mappings of the dictionary whose frames have no names because a worker ended over the file; until
 * names_end.
 */
const uint32_t *names_unread(const struct names *n, size_t *ret_count);
/*
 * The variable at an address of a process: "queue_lock", or "shop+0x4080" when it has no name.
 * False when the address is in none of its files.
 */
bool names_variable(struct names *n, const struct process *process, u64 address,
		    char text[VARIABLE_NAME_MAX]);
/* Appends the frames at a place, innermost first, to `ids`; at most `max`. */
enum err names_frames(struct names *n, const struct process *process, struct sample_frame where,
		      uint32_t *ids, size_t max, size_t *ret_n) MUST_CHECK;
