/* Names: whatever comes out fits and ends, and is no longer when it is simplified. */
#include <stdlib.h>

#include "symbols/demangle.h"
#include "symbols/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[6000], out[SYMBOL_NAME_MAX], small[20];

	if (size >= sizeof(name))
		size = sizeof(name) - 1;
	memcpy(name, data, size);
	name[size] = 0;
	for (int kind = SYMBOL_NAMES_FULL; kind <= SYMBOL_NAMES_RAW; kind++) {
		(void)symbol_demangle(name, (enum symbol_names)kind, out, sizeof(out));
		(void)symbol_demangle(name, (enum symbol_names)kind, small, sizeof(small));
		if (strlen(out) >= sizeof(out) || strlen(small) >= sizeof(small))
			abort();
	}
	size_t before = strlen(name);

	demangle_simplify(name);
	if (strlen(name) > before)
		abort();
	return 0;
}
