/*
 * The record of a trusted clock: whatever is in it, no time that is counted is negative or longer
 * than what the wall clock says.
 */
#include <stdlib.h>

#include "store/trusted_clock.h"

#define NOW INT64_C(1769853600000000000)

static int64_t wall(void)
{
	return NOW;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t times[] = {0, 1, NOW / 2, NOW - 1, NOW, NOW + 1, NOW * 2};
	struct store_options o = store_options_default;
	struct buf text = BUF_INIT(16384);
	struct store_clock_state state;
	struct trusted_clock c;

	o.now_ns = wall;
	trusted_clock_init(&c, &o);
	if (trusted_clock_read(&c, str_n((const char *)data, size)) == ERR_OK) {
		(void)trusted_clock_look(&c, &state);
		for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
			int64_t age = trusted_clock_age(&c, times[i]);

			if (age < 0 || age > NOW)
				abort();
		}
		/* What it writes it reads. */
		if (trusted_clock_write(&c, &text) == ERR_OK &&
		    trusted_clock_read(&c, buf_view(&text)) != ERR_OK)
			abort();
	}
	buf_release(&text);
	trusted_clock_release(&c);
	return 0;
}
