#include "../test.h"

#include <stdlib.h>

#include "base/buf.h"
#include "config/config.h"

struct target {
	const char *name;
	int64_t interval_ns;
	struct config_list hosts;
	bool on;
};

struct settings {
	const char *listen;
	struct config_list tags;
	bool memory;
	int64_t depth, retention_ns;
	size_t size;
	double threshold;
	const char *scheme;
	struct config_map labels;
	int64_t rate;
	struct config_items targets;
};

static void target_defaults(void *item)
{
	struct target *t = item;

	t->interval_ns = 15;
	t->on = true;
}

static const struct config_option target_options[] = {
	CONFIG_ROW("name", TEXT, struct target, name, .required = true),
	CONFIG_ROW("interval", DURATION, struct target, interval_ns, .min = 1000000000,
		   .max = 3600000000000),
	CONFIG_ROW("hosts", LIST, struct target, hosts),
	CONFIG_ROW("profiles.cpu.enabled", BOOL, struct target, on),
	{0},
};
static const struct config_table target_table = {target_options, sizeof(struct target),
						 target_defaults, 0};

static const struct config_option options[] = {
	CONFIG_ROW("listen", TEXT, struct settings, listen),
	CONFIG_ROW("tags", LIST, struct settings, tags),
	CONFIG_ROW("memory", BOOL, struct settings, memory),
	CONFIG_ROW("max_stack_depth", INT, struct settings, depth, .min = 1, .max = 1024),
	CONFIG_ROW("retention", DURATION, struct settings, retention_ns),
	CONFIG_ROW("profiling.memory.sample_rate", SIZE, struct settings, size),
	CONFIG_ROW("profiling.cpu.sample_rate", INT, struct settings, rate),
	CONFIG_ROW("profiling.load_shedding.cpu_threshold", PERCENT, struct settings, threshold),
	CONFIG_ROW("scheme", CHOICE, struct settings, scheme, .choices = "http https"),
	CONFIG_ROW("labels", MAP, struct settings, labels),
	CONFIG_ROW("targets", ITEMS, struct settings, targets, .items = &target_table),
	{0},
};
static const struct config_table table = {options, sizeof(struct settings), NULL, 0};

struct loaded {
	struct config *c;
	struct settings s;
	struct fault fault;
};

static enum err load_str(struct loaded *l, struct str yaml)
{
	*l = (struct loaded){.s = {.listen = "as before"}};
	TRY(config_parse(yaml, "vestal.yaml", &l->c, &l->fault));
	return config_read(l->c, &table, &l->s, &l->fault);
}

static enum err load(struct loaded *l, const char *yaml)
{
	return load_str(l, str_of(yaml));
}

static void unload(struct loaded *l)
{
	config_free(l->c);
}

/* The file is refused with exactly this sentence behind "vestal.yaml line ". */
static bool refused(const char *yaml, const char *sentence)
{
	CLEANUP(unload) struct loaded l;
	char wanted[500];

	snprintf(wanted, sizeof(wanted), "vestal.yaml line %s", sentence);
	if (load(&l, yaml) != ERR_BAD_ARGUMENT || strcmp(l.fault.text, wanted) != 0) {
		printf("# %s\n# expected %s\n", l.fault.text, wanted);
		return false;
	}
	return true;
}

static const char everything[] = "# a comment\n"
				 "listen: 127.0.0.1:4040\n"
				 "tags: [a, \"b c\"]\n"
				 "memory: yes\n"
				 "max_stack_depth: 128\n"
				 "retention: 14d\n"
				 "profiling:\n"
				 "  memory:\n"
				 "    sample_rate: 512KB\n"
				 "  cpu: {sample_rate: 97}\n"
				 "  load_shedding:\n"
				 "    cpu_threshold: 90%\n"
				 "scheme: https\n"
				 "labels:\n"
				 "  region: eu\n"
				 "  version: 1.10\n"
				 "targets:\n"
				 "  - name: shop\n"
				 "    interval: 10s\n"
				 "    hosts:\n"
				 "      - a:1\n"
				 "      - b:2\n"
				 "    profiles:\n"
				 "      cpu:\n"
				 "        enabled: false\n"
				 "  - name: cart\n";

TEST(every_kind_is_read)
{
	CLEANUP(unload) struct loaded l;
	const struct target *t;

	CHECK_OK(load(&l, everything));
	CHECK_STR(str_of(l.s.listen), "127.0.0.1:4040");
	CHECK(l.s.tags.n == 2 && !strcmp(l.s.tags.v[1], "b c"));
	CHECK(l.s.memory);
	CHECK_INT(l.s.depth, 128);
	CHECK_INT(l.s.retention_ns, 14 * 86400 * 1000000000LL);
	CHECK_INT(l.s.size, 512 << 10);
	CHECK_INT(l.s.rate, 97);
	CHECK(l.s.threshold == 0.9);
	CHECK_STR(str_of(l.s.scheme), "https");
	CHECK(l.s.labels.n == 2 && !strcmp(l.s.labels.v[1].name, "version"));
	CHECK_STR(str_of(l.s.labels.v[1].value), "1.10");
	CHECK_INT(l.s.targets.n, 2);
	t = l.s.targets.v;
	CHECK_STR(str_of(t[0].name), "shop");
	CHECK_INT(t[0].interval_ns, 10000000000LL);
	CHECK(t[0].hosts.n == 2 && !strcmp(t[0].hosts.v[1], "b:2") && !t[0].on);
	CHECK(t[1].interval_ns == 15 && t[1].on && !t[1].hosts.n);
}

