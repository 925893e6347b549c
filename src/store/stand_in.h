/*
 * Private to src/store: columns that a receiver computed (model/types.h, TYPE_DERIVED) stand in for
 * the measured one of their type, series by series and for the times in which there is none. Both
 * are stored, in whatever order they come; which of them counts is decided when a question is
 * asked.
 *
 * A computed profile counts unless half of its time, or more, was measured. Moments count as a
 * second, so that two requests without a duration of their own meet.
 *
 * A partition is a day, and nobody looks into the next one for this: of a computed profile the part
 * before midnight decides, and measured profiles that begin soon after midnight were measuring
 * before.
 */
#pragma once

#include "store/answer.h"

struct question;

/* Measured times of one series, in order and apart. */
struct stand_in_time {
	uint32_t series, type; /* the measured type */
	int64_t from_ns, until_ns;
};

/* Of the partition at hand. */
struct stand_in {
	struct arena arena;
	uint32_t
		*measured; /* per type that is chosen and computed: the measured one, or MAP_NONE */
	uint64_t *series, *types; /* bits: what has both, and its measured types */
	bool any;
	int64_t day_ns; /* its beginning */
	VEC(struct stand_in_time) times;
};

/* With the partition's lock, after its types and series were chosen. */
enum err stand_in_begin(struct stand_in *s, const struct question *q) MUST_CHECK;
void stand_in_release(struct stand_in *s);
/* Reads the measured times. Nothing to do in nearly every partition. */
enum err stand_in_read(struct stand_in *s, struct question *q) MUST_CHECK;
/* Whether the column gives way to what was measured. */
bool stand_in_yields(const struct stand_in *s, const struct chunk_head *head, uint32_t type);
