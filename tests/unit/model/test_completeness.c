#include <math.h>

#include "base/jsonout.h"
#include "profile_maker.h"

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

/* Two profiles of one resource and one of another: CPU with its counts, and off-CPU. */
struct window {
	struct dict dict;
	struct profile_list list, about;
};

static void window_release(struct window *w)
{
	profile_list_release(&w->about);
	profile_list_release(&w->list);
	dict_release(&w->dict);
}

#define WINDOW(name) CLEANUP(window_release) struct window name = {0}

static enum err add_profile(struct window *w, const char *service, const char *count,
			    const char *value, struct profile **ret)
{
	TRY(profile_list_add(&w->list, &w->dict, ret));
	TRY(profile_add_type(*ret, str_of(count), STR("count")));
	TRY(profile_add_type(*ret, str_of(value), STR("nanoseconds")));
	(*ret)->time_ns = 1000;
	(*ret)->duration_ns = 15;
	return maker_labels(&w->dict, service, &(*ret)->resource);
}

static enum err window_make(struct window *w)
{
	struct profile *p;

	TRY(dict_init(&w->dict, 1));
	TRY(add_profile(w, "service.name=a", "samples", "cpu", &p));
	TRY(maker_add(p, "main;work", "", (int64_t[]){6, 60}));
	TRY(maker_add(p, "[truncated];work", "", (int64_t[]){2, 20}));
	TRY(maker_add(p, "main;0x10", "", (int64_t[]){1, 10}));
	TRY(add_profile(w, "service.name=a", "off_cpu_waits", "off_cpu", &p));
	TRY(maker_add(p, "main;read", "", (int64_t[]){3, 3000}));
	TRY(add_profile(w, "service.name=b", "samples", "cpu", &p));
	TRY(maker_add(p, "main", "", (int64_t[]){5, 50}));
	return completeness_of_profiles(&w->list, &w->dict, &w->about);
}

static enum err make_and_forget(void)
{
	WINDOW(w);

	return window_make(&w);
}

TEST(what_profiles_hold_is_told_beside_them_per_resource_and_measure)
{
	WINDOW(w);
	struct completeness cpu = {0}, off = {0}, other = {0};

	CHECK_OK(window_make(&w));
	CHECK_INT(w.about.n, 2);
	CHECK(profile_is_completeness(w.about.v[0]));
	CHECK_INT(w.about.v[0]->resource, w.list.v[0]->resource);
	CHECK_INT(w.about.v[1]->resource, w.list.v[2]->resource);
	completeness_read(w.about.v[0], 0, 1, STR("cpu"), &cpu);
	completeness_read(w.about.v[0], 0, 1, STR("off_cpu"), &off);
	completeness_read(w.about.v[1], 0, 1, STR("cpu"), &other);
	CHECK(cpu.reported && off.reported && other.reported);
	CHECK_INT(cpu.parts[PART_KEPT].count, 9);
	CHECK_INT(cpu.parts[PART_KEPT].time_ns, 90);
	CHECK_INT(cpu.parts[PART_TRUNCATED].count, 2);
	CHECK_INT(cpu.parts[PART_UNNAMED].time_ns, 10);
	CHECK_INT(off.parts[PART_KEPT].time_ns, 3000);
	CHECK_INT(other.parts[PART_KEPT].count, 5);
	CHECK_INT(other.parts[PART_LOST].count, 0);
}

TEST(making_it_survives_every_failing_allocation)
{
	ALLOC_SWEEP(make_and_forget());
}

TEST(a_request_that_nobody_took_is_lost_with_all_it_kept)
{
	WINDOW(w);
	struct completeness c = {0};

	CHECK_OK(window_make(&w));
	CHECK_OK(completeness_put(w.about.v[0], STR("cpu"), PART_LOST, "ring full",
				  (struct tally_part){1, 10}));
	CHECK_OK(completeness_lose(w.about.v[0], "queue full", &(struct rejected_part){0}));
	completeness_read(w.about.v[0], 0, 1, STR("cpu"), &c);
	CHECK_INT(c.parts[PART_KEPT].count, 0);
	CHECK_INT(c.parts[PART_TRUNCATED].count, 0);
	CHECK_INT(c.parts[PART_LOST].count, 10);
	CHECK_INT(c.parts[PART_LOST].time_ns, 100);
	CHECK_INT(c.cause_count, 2);
	CHECK(near(completeness_kept_share(&c), 0));
}

