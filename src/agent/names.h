/*
 * Symbolization: from (module, address) to frames of a dictionary, with inlined functions, file and
 * line if the module has them, and always with build id and address, so that frames can be
 * symbolized later elsewhere.
 */
#pragma once

#include "agent/collector.h"
#include "agent/debug_source.h"
#include "agent/name_reader.h"
#include "model/model.h"

/* Maximum number of functions at an address, including inlined ones. */
#define NAMES_PER_PLACE	    64
#define SYMBOL_NAME_CEILING 8192

struct names;

struct names_options {
	struct debug_source *debug; /* owned by the caller; NULL = search this machine only */
	/* How long names_begin waits for debug files being fetched; 0 = they are used once they
	 * have arrived. */
	int64_t patience_ns;
	/*
	 * Never wait for workers: names_gather and names_turn are called a few times per second,
	 * and names_begin uses what is known by then; until names_hurry.
	 */
	bool background;
	int wake;	       /* in the background: epoll instance that wakes on answers */
	size_t kernel_step;    /* in the background: bytes of kallsyms per step; 0 = 160 KiB */
	int64_t learn_ns;      /* how long names_begin waits for workers; 0 = two minutes */
	struct prober *prober; /* owned by the caller: opens files of processes; may be NULL */
};

enum err names_new(struct modules *m, const struct names_options *o, struct names **ret) MUST_CHECK;
void names_free(struct names *n);
/* How many of a collector's rows and frames were gathered. */
struct gathered {
	size_t frames, rows;
};

/*
 * Selects the dictionary for frames; frames cached for another one are dropped. Fetches the symbols
 * of all the collector's frames at once, and sets their places.
 */
enum err names_begin(struct names *n, struct dict *d, struct collector *c) MUST_CHECK;
/*
 * In the background: requests symbols for the collector's new frames and sets their places, which
 * names_end clears. Continues where the last call stopped.
 */
enum err names_gather(struct names *n, struct collector *c, struct gathered *g) MUST_CHECK;
/*
 * Processes answers and sends the next requests: immediately with `now`, else once enough have
 * accumulated. True if nothing gathered is missing.
 */
bool names_turn(struct names *n, bool now);
/* Leaves background mode: names_begin waits for at most `limit_ns`. */
void names_hurry(struct names *n, int64_t limit_ns);
/* Frees what belongs to the dictionary; the symbol cache stays. */
void names_end(struct names *n);
/*
 * Mappings of the dictionary whose frames are unsymbolized because a worker crashed on the file;
 * valid until names_end.
 */
const uint32_t *names_unread(const struct names *n, size_t *ret_count);
/*
 * The variable at an address of a process: "queue_lock", or "shop+0x4080" without a symbol. False
 * if the address is in none of its files.
 */
bool names_variable(struct names *n, const struct process *process, u64 address,
		    char text[VARIABLE_NAME_MAX]);
/* Appends the frames at an address, innermost first, to `ids`; at most `max`. */
enum err names_frames(struct names *n, const struct process *process, struct sample_frame where,
		      uint32_t *ids, size_t max, size_t *ret_n) MUST_CHECK;
