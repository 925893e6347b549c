/*
 * gzip and zstd: arbitrary bytes never expand past their ceiling and never read outside.
 */
#include <stdlib.h>

#include "format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct limits limits = LIMITS_DEFAULT;
	struct fault fault = {0};
	const char *name;
	struct buf out;

	limits.max_bytes = 4 << 20;
	if (!decompress(str_n(data, size), &limits, &out, &name, &fault)) {
		if (out.n > limits.max_bytes)
			abort();
		buf_release(&out);
	}
	return 0;
}
