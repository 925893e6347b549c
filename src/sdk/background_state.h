/*
 * Shared by background.c (the thread), background_stop.c (stopping) and background_fork.c (children
 * of fork()).
 */
#pragma once

#include <stdatomic.h>

#include "base/thread.h"
#include "sdk/background.h"
#include "sdk/governor.h"
#include "sdk/wall.h"
#include "sdk/windows.h"

/* Used by the thread only. */
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

/* Stopping the thread. */
struct background_state {
	struct background *it; /* NULL = none */
	/* A futex that is incremented when there is work, or when it is done. No mutex, because one
	 * that another thread holds at fork() would stay locked in the child. */
	_Atomic(u32) bell;
	atomic_bool stop, done;
	bool announced;	 /* threads register themselves */
	bool follow;	 /* continue in children */
	bool registered; /* fork and exit handlers installed */
	/* A child that samples, without a thread yet. */
	atomic_bool dormant;
	struct sdk_settings settings; /* in such a child */
	_Atomic(int64_t) no_later;    /* 0 = not stopping */
	atomic_uint_least64_t lost, delivered, given_up;
};

extern struct background_state background_state;
/* Signal handlers use its tables, so it is never freed. */
extern struct loaded background_loaded;

enum err background_new(const struct sdk_settings *s, struct background **ret) MUST_CHECK;
void background_free(struct background *b);
/* The thread itself. */
void background_run(void *background);
/* Sends the remaining data. */
void background_finish(struct background *b);

/* Wakes threads that wait for the bell. Async-signal-safe. */
void background_ring(void);
/* Waits until the bell differs from `heard`, or until the deadline. */
void background_sleep(u32 heard, int64_t when);

/* Registers the fork() handlers, and what starts a child's thread. */
enum err background_fork_prepare(void) MUST_CHECK;
