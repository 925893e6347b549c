#include "cli/show_facts.h"

#include "test.h"

/* A profile under test, with its dictionary. */
struct fixture {
	struct dict dict;
	struct profile p;
	struct facts facts;
	struct notes remarks;
};

static enum err fixture_init(struct fixture *f)
{
	*f = (struct fixture){0};
	TRY(dict_init(&f->dict, 1));
	profile_init(&f->p, &f->dict);
	TRY(profile_add_type(&f->p, STR("samples"), STR("count")));
	f->p.time_ns = 1000;
	return ERR_OK;
}

static void fixture_release(struct fixture *f)
{
	notes_release(&f->remarks);
	facts_release(&f->facts);
	profile_release(&f->p);
	dict_release(&f->dict);
}

/* A row whose stack is `depth` frames that begin with the letter `leaf`. */
static enum err add_stack(struct fixture *f, char leaf, uint32_t depth, int64_t value,
			  uint64_t time)
{
	uint32_t frames[128];
	struct row row = {.time = time};

	for (uint32_t i = 0; i < depth; i++) {
		char name[4] = {i ? 'm' : leaf, (char)('a' + i % 26), (char)('a' + i / 26)};

		TRY(dict_named_frame(&f->dict, str_n(name, 3), &frames[i]));
	}
	TRY(dict_stack(&f->dict, frames, depth, &row.stack));
	return profile_add(&f->p, &row, &value);
}

static enum err examine(struct fixture *f)
{
	TRY(facts_gather(&f->p, &f->facts));
	checks_run(&f->facts, &f->remarks);
	return ERR_OK;
}

static bool remarked(const struct fixture *f, const char *words)
{
	vec_for_each (note, &f->remarks.list)
		if (strstr(note->text, words))
			return true;
	return false;
}

TEST(a_healthy_profile_gets_no_remark)
{
	CLEANUP(fixture_release) struct fixture f;

	CHECK_ERR(fixture_init(&f), ERR_OK);
	CHECK_ERR(add_stack(&f, 'a', 3, 5, 0), ERR_OK);
	CHECK_ERR(add_stack(&f, 'b', 4, 2, 0), ERR_OK);
	CHECK_ERR(examine(&f), ERR_OK);
	CHECK_INT(f.remarks.list.n, 0);
	CHECK_INT(f.facts.stacks, 2);
	CHECK_INT(f.facts.deepest, 4);
	CHECK_INT(f.facts.types[0].total, 7);
	CHECK_INT(f.facts.functions, 5);
}

TEST(an_empty_profile_says_so)
{
	CLEANUP(fixture_release) struct fixture f;

	CHECK_ERR(fixture_init(&f), ERR_OK);
	CHECK_ERR(examine(&f), ERR_OK);
	CHECK(remarked(&f, "no samples"));
}

TEST(stacks_cut_at_one_depth_are_noticed)
{
	CLEANUP(fixture_release) struct fixture f;

	CHECK_ERR(fixture_init(&f), ERR_OK);
	for (char leaf = 'a'; leaf < 'l'; leaf++)
		CHECK_ERR(add_stack(&f, leaf, 64, 1, 0), ERR_OK);
	CHECK_ERR(add_stack(&f, 'z', 10, 1, 0), ERR_OK);
	CHECK_ERR(examine(&f), ERR_OK);
	CHECK_INT(f.facts.cut_depth, 64);
	CHECK(remarked(&f, "11 stacks end at exactly 64 frames"));
}

TEST(stacks_that_thin_out_are_not_called_cut)
{
	CLEANUP(fixture_release) struct fixture f;

	CHECK_ERR(fixture_init(&f), ERR_OK);
	for (char leaf = 'a'; leaf < 'z'; leaf++)
		CHECK_ERR(add_stack(&f, leaf, 40 + (uint32_t)(leaf % 9), 1, 0), ERR_OK);
	CHECK_ERR(examine(&f), ERR_OK);
	CHECK_INT(f.facts.cut_depth, 0);
}

TEST(negative_and_zero_values_are_noticed)
{
	CLEANUP(fixture_release) struct fixture f;

	CHECK_ERR(fixture_init(&f), ERR_OK);
	CHECK_ERR(add_stack(&f, 'a', 3, -5, 0), ERR_OK);
	CHECK_ERR(examine(&f), ERR_OK);
	CHECK(remarked(&f, "negative"));
	facts_release(&f.facts);
	f.p.values[0] = 0;
	CHECK_ERR(examine(&f), ERR_OK);
	CHECK(remarked(&f, "all values are 0"));
}

TEST(samples_outside_the_window_and_without_stack_are_counted)
{
	CLEANUP(fixture_release) struct fixture f;

	CHECK_ERR(fixture_init(&f), ERR_OK);
	f.p.duration_ns = 100;
	CHECK_ERR(add_stack(&f, 'a', 3, 1, 1050), ERR_OK);
	CHECK_ERR(add_stack(&f, 'a', 3, 1, 1101), ERR_OK);
	CHECK_ERR(add_stack(&f, 'a', 3, 1, 999), ERR_OK);
	CHECK_ERR(add_stack(&f, 'a', 0, 1, 1001), ERR_OK);
	CHECK_ERR(examine(&f), ERR_OK);
	CHECK_INT(f.facts.outside_window, 2);
	CHECK_INT(f.facts.empty_rows, 1);
	CHECK_INT(f.facts.first_time, 999);
	CHECK_INT(f.facts.last_time, 1101);
}

TEST(repeated_rows_and_invalid_text_are_noticed)
{
	CLEANUP(fixture_release) struct fixture f;
	uint32_t id;

	CHECK_ERR(fixture_init(&f), ERR_OK);
	CHECK_ERR(add_stack(&f, 'a', 3, 1, 0), ERR_OK);
	CHECK_ERR(add_stack(&f, 'a', 3, 1, 0), ERR_OK);
	CHECK_ERR(dict_string(&f.dict, STR("\xff"), &id), ERR_OK);
	CHECK_ERR(examine(&f), ERR_OK);
	CHECK_INT(f.facts.repeated_rows, 1);
	CHECK(remarked(&f, "UTF-8"));
}

static enum err whole_examination(void)
{
	CLEANUP(fixture_release) struct fixture f;
	uint32_t label;
	struct row row = {0};
	int64_t value = 1;

	TRY(fixture_init(&f));
	TRY(add_stack(&f, 'a', 3, 1, 5));
	TRY(dict_label_text(&f.dict, STR("k"), STR("v"), &label));
	TRY(dict_label_set(&f.dict, &label, 1, &row.labels));
	TRY(profile_add(&f.p, &row, &value));
	return examine(&f);
}

TEST(examining_survives_every_failing_allocation)
{
	ALLOC_SWEEP(whole_examination());
}
