/*
 * Lets the first stack grow before anything happens on it. valgrind (3.19) does not let it grow for
 * a signal whose handler asks for an alternate stack where there is none: it ends the program, with
 * "Can't extend stack to 0x... during signal delivery". What is there already needs not grow.
 */
#include <alloca.h>
#include <string.h>

__attribute__((constructor)) static void grow(void)
{
	size_t size = 1 << 20;
	void *deep = alloca(size);

	memset(deep, 0, size);
	__asm__ volatile("" ::"r"(deep) : "memory");
}
