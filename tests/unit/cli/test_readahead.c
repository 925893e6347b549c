#include "../test.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/readahead.h"

#define FILES 40

/* None of its files is a profile. */
static const struct readahead_target target = {.format = &formats[FORMAT_FOLDED],
					       .max_bytes = 1 << 20};

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
	readahead_start(&r, &f.names_list, 0, target);
	/* Wait until something was read ahead, so that there is something to see. */
	mutex_lock(&r.lock);
	while (!r.stop && !r.slots[0].filled)
		cond_wait(&r.changed, &r.lock);
	mutex_unlock(&r.lock);
	for (size_t i = 0; i < FILES && !r.stop; i++) {
		struct readahead_slot slot;
		bool good = readahead_take(&r, i, &slot);

		if (good == (i % 5 == 4) || (good && slot.plain.n != i))
			test_fail(__FILE__, __LINE__, "file %zu: good %d, %zu bytes", i, good,
				  slot.plain.n);
		readahead_slot_release(&slot);
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

		readahead_start(&r, &f.names_list, 0, target);
		for (size_t i = 0; i < taken && !r.stop; i++) {
			(void)readahead_take(&r, i, &slot);
			readahead_slot_release(&slot);
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
	readahead_start(&r, &f.names_list, 0, target);
	CHECK(!readahead_take(&r, 0, &slot));
	readahead_stop(&r);
}

/* A profile of one stack, in functions that no other file has but f0. */
static enum err put_profile(const char *path, unsigned number)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 16);
	char text[64];
	struct dict d;
	struct profile_list list = {0};
	struct reading r = {.dict = &d, .list = &list, .limits = LIMITS_DEFAULT};
	struct writing w = {.list = &list, .type = -1, .compress = 1};
	enum err e;

	snprintf(text, sizeof(text), "f0;f%u %u\nf0 7\n", number, number + 1);
	TRY(dict_init(&d, 1));
	e = format_read(str_of(text), &formats[FORMAT_FOLDED], &r, NULL);
	if (!e)
		e = format_write(&formats[FORMAT_PPROF], &w, &out);
	notes_release(&r.notes);
	notes_release(&w.notes);
	profile_list_release(&list);
	dict_release(&d);
	return e ? e : file_write(path, buf_view(&out), OUTPUT_NO_SYNC | OUTPUT_FORCE, NULL);
}

static enum err read_slot(struct readahead_slot *slot, struct dict *d, struct profile_list *list)
{
	struct reading r = {.dict = d, .list = list, .limits = LIMITS_DEFAULT};
	enum err e = slot->prepared.state ? format_read_prepared(&slot->prepared, &r, NULL)
					  : ERR_INTERNAL;

	notes_release(&r.notes);
	return e;
}

TEST(prepared_files_are_read_as_if_nothing_had_been_prepared)
{
	CLEANUP(folder_release) struct folder f = {0};
	struct profile_list list = {0};
	struct readahead_slot slot;
	struct readahead r;
	struct dict d;

	CHECK(folder_make(&f));
	for (unsigned i = 0; i < FILES; i++)
		CHECK_OK(put_profile(f.names[i], i));
	CHECK_OK(dict_init(&d, 42));
	readahead_start(&r, &f.names_list, 0,
			(struct readahead_target){.dict = &d, .max_bytes = 1 << 20});
	for (unsigned i = 0; i < FILES && !r.stop; i++) {
		CHECK(readahead_take(&r, i, &slot));
		CHECK_OK(read_slot(&slot, &d, &list));
		readahead_slot_release(&slot);
		CHECK_INT(list.v[i]->row_count, 2);
		CHECK_INT(list.v[i]->values[0], i + 1);
		/* Stacks come in the order of the files: "f0" with the first, then one each. */
		CHECK_INT(list.v[i]->stack[1], list.v[0]->stack[1]);
		CHECK_INT(d.stacks.entries.n, 1 + 2 + i);
	}
	readahead_stop(&r);
	profile_list_release(&list);
	dict_release(&d);
}
