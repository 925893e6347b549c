#include "fuzz_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format *format = &formats[FORMAT_OTLP_JSON];
	struct fuzz_read f;

	if (fuzz_read(&f, format, str_n(data, size)) == ERR_OK && f.list.n)
		fuzz_round_trip(&f, format);
	fuzz_read_release(&f);
	return 0;
}
