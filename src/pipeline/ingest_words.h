/*
 * Parses the parameters of /ingest.
 *
 *	name   service{key=value,key=value}; values are not quoted and end at "," or "}"
 *	from   digits: 8 are YYYYMMDD if that is a valid date, 13 milliseconds, 16 microseconds,
 *	       19 nanoseconds, else seconds; or now, now-1h, now-30min, now+1d …
 */
#pragma once

#include "pipeline/series_labels.h"

struct ingest_name {
	struct str service;
	size_t n;
	struct label_pair v[SERIES_LABELS_MAX];
};

/* Slices of `text`. Of a repeated key the last value counts. */
enum err ingest_name_parse(struct str text, struct ingest_name *ret,
			   struct fault *fault) MUST_CHECK;

/* Invalid values mean now, as in Pyroscope. */
int64_t ingest_time_parse(struct str text, int64_t now_ns);
