#include "../test.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/readahead.h"

#define FILES 40

struct folder {
	char path[64];
	char names[FILES][96];
	const char *list[FILES];
	struct text_list names_list;
};

/* File i holds i bytes; every fifth does not exist, every seventh is gzip. */
static bool folder_make(struct folder *f)
{
	snprintf(f->path, sizeof(f->path), "/tmp/vestal-readahead-XXXXXX");
	if (!mkdtemp(f->path))
		return false;
	for (size_t i = 0; i < FILES; i++) {
		CLEANUP(buf_release) struct buf plain = BUF_INIT(1 << 16);
		CLEANUP(buf_release) struct buf packed = BUF_INIT(1 << 16);

		snprintf(f->names[i], sizeof(f->names[i]), "%s/%zu", f->path, i);
		f->list[i] = f->names[i];
		for (size_t k = 0; k < i; k++)
			buf_byte(&plain, 'x');
		if (compress_gzip(buf_view(&plain), 1, &packed))
			return false;
		if (i % 5 == 4)
			continue;
		if (file_write(f->names[i], buf_view(i % 7 ? &plain : &packed), OUTPUT_NO_SYNC,
			       NULL))
			return false;
	}
	f->names_list = (struct text_list){.v = f->list, .n = FILES};
	return true;
}

static void folder_release(struct folder *f)
{
	for (size_t i = 0; i < FILES; i++)
		unlink(f->names[i]);
	rmdir(f->path);
}

TEST(files_come_in_order_and_missing_ones_are_left_to_the_caller)
{
	CLEANUP(folder_release) struct folder f = {0};
	struct readahead r;

	CHECK(folder_make(&f));
	readahead_start(&r, &f.names_list, 0, 1 << 20);
	/* Wait until something was read ahead, so that there is something to see. */
	mutex_lock(&r.lock);
	while (!r.stop && !r.slots[0].filled)
		cond_wait(&r.changed, &r.lock);
	mutex_unlock(&r.lock);
	for (size_t i = 0; i < FILES && !r.stop; i++) {
		struct readahead_slot slot;
		bool good = readahead_take(&r, i, &slot);

		/* Not good is allowed for any file: the other thread may not have begun it. */
		if ((good && i % 5 == 4) || (good && slot.plain.n != i))
			test_fail(__FILE__, __LINE__, "file %zu: good %d, %zu bytes", i, good,
				  slot.plain.n);
		buf_release(&slot.plain);
	}
	readahead_stop(&r);
}

TEST(stopping_early_leaves_nothing_behind)
{
	CLEANUP(folder_release) struct folder f = {0};

	CHECK(folder_make(&f));
	for (size_t taken = 0; taken < 12; taken++) {
		struct readahead r;
		struct readahead_slot slot;

		readahead_start(&r, &f.names_list, 0, 1 << 20);
		for (size_t i = 0; i < taken && !r.stop; i++) {
			(void)readahead_take(&r, i, &slot);
			buf_release(&slot.plain);
		}
		readahead_stop(&r);
	}
}

TEST(a_few_files_are_not_worth_a_thread)
{
	CLEANUP(folder_release) struct folder f = {0};
	struct readahead r;
	struct readahead_slot slot;

	CHECK(folder_make(&f));
	f.names_list.n = 2;
	readahead_start(&r, &f.names_list, 0, 1 << 20);
	CHECK(!readahead_take(&r, 0, &slot));
	readahead_stop(&r);
}
