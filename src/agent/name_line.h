/*
 * A thread that asks workers for names, one file at a time, so that nobody else waits for them: who
 * wants names pushes questions and takes answers, and neither takes longer than a lock that is held
 * for moments.
 *
 * Questions are served fairly by who owns the file. One that takes long is broken off when others
 * wait, and gets four times as much the next time; what a worker left unfinished because it was
 * stopped or killed is asked again.
 */
#pragma once

#include "agent/debug_source.h"
#include "agent/worker_wire.h"

struct name_line;
struct prober;

struct name_ask {
	u32 kind; /* enum wire_kind: WIRE_NAMES, WIRE_VARIABLE, WIRE_CODE */
	u32 owner;
	u64 weight; /* bytes of the file; who has little to read is served first */
	u64 serial;
	int fd;		 /* the line's to close; -1 for WIRE_CODE, which the line opens */
	u32 pid;	 /* of a process that has it */
	struct str path; /* allocated; the ask's own */
	VEC(u64) addresses;
	struct unwind_image image;
	/* Of the line. */
	unsigned failures, stops, breaks;
	/*
	 * The answer: ERR_OK, then `head.error` says more; ERR_NOT_FOUND: there is no such file;
	 * anything else: it was too much for workers.
	 */
	enum err error;
	struct wire_names head;
	struct buf answer;
	bool debug_pending; /* a debug file has been sent for */
};

struct name_ask *name_ask_new(u32 kind);
void name_ask_free(struct name_ask *a);

/* `debug` and `prober` stay the caller's; NULL is possible for both. */
enum err name_line_new(struct debug_source *debug, struct prober *prober,
		       struct name_line **ret) MUST_CHECK;
void name_line_free(struct name_line *l);
/* Takes the ask, also on failure. ERR_TOO_LARGE: enough are under way. */
enum err name_line_push(struct name_line *l, struct name_ask *a) MUST_CHECK;
/* An answered one, which becomes the caller's; NULL when there is none. */
struct name_ask *name_line_take(struct name_line *l);
/* Until there is an answer; false when the time has come first. */
bool name_line_wait(struct name_line *l, int64_t deadline);
/* Readable when there are answers; valid as long as the line. */
int name_line_fd(const struct name_line *l);
/* Its worker is sent away when it is idle for some seconds; now, if it has too much memory. */
u64 name_line_memory(struct name_line *l);
