/* A perf map in two parts, as it grows: read at once it must say the same. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "symbols/jit_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_part(struct jit_symbols *j, int fd, const uint8_t *data, size_t size)
{
	if (write_all(fd, data, size) || jit_symbols_read_map_fd(j, fd))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int grown = memfd_create("grown", MFD_CLOEXEC), whole = memfd_create("whole", MFD_CLOEXEC);
	struct jit_symbols *a, *b;

	if (size > 65536 || jit_symbols_new((size_t)1 << 26, &a) ||
	    jit_symbols_new((size_t)1 << 26, &b))
		abort();
	read_part(a, grown, data, size / 2);
	read_part(a, grown, data + size / 2, size - size / 2);
	read_part(b, whole, data, size);
	if (a->ranges.n != b->ranges.n)
		abort();
	for (size_t i = 0; i < a->ranges.n; i++) {
		struct symbol_frame fa, fb;
		uint64_t at = a->ranges.v[i].start;

		if (!jit_symbols_find(a, at, &fa) || !jit_symbols_find(b, at, &fb) ||
		    strcmp(fa.function, fb.function) != 0)
			abort();
	}
	jit_symbols_free(a);
	jit_symbols_free(b);
	close(grown);
	close(whole);
	return 0;
}
