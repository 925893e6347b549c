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

/* Takes out those of a process, and adds as many of another one. */
struct exchange {
	struct waiting_stacks *w;
	struct process *out, *in;
	u32 seen, added;
};

static enum err exchange_one(void *context, struct waiting_stack *one,
			     const struct record_head *head, u64 size, bool *ret_waits)
{
	struct exchange *x = context;

	x->seen++;
	if (size != RECORD || head->pid != one->process->pid)
		return ERR_CORRUPT;
	*ret_waits = one->process != x->out;
	if (*ret_waits)
		one->module = 2;
	else if (x->in)
		x->added += add(x->w, x->in);
	return ERR_OK;
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
	CLEANUP(waiting_stacks_release) struct waiting_stacks w;
	struct process greedy = {.pid = 1}, small = {.pid = 2}, fresh = {.pid = 3};
	struct exchange x = {&w, &greedy, NULL, 0, 0};
	u32 n = 0;

	waiting_stacks_init(&w, (size_t)64 << 10);
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
	CHECK_OK(waiting_stacks_each(&w, &x, exchange_one));
	CHECK_INT(x.seen, n + 1);
	CHECK_INT(w.list.n, 1);
	CHECK_INT(w.list.v[0].module, 2);
	CHECK(holds(&w, &small, 1));
	CHECK(holds(&w, &greedy, 0));
	CHECK(add(&w, &fresh));
}

TEST(what_is_added_while_others_are_looked_at_waits_behind_them)
{
	CLEANUP(waiting_stacks_release) struct waiting_stacks w;
	struct process a = {.pid = 1}, b = {.pid = 2}, c = {.pid = 3};
	struct exchange x = {&w, &a, &c, 0, 0};

	waiting_stacks_init(&w, (size_t)1 << 20);
	for (u32 i = 0; i < 100; i++)
		CHECK(add(&w, i % 3 ? &a : &b));
	CHECK_OK(waiting_stacks_each(&w, &x, exchange_one));
	CHECK_INT(x.seen, 100);
	CHECK_INT(x.added, 66);
	CHECK_INT(w.list.n, 100);
	CHECK(holds(&w, &a, 0) && holds(&w, &b, 34) && holds(&w, &c, 66));
	/* In order: those that stayed first. */
	for (u32 i = 0; i < 100; i++)
		CHECK(w.list.v[i].process == (i < 34 ? &b : &c));
}

static enum err fail_at_third(void *context, struct waiting_stack *one,
			      const struct record_head *head, u64 size, bool *ret_waits)
{
	u32 *seen = context;

	(void)one, (void)head, (void)size, (void)ret_waits;
	return ++*seen == 3 ? ERR_NO_MEMORY : ERR_OK;
}

TEST(those_behind_an_error_go_on_waiting)
{
	CLEANUP(waiting_stacks_release) struct waiting_stacks w;
	struct process a = {.pid = 1};
	u32 seen = 0;

	waiting_stacks_init(&w, (size_t)64 << 10);
	for (u32 i = 0; i < 10; i++)
		CHECK(add(&w, &a));
	CHECK(waiting_stacks_each(&w, &seen, fail_at_third) == ERR_NO_MEMORY);
	CHECK(holds(&w, &a, 7));
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
	CLEANUP(waiting_stacks_release) struct waiting_stacks w;
	struct process a = {.pid = 1};
	static u64 room[RECORD / 8];
	enum err e = ERR_OK;
	bool kept;

	waiting_stacks_init(&w, (size_t)64 << 10);
	for (int i = 0; !e && i < 20; i++)
		e = waiting_stacks_add(&w, &a, 1, (void *)room, RECORD, &kept);
	return a.references != w.list.n || a.waiting_bytes != w.records.n ? ERR_CORRUPT : e;
}

TEST(none_is_lost_or_doubled_without_memory)
{
	ALLOC_SWEEP(fill());
}
