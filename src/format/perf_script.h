/*
 * The parts of `perf script` text: lines to fields. Slices point into the input.
 */
#pragma once

#include "format/text_util.h"

/* Which fields a header has: perf prints those of -F, in this order. */
enum {
	PERF_HAS_COMM = 1 << 0,
	PERF_HAS_PID = 1 << 1, /* `12/34`: process and thread */
	PERF_HAS_TID = 1 << 2, /* `34`: either of them */
	PERF_HAS_CPU = 1 << 3,
	PERF_HAS_MISC = 1 << 4,
	PERF_HAS_TOD = 1 << 5,
	PERF_HAS_TIME = 1 << 6,
	PERF_HAS_PERIOD = 1 << 7,
	PERF_HAS_EVENT = 1 << 8,
	PERF_FIELD_SETS = 1 << 9,
};

/*
 * What the lines of a file have in common, by a first look at them: a line alone may be read in
 * more than one way (a comm may hold blanks, digits and colons; `add` is a function and a number).
 */
struct perf_layout {
	uint32_t fields[PERF_FIELD_SETS]; /* headers with these fields */
	bool tabs;			  /* frames are indented by a tab */
	bool stacks;			  /* they stand below headers, with an empty line behind */
	bool aligned;			  /* addresses are 16 columns wide, as perf prints them */
	bool addresses;			  /* frames begin with an address */
};

void perf_layout_find(struct str bytes, struct perf_layout *ret);

/* `comm pid/tid [cpu] misc date time: period event: rest`; what the line does not have is empty. */
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
	unsigned fields;  /* PERF_HAS_… */
};

/* Whether the line has at least a thread, a time, a period or an event; comm alone fills `comm`.
 * `layout` may be NULL. */
bool perf_header_parse(struct str line, const struct perf_layout *layout, struct perf_header *ret);
/* The event without modifiers: cpu-clock:pppH is cpu-clock, sched:sched_switch stays. */
struct str perf_event_name(struct str event);

/* `address symbol+0xoffset (dso)`, with the source line that may follow it. */
struct perf_frame {
	struct str text; /* of the line: the key of the frame */
	uint64_t address;
	bool has_address;
	struct str symbol; /* empty when unknown */
	struct str dso;	   /* empty when unknown */
	struct str file;
	int64_t line;
	bool inlined;
};

/* `layout` NULL: what looks like an address is one. */
bool perf_frame_parse(struct str line, const struct perf_layout *layout, struct perf_frame *ret);
/* The frame that ends a line which has other fields before it; `ret_at` is where it begins. */
bool perf_frame_find(struct str line, struct perf_frame *ret, size_t *ret_at);
/* The line below a frame: `file.c:12 (inlined)`, `module[1a2b]`. */
bool perf_is_source(struct str line);
void perf_frame_source(struct perf_frame *f, struct str line);
/* `outer` is the next frame towards the root, or NULL. */
enum err perf_frame_intern(struct reading *out, const struct perf_frame *f,
			   const struct perf_frame *outer, uint32_t *ret) MUST_CHECK;

#define PERF_MAX_EVENTS 256

struct perf_event {
	struct str name;
	struct profile *profile;
	bool has_period;
	uint64_t first_ns, last_ns, last_seen_ns;
	uint64_t sum_ns;   /* of all times, for those that are differences */
	uint64_t backward; /* times that are before the one before */
	bool timed;
};

/* The profile's columns, until all events are known. */
enum err perf_event_open(struct reading *out, struct perf_event *e) MUST_CHECK;
void perf_event_time(struct perf_event *e, uint64_t ns);
/* Names the columns so that no two events share one, and says how long they lasted. */
enum err perf_events_finish(struct reading *out, struct perf_event *events, size_t n) MUST_CHECK;
