/*
 * Accounting for export requests that will never be delivered. Each request contains completeness
 * profiles, which count what was collected (model/completeness.h). When a request is lost, these
 * are kept, with everything in it marked as lost and the cause. They are small, have the times of
 * the request, and are sent when a server accepts requests again.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"

struct lost_requests {
	VEC(struct buf) list; /* encoded, oldest first */
	size_t bytes;
	uint64_t forgotten; /* dropped for lack of room, or undecodable */
};

void lost_requests_release(struct lost_requests *l);
#define LOST_WHOLE UINT64_MAX

/*
 * Adds a lost request. `bytes` is its encoded body; `rejected` is the number of profiles that the
 * server rejected, or LOST_WHOLE. A server does not report which ones it rejected, so each resource
 * is assumed to have lost the same share (struct rejected_part). Returns the number of lost
 * samples.
 */
uint64_t lost_requests_add(struct lost_requests *l, struct str bytes, const char *cause,
			   uint64_t rejected);
/* Removes the oldest; the caller releases it. False if there is none. */
bool lost_requests_take(struct lost_requests *l, struct buf *ret);
/* Puts it back as the oldest, if it could not be delivered. */
void lost_requests_put_back(struct lost_requests *l, struct buf *bytes);
