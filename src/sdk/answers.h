/*
 * Computes answers to requests (asks.h): profiles as pprof files, symbols of addresses.
 */
#pragma once

#include "sdk/asks.h"

/* Fills `a->answer`. */
enum err answer_ask(struct background *b, struct ask *a) MUST_CHECK;
/* The one for ASK_THREADS_BORN. */
enum err answer_threads_born(struct background *b, struct ask *a) MUST_CHECK;
