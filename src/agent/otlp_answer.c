#include "agent/otlp_answer.h"

#include "base/clock.h"
#include "format/format.h"

/* google.rpc.Status and google.protobuf.Any */
enum { STATUS_MESSAGE = 2, STATUS_DETAILS = 3, ANY_TYPE = 1, ANY_VALUE = 2 };
/* google.rpc.RetryInfo and google.protobuf.Duration */
enum { RETRY_DELAY = 1, DURATION_SECONDS = 1, DURATION_NANOS = 2 };

/* Longer delays are not honoured. */
#define SECONDS_MOST (365 * 86400)

bool otlp_answer_read(struct str bytes, struct otlp_answer *ret)
{
	struct otlp_answer answer = {0};
	struct pb c = pb_of(bytes);

	while (pb_next(&c)) {
		struct pb partial = pb_sub(&c);

		if (c.field != 1 || c.type != PB_BYTES)
			continue;
		while (pb_next(&partial)) {
			if (partial.field == 1 && partial.type == PB_VARINT)
				answer.rejected = (int64_t)partial.value;
			if (partial.field == 2 && partial.type == PB_BYTES)
				answer.message = partial.bytes;
		}
		if (partial.failed)
			return false;
	}
	if (c.failed)
		return false;
	if (answer.rejected < 0)
		answer.rejected = 0;
	if (!utf8_valid(answer.message))
		answer.message.n = 0;
	*ret = answer;
	return true;
}

static int64_t duration_ns(struct pb c)
{
	int64_t seconds = 0, nanos = 0;

	while (pb_next(&c)) {
		if (c.type == PB_VARINT && c.field == DURATION_SECONDS)
			seconds = (int64_t)c.value;
		if (c.type == PB_VARINT && c.field == DURATION_NANOS)
			nanos = (int64_t)c.value;
	}
	if (c.failed || seconds < 0 || nanos < 0 || nanos >= NS_PER_S)
		return -1;
	return (seconds < SECONDS_MOST ? seconds : SECONDS_MOST) * NS_PER_S + nanos;
}

static int64_t retry_of_any(struct pb c)
{
	struct str type = {0};
	struct pb info = {0};
	int64_t delay = 0;

	while (pb_next(&c)) {
		if (c.type != PB_BYTES)
			continue;
		if (c.field == ANY_TYPE)
			type = c.bytes;
		if (c.field == ANY_VALUE)
			info = pb_sub(&c);
	}
	if (c.failed || !str_ends(type, STR("/google.rpc.RetryInfo")))
		return -1;
	while (pb_next(&info))
		if (info.field == RETRY_DELAY && info.type == PB_BYTES)
			delay = duration_ns(pb_sub(&info));
	return info.failed ? -1 : delay;
}

int64_t rpc_status_retry_ns(struct str bytes)
{
	struct pb c = pb_of(bytes);
	int64_t found = -1;

	while (pb_next(&c))
		if (c.field == STATUS_DETAILS && c.type == PB_BYTES && found < 0)
			found = retry_of_any(pb_sub(&c));
	return c.failed ? -1 : found;
}

struct str rpc_status_message(struct str bytes)
{
	struct pb c = pb_of(bytes);
	struct str message = {0};

	while (pb_next(&c))
		if (c.field == STATUS_MESSAGE && c.type == PB_BYTES)
			message = c.bytes;
	return c.failed || !utf8_valid(message) ? (struct str){0} : message;
}
