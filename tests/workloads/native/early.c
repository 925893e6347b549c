/* Allocates before main, from a constructor that runs before all others and from many at once. */
#include <stdlib.h>
#include <string.h>

#include "truth.h"

static char *kept;

__attribute__((constructor(101))) static void before_all(void)
{
	kept = malloc(100);
	kept = realloc(kept, 200000);
	memset(kept, 7, 200000);
	free(calloc(1000, 1000));
}

int main(void)
{
	for (int i = 0; i < 200000; i++)
		if (kept[i] != 7)
			return 1;
	free(kept);
	puts("early");
	return 0;
}
