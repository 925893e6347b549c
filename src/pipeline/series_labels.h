/*
 * The labels of a series while a receiver puts them together. Names and values are slices: what
 * they point to must live until the profile was handed over.
 *
 * Names are UTF-8 and kept as they are. Names that begin with "__" are Pyroscope's own (the type of
 * a profile is kept otherwise) and left out; an empty value is no label.
 */
#pragma once

#include "pipeline/receive.h"

#define SERIES_LABELS_MAX 128 /* whatever the limits say */
#define UNKNOWN_SERVICE	  "unknown_service"

struct series_labels {
	const struct receive_limits *limits;
	/* Attributes of OTLP, which nobody wrote to be labels: what breaks a rule is cut or left
	 * out and noted here; else it is refused. */
	struct notes *lenient;
	size_t n;
	struct label_pair v[SERIES_LABELS_MAX];
};

void series_labels_init(struct series_labels *s, const struct receive_limits *limits);
/* Adds a label unless there is one of that name. */
enum err series_labels_add(struct series_labels *s, struct str name, struct str value,
			   struct fault *fault) MUST_CHECK;
/* The same, but takes the place of one that is there. */
enum err series_labels_set(struct series_labels *s, struct str name, struct str value,
			   struct fault *fault) MUST_CHECK;
/* The value, or one with p == NULL. */
struct str series_labels_get(const struct series_labels *s, struct str name);
/* service_name, or "unknown_service". */
struct str series_labels_service(const struct series_labels *s);
/* Sorts them, as struct series_profile wants them, service_name among them. */
enum err series_labels_finish(struct series_labels *s, struct fault *fault) MUST_CHECK;
