#include "fuzz_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format *format = &formats[FORMAT_SPEEDSCOPE];
	struct fuzz_read f;

	/* A file is written from one profile: the sums of each stack must come back. */
	if (fuzz_read(&f, format, str_n(data, size)) == ERR_OK && f.list.n == 1)
		fuzz_round_trip(&f, format);
	fuzz_read_release(&f);
	return 0;
}
