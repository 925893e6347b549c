/*
 * The table of `vestal live`: functions and their values in the last seconds, keyed by text,
 * because each second has a dictionary of its own.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "model/model.h"

enum live_measure { LIVE_CPU, LIVE_WAIT, LIVE_MEASURES };

struct live_values {
	double flat[LIVE_MEASURES], cum[LIVE_MEASURES]; /* nanoseconds */
};

struct live_row {
	struct str process, name;
	struct live_values values;
	size_t stamp; /* row of the current profile that was added last, counted from 1 */
};

/* All zero is an empty one. */
struct live_rows {
	VEC(struct live_row) list;
	struct map index;
	struct arena texts;
	double total[LIVE_MEASURES];
};

void live_rows_release(struct live_rows *r);
/* Adds to the row with these texts; recursion counts once. */
enum err live_rows_profile(struct live_rows *r, const struct profile *p,
			   bool by_process) MUST_CHECK;
enum err live_rows_sum(struct live_rows *to, const struct live_rows *from) MUST_CHECK;

enum live_order {
	LIVE_BY_CPU,
	LIVE_BY_CPU_CUM,
	LIVE_BY_WAIT,
	LIVE_BY_WAIT_CUM,
	LIVE_ORDERS,
};

struct live_look {
	bool measures[LIVE_MEASURES];
	bool by_process, color, paused, typing;
	enum live_order order;
	char filter[80];
	size_t scroll;
	unsigned rows;	/* of the table; 0 = all */
	unsigned width; /* of the terminal; 0 = as wide as needed */
	double seconds; /* the rows are of */
};

void live_rows_sort(struct live_rows *r, enum live_order order);
/* The header line and the table, from sorted rows. */
void live_render(const struct live_rows *r, const struct live_look *look, struct buf *out);