TEST(what_the_file_does_not_say_stays)
{
	static const char *const nothing[] = {"",
					      "# only this\n",
					      "---\n",
					      "~\n",
					      "{}",
					      "profiling:\n",
					      "profiling: {cpu: }",
					      "tags:\n",
					      "targets: []",
					      "labels: {}"};

	for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++) {
		CLEANUP(unload) struct loaded l;

		CHECK_OK(load(&l, nothing[i]));
		CHECK_STR(str_of(l.s.listen), "as before");
	}
}

TEST(unknown_keys_are_named_with_line_and_nearest)
{
	CHECK(refused("listen: a\nretension: 1d\n",
		      "2: unknown key \"retension\"; did you mean \"retention\"?"));
	CHECK(refused(
		"profiling:\n  cpu:\n\n    sample_rat: 5\n",
		"4: unknown key \"profiling.cpu.sample_rat\"; did you mean \"sample_rate\"?"));
	CHECK(refused("zzz: 1\n", "1: unknown key \"zzz\""));
	CHECK(refused("targets:\n  - name: x\n    intervall: 3s\n",
		      "3: unknown key \"intervall\"; did you mean \"interval\"?"));
	CHECK(refused("profiling.cpu.sample_rate: 5\n",
		      "1: unknown key \"profiling.cpu.sample_rate\""));
	CHECK(refused("<<: {listen: a}\n", "1: unknown key \"<<\""));
}

TEST(values_of_the_wrong_kind_are_refused)
{
	CHECK(refused("memory: maybe\n",
		      "1: \"maybe\" is no value for memory: expected true or false"));
	CHECK(refused("max_stack_depth: 1.5\n",
		      "1: \"1.5\" is no value for max_stack_depth: expected a whole number"));
	CHECK(refused("max_stack_depth: 0\n", "1: 0 for max_stack_depth is too small"));
	CHECK(refused("max_stack_depth: 4096\n", "1: 4096 for max_stack_depth is too large"));
	CHECK(refused("retention: -1d\n", "1: \"-1d\" is no value for retention: expected a time "
					  "such as 10s, 15m or 14d"));
	CHECK(refused("profiling: {cpu: {sample_rate: -3}}",
		      "1: -3 for profiling.cpu.sample_rate is too small"));
	CHECK(refused("profiling: {memory: {sample_rate: 5 apples}}",
		      "1: \"5 apples\" is no value for profiling.memory.sample_rate: expected a "
		      "size such as 4096, 512KB or 2GB"));
	CHECK(refused("profiling: {load_shedding: {cpu_threshold: 101%}}",
		      "1: \"101%\" is no value for profiling.load_shedding.cpu_threshold: "
		      "expected a share such as 90%"));
	CHECK(refused("scheme: ftp\n", "1: \"ftp\" is no value for scheme: expected http https"));
	CHECK(refused("listen: [a]\n", "1: listen must be one value"));
	CHECK(refused("listen:\n", "1: listen has no value"));
	CHECK(refused("tags: a\n", "1: tags must be a list"));
	CHECK(refused("tags: [[a]]\n", "1: tags accepts only strings"));
	CHECK(refused("tags: [~]\n", "1: tags accepts only strings"));
	CHECK(refused("labels: [a]\n", "1: labels must be keys and values"));
	CHECK(refused("labels: {a: {b: c}}\n", "1: labels accepts only strings"));
	CHECK(refused("profiling: 5\n", "1: profiling has keys and values"));
	CHECK(refused("targets:\n  - x\n", "2: an item of targets has keys and values"));
	CHECK(refused("targets:\n  - interval: 10s\n", "2: name is missing"));
	CHECK(refused("targets:\n  - name: a\n    interval: 10ms\n",
		      "3: 10ms for interval is too small"));
	CHECK(refused("- a\n", "1: the file has keys and values"));
	CHECK(refused("listen: \"a\\0b\"\n", "1: a value has a zero byte in it"));
}

TEST(what_is_no_plain_yaml_is_refused)
{
	CHECK(refused("listen: a\nlisten: b\n", "2: \"listen\" is there twice, first in line 1"));
	CHECK(refused("labels:\n  a: 1\n  a: 2\n", "3: \"a\" is there twice, first in line 2"));
	CHECK(refused("listen: &x a\n", "1: anchors (&name) are not supported here"));
	CHECK(refused("tags: &x [a]\n", "1: anchors (&name) are not supported here"));
	CHECK(refused("tags: [*x]\n", "1: aliases (*name) are not supported here"));
	CHECK(refused("listen: !!str a\n", "1: tags (!name) are not supported here"));
	CHECK(refused("? [a]\n: b\n", "1: a key must be a word"));
	CHECK(refused("? {a: b}\n: b\n", "1: a key must be a word"));
	CHECK(refused("\"\": b\n", "1: a key is empty or not text"));
	CHECK(refused("listen: a\n---\nlisten: b\n", "2: a second document begins"));
	CHECK(refused("listen: a\n  tags: b\n",
		      "2: not YAML: mapping values are not allowed in this context"));
}

