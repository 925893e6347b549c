#include "agent/waiting_stacks.h"
#include "test.h"

#define RECORD 1000

static bool add(struct waiting_stacks *w, struct process *process)
{
	static u64 room[RECORD / 8];
	bool kept = false;

	((struct record_head *)room)->pid = process->pid;
	return waiting_stacks_add(w, process, 1, (void *)room, RECORD, &kept) == ERR_OK && kept;
}

static bool is_of(void *context, const struct waiting_stack *one, size_t room)
{
	(void)room;
	return one->process == context;
}

static bool holds(const struct waiting_stacks *w, const struct process *process, u32 count)
{
	size_t at = 0;
	u32 found = 0;

	vec_for_each (one, &w->list) {
		u64 size;
		const struct record_head *head = record_at(&w->records, at, &size);

		if (size != RECORD || head->pid != one->process->pid)
			return false;
		found += one->process == process;
		at += record_room(size);
	}
	return found == count && at == w->records.n && process->references == count &&
	       process->waiting_bytes == count * record_room(RECORD);
}

TEST(a_process_with_most_records_gives_way_to_others)
{
	CLEANUP(waiting_stacks_release) struct waiting_stacks w, taken;
	struct process greedy = {.pid = 1}, small = {.pid = 2}, fresh = {.pid = 3};
	u32 n = 0;

	waiting_stacks_init(&w, (size_t)64 << 10);
	waiting_stacks_init(&taken, (size_t)64 << 10);
	CHECK(add(&w, &small));
	while (add(&w, &greedy))
		n++;
	CHECK(n > 30);
	CHECK(holds(&w, &small, 1));
	CHECK(holds(&w, &greedy, n));
	/* A process does not evict its own records for new ones. */
	CHECK(!waiting_stacks_loser(&w, &greedy, RECORD));
	CHECK(waiting_stacks_loser(&w, &small, RECORD) == &greedy);
	CHECK(waiting_stacks_loser(&w, &fresh, RECORD) == &greedy);
	CHECK_OK(waiting_stacks_take(&w, &taken, &greedy, is_of));
	CHECK_INT(w.list.n, 1);
	CHECK_INT(taken.list.n, n);
	CHECK(holds(&w, &small, 1));
	CHECK(holds(&taken, &greedy, n));
	CHECK(add(&w, &fresh));
}

TEST(equal_holders_do_not_push_each_other_out)
{
	CLEANUP(waiting_stacks_release) struct waiting_stacks w;
	struct process a = {.pid = 1}, b = {.pid = 2};

	waiting_stacks_init(&w, (size_t)64 << 10);
	while (add(&w, &a) && add(&w, &b))
		;
	CHECK(!waiting_stacks_loser(&w, &a, RECORD));
	CHECK(!waiting_stacks_loser(&w, &b, RECORD));
}

static enum err fill(void)
{
	CLEANUP(waiting_stacks_release) struct waiting_stacks w, taken;
	struct process a = {.pid = 1};
	static u64 room[RECORD / 8];
	bool kept;
	enum err e;

	waiting_stacks_init(&w, (size_t)64 << 10);
	waiting_stacks_init(&taken, (size_t)64 << 10);
	for (int i = 0; i < 20; i++)
		TRY(waiting_stacks_add(&w, &a, 1, (void *)room, RECORD, &kept));
	e = waiting_stacks_take(&w, &taken, &a, is_of);
	/* Each record is in exactly one of the two. */
	if (a.references != w.list.n + taken.list.n)
		return ERR_CORRUPT;
	return e;
}

TEST(none_is_lost_or_doubled_without_memory)
{
	ALLOC_SWEEP(fill());
}
