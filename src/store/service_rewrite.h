/*
 * Private to the embedded engine: rewrites a service without the data of a selection.
 */
#pragma once

#include "store/upkeep.h"

struct new_block {
	struct block_info info;
	size_t at, n; /* offset in `bytes` */
};
struct new_chunk {
	int64_t key;
	uint32_t rows; /* 0 = nothing remains */
	size_t at, n;
};

struct rewriting {
	struct day_service *ds;
	const struct selection *selection;
	struct choice choice;
	struct partition *from, *to;
	struct buf bytes; /* bytes of all new rows */
	VEC(struct new_block) blocks;
	VEC(struct new_chunk) chunks; /* by key */
	uint64_t removed;
	struct fault *fault;
};

/* Rewrites and swaps; `removed` is the number of profiles that lost data. Requires `upkeep`. The
 * caller sets the members above `to`, and calls rewriting_release. */
enum err service_rewrite(struct rewriting *w) MUST_CHECK;
void rewriting_release(struct rewriting *w);
