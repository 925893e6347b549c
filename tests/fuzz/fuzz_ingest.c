/*
 * POST /ingest: the parameters in the first lines (name, format, Content-Type, spy and sample
 * rate), then the body.
 */
#include "fuzz_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = str_n(data, size), type, spy;
	struct ingest_request q = {.from = STR("1700000000"), .until = STR("1700000010")};
	struct receive r;
	struct dict warm;
	struct fault fault = {0};
	enum err e;

	if (!str_split(&rest, '\n', &q.name) || !str_split(&rest, '\n', &q.format) ||
	    !str_split(&rest, '\n', &type) || !str_split(&rest, '\n', &spy))
		return 0;
	q.spy_name = str_n(spy.p, str_find(spy, ' '));
	q.sample_rate = str_skip(spy, q.spy_name.n + 1);
	q.content_type = type;
	q.body = rest;
	if (dict_init(&warm, 1))
		abort();
	r = fuzz_receive(&warm);
	e = receive_ingest(&r, &q, &fault);
	/* Whoever is refused is told why. */
	if (e && e != ERR_NO_MEMORY && !fault.text[0])
		abort();
	received_release(&r.result);
	dict_release(&warm);
	return 0;
}
