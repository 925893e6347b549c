#include "sdk/own_pages.h"

#include <sys/mman.h>

void *own_pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Two megabytes for the first byte of each table would be most of what the library costs.
	 */
	(void)madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}
