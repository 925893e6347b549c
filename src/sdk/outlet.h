/*
 * Sends profiles to a server, with retries, or writes them to files. The number of waiting profiles
 * is limited; the oldest is dropped first. Background thread only.
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
	int64_t deadline_ns; /* of the current attempt */
	int64_t no_later;    /* deadline of all attempts when stopping; 0 = not stopping */
	void (*idle)(void *context);
	void *context;
	atomic_uint_least64_t delivered, given_up;
};

void outlet_init(struct outlet *o, const struct sdk_settings *s);
void outlet_release(struct outlet *o);
/* True if each interval has its own profile; false for one file at exit. */
bool outlet_by_interval(const struct outlet *o);
/* Takes over profiles; outlet_turn sends them. */
void outlet_send(struct outlet *o, const struct profile_list *list);
/* Writes a file, now. */
void outlet_save(struct outlet *o, const struct profile_list *list);
/* Sends waiting profiles that are due. */
void outlet_turn(struct outlet *o, bool last);
/* Expands "prof-%p-%t.pb.gz". */
enum err outlet_path(const char *pattern, int pid, int64_t wall_ns, char *ret,
		     size_t size) MUST_CHECK;
