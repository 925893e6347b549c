/*
 * vestal record --preload: runs the program with libvestal-preload.so, which needs no privileges
 * and sees allocations. Each process writes a file; these are merged into one profile.
 */
#pragma once

#include "cli/input.h"

struct inside_plan {
	char *const *program;
	const char *types; /* cpu, alloc, heap, with commas */
	int64_t rate;
};

/* Runs it until it exits and reads its files into `in` as one profile, `in->list.v[0]`. Returns an
 * exit status; the program's is in `ret_status`. */
int record_inside(const struct inside_plan *plan, struct inputs *in, int *ret_status);
