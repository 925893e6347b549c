/*
 * The thread that enforces the memory budget: it measures the resident memory, shrinks caches while
 * memory is short, and returns free heap memory to the system if memory is short or the server is
 * idle.
 */
#pragma once

#include "base/memory_budget.h"

struct memory_watch;
struct workers;

/* The caller owns both, which must outlive it. */
enum err memory_watch_new(struct memory_budget *budget, struct workers *workers,
			  struct memory_watch **ret) MUST_CHECK;
/* NULL is allowed. */
void memory_watch_free(struct memory_watch *w);
