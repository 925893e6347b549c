#include "fuzz_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_read f;

	(void)!fuzz_read(&f, &formats[FORMAT_CPUPROFILE], str_n(data, size));
	fuzz_read_release(&f);
	return 0;
}
