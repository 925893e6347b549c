/*
 * What the background answers: profiles as pprof files, names of addresses.
 */
#pragma once

#include "sdk/asks.h"

/* Fills `a->answer`. */
enum err answer_ask(struct background *b, struct ask *a) MUST_CHECK;
/* Of them, ASK_THREADS_BORN. */
enum err answer_threads_born(struct background *b, struct ask *a) MUST_CHECK;
