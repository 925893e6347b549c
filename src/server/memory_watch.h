/*
 * The thread that keeps the memory budget true: it measures what the process really has, asks
 * caches to shrink while memory is short, and gives back to the system what the heap keeps, when
 * memory is short or nobody has asked for anything for a while.
 */
#pragma once

#include "base/memory_budget.h"

struct memory_watch;
struct workers;

/* Both stay the caller's and outlive it. */
enum err memory_watch_new(struct memory_budget *budget, struct workers *workers,
			  struct memory_watch **ret) MUST_CHECK;
/* NULL is fine. */
void memory_watch_free(struct memory_watch *w);
