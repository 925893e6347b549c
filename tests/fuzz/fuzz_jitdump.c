/* A jitdump; whatever it names is asked for at its ends. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "symbols/jit_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);
	struct jit_symbols *j;
	struct symbol_frame f;

	if (jit_symbols_new((size_t)1 << 24, &j) || write_all(fd, data, size))
		abort();
	(void)!jit_symbols_read_dump_fd(j, fd);
	(void)!jit_symbols_read_dump_fd(j, fd);
	for (size_t i = 0; i < j->ranges.n; i++)
		if (!jit_symbols_find(j, j->ranges.v[i].start, &f) ||
		    !jit_symbols_find(j, j->ranges.v[i].end - 1, &f))
			abort();
	jit_symbols_free(j);
	close(fd);
	return 0;
}
