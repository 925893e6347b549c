/*
 * Private to the embedded engine: a service written anew without what a selection takes.
 */
#pragma once

#include "store/upkeep.h"

struct new_block {
	struct block_info info;
	size_t at, n; /* in `bytes` */
};
struct new_chunk {
	int64_t key;
	uint32_t rows; /* 0 = nothing left */
	size_t at, n;
};

struct rewriting {
	struct day_service *ds;
	const struct selection *selection;
	struct choice choice;
	struct partition *from, *to;
	struct buf bytes; /* of all new rows */
	VEC(struct new_block) blocks;
	VEC(struct new_chunk) chunks; /* by key */
	uint64_t removed;
	struct fault *fault;
};

/* Rewrites and swaps; `removed` says how many profiles lost something. `upkeep` is held. The caller
 * filled all above `to`, and releases with rewriting_release. */
enum err service_rewrite(struct rewriting *w) MUST_CHECK;
void rewriting_release(struct rewriting *w);
