/*
 * Requests from the control thread to the background thread, which alone has samples and symbols: a
 * fixed number of lock-free slots. The control thread owns a slot until it sends the request, then
 * the background thread until it has answered.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "sdk/tally.h"

#define ASKS_MAX      16
#define ASK_TEXT_SIZE 4096

enum ask_kind {
	ASK_SINCE_START, /* a profile of the current data */
	ASK_CAPTURE,	 /* a profile of the next `seconds` */
	ASK_THREADS_BORN,
	ASK_SYMBOLS,
};

struct ask {
	atomic_int state;
	enum ask_kind kind;
	unsigned types; /* enum sdk_types: the profile's columns */
	int only;	/* enum sample_kind: only rows of this kind; -1 = all */
	u32 seconds;
	char text[ASK_TEXT_SIZE]; /* ASK_SYMBOLS: addresses "0x1234+0x5678" */
	/* The answer: a pprof file or text; or an error. */
	enum err error;
	struct buf answer;
	/* For the background thread. */
	int64_t start_wall, start, until;
	struct tally capture;
};

struct background;

/* The slot with this index; owned by the control thread while it is free. */
struct ask *ask_place(u32 number);
bool ask_is_free(const struct ask *a);
/* Sends the request to the background thread. */
void ask_send(struct ask *a);
bool ask_is_answered(const struct ask *a);
/* The answer was read, or is no longer needed: frees the slot, now or when it is answered. */
void ask_drop(struct ask *a);
/* Answers pending requests; call a few times per second. With `last`, all of them. */
void asks_turn(struct background *b, bool last);
void asks_after_fork(void);
