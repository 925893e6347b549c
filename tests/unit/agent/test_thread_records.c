#include "agent/thread_records.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "test.h"

struct seen {
	u32 count, raw;
	u64 stack_bytes;
	bool wrong;
};

static enum err see(void *context, const struct record_head *head, size_t size)
{
	struct seen *s = context;
	const u8 *body = (const u8 *)(head + 1);

	s->wrong |= head->tid != s->count++;
	s->raw += head->flags & RECORD_RAW ? 1 : 0;
	s->stack_bytes += head->stack_size;
	for (size_t i = 0; i < size - sizeof(*head); i++)
		s->wrong |= body[i] != (u8)head->tid;
	return ERR_OK;
}

static int file_of(const struct buf *bytes)
{
	int fd = memfd_create("threads", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes->data, bytes->n) != (ssize_t)bytes->n)
		return -1;
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void add(struct buf *to, struct record_head head)
{
	size_t body = 8 * (size_t)head.kernel_frames;

	if (head.flags & RECORD_RAW)
		body += 8 * (size_t)RECORD_REGISTERS + head.stack_size;
	buf_append(to, &head, sizeof(head));
	for (size_t i = 0; i < body; i++)
		buf_byte(to, (char)head.tid);
}

/* Enough for several reads, whose ends lie anywhere in a record. */
static void fill(struct buf *to, u32 count)
{
	for (u32 i = 0; i < count; i++)
		add(to, (struct record_head){.kind = RECORD_THREAD,
					     .flags = i % 3 ? RECORD_RAW : RECORD_NO_USER,
					     .kernel_frames = (u16)(i % 7),
					     .tid = i,
					     .stack_size = i % 3 ? i * 37 % RECORD_RAW_STACK : 0});
}

TEST(records_come_whole_however_the_reads_cut_them)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT((size_t)16 << 20);
	struct seen seen = {0};
	int fd;

	fill(&bytes, 500);
	CHECK_OK(buf_error(&bytes));
	fd = file_of(&bytes);
	CHECK(fd >= 0);
	CHECK_OK(thread_records_read(fd, &seen, see));
	close(fd);
	CHECK_INT(seen.count, 500);
	CHECK_INT(seen.raw, 333);
	CHECK(seen.stack_bytes > 1000000 && !seen.wrong);
}

TEST(sizes_that_our_program_does_not_write_are_refused)
{
	struct record_head wrong[2] = {
		{.kind = RECORD_THREAD, .flags = RECORD_RAW, .stack_size = RECORD_RAW_STACK + 1},
		{.kind = RECORD_THREAD, .kernel_frames = RECORD_KERNEL_FRAMES_MAX + 1},
	};

	for (int i = 0; i < 2; i++) {
		CLEANUP(buf_release) struct buf bytes = BUF_INIT((size_t)16 << 20);
		struct seen seen = {0};
		int fd;

		add(&bytes, wrong[i]);
		fd = file_of(&bytes);
		CHECK_ERR(thread_records_read(fd, &seen, see), ERR_CORRUPT);
		close(fd);
		CHECK_INT(seen.count, 0);
	}
}

static enum err once(const struct buf *bytes)
{
	struct seen seen = {0};
	int fd = file_of(bytes);
	enum err e = thread_records_read(fd, &seen, see);

	close(fd);
	return e;
}

TEST(memory_that_is_missing_is_an_error)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT((size_t)16 << 20);

	fill(&bytes, 20);
	ALLOC_SWEEP(once(&bytes));
}
