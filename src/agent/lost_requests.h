/*
 * Requests that nobody will take: each holds profiles of completeness that say what was kept in it
 * (model/completeness.h). What is left of one is those, with all of it lost and why; they are
 * small, have the times of the request, and are sent when a server takes requests again.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"

struct lost_requests {
	VEC(struct buf) list; /* encoded, the oldest first */
	size_t bytes;
	uint64_t forgotten; /* for want of room, or because they could not be read */
};

void lost_requests_release(struct lost_requests *l);
#define LOST_WHOLE UINT64_MAX

/*
 * `bytes` as they would have been sent, or were; `rejected` is how many of its profiles the server
 * did not take. Which those were is not known: each resource lost the same share. Returns how many
 * samples.
 */
uint64_t lost_requests_add(struct lost_requests *l, struct str bytes, const char *cause,
			   uint64_t rejected);
/* The oldest; the caller releases it. False when there is none. */
bool lost_requests_take(struct lost_requests *l, struct buf *ret);
/* It was not delivered: the oldest again. */
void lost_requests_put_back(struct lost_requests *l, struct buf *bytes);
