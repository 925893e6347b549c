/*
 * The output of a thread scan: consecutive records, which reads may split anywhere.
 */
#pragma once

#include "base/err.h"
#include "bpf/records.h"

/* Passes every record until the end of the descriptor. ERR_CORRUPT: not the output of our
 * program. */
enum err thread_records_read(int fd, void *context,
			     enum err (*record)(void *context, const struct record_head *head,
						size_t size)) MUST_CHECK;
