#include "agent/collector.h"
#include "bpf/records.h"
#include "test.h"

static struct process one, two;

static const struct sample_frame frames[] = {{0x100, 3, 0}, {0x200, 3, 0}, {0x300, MODULE_NONE, 0}};

static struct sample plain(void)
{
	return (struct sample){.process = &one,
			       .kind = RECORD_CPU,
			       .thread = "worker",
			       .syscall = -1,
			       .frames = frames,
			       .frame_count = 3};
}

TEST(equal_samples_become_one_row)
{
	struct collector c = {0};
	struct sample s = plain();
	struct sample_frame copy[3];

	one.references = 0;
	memcpy(copy, frames, sizeof(copy));
	CHECK_OK(collector_add(&c, &s, 10, 1));
	s.frames = copy;
	CHECK_OK(collector_add(&c, &s, 5, 2));
	CHECK_INT(c.list.n, 1);
	CHECK(c.list.v[0].value == 15 && c.list.v[0].count == 3);
	CHECK_INT(c.samples, 2);
	CHECK_INT(one.references, 1);
	CHECK(!memcmp(collected_frames(&c, &c.list.v[0]), frames, sizeof(frames)));
	collector_release(&c);
	CHECK_INT(one.references, 0);
}

TEST(whatever_differs_makes_a_row_of_its_own)
{
	struct collector c = {0};
	struct sample s[11];
	struct sample_frame other[3];

	memcpy(other, frames, sizeof(other));
	other[1].module = 4;
	for (size_t i = 0; i < 11; i++)
		s[i] = plain();
	s[1].process = &two;
	s[2].kind = RECORD_WAIT;
	s[3].thread[15] = 'x';
	s[4].wait_state = 1;
	s[5].end = UNWIND_CUT;
	s[6].syscall = 0;
	s[7].lock = 1;
	s[8].frame_count = 2;
	s[9].frame_count = 0;
	s[10].frames = other;
	one.references = two.references = 0;
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < 11; i++)
			CHECK_OK(collector_add(&c, &s[i], 1, 1));
	CHECK_INT(c.list.n, 11);
	CHECK_INT(c.samples, 22);
	CHECK_INT(c.ends[UNWIND_CUT], 2);
	CHECK_INT(one.references, 10);
	CHECK_INT(two.references, 1);
	collector_clear(&c);
	CHECK(!c.list.n && !c.samples && !c.ends[UNWIND_CUT] && !one.references && !two.references);
	/* A new window begins from nothing. */
	CHECK_OK(collector_add(&c, &s[0], 1, 1));
	CHECK(c.list.n == 1 && c.list.v[0].value == 1);
	collector_release(&c);
}

TEST(many_rows_keep_their_own_frames)
{
	struct collector c = {0};
	struct sample s = plain();

	for (u64 i = 0; i < 5000; i++) {
		struct sample_frame f[2] = {{i, 1, 0}, {i * 7, 2, 0}};

		s.frames = f;
		s.frame_count = 1 + i % 2;
		CHECK_OK(collector_add(&c, &s, 1, 1));
		CHECK_OK(collector_add(&c, &s, 1, 1));
	}
	CHECK_INT(c.list.n, 5000);
	for (u64 i = 0; i < 5000; i++)
		CHECK(collected_frames(&c, &c.list.v[i])->address == i && c.list.v[i].value == 2);
	collector_release(&c);
}

TEST(what_was_measured_of_a_kind_can_be_taken_back)
{
	struct collector c = {0};
	struct sample s = plain();

	one.references = 0;
	CHECK_OK(collector_add(&c, &s, 10, 1));
	s.kind = RECORD_THREAD;
	CHECK_OK(collector_add(&c, &s, 1, 1));
	collector_forget(&c, RECORD_THREAD);
	CHECK(c.list.v[0].value == 10 && c.list.v[1].value == 0 && c.list.v[1].count == 0);
	CHECK_OK(collector_add(&c, &s, 1, 1));
	CHECK(c.list.n == 2 && c.list.v[1].count == 1);
	collector_release(&c);
	CHECK_INT(one.references, 0);
}

static enum err sweep(void)
{
	struct collector c = {0};
	struct sample s = plain();
	enum err e = ERR_OK;

	for (u32 i = 0; i < 3000 && !e; i++) {
		s.lock = i;
		e = collector_add(&c, &s, 1, 1);
	}
	collector_release(&c);
	return e;
}

TEST(no_memory_is_said_and_leaves_no_reference)
{
	one.references = 0;
	ALLOC_SWEEP(sweep());
	CHECK_INT(one.references, 0);
}
