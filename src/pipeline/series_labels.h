/*
 * The labels of a series under construction. Names and values are slices, which must be valid until
 * the profile was pushed.
 *
 * Names are UTF-8 and unchanged. Names that begin with "__" are Pyroscope's private ones and
 * dropped (the type is stored separately); so are labels with empty values.
 */
#pragma once

#include "pipeline/receive.h"

#define SERIES_LABELS_MAX 128 /* hard limit */
#define UNKNOWN_SERVICE	  "unknown_service"

struct series_labels {
	const struct receive_limits *limits;
	/* OTLP attributes were not written as labels: cut or drop them if they break a rule, and
	 * note that here. Otherwise such labels are refused. */
	struct notes *lenient;
	size_t n;
	struct label_pair v[SERIES_LABELS_MAX];
};

void series_labels_init(struct series_labels *s, const struct receive_limits *limits);
/* Adds a label unless there is one of that name. */
enum err series_labels_add(struct series_labels *s, struct str name, struct str value,
			   struct fault *fault) MUST_CHECK;
/* The same, but replaces an existing one. */
enum err series_labels_set(struct series_labels *s, struct str name, struct str value,
			   struct fault *fault) MUST_CHECK;
/* The value, or one with p == NULL. */
struct str series_labels_get(const struct series_labels *s, struct str name);
/* service_name, or "unknown_service". */
struct str series_labels_service(const struct series_labels *s);
/* Sorts them for struct series_profile, and adds service_name. */
enum err series_labels_finish(struct series_labels *s, struct fault *fault) MUST_CHECK;
