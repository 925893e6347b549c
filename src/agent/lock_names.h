/*
 * Which waits on a futex are waits for a lock, and what the lock is called.
 *
 * The kernel sees an address and not what it is for: locks, conditions, semaphores and joins all
 * end in the same call. What can tell is the program's own stack: a wait that goes through a
 * function known to wait for something else is none for a lock; all others are.
 */
#pragma once

#include "agent/names.h"

/* Frames of a dictionary, leaf first. */
bool stack_waits_for_lock(const struct dict *d, const uint32_t *frames, size_t n);
