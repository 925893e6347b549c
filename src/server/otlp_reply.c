#include "server/otlp_reply.h"

#include <stdio.h>

#include "server/wire.h"

struct partial_success {
	int64_t rejected;
	struct str message;
};

struct export_reply {
	struct partial_success *partial;
};

#define PARTIAL(rejected_)                                                                         \
	{                                                                                          \
		"PartialSuccess",                                                                  \
			(const struct field[]){{1, rejected_, FIELD_INT,                           \
						.at = offsetof(struct partial_success, rejected)}, \
					       {2, "errorMessage", FIELD_TEXT,                     \
						.at = offsetof(struct partial_success, message)},  \
					       {0}},                                               \
			sizeof(struct partial_success)                                             \
	}

static const struct message partial_profiles = PARTIAL("rejectedProfiles"),
			    partial_spans = PARTIAL("rejectedSpans");

#define REPLY(partial_)                                                                       \
	{                                                                                     \
		"ExportResponse",                                                             \
			(const struct field[]){{1, "partialSuccess", FIELD_MESSAGE,           \
						.at = offsetof(struct export_reply, partial), \
						.message = &(partial_)},                      \
					       {0}},                                          \
			sizeof(struct export_reply)                                           \
	}

static const struct message profiles_reply = REPLY(partial_profiles),
			    spans_reply = REPLY(partial_spans);

/* Exporters in the field expect the field to be there, if empty, as the Collector sends it. */
void otlp_reply_write(const struct received *result, bool spans, bool json, struct buf *out)
{
	struct partial_success partial = {0};
	struct export_reply reply = {&partial};
	char warning[200];

	if (result->rejected) {
		partial.rejected = (int64_t)result->rejected;
		partial.message = str_of(result->reason.text);
	} else if (result->dropped_rows || result->dropped_columns || result->clamped_values) {
		/* Nothing rejected, and a message: a warning, as OTLP has it. */
		snprintf(warning, sizeof(warning),
			 "stored without %llu rows with negative values and %llu columns of a type "
			 "that is there twice; %llu values did not fit 64 bits",
			 (unsigned long long)result->dropped_rows,
			 (unsigned long long)result->dropped_columns,
			 (unsigned long long)result->clamped_values);
		partial.message = str_of(warning);
	}
	message_write(spans ? &spans_reply : &profiles_reply, &reply, json, out);
}
