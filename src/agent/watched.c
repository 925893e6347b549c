#include "agent/watched.h"

/* Twice the rest: a window may be as long as a rest. */
#define FARTHEST_NS (2 * WATCHED_REST_NS)

static int64_t covered_until(const struct watched *w, unsigned measure, int64_t since_ns)
{
	return w->until_ns[measure] > since_ns ? w->until_ns[measure] : since_ns;
}

int64_t watched_cover(struct watched *w, unsigned measure, int64_t since_ns, int64_t start_ns,
		      int64_t end_ns)
{
	int64_t from = covered_until(w, measure, since_ns);
	bool known = w->until_ns[measure] && since_ns;

	w->until_ns[measure] = end_ns;
	/* A calendar that was set back leaves times that are still to come. */
	if (!known || from >= start_ns || end_ns - from > FARTHEST_NS)
		return start_ns;
	return from;
}

bool watched_rests(const struct watched *w, unsigned measure, int64_t since_ns, int64_t end_ns)
{
	if (!since_ns || !w->until_ns[measure])
		return false;
	return end_ns - covered_until(w, measure, since_ns) >= WATCHED_REST_NS;
}
