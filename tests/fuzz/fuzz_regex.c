/*
 * Regular expressions of strangers: the first line is the pattern, the rest the text.
 */
#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str all = str_n(data, size), pattern = str_n(data, str_find(all, '\n'));
	struct linear_regex *regex = NULL;
	bool match;

	if (linear_regex_new(pattern, &regex, NULL) == ERR_OK)
		(void)!linear_regex_match(regex, str_skip(all, pattern.n + 1), &match);
	linear_regex_free(regex);
	return 0;
}
