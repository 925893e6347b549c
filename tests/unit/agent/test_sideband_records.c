/* The kernel's records, made by hand. */
#include <sys/mman.h>

#include "agent/sideband_records.h"
#include "test.h"

static char record[65536 + 64] __attribute__((aligned(8)));

/* A record with this body, and behind it who and when. */
static const struct perf_event_header *make(u32 type, u16 misc, const void *body, size_t size,
					    u64 time)
{
	struct perf_event_header h = {type, misc, (u16)(sizeof(h) + (size + 7) / 8 * 8 + 16)};
	u32 ids[2] = {1, 2};

	memset(record, 0, sizeof(record));
	memcpy(record, &h, sizeof(h));
	if (size)
		memcpy(record + sizeof(h), body, size);
	memcpy(record + h.size - 16, ids, 8);
	memcpy(record + h.size - 8, &time, 8);
	return (const void *)record;
}

struct map_body {
	u32 pid, tid;
	u64 address, length, offset;
	u32 major, minor;
	u64 inode, generation;
	u32 protection, flags;
	char name[64];
};

static const struct map_body map = {
	.pid = 10,
	.tid = 11,
	.address = 0x7f0000000000,
	.length = 0x2000,
	.offset = 0x3000,
	.major = 8,
	.minor = 1,
	.inode = 77,
	.protection = PROT_READ | PROT_EXEC,
	.name = "/usr/lib/a b.so",
};

TEST(a_mapping_is_read)
{
	struct sideband_event e;
	u64 lost = 0;

	CHECK(sideband_record_parse(make(PERF_RECORD_MMAP2, 0, &map, sizeof(map), 99), &e, &lost));
	CHECK(e.kind == SIDEBAND_MAP && e.pid == 10 && e.tid == 11 && e.time == 99);
	CHECK(e.start == 0x7f0000000000 && e.end == 0x7f0000002000 && e.file_offset == 0x3000);
	CHECK(e.device_major == 8 && e.device_minor == 1 && e.inode == 77);
	CHECK_STR(e.name, "/usr/lib/a b.so");
	CHECK_INT(lost, 0);
}

TEST(a_deleted_file_keeps_its_name)
{
	struct map_body m = map;
	struct sideband_event e;
	u64 lost = 0;

	snprintf(m.name, sizeof(m.name), "/tmp/x (deleted)");
	CHECK(sideband_record_parse(make(PERF_RECORD_MMAP2, 0, &m, sizeof(m), 1), &e, &lost));
	CHECK_STR(e.name, "/tmp/x");
}

TEST(mappings_without_code_or_length_are_passed_over)
{
	struct map_body m = map;
	struct sideband_event e;
	u64 lost = 0;

	m.protection = PROT_READ;
	CHECK(!sideband_record_parse(make(PERF_RECORD_MMAP2, 0, &m, sizeof(m), 1), &e, &lost));
	m = map;
	m.length = 0;
	CHECK(!sideband_record_parse(make(PERF_RECORD_MMAP2, 0, &m, sizeof(m), 1), &e, &lost));
	m.length = UINT64_MAX;
	CHECK(!sideband_record_parse(make(PERF_RECORD_MMAP2, 0, &m, sizeof(m), 1), &e, &lost));
}

TEST(a_name_without_an_end_stops_at_the_records)
{
	struct map_body m = map;
	struct sideband_event e;
	u64 lost = 0;

	memset(m.name, 'x', sizeof(m.name));
	CHECK(sideband_record_parse(make(PERF_RECORD_MMAP2, 0, &m, sizeof(m), ~0ull), &e, &lost));
	CHECK_INT(e.name.n, sizeof(m.name));
}

