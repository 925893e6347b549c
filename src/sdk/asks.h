/*
 * Questions from the control's thread to the background, which alone knows samples and names: a
 * fixed number of places, no lock. The one who asks owns a place until it asks, the background
 * until it has answered.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "sdk/tally.h"

#define ASKS_MAX      16
#define ASK_TEXT_SIZE 4096

enum ask_kind {
	ASK_SINCE_START, /* a profile of what there is */
	ASK_CAPTURE,	 /* a profile of the next `seconds` */
	ASK_THREADS_BORN,
	ASK_SYMBOLS,
};

struct ask {
	atomic_int state;
	enum ask_kind kind;
	unsigned types; /* enum sdk_types: the profile's columns */
	int only;	/* enum sample_kind: rows of no other kind; -1 = of all */
	u32 seconds;
	char text[ASK_TEXT_SIZE]; /* ASK_SYMBOLS: addresses "0x1234+0x5678" */
	/* The answer: a pprof file or a text; or why there is none. */
	enum err error;
	struct buf answer;
	/* Of the background. */
	int64_t start_wall, start, until;
	struct tally capture;
};

struct background;

/* The place with this number; of the one who asks as long as it is free. */
struct ask *ask_place(u32 number);
bool ask_is_free(const struct ask *a);
/* Over to the background. */
void ask_send(struct ask *a);
bool ask_is_answered(const struct ask *a);
/* The answer has been read, or is not wanted any more: it is freed here or there. */
void ask_drop(struct ask *a);
/* Answers what can be answered; a few times a second. With `last` all of them. */
void asks_turn(struct background *b, bool last);
void asks_after_fork(void);
