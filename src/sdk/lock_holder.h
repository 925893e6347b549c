/*
 * Who holds a lock that somebody waits for. libc keeps the thread in the lock; the thread itself is
 * asked for its stack, by a signal, at a moment when the wait is known to become a sample. A thread
 * that sleeps is not woken: the background looks where it stands (sleeper.h).
 *
 * The answer counts only if the thread still holds the lock when its stack is walked. It never
 * comes where the thread blocks the signal; nobody waits for it.
 *
 *	free -> asked -> being walked -> walked -> (taken) free
 *	           \-> free, and left -> free when whoever asked has the lock before
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "sdk/loaded.h"
#include "sdk/sample_slots.h"

/* Which signal, and what wakes the background; 0 = sleeping threads alone are asked. */
void holder_start(int signal_number, u32 depth, void (*wake)(void));
/* Asks the thread `*owner`, a word of the lock; returns the question's number, 0 = nobody is asked.
 * Keeps errno. */
u32 holder_ask(const volatile int *owner);
/* The wait is over: fills the frames of `s` if there is an answer. NULL = that is not wanted. */
bool holder_take(u32 question, struct taken_sample *s);
/* A signal that is a question; `registers` by DWARF number. Signal-safe. */
void holder_answer(const siginfo_t *info, const u64 registers[17]);
/* The background's turn: threads that sleep. */
void holder_turn(struct loaded *l);
/* In the child of fork(): nobody waits, nobody is asked. */
void holder_after_fork(void);
