/*
 * POST /ingest, between ingest_*.c: what the parameters said.
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

/* The labels: those of the name, `service` as service_name unless they have one, then as app_name
 * when `app` says so; the spy. */
enum err ingest_labels(struct ingest *in, struct str service, bool app,
		       struct fault *fault) MUST_CHECK;
/* Time and duration of the window: what the profile says of its `own` when it says something
 * sensible, else what the request says. */
void ingest_window(const struct ingest *in, const struct profile *p, bool own, struct address *to);

enum err ingest_pprof(struct ingest *in, bool form, struct fault *fault) MUST_CHECK;
enum err ingest_jfr(struct ingest *in, struct fault *fault) MUST_CHECK;

/* One profile whose type is in the name of the service: "app.cpu", "app.alloc_space". */
enum ingest_text { INGEST_GROUPS, INGEST_LINES, INGEST_TREE, INGEST_TRIE, INGEST_SPEEDSCOPE };
enum err ingest_text(struct ingest *in, enum ingest_text kind, struct fault *fault) MUST_CHECK;

/* Finds the parts of a form by their names: ret[i] is that of names[i], p == NULL when missing. */
enum err ingest_form(struct ingest *in, const char *const *names, struct str *ret, size_t n,
		     struct fault *fault) MUST_CHECK;
