/*
 * What a server sends back to the agent.
 */
#include <stdlib.h>

#include "agent/otlp_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct str part, const uint8_t *data, size_t size)
{
	const uint8_t *p = (const uint8_t *)part.p;

	if (part.n && (p < data || part.n > (size_t)(data + size - p) || !utf8_valid(part)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = str_n(data, size);
	struct otlp_answer answer;

	if (otlp_answer_read(bytes, &answer)) {
		check_inside(answer.message, data, size);
		if (answer.rejected < 0)
			abort();
	}
	check_inside(rpc_status_message(bytes), data, size);
	if (rpc_status_retry_ns(bytes) < -1)
		abort();
	return 0;
}
