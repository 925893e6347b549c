/* What can be captured, and what people call it. */
#pragma once

#include "base/err.h"
#include "base/str.h"

enum capture_types {
	CAPTURE_CPU = 1,
	CAPTURE_WAITS = 2,
	CAPTURE_LOCKS = 4, /* the waits for locks among them */
	CAPTURE_WALL = 8,  /* CPU and off-CPU time of a thread combined */
	CAPTURE_THREADS = 16,
	CAPTURE_FAULTS = 32, /* memory that processes came to have */
	CAPTURE_MAPPED = 64, /* address space that they asked for */
	CAPTURE_LOOPS = 128, /* turns of event loops, and what they are spent on */
};

/* Types that a program of the kernel side serves. */
#define CAPTURE_BY_TIMER (CAPTURE_CPU | CAPTURE_WALL | CAPTURE_LOOPS)
#define CAPTURE_BY_WAITS (CAPTURE_WAITS | CAPTURE_LOCKS | CAPTURE_WALL | CAPTURE_LOOPS)
#define CAPTURE_ALL	 0xffu

#define CAPTURE_TYPE_NAMES "cpu, offcpu, lock, wall, threads, faults, loop"

/* "cpu,offcpu"; the fault says what is wrong with it. */
enum err capture_types_parse(struct str text, unsigned *ret, struct fault *fault) MUST_CHECK;

/* Types that were asked for and that this kernel does not let be captured, and why. */
struct capture_lack {
	unsigned types;
	struct fault why;
};

#define CAPTURE_LACKS_MAX 8

#define CAPTURE_NAMES_ROOM 64
/* "faults, loop": as people call them. */
void capture_types_write(unsigned types, char room[CAPTURE_NAMES_ROOM]);

/* What the kernel side must do for these types. */
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
