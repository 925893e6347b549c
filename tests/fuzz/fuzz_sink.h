/*
 * A sink for the targets of receivers: aborts when it is given what the contract rules out.
 */
#pragma once

#include <stdlib.h>

#include "pipeline/pipeline.h"

static inline enum err fuzz_profile(void *context, const struct series_profile *s,
				    struct fault *fault)
{
	const struct profile *p = s->profile;
	bool service = false;

	(void)context;
	(void)fault;
	for (size_t i = 0; i < s->label_count; i++) {
		if (!s->labels[i].name.n || !s->labels[i].value.n ||
		    !utf8_valid(s->labels[i].name) || !utf8_valid(s->labels[i].value))
			abort();
		if (i && str_cmp(s->labels[i - 1].name, s->labels[i].name) >= 0)
			abort();
		service |= str_eq(s->labels[i].name, STR("service_name"));
	}
	/* One without rows says that nothing was found while it was measured. */
	if (!service || s->duration_ns < 0)
		abort();
	for (uint32_t t = 0; t < p->type_count; t++) {
		unsigned colons = 0;

		for (size_t i = 0; i < s->types[t].n; i++)
			colons += s->types[t].p[i] == ':';
		if (s->types[t].n && (colons != 4 || !utf8_valid(s->types[t])))
			abort();
	}
	for (size_t i = 0; i < p->row_count; i++) {
		struct row row = profile_row(p, i);

		if (row.stack >= p->dict->stacks.entries.n ||
		    row.labels >= p->dict->label_sets.entries.n || row.link >= p->dict->links.n)
			abort();
	}
	return ERR_OK;
}

static inline enum err fuzz_span(void *context, const struct trace_span *s, struct fault *fault)
{
	(void)context;
	(void)fault;
	if (!s->service.n || s->duration_ns < 0 || s->attribute_count > 32)
		abort();
	for (size_t i = 0; i < s->attribute_count; i++)
		if (!utf8_valid(s->attributes[i].name) || !utf8_valid(s->attributes[i].value))
			abort();
	return ERR_OK;
}

static inline enum err fuzz_dictionary(void *context, struct str service, struct dict **ret,
				       struct fault *fault)
{
	(void)service;
	(void)fault;
	*ret = context;
	return ERR_OK;
}

/* Limits are low, so that a fuzzer reaches them. */
static inline struct receive fuzz_receive(struct dict *warm)
{
	struct receive r = {.sink = {.context = warm,
				     .seed = 1,
				     .dictionary = fuzz_dictionary,
				     .profile = fuzz_profile,
				     .span = fuzz_span},
			    .limits = receive_limits_default,
			    .now_ns = 1700000000000000000};

	r.limits.format.max_bytes = 1 << 22;
	r.limits.format.max_depth = 64;
	r.limits.format.max_nesting = 32;
	r.limits.format.max_entries = 100000;
	r.limits.max_label_value = 64;
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
