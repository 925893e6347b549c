/*
 * Threads for questions. A bounded queue before them: when it is full the caller is told, and
 * tells its client to come back.
 */
#pragma once

#include "base/err.h"

struct workers;

enum err workers_new(unsigned threads, size_t queue, struct workers **ret) MUST_CHECK;
/* ERR_BUSY when the queue is full. */
enum err workers_give(struct workers *w, void (*run)(void *), void *context) MUST_CHECK;
size_t workers_waiting(struct workers *w);
/* Runs what is queued, then ends. NULL is fine. */
void workers_free(struct workers *w);
