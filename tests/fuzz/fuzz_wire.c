/*
 * Messages of calls by their tables: the first byte says which, the second whether as JSON. What
 * was read and written is read and written the same again, in either encoding.
 */
#include <stdlib.h>

#include "server/querier_messages.h"
#include "server/wire.h"

static const struct message *const tables[] = {
	&range_request_table,	     &label_names_request_table,
	&label_values_request_table, &series_request_table,
	&stacktraces_request_table,  &span_request_table,
	&diff_request_table,	     &select_series_request_table,
	&heatmap_request_table,	     &analyze_request_table,
	&profile_types_reply_table,  &names_reply_table,
	&series_reply_table,	     &stacktraces_reply_table,
	&diff_reply_table,	     &select_series_reply_table,
	&heatmap_reply_table,	     &stats_reply_table,
	&analyze_reply_table,	     &empty_table,
};

#define MEMORY ((size_t)64 << 20)

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Reads `in` and writes what it was; false: it was refused, and why was said. */
static bool copy(const struct message *m, struct str in, bool json, bool json_out, struct buf *out)
{
	struct fault fault = {0};
	struct arena arena;
	void *value;
	enum err error;

	arena_init(&arena, MEMORY);
	value = arena_zalloc(&arena, 1, m->size);
	require(value != NULL);
	error = message_read(m, in, json, &arena, value, &fault);
	if (error == ERR_OK)
		message_write(m, value, json_out, out);
	else
		require(error == ERR_NO_MEMORY || fault.text[0]);
	arena_release(&arena);
	return error == ERR_OK && !out->error;
}

static void copies_are_equal(const struct message *m, struct str in, bool json)
{
	struct buf once = BUF_INIT(MEMORY), twice = BUF_INIT(MEMORY);

	if (copy(m, in, json, json, &once)) {
		require(copy(m, buf_view(&once), json, json, &twice));
		require(str_eq(buf_view(&once), buf_view(&twice)));
	}
	buf_release(&once);
	buf_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf first = BUF_INIT(MEMORY), other = BUF_INIT(MEMORY);

	if (size < 2)
		return 0;
	const struct message *m = tables[data[0] % (sizeof(tables) / sizeof(*tables))];
	struct str input = str_n(data + 2, size - 2);
	bool json = data[1] & 1;

	/* What its own writer made is in normal form: unknown fields, nulls and the like are gone.
	 */
	if (copy(m, input, json, json, &first)) {
		copies_are_equal(m, buf_view(&first), json);
		if (copy(m, buf_view(&first), json, !json, &other))
			copies_are_equal(m, buf_view(&other), !json);
	}
	buf_release(&first);
	buf_release(&other);
	return 0;
}
