/*
 * Dictionaries of partitions as bytes; the checksum is made to fit. What was read is written and
 * read again, and must then be the same.
 */
#include <stdlib.h>

#include "store/partition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_and_compare(const struct partition *p, const struct partition_mark *from)
{
	struct partition_mark before = partition_mark(p), after;
	struct buf out = BUF_INIT((size_t)1 << 28);
	struct partition *again;

	if (partition_new(STR("t"), STR("s"), 0, 1, NULL, &again) ||
	    partition_delta_encode(p, from, before.stacks % 2 ? 1 : 0, &out) ||
	    partition_delta_apply(again, buf_view(&out)))
		abort();
	after = partition_mark(again);
	if (!partition_mark_equal(&before, &after))
		abort();
	for (uint32_t i = 0; i < before.stacks; i++)
		if (stack_hash(&p->dict, i) != stack_hash(&again->dict, i))
			abort();
	buf_release(&out);
	partition_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf bytes = BUF_INIT((size_t)1 << 28);
	struct partition_mark from;
	struct partition *p;

	if (partition_new(STR("t"), STR("s"), 0, 1, NULL, &p))
		abort();
	from = p->persisted;
	buf_append(&bytes, (char[BLOB_HEAD]){0}, BLOB_HEAD);
	buf_append(&bytes, data, size);
	blob_seal(&bytes, 0, DELTA_VERSION);
	if (!buf_error(&bytes) && !partition_delta_apply(p, buf_view(&bytes)))
		write_and_compare(p, &from);
	buf_release(&bytes);
	partition_free(p);
	return 0;
}