TEST(bombs_are_refused)
{
	CLEANUP(buf_release) struct buf yaml = BUF_INIT((size_t)4 << 20);
	CLEANUP(unload) struct loaded deep, wide, keys, large;

	CHECK(refused("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n",
		      "1: anchors (&name) are not supported here"));
	for (int i = 0; i < 100000; i++)
		buf_byte(&yaml, '[');
	CHECK_ERR(load_str(&deep, buf_view(&yaml)), ERR_BAD_ARGUMENT);
	CHECK_STR(str_of(deep.fault.text), "vestal.yaml line 1: more than 16 levels");
	buf_clear(&yaml);
	buf_text(&yaml, "tags:\n");
	for (int i = 0; i < 10001; i++)
		buf_text(&yaml, "- a\n");
	CHECK_ERR(load_str(&wide, buf_view(&yaml)), ERR_BAD_ARGUMENT);
	CHECK_STR(str_of(wide.fault.text), "vestal.yaml line 10002: more than 10000 at one place");
	buf_clear(&yaml);
	for (int i = 0; i < 1001; i++)
		buf_printf(&yaml, "k%d: 1\n", i);
	CHECK_ERR(load_str(&keys, buf_view(&yaml)), ERR_BAD_ARGUMENT);
	CHECK_STR(str_of(keys.fault.text), "vestal.yaml line 1001: more than 1000 at one place");
	buf_clear(&yaml);
	for (int i = 0; i < (1 << 20) + 1; i++)
		buf_byte(&yaml, '\n');
	CHECK_ERR(load_str(&large, buf_view(&yaml)), ERR_TOO_LARGE);
}

TEST(variables_are_replaced_in_values)
{
	CLEANUP(unload) struct loaded l;

	setenv("CONFIG_TEST_A", "x: [1", 1);
	setenv("CONFIG_TEST_EMPTY", "", 1);
	unsetenv("CONFIG_TEST_NONE");
	CHECK_OK(load(&l, "listen: <${CONFIG_TEST_A}>$$5 $x $\n"
			  "tags: ['${CONFIG_TEST_NONE:-other}', \"${CONFIG_TEST_EMPTY:-full}\",\n"
			  "  'a${CONFIG_TEST_EMPTY}b', '${CONFIG_TEST_NONE:-}', '$${HOME}']\n"
			  "retention: ${CONFIG_TEST_NONE:-2h}\n"));
	CHECK_STR(str_of(l.s.listen), "<x: [1>$5 $x $");
	CHECK_STR(str_of(l.s.tags.v[0]), "other");
	CHECK_STR(str_of(l.s.tags.v[1]), "full");
	CHECK_STR(str_of(l.s.tags.v[2]), "ab");
	CHECK_STR(str_of(l.s.tags.v[3]), "");
	CHECK_STR(str_of(l.s.tags.v[4]), "${HOME}");
	CHECK_INT(l.s.retention_ns, 7200000000000LL);
	CHECK(refused("\nlisten: ${CONFIG_TEST_NONE}\n",
		      "2: the variable CONFIG_TEST_NONE is not set; ${CONFIG_TEST_NONE:-…} sets "
		      "a default"));
	CHECK(refused("listen: ${a b}\n", "1: \"${a b}\" is no variable; $$ is a dollar"));
	CHECK(refused("listen: ${}\n", "1: \"${}\" is no variable; $$ is a dollar"));
	CHECK(refused("listen: ${A\n", "1: \"${\" without its \"}\""));
}

TEST(a_variable_cannot_grow_without_end)
{
	CLEANUP(buf_release) struct buf value = BUF_INIT(100000);
	CLEANUP(unload) struct loaded l;

	for (int i = 0; i < 40000; i++)
		buf_byte(&value, 'x');
	setenv("CONFIG_TEST_LONG", value.data, 1);
	CHECK_OK(load(&l, "listen: ${CONFIG_TEST_LONG}\n"));
	CHECK_INT(strlen(l.s.listen), 40000);
	CHECK(refused("listen: ${CONFIG_TEST_LONG}${CONFIG_TEST_LONG}\n",
		      "1: a value is longer than 65536 bytes"));
}

TEST(a_file_that_is_missing_is_named)
{
	struct fault fault = {0};
	struct config *c;

	CHECK_ERR(config_open("/nowhere/vestal.yaml", &c, &fault), ERR_NOT_FOUND);
	CHECK(strstr(fault.text, "/nowhere/vestal.yaml"));
}

static enum err sweep(void)
{
	CLEANUP(unload) struct loaded l;

	return load(&l, everything);
}

TEST(every_allocation_may_fail)
{
	ALLOC_SWEEP(sweep());
}
