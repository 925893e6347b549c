/* The kernel's records of what processes do, one by one. */
#pragma once

#include <linux/perf_event.h>

#include "agent/sideband.h"

/*
 * The record at position `at` of a ring that is written up to `head`. One that wraps around the
 * ring's end is put together in `scratch`. NULL: what is there cannot be a record.
 */
const struct perf_event_header *sideband_record_at(const char *data, size_t data_size, u64 at,
						   u64 head, struct buf *scratch);
/* False when it says nothing of interest; records that were lost are added to `lost`. */
bool sideband_record_parse(const struct perf_event_header *h, struct sideband_event *e, u64 *lost);
