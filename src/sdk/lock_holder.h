/*
 * The holder of a lock that a thread waits for. libc stores the holding thread in the lock. When
 * the wait is certain to become a sample, a signal makes the holder record its stack. A sleeping
 * holder is not woken: the background thread copies its stack (sleeper.h).
 *
 * The stack counts only if the thread still holds the lock when it is walked. If the thread blocks
 * the signal, there is no answer; no thread waits for it.
 *
 *	free -> asked -> being walked -> walked -> (taken) free
 *	           \-> free, and left -> free if the waiting thread gets the lock first
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "sdk/loaded.h"
#include "sdk/sample_slots.h"

/* Sets the signal, and what wakes the background thread; 0 = only sleeping threads are examined. */
void holder_start(int signal_number, u32 depth, void (*wake)(void));
/* Requests the stack of the thread `*owner`, a word of the lock; returns the request's number, 0 =
 * none. Preserves errno. */
u32 holder_ask(const volatile int *owner);
/* Call when the wait has ended: fills the frames of `s` if there is an answer. NULL = drop it. */
bool holder_take(u32 question, struct taken_sample *s);
/* Handles the signal; `registers` by DWARF number. Async-signal-safe. */
void holder_answer(const siginfo_t *info, const u64 registers[17]);
/* Background thread: examines sleeping holders. */
void holder_turn(struct loaded *l);
/* In the child of fork(): drops all requests. */
void holder_after_fork(void);
