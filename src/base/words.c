#include "base/words.h"

/* Two neighbours changed places: "tpo" for "top". */
static bool is_swapped(struct str a, struct str b)
{
	size_t i = 0;

	if (a.n != b.n)
		return false;
	while (i < a.n && a.p[i] == b.p[i])
		i++;
	return i + 1 < a.n && a.p[i] == b.p[i + 1] && a.p[i + 1] == b.p[i] &&
	       str_eq(str_skip(a, i + 2), str_skip(b, i + 2));
}

const char *nearest_word(struct str word, const char *const *words, size_t n)
{
	const char *best = NULL;
	size_t limit = word.n < 5 ? 1 : word.n < 9 ? 2 : 3;

	/* A beginning is as good as a near miss: "comp" for "completion". */
	for (size_t i = 0; word.n >= 3 && i < n; i++)
		if (str_starts(str_of(words[i]), word))
			return words[i];
	for (size_t i = 0; i < n; i++) {
		struct str candidate = str_of(words[i]);
		size_t distance =
			is_swapped(word, candidate) ? 1 : str_distance(word, candidate, limit);

		if (distance <= limit) {
			best = words[i];
			if (!distance)
				break;
			limit = distance - 1;
		}
	}
	return best;
}
