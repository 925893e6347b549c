/*
 * What the parts of the background share: background.c (the thread), background_stop.c (how it
 * ends) and background_fork.c (what becomes of it in children).
 */
#pragma once

#include <stdatomic.h>

#include "base/thread.h"
#include "sdk/background.h"
#include "sdk/governor.h"
#include "sdk/wall.h"
#include "sdk/windows.h"

/* What the thread alone uses. */
struct background {
	struct sdk_settings settings;
	struct intake intake;
	struct windows windows;
	struct wall wall;
	struct thread thread;
	struct governor governor;
	int64_t next_look, locks_looked;
	int64_t start_wall;
};

/* How the thread is told to end, and that it has. */
struct background_state {
	struct background *it; /* NULL = none */
	/* Counts up when there is something to do, or it is done: what a thread sleeps on. No lock:
	 * one that another thread holds at fork() is held for ever in the child. */
	_Atomic(u32) bell;
	atomic_bool stop, done;
	bool announced;	 /* threads tell of themselves */
	bool follow;	 /* children go on */
	bool registered; /* fork and exit handlers */
	/* A child that samples, whose thread has not begun. */
	atomic_bool dormant;
	struct sdk_settings settings; /* of such a child */
	_Atomic(int64_t) no_later;    /* 0 = it does not end yet */
	atomic_uint_least64_t lost, delivered, given_up;
};

extern struct background_state background_state;
/* Signal handlers walk by its tables: it stays, whatever begins and ends. */
extern struct loaded background_loaded;

enum err background_new(const struct sdk_settings *s, struct background **ret) MUST_CHECK;
void background_free(struct background *b);
/* The thread itself. */
void background_run(void *background);
/* What there is goes out. */
void background_finish(struct background *b);

/* Wakes whoever sleeps on the bell. Signal-safe. */
void background_ring(void);
/* Until the bell rings after `heard`, or the time has come. */
void background_sleep(u32 heard, int64_t when);

/* Registers what is to happen at fork(); and what wakes a child's thread. */
enum err background_fork_prepare(void) MUST_CHECK;
