/*
 * POST /ingest, shared by ingest_*.c: the parsed parameters.
 */
#pragma once

#include "pipeline/hand_over.h"
#include "pipeline/ingest_words.h"

struct ingest {
	struct receive *r;
	const struct ingest_request *request;
	struct ingest_name name;
	int64_t from_ns, until_ns;
	uint32_t sample_rate;
	struct str spy;
	struct series_labels labels;
	struct arena arena; /* of type ids and the like */
};

/* Sets the labels: those in the name; `service` as service_name unless they have one, else as
 * app_name if `app` is set; the spy. */
enum err ingest_labels(struct ingest *in, struct str service, bool app,
		       struct fault *fault) MUST_CHECK;
/* Time and duration: the profile's own if they are plausible, else those of the request. */
void ingest_window(const struct ingest *in, const struct profile *p, bool own, struct address *to);

enum err ingest_pprof(struct ingest *in, bool form, struct fault *fault) MUST_CHECK;
enum err ingest_jfr(struct ingest *in, struct fault *fault) MUST_CHECK;

/* A profile whose type is part of the service's name: "app.cpu", "app.alloc_space". */
enum ingest_text { INGEST_GROUPS, INGEST_LINES, INGEST_TREE, INGEST_TRIE, INGEST_SPEEDSCOPE };
enum err ingest_text(struct ingest *in, enum ingest_text kind, struct fault *fault) MUST_CHECK;

/* Finds the parts of a form by name: ret[i] for names[i], p == NULL if missing. */
enum err ingest_form(struct ingest *in, const char *const *names, struct str *ret, size_t n,
		     struct fault *fault) MUST_CHECK;
