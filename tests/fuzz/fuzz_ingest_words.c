/*
 * The words of /ingest: a name or a time.
 */
#include <stdlib.h>

#include "pipeline/ingest_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_n(data, size);
	struct ingest_name name;
	struct fault fault = {0};

	(void)ingest_time_parse(text, 1700000000000000000);
	if (ingest_name_parse(text, &name, &fault)) {
		if (!fault.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < name.n; i++)
		for (size_t k = 0; k < i; k++)
			if (str_eq(name.v[i].name, name.v[k].name))
				abort();
	return 0;
}
