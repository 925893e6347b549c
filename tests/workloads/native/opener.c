/* opener LIBRARY: opens it late, works in it, closes it, and again. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 0; i < 2 && argc > 1; i++) {
		void *library = dlopen(argv[1], RTLD_NOW);
		void (*work)(void) =
			library ? (void (*)(void))dlsym(library, "work_in_plugin") : NULL;

		if (!work) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		work();
		dlclose(library);
	}
	return 0;
}
