/*
 * Forms: the Content-Type in the first line. Parts lie inside the body, one behind the other.
 */
#include <stdlib.h>

#include "pipeline/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = str_n(data, size), type;
	struct multipart_part part;
	struct multipart m;
	const char *behind = rest.p;

	if (!str_split(&rest, '\n', &type))
		return 0;
	(void)multipart_is(type);
	if (multipart_init(&m, type, rest, NULL))
		return 0;
	while (multipart_next(&m, &part)) {
		if (part.body.p < behind || part.body.p + part.body.n > rest.p + rest.n)
			abort();
		behind = part.body.p + part.body.n;
	}
	if (m.parts > MULTIPART_MAX_PARTS + 1)
		abort();
	return 0;
}
