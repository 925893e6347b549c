/*
 * OTLP traces: JSON when it begins with a brace, else protobuf.
 */
#include "fuzz_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct receive r;
	struct dict warm;
	struct fault fault = {0};
	enum err e;

	if (dict_init(&warm, 1))
		abort();
	r = fuzz_receive(&warm);
	e = receive_otlp_traces(&r, str_n(data, size), size && data[0] == '{', &fault);
	if (e && !fault.text[0])
		abort();
	received_release(&r.result);
	dict_release(&warm);
	return 0;
}
