/*
 * Which futex waits are lock waits, and the name of the lock.
 *
 * The kernel knows only the address: locks, conditions, semaphores and joins all use the same
 * system call. The stack decides: a wait below a function that is known to wait for something else
 * is no lock wait; all others are.
 */
#pragma once

#include "agent/names.h"

/* Frames of a dictionary, leaf first. */
bool stack_waits_for_lock(const struct dict *d, const uint32_t *frames, size_t n);