TEST(a_part_that_a_server_rejected_is_lost_in_proportion)
{
	struct rejected_part part = {.rejected = 2, .of = 5};
	WINDOW(w);
	struct completeness c = {0};

	CHECK_OK(window_make(&w));
	/* The server accepted these. */
	CHECK_OK(completeness_put(w.about.v[1], STR("cpu"), PART_LOST, "ring full",
				  (struct tally_part){7, 70}));
	CHECK_OK(completeness_put(w.about.v[1], STR("cpu"), PART_LOST, "refused by the server",
				  (struct tally_part){9, 90}));
	CHECK_OK(completeness_put(w.about.v[1], STR(COMPLETENESS_ALL), PART_WATCHED, NULL,
				  (struct tally_part){0, 1000}));
	CHECK_OK(completeness_lose(w.about.v[1], "refused by the server", &part));
	CHECK_INT(w.about.v[1]->row_count, 2);
	completeness_read(w.about.v[1], 0, 1, STR("cpu"), &c);
	CHECK_INT(c.parts[PART_KEPT].count, 0);
	CHECK_INT(c.parts[PART_REJECTED].count, 2);
	CHECK_INT(c.parts[PART_REJECTED].time_ns, 20);
	CHECK_INT(c.parts[PART_LOST].count, 2);
	CHECK_INT(c.parts[PART_LOST].time_ns, 20);
	CHECK_INT(c.cause_count, 1);
	/* A server that never got to know what was kept. */
	CHECK_INT(completeness_kept(&c).count, 0);
	CHECK_INT(part.lost.count, 2);
}

/* Rows that are too few to lose a whole unit each. */
TEST(rejected_parts_of_many_resources_add_up_and_are_no_longer_kept)
{
	struct rejected_part part = {.rejected = 1, .of = 6};
	struct completeness sum = {0};

	for (int i = 0; i < 30; i++) {
		MADE(m);

		CHECK_OK(dict_init(&m.dict, 1));
		profile_init(&m.p, &m.dict);
		CHECK_OK(completeness_begin(&m.p));
		CHECK_OK(completeness_put(&m.p, STR("cpu"), PART_KEPT, NULL,
					  (struct tally_part){1 + i % 3, 10 + i}));
		/* What the server has, then what it rejected of that. */
		completeness_read(&m.p, 0, 1, STR("cpu"), &sum);
		CHECK_OK(completeness_lose(&m.p, "refused by the server", &part));
		completeness_read(&m.p, 0, 1, STR("cpu"), &sum);
	}
	CHECK_INT(sum.parts[PART_LOST].count, 10);
	CHECK_INT(sum.parts[PART_LOST].time_ns, (300 + 435 + 3) / 6);
	CHECK_INT(part.lost.count, 10);
	CHECK_INT(completeness_kept(&sum).count, 50);
	CHECK_INT(completeness_kept(&sum).time_ns + sum.parts[PART_LOST].time_ns, 300 + 435);
	CHECK(near(completeness_kept_share(&sum), 612.0 / 735));
}

/* A report that waits on disk may be dropped for lack of room: then it is reported again. */
TEST(a_lost_report_of_rejected_samples_still_reports_them)
{
	struct rejected_part part = {.rejected = 2, .of = 5};
	struct completeness before = {0}, after = {0};
	WINDOW(w);

	CHECK_OK(window_make(&w));
	CHECK_OK(completeness_lose(w.about.v[1], "refused by the server", &part));
	completeness_read(w.about.v[1], 0, 1, STR("cpu"), &before);
	CHECK_OK(completeness_lose(w.about.v[1], "queue full", &(struct rejected_part){0}));
	completeness_read(w.about.v[1], 0, 1, STR("cpu"), &after);
	CHECK_INT(after.parts[PART_REJECTED].count, 2);
	CHECK_INT(after.parts[PART_REJECTED].time_ns, 20);
	CHECK(memcmp(&before, &after, sizeof(before)) == 0);
}

