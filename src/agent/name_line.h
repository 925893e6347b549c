/*
 * A thread that sends symbolization requests to workers, one file at a time. Other threads push
 * requests and take answers without blocking.
 *
 * Requests are scheduled fairly by owner of the file. A slow one is interrupted if others wait, and
 * gets four times as much time at the next attempt; requests of a worker that was stopped or killed
 * are repeated.
 */
#pragma once

#include "agent/debug_source.h"
#include "agent/worker_wire.h"

struct name_line;
struct prober;

struct name_ask {
	u32 kind; /* enum wire_kind: WIRE_NAMES, WIRE_VARIABLE, WIRE_CODE */
	u32 owner;
	u64 weight; /* size of the file; small ones are served first */
	u64 serial;
	int fd;		 /* closed by the line; -1 for WIRE_CODE, which the line opens */
	u32 pid;	 /* of a process that has it */
	struct str path; /* allocated; the ask's own */
	VEC(u64) addresses;
	struct unwind_image image;
	/* Private to the line. */
	unsigned failures, stops, breaks;
	/*
	 * The result: ERR_OK, then see `head.error`; ERR_NOT_FOUND: there is no such file; other
	 * errors: it exceeds the workers' limits.
	 */
	enum err error;
	struct wire_names head;
	struct buf answer;
	bool debug_pending; /* a debug file is being fetched */
};

struct name_ask *name_ask_new(u32 kind);
void name_ask_free(struct name_ask *a);

/* The caller keeps ownership of `debug` and `prober`; both may be NULL. */
enum err name_line_new(struct debug_source *debug, struct prober *prober,
		       struct name_line **ret) MUST_CHECK;
void name_line_free(struct name_line *l);
/* Takes ownership of the request, also on failure. ERR_TOO_LARGE: too many are queued. */
enum err name_line_push(struct name_line *l, struct name_ask *a) MUST_CHECK;
/* An answered request, owned by the caller; NULL if there is none. */
struct name_ask *name_line_take(struct name_line *l);
/* Waits for an answer; false if the deadline passed. */
bool name_line_wait(struct name_line *l, int64_t deadline);
/* Readable when there are answers; valid as long as the line. */
int name_line_fd(const struct name_line *l);
/* Memory of its worker, which is ended when idle for some seconds, or here if it uses too much
 * memory. */
u64 name_line_memory(struct name_line *l);