TEST(processes_begin_change_and_end)
{
	u32 fork[6] = {20, 10, 20, 10, 0, 0}, thread[6] = {10, 10, 21, 10, 0, 0};
	char comm[24] = "\x14\0\0\0\x14\0\0\0worker";
	struct sideband_event e;
	u64 lost = 0;

	CHECK(sideband_record_parse(make(PERF_RECORD_FORK, 0, fork, 24, 5), &e, &lost));
	CHECK(e.kind == SIDEBAND_FORK && e.pid == 20 && e.parent == 10 && e.time == 5);
	CHECK(sideband_record_parse(make(PERF_RECORD_EXIT, 0, fork, 24, 6), &e, &lost));
	CHECK(e.kind == SIDEBAND_EXIT && e.pid == 20);
	CHECK(!sideband_record_parse(make(PERF_RECORD_FORK, 0, thread, 24, 5), &e, &lost));
	CHECK(!sideband_record_parse(make(PERF_RECORD_EXIT, 0, thread, 24, 5), &e, &lost));
	CHECK(sideband_record_parse(make(PERF_RECORD_COMM, 0, comm, 24, 7), &e, &lost));
	CHECK(e.kind == SIDEBAND_COMM && e.pid == 20 && e.tid == 20);
	CHECK_STR(e.name, "worker");
	CHECK(sideband_record_parse(make(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, comm, 24, 7),
				    &e, &lost));
	CHECK_INT(e.kind, SIDEBAND_EXEC);
}

TEST(lost_records_are_counted)
{
	u64 body[2] = {3, 41};
	struct sideband_event e;
	u64 lost = 1;

	CHECK(!sideband_record_parse(make(PERF_RECORD_LOST, 0, body, 16, 1), &e, &lost));
	CHECK_INT(lost, 42);
}

TEST(records_that_are_too_short_say_nothing)
{
	static const u32 types[] = {PERF_RECORD_MMAP2, PERF_RECORD_FORK, PERF_RECORD_EXIT,
				    PERF_RECORD_COMM,  PERF_RECORD_LOST, 77};
	struct sideband_event e;
	u64 lost = 0;

	for (size_t i = 0; i < 6; i++) {
		for (u16 size = sizeof(struct perf_event_header); size < 32; size += 8) {
			/* Of its own, so that reading behind it is seen. */
			struct perf_event_header *h = mem_zalloc(1, size);

			CHECK(h);
			*h = (struct perf_event_header){types[i], 0, size};
			(void)sideband_record_parse(h, &e, &lost);
			mem_free(h);
		}
	}
	CHECK_INT(lost, 0);
}

/* Records of 40 bytes in a ring of 4096: many of them wrap. */
TEST(records_that_wrap_are_put_together)
{
	static char ring[4096] __attribute__((aligned(8)));
	struct buf scratch = BUF_INIT(65536);
	char comm[16] = "\x14\0\0\0\x14\0\0\0";

	for (u64 at = 0; at < 5 * sizeof(ring); at += 40) {
		const struct perf_event_header *h = make(PERF_RECORD_COMM, 0, comm, 16, at);
		struct sideband_event e;
		u64 lost = 0;

		for (size_t i = 0; i < 40; i++)
			ring[(at + i) % sizeof(ring)] = record[i];
		h = sideband_record_at(ring, sizeof(ring), at, at + 40, &scratch);
		CHECK(h && h->size == 40);
		CHECK(sideband_record_parse(h, &e, &lost) && e.time == at && e.pid == 20);
	}
	buf_release(&scratch);
}

TEST(what_cannot_be_a_record_is_refused)
{
	static char ring[4096] __attribute__((aligned(8)));
	static const u16 sizes[] = {0, 7, 41, 48, 65528};
	struct buf scratch = BUF_INIT(65536);

	for (size_t i = 0; i < 5; i++) {
		struct perf_event_header h = {PERF_RECORD_COMM, 0, sizes[i]};

		memcpy(ring + 8, &h, sizeof(h));
		CHECK(!sideband_record_at(ring, sizeof(ring), 8, 48, &scratch));
	}
	buf_release(&scratch);
}
