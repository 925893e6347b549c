/*
 * The parts of `perf script` text: lines to fields. Slices point into the input.
 */
#pragma once

#include "format/text_util.h"

/* `comm pid/tid [cpu] time: period event: rest`; what the line does not have is empty. */
struct perf_header {
	struct str thread; /* from comm to tid: the key of its labels */
	struct str comm;
	int64_t pid, tid; /* -1 = not given */
	bool has_time, has_period;
	uint64_t time_ns;
	uint64_t period;
	struct str event; /* with modifiers, without the colon behind it */
	struct str rest;  /* a frame on the same line, or a tracepoint's fields */
	bool record;	  /* a PERF_RECORD_… line, not a sample */
};

/* Whether the line has at least a thread, a time or an event; comm alone fills `comm`. */
bool perf_header_parse(struct str line, struct perf_header *ret);
/* The event without modifiers: cpu-clock:pppH is cpu-clock, sched:sched_switch stays. */
struct str perf_event_name(struct str event);

/* `address symbol+0xoffset (dso)`, with the source line that may follow it. */
struct perf_frame {
	struct str text; /* of the line: the key of the frame */
	uint64_t address;
	struct str symbol; /* empty when unknown */
	struct str dso;	   /* empty when unknown */
	struct str file;
	int64_t line;
	bool inlined;
};

bool perf_frame_parse(struct str line, struct perf_frame *ret);
/* The line below a frame: `file.c:12 (inlined)`. */
void perf_frame_source(struct perf_frame *f, struct str line);
/* `outer` is the next frame towards the root, or NULL. */
enum err perf_frame_intern(struct reading *out, const struct perf_frame *f,
			   const struct perf_frame *outer, uint32_t *ret) MUST_CHECK;
