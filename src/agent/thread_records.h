/*
 * What a pass over all threads writes: records one behind the other, cut anywhere by the reads.
 */
#pragma once

#include "base/err.h"
#include "bpf/records.h"

/* Hands out every record until the descriptor's end. ERR_CORRUPT: not what our program writes. */
enum err thread_records_read(int fd, void *context,
			     enum err (*record)(void *context, const struct record_head *head,
						size_t size)) MUST_CHECK;
