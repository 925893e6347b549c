#include "cli/sidecar.h"

#include "test.h"

static struct str label(const struct sidecar *s, const char *name)
{
	vec_for_each (l, &s->labels)
		if (str_eq(l->name, str_of(name)))
			return l->value;
	return STR("");
}

TEST(names_stay_and_known_ones_are_understood)
{
	static const char text[] =
		"{\"service.name\": \"shop\", \"service.version\": \"1.2\", \"git.commit\": "
		"\"abc\","
		" \"git.branch\": \"main\", \"deployment.environment\": \"prod\", \"replicas\": 3,"
		" \"canary\": true, \"nothing\": null, \"list\": [1, 2]}";
	CLEANUP(sidecar_release) struct sidecar s = {0};

	CHECK_OK(sidecar_parse(STR(text), &s, NULL));
	CHECK_STR(label(&s, "service_name"), "shop");
	CHECK_STR(label(&s, "service.version"), "1.2");
	CHECK_STR(label(&s, "commit"), "abc");
	CHECK_STR(label(&s, "branch"), "main");
	CHECK_STR(label(&s, "deployment.environment"), "prod");
	CHECK_STR(label(&s, "replicas"), "3");
	CHECK_STR(label(&s, "canary"), "true");
	CHECK_INT(s.labels.n, 7);
	CHECK_INT(s.from_ns, 0);
}

TEST(objects_inside_join_their_names_and_wrappers_do_not)
{
	CLEANUP(sidecar_release) struct sidecar s = {0};

	CHECK_OK(sidecar_parse(
		STR("{\"service\": {\"name\": \"shop\", \"version\": \"2\"}, \"git\": "
		    "{\"commit\": \"abc\"}, \"labels\": {\"region\": \"eu\", "
		    "\"metadata\": {\"zone\": \"b\"}}}"),
		&s, NULL));
	CHECK_STR(label(&s, "service_name"), "shop");
	CHECK_STR(label(&s, "service.version"), "2");
	CHECK_STR(label(&s, "commit"), "abc");
	CHECK_STR(label(&s, "region"), "eu");
	CHECK_STR(label(&s, "zone"), "b");
}

TEST(times_are_no_labels)
{
	CLEANUP(sidecar_release) struct sidecar s = {0}, t = {0}, u = {0};

	CHECK_OK(sidecar_parse(STR("{\"window_start\": 1763200000000, \"window_end\": "
				   "\"2025-11-15T09:46:55Z\"}"),
			       &s, NULL));
	CHECK_INT(s.from_ns, 1763200000000000000);
	CHECK_INT(s.until_ns, 1763200015000000000);
	CHECK_INT(s.labels.n, 0);
	CHECK_OK(sidecar_parse(STR("{\"timestamp\": 1763200000000, \"durationMillis\": 15000}"), &t,
			       NULL));
	CHECK_INT(t.until_ns, 1763200015000000000);
	CHECK_OK(sidecar_parse(STR("{\"start\": \"main.go\", \"duration\": \"10s\"}"), &u, NULL));
	CHECK_STR(label(&u, "start"), "main.go");
	CHECK_INT(u.duration_ns, 10000000000);
	CHECK_INT(u.until_ns, 0);
}

TEST(the_last_of_equal_names_wins)
{
	CLEANUP(sidecar_release) struct sidecar s = {0};

	CHECK_OK(sidecar_parse(STR("{\"commit\": \"a\", \"git.commit\": \"b\"}"), &s, NULL));
	CHECK_INT(s.labels.n, 1);
	CHECK_STR(label(&s, "commit"), "b");
}

TEST(what_is_no_object_is_refused_with_a_reason)
{
	static const char *const texts[] = {"", "[]", "3", "{\"a\"", "{} x", "{\"a\": }"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct fault fault = {0};
		struct sidecar s;

		CHECK(sidecar_parse(str_of(texts[i]), &s, &fault) != ERR_OK);
		CHECK(fault.text[0]);
	}
}

static enum err parse_and_release(void)
{
	struct sidecar s;

	TRY(sidecar_parse(STR("{\"service\": \"a\\u0041\", \"labels\": {\"x\": \"y\", \"n\": 1}}"),
			  &s, NULL));
	sidecar_release(&s);
	return ERR_OK;
}

TEST(memory_may_run_out)
{
	ALLOC_SWEEP(parse_and_release());
}
