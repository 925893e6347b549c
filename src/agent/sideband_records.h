/* Parses the perf records of process events. */
#pragma once

#include <linux/perf_event.h>

#include "agent/sideband.h"

/*
 * The record at position `at` of a ring that is written up to `head`. One that wraps around the end
 * of the ring is copied to `scratch`. NULL: not a valid record.
 */
const struct perf_event_header *sideband_record_at(const char *data, size_t data_size, u64 at,
						   u64 head, struct buf *scratch);
/* False if it is of no interest; adds the number of lost records to `lost`. */
bool sideband_record_parse(const struct perf_event_header *h, struct sideband_event *e, u64 *lost);