TEST(other_measures_are_not_mixed_and_all_counts_for_each)
{
	MADE(m);
	struct completeness c = {0};

	CHECK_OK(dict_init(&m.dict, 1));
	profile_init(&m.p, &m.dict);
	CHECK_OK(completeness_begin(&m.p));
	CHECK_OK(completeness_put(&m.p, STR("off_cpu"), PART_OFF, "cpu budget",
				  (struct tally_part){0, 250}));
	CHECK_OK(completeness_put(&m.p, STR("cpu"), PART_LOST, "ring full",
				  (struct tally_part){1, 10}));
	CHECK_OK(completeness_put(&m.p, STR(COMPLETENESS_ALL), PART_WATCHED, NULL,
				  (struct tally_part){0, 1000}));
	/* What no sender of ours says. */
	CHECK_OK(maker_add(&m.p, "cpu;invented", "", (int64_t[]){7, 7}));
	CHECK_OK(maker_add(&m.p, "kept", "", (int64_t[]){7, 7}));
	completeness_read(&m.p, 0, 1, STR("off_cpu"), &c);
	CHECK_INT(c.parts[PART_LOST].count, 0);
	CHECK_INT(c.parts[PART_KEPT].count, 0);
	CHECK(near(completeness_off_share(&c), 0.25));
}

static void check_sentence(const struct completeness *c, const char *expected)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);

	completeness_sentence(c, &text);
	CHECK_STR(buf_view(&text), expected);
}

TEST(the_sentence_names_shares_and_causes_the_largest_first)
{
	struct completeness c = {0};

	check_sentence(&c, "");
	completeness_note(&c, PART_KEPT, STR(""), (struct tally_part){992, 9920});
	check_sentence(&c, "");
	completeness_note(&c, PART_LOST, STR("queue full"), (struct tally_part){1, 10});
	completeness_note(&c, PART_LOST, STR("ring full"), (struct tally_part){7, 70});
	check_sentence(&c, "99.2% of samples kept; 0.8% lost: ring full, queue full");
	completeness_note(&c, PART_WATCHED, STR(""), (struct tally_part){0, 100});
	completeness_note(&c, PART_OFF, STR("cpu budget"), (struct tally_part){0, 25});
	check_sentence(&c, "99.2% of samples kept; 0.8% lost: ring full, queue full; "
			   "not measured 25% of the time: cpu budget");
	c.parts[PART_LOST] = (struct tally_part){0};
	completeness_note(&c, PART_LOWERED, STR("rate of switches"), (struct tally_part){0, 50});
	check_sentence(&c, "not measured 25% of the time: cpu budget; "
			   "sampled less often 50% of the time: rate of switches");
	c.cause_count = 0;
	c.parts[PART_OFF] = c.parts[PART_LOWERED] = (struct tally_part){0};
	completeness_note(&c, PART_NAMELESS, STR("symbol reader ended"),
			  (struct tally_part){31, 310});
	check_sentence(&c, "3.12% without names: symbol reader ended");
}

TEST(a_thousandth_that_is_missing_is_not_worth_a_sentence_and_never_rounds_to_all)
{
	struct completeness c = {0};

	completeness_note(&c, PART_KEPT, STR(""), (struct tally_part){9995, 99950});
	completeness_note(&c, PART_LOST, STR("ring full"), (struct tally_part){5, 50});
	check_sentence(&c, "");
	c = (struct completeness){0};
	completeness_note(&c, PART_KEPT, STR(""), (struct tally_part){0, 0});
	completeness_note(&c, PART_LOST, STR("ring full"), (struct tally_part){5, 50});
	check_sentence(&c, "0% of samples kept; 100% lost: ring full");
}

