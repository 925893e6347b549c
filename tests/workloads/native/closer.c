/* Opens the library at PATH, profiles itself by it for a moment, and closes it;
 * twice, and the second time nobody stops it first. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

static void *function(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		exit(1);
	return found;
}

int main(int argc, char **argv)
{
	volatile uint64_t sink = 0;

	for (int i = 0; i < 2; i++) {
		void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *v = NULL, *found;
		int (*start)(const void *, void **);
		void (*stop)(void *);
		int64_t end = cpu_ns() + 200000000;

		if (!library)
			return 2;
		found = function(library, "vestal_start");
		memcpy(&start, &found, sizeof(start));
		found = function(library, "vestal_stop");
		memcpy(&stop, &found, sizeof(stop));
		if (start(NULL, &v) != 0)
			return 3;
		while (cpu_ns() < end)
			sink += churn(sink, 1000);
		if (i == 0)
			stop(v);
		dlclose(library);
	}
	printf("closed\n");
	return 0;
}
