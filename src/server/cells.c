#include "server/cells.h"

#include <stdlib.h>

#include "base/clock.h"

#define MAX_CELLS    20000
#define MAX_SPANS    200000
#define MS_PER_S     1000
#define MAX_WIDTH_MS (86400 * (int64_t)MS_PER_S)
/* So that nothing below overflows: the year 2262. */
#define MAX_UNIX_MS  (INT64_MAX / NS_PER_MS - MAX_WIDTH_MS - 2 * MS_PER_S)

struct cell {
	int64_t start_ms, offset_ms, length_ms, width_ms;
};

static enum err read_cell(struct str text, struct cell *ret, struct fault *fault)
{
	struct str rest = text, part;
	int64_t *const fields[] = {&ret->start_ms, &ret->offset_ms, &ret->length_ms,
				   &ret->width_ms};
	size_t n = 0;

	*ret = (struct cell){.width_ms = MS_PER_S};
	while (n < 4 && str_split(&rest, ':', &part) && str_to_i64(part, fields[n]) == ERR_OK)
		n++;
	if (n < 3 || rest.n || ret->start_ms < 0 || ret->start_ms > MAX_UNIX_MS ||
	    ret->offset_ms < 0 || ret->length_ms < 1 ||
	    ret->length_ms > MS_PER_S - ret->offset_ms || ret->width_ms < 1 ||
	    ret->width_ms > MAX_WIDTH_MS)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "cells=%.*s: expected UNIXMS:OFFSETMS:LENGTHMS[:WIDTHMS], the "
				 "offset and the length within a second",
				 (int)(text.n < 60 ? text.n : 60), text.p);
	return ERR_OK;
}

/* A cell is one piece of each second it is wide, as far as that lies in it. */
static enum err add_cell(const struct cell *c, struct arena *arena, struct time_span **spans,
			 size_t *n, size_t *cap, struct fault *fault)
{
	int64_t end = c->start_ms + c->width_ms;

	for (int64_t second = c->start_ms - c->start_ms % MS_PER_S; second < end;
	     second += MS_PER_S) {
		int64_t from = second + c->offset_ms, until = from + c->length_ms;

		from = from < c->start_ms ? c->start_ms : from;
		until = until > end ? end : until;
		if (from >= until)
			continue;
		if (*n == MAX_SPANS)
			return fault_set(fault, ERR_BAD_ARGUMENT,
					 "cells: more than %d seconds; choose fewer", MAX_SPANS);
		if (*n == *cap) {
			size_t larger = *cap ? 2 * *cap : 256;
			struct time_span *grown = arena_zalloc(arena, larger, sizeof(*grown));

			if (!grown)
				return ERR_NO_MEMORY;
			if (*n)
				memcpy(grown, *spans, *n * sizeof(*grown));
			*spans = grown;
			*cap = larger;
		}
		(*spans)[(*n)++] = (struct time_span){from * NS_PER_MS, until * NS_PER_MS};
	}
	return ERR_OK;
}

static int compare_spans(const void *left, const void *right)
{
	const struct time_span *a = left, *b = right;

	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static size_t join_spans(struct time_span *spans, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(spans, n, sizeof(*spans), compare_spans);
	for (size_t i = 0; i < n; i++) {
		struct time_span *last = kept ? &spans[kept - 1] : NULL;

		if (!last || spans[i].from_ns > last->until_ns)
			spans[kept++] = spans[i];
		else if (spans[i].until_ns > last->until_ns)
			last->until_ns = spans[i].until_ns;
	}
	return kept;
}

enum err cells_read(struct request *r, struct str text, struct time_span **ret, size_t *ret_n,
		    struct fault *fault)
{
	struct time_span *spans = NULL;
	size_t n = 0, cap = 0, cells = 0;
	struct str part;

	while (str_split(&text, ',', &part)) {
		struct cell cell;

		if (cells++ == MAX_CELLS)
			return fault_set(fault, ERR_BAD_ARGUMENT, "more than %d cells", MAX_CELLS);
		TRY(read_cell(str_trim(part), &cell, fault));
		TRY(add_cell(&cell, &r->x->arena, &spans, &n, &cap, fault));
	}
	*ret = spans;
	*ret_n = join_spans(spans, n);
	return ERR_OK;
}
