/*
 * The reserve for full disks. Disks that are really full: tests/e2e/test_full_disk.py.
 */
#include "store/disk_guard.h"

#include <sys/stat.h>

#include "store/scratch.h"
#include "test.h"

static uint64_t blocks(struct scratch *dir, unsigned i)
{
	char name[40];
	struct stat st;

	snprintf(name, sizeof(name), ".reserve/%u", i);
	return stat(scratch_file(dir, name), &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

TEST(the_reserve_is_made_given_and_made_again)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(disk_guard_close) struct disk_guard g = {0};
	struct store_disk disk;

	scratch_make(&dir);
	CHECK_OK(disk_guard_open(&g, dir.path));
	CHECK(!disk_guard_refuses(&g));
	disk_guard_tell(&g, &disk);
	CHECK_INT(disk.reserve_bytes, RESERVE_FILES * g.file_bytes);
	CHECK(disk.total_bytes > disk.free_bytes);
	for (unsigned i = 0; i < RESERVE_FILES; i++)
		CHECK(blocks(&dir, i) >= g.file_bytes);
	CHECK(disk_guard_give(&g, 1, RESERVE_FILES / 2));
	CHECK(!blocks(&dir, RESERVE_FILES - 1));
	CHECK(disk_guard_give(&g, RESERVE_FILES, RESERVE_FILES / 2));
	CHECK(!disk_guard_give(&g, 1, RESERVE_FILES / 2));
	CHECK(blocks(&dir, 0) >= g.file_bytes);
	CHECK(disk_guard_give(&g, RESERVE_FILES, 0));
	CHECK(!blocks(&dir, 0));
	CHECK(!disk_guard_look(&g, 1));
	for (unsigned i = 0; i < RESERVE_FILES; i++)
		CHECK(blocks(&dir, i) >= g.file_bytes);
}

TEST(a_write_without_room_refuses_until_the_next_look)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(disk_guard_close) struct disk_guard g = {0};
	struct store_disk disk;

	scratch_make(&dir);
	CHECK_OK(disk_guard_open(&g, dir.path));
	/* An error of one file is not the disk's when that takes writes. */
	CHECK(!disk_guard_failed(&g, ERR_IO, 1));
	CHECK(!disk_guard_refuses(&g));
	CHECK(disk_guard_failed(&g, ERR_NO_SPACE, 2));
	CHECK(!disk_guard_failed(&g, ERR_NO_SPACE, 3));
	CHECK(disk_guard_refuses(&g));
	disk_guard_tell(&g, &disk);
	CHECK_INT(disk.state, STORE_DISK_FULL);
	CHECK_INT(disk.since_ns, 2);
	CHECK(disk_guard_look(&g, 4));
	CHECK(!disk_guard_refuses(&g));
}

TEST(a_directory_that_goes_away_is_no_disk_that_takes_writes)
{
	CLEANUP(scratch_remove) struct scratch dir;
	CLEANUP(disk_guard_close) struct disk_guard g = {0};

	scratch_make(&dir);
	CHECK_OK(disk_guard_open(&g, dir.path));
	scratch_remove(&dir);
	CHECK(disk_guard_failed(&g, ERR_IO, 1));
	CHECK(disk_guard_refuses(&g));
	scratch_make(&dir);
}

TEST(a_reserve_of_an_earlier_run_is_found)
{
	CLEANUP(scratch_remove) struct scratch dir;
	struct disk_guard g = {0}, again = {0};
	struct stat before, after;

	scratch_make(&dir);
	CHECK_OK(disk_guard_open(&g, dir.path));
	disk_guard_close(&g);
	CHECK(stat(scratch_file(&dir, ".reserve/3"), &before) == 0);
	CHECK_OK(disk_guard_open(&again, dir.path));
	CHECK(stat(scratch_file(&dir, ".reserve/3"), &after) == 0);
	CHECK(before.st_ino == after.st_ino);
	CHECK_INT(again.held, RESERVE_FILES);
	disk_guard_close(&again);
}

static enum err open_and_close(const char *path)
{
	struct disk_guard g = {0};

	TRY(disk_guard_open(&g, path));
	disk_guard_close(&g);
	return ERR_OK;
}

TEST(opening_survives_a_lack_of_memory)
{
	CLEANUP(scratch_remove) struct scratch dir;

	scratch_make(&dir);
	ALLOC_SWEEP(open_and_close(dir.path));
}