TEST(more_causes_than_there_is_room_for_are_added_up)
{
	struct completeness c = {0};
	int64_t sum = 0;

	for (int i = 0; i < 100; i++) {
		char cause[100];

		snprintf(cause, sizeof(cause), "cause %d of a sender that has very many of them, é",
			 i);
		completeness_note(&c, PART_LOST, str_of(cause), (struct tally_part){1, 2});
	}
	CHECK(c.cause_count <= COMPLETENESS_CAUSES);
	for (uint32_t i = 0; i < c.cause_count; i++)
		sum += c.causes[i].part.count;
	CHECK_INT(sum, 100);
	CHECK_INT(c.parts[PART_LOST].time_ns, 200);
}

TEST(a_comment_brings_back_what_was_put_into_it)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
	struct completeness c = {0}, back = {0};

	completeness_note(&c, PART_KEPT, STR(""), (struct tally_part){992, 9920});
	completeness_note(&c, PART_LOST, STR("ring full"), (struct tally_part){7, 70});
	completeness_note(&c, PART_OFF, STR("load of the host"), (struct tally_part){0, 25});
	completeness_comment(&c, STR("cpu"), &text);
	CHECK(!completeness_of_comment(buf_view(&text), STR("off_cpu"), &back));
	CHECK(completeness_of_comment(buf_view(&text), STR("cpu"), &back));
	CHECK_INT(back.parts[PART_KEPT].count, 992);
	CHECK_INT(back.parts[PART_LOST].time_ns, 70);
	CHECK_INT(back.parts[PART_OFF].time_ns, 25);
	CHECK_INT(back.cause_count, 2);
	/* Two files that are merged. */
	CHECK(completeness_of_comment(buf_view(&text), STR("cpu"), &back));
	CHECK_INT(back.parts[PART_KEPT].count, 1984);
	CHECK(!completeness_of_comment(STR("made by hand"), STR("cpu"), &back));
	/* Nothing of what is no number is taken. */
	back = (struct completeness){0};
	CHECK(completeness_of_comment(STR("completeness of cpu; kept=x/1; =; lost: a; kept=9/"),
				      STR("cpu"), &back));
	CHECK_INT(back.parts[PART_KEPT].count, 0);
}

TEST(json_says_not_reported_rather_than_complete)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
	struct jsonout o = jsonout_of(&text, false);
	struct completeness c = {0};

	completeness_json(&o, &c, NULL);
	CHECK_STR(buf_view(&text), "{\"reported\":false,\"truncated_share\":null,"
				   "\"unnamed_share\":null,\"text\":\"\"}");
}

TEST(the_level_is_the_period_that_was_used_on_average_or_the_threshold)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
	struct jsonout o = jsonout_of(&text, false);
	struct completeness c = {0};

	completeness_note(&c, PART_KEPT, STR(""), (struct tally_part){10, 400});
	completeness_json(&o, &c, NULL);
	CHECK(str_search(buf_view(&text), STR("\"period_ns\":40,\"threshold_ns\":null")) < text.n);
	buf_clear(&text);
	o = jsonout_of(&text, false);
	completeness_note(&c, PART_THRESHOLD, STR(""), (struct tally_part){15000, 15000000});
	completeness_json(&o, &c, NULL);
	CHECK(str_search(buf_view(&text), STR("\"period_ns\":null,\"threshold_ns\":1000")) <
	      text.n);
}

TEST(frames_without_a_name_are_counted_once_and_their_stacks_by_value)
{
	MADE(m);
	struct stack_quality q;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_row(&m.p, "main;work", 60));
	CHECK_OK(maker_row(&m.p, "main;0x10;work", 30));
	CHECK_OK(maker_row(&m.p, "main;0x10", 10));
	CHECK_OK(profile_quality(&m.p, 0, &q));
	CHECK(near(q.unnamed, 0.4));
	CHECK_INT(q.frames, 3);
	CHECK_INT(q.unnamed_frames, 1);
	CHECK_INT(q.stacks, 3);
}
