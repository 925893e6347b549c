/*
 * Where profiles go: to a server, with another try later when it does not take them, or to files.
 * What waits is bounded; the oldest is given up first. Background thread only.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "base/vec.h"
#include "model/model.h"
#include "sdk/sdk_settings.h"

struct outlet {
	const struct sdk_settings *settings;
	VEC(struct buf) waiting; /* encoded, the oldest first */
	int64_t next_try_ns, pause_ns;
	u64 random;
	int64_t deadline_ns; /* of the try under way */
	int64_t no_later;    /* the end of all tries, once it is known; 0 = not yet */
	void (*idle)(void *context);
	void *context;
	atomic_uint_least64_t delivered, given_up;
};

void outlet_init(struct outlet *o, const struct sdk_settings *s);
void outlet_release(struct outlet *o);
/* True when each interval's profile goes out by itself; false for one file at the end. */
bool outlet_by_interval(const struct outlet *o);
/* Takes profiles; they are sent by outlet_turn. */
void outlet_send(struct outlet *o, const struct profile_list *list);
/* Writes a file, now. */
void outlet_save(struct outlet *o, const struct profile_list *list);
/* Sends what waits and is due. */
void outlet_turn(struct outlet *o, bool last);
/* "prof-%p-%t.pb.gz" with its numbers filled in. */
enum err outlet_path(const char *pattern, int pid, int64_t wall_ns, char *ret,
		     size_t size) MUST_CHECK;
