/* The types that can be captured, and their names. */
#pragma once

#include "base/err.h"
#include "base/str.h"

enum capture_types {
	CAPTURE_CPU = 1,
	CAPTURE_WAITS = 2,
	CAPTURE_LOCKS = 4, /* off-CPU time spent waiting for locks */
	CAPTURE_WALL = 8,  /* CPU and off-CPU time of a thread combined */
	CAPTURE_THREADS = 16,
	CAPTURE_FAULTS = 32, /* memory growth */
	CAPTURE_MAPPED = 64, /* requested address space */
	CAPTURE_LOOPS = 128, /* length of event-loop turns, and the functions that take it */
};

/* Types served by a BPF program. */
#define CAPTURE_BY_TIMER (CAPTURE_CPU | CAPTURE_WALL | CAPTURE_LOOPS)
#define CAPTURE_BY_WAITS (CAPTURE_WAITS | CAPTURE_LOCKS | CAPTURE_WALL | CAPTURE_LOOPS)
#define CAPTURE_ALL	 0xffu

#define CAPTURE_TYPE_NAMES "cpu, offcpu, lock, wall, threads, faults, loop"

/* Parses "cpu,offcpu". */
enum err capture_types_parse(struct str text, unsigned *ret, struct fault *fault) MUST_CHECK;

/* Requested types that the kernel refused, and why. */
struct capture_lack {
	unsigned types;
	struct fault why;
};

#define CAPTURE_LACKS_MAX 8

#define CAPTURE_NAMES_ROOM 64
/* Their names: "faults, loop". */
void capture_types_write(unsigned types, char room[CAPTURE_NAMES_ROOM]);

/* What the BPF side must capture for these types. */
static inline bool capture_needs_timer(unsigned types)
{
	return types & CAPTURE_BY_TIMER;
}

static inline bool capture_needs_waits(unsigned types)
{
	return types & CAPTURE_BY_WAITS;
}

static inline bool capture_needs_memory(unsigned types)
{
	return types & (CAPTURE_FAULTS | CAPTURE_MAPPED);
}
