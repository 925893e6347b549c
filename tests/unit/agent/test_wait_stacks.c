#include "agent/wait_stacks.h"
#include "test.h"

static enum err add(struct wait_stacks *w, u64 id, size_t size)
{
	static u64 room[4096];
	struct record_head *head = (void *)room;

	head->wait_id = id;
	return wait_stacks_add(w, head, size);
}

/* Whether it was there, with this size. */
static bool take(struct wait_stacks *w, u64 id, size_t size)
{
	size_t found = 0;
	struct record_head *record = wait_stacks_take(w, id, &found);
	bool good = record && record->wait_id == id && found == size;

	mem_free(record);
	return good;
}

TEST(a_stack_is_there_until_it_is_taken)
{
	CLEANUP(wait_stacks_release) struct wait_stacks w = {0};

	CHECK_OK(add(&w, 7, 200));
	CHECK_OK(add(&w, 8, 208));
	CHECK(take(&w, 7, 200));
	CHECK(!take(&w, 7, 200));
	CHECK(take(&w, 8, 208));
	CHECK_INT(w.bytes, 0);
}

TEST(many_that_come_and_go_leave_nothing_behind)
{
	CLEANUP(wait_stacks_release) struct wait_stacks w = {0};

	CHECK_OK(add(&w, 1000000, 300));
	for (u64 id = 1; id <= 10000; id++) {
		CHECK_OK(add(&w, id, 200));
		CHECK(take(&w, id, 200));
	}
	CHECK(w.list.n < 300);
	CHECK_INT(w.bytes, 300);
	CHECK(take(&w, 1000000, 300));
}

TEST(beyond_its_room_nothing_is_kept)
{
	CLEANUP(wait_stacks_release) struct wait_stacks w = {0};
	u64 kept = 0;

	for (u64 id = 1; id <= 600; id++)
		CHECK_OK(add(&w, id, 16384));
	CHECK(w.bytes <= WAIT_STACKS_BYTES);
	for (u64 id = 1; id <= 600; id++)
		kept += take(&w, id, 16384);
	CHECK_INT(kept, WAIT_STACKS_BYTES / 16384);
}

static enum err add_some(void)
{
	CLEANUP(wait_stacks_release) struct wait_stacks w = {0};

	for (u64 id = 1; id <= 100; id++) {
		TRY(add(&w, id, 200));
		(void)take(&w, id, 200);
	}
	return ERR_OK;
}

TEST(allocation_failure_is_reported)
{
	ALLOC_SWEEP(add_some());
}
