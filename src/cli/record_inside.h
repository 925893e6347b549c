/*
 * vestal record --preload: the program is run with libvestal-preload.so inside, which needs no
 * right and sees allocations; it leaves a file for each of its processes, and these become one
 * profile.
 */
#pragma once

#include "cli/input.h"

struct inside_plan {
	char *const *program;
	const char *types; /* cpu, alloc, heap, with commas */
	int64_t rate;
};

/* Runs it to its end and reads what it left into `in`: one profile, `in->list.v[0]`. Returns an
 * exit status; the program's own is in `ret_status`. */
int record_inside(const struct inside_plan *plan, struct inputs *in, int *ret_status);
