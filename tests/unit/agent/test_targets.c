/* Who is chosen, and what rules make of a process. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/control.h"
#include "agent/label_rules.h"
#include "agent/targets.h"
#include "test.h"

static const char groups[] = "12:memory:/system.slice/nginx.service\n"
			     "0::/kubepods/pod1/"
			     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n";

TEST(a_control_group_is_found_by_path_part_and_container)
{
	static const char *const yes[] = {"/system.slice",
					  "/system.slice/nginx.service",
					  "/system.slice/",
					  "/sys/fs/cgroup/kubepods",
					  "/sys/fs/cgroup/memory/system.slice",
					  "nginx.service",
					  "pod1",
					  "0123456789ab",
					  "/"};
	static const char *const no[] = {
		"/system", "/nginx.service", "nginx", "0123456789a", "", "/sys/fs/cgroup/memory/x"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		CHECK(cgroup_matches(STR(groups), str_of(yes[i])));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		CHECK(!cgroup_matches(STR(groups), str_of(no[i])));
}

static const struct process_facts facts = {
	.read = true,
	.service = {"shop", sizeof("shop") - 1},
	.program = {"/usr/bin/web-server", sizeof("/usr/bin/web-server") - 1},
	.attributes = {"team=a,zone=eu", sizeof("team=a,zone=eu") - 1}};

/* Of this very process. */
static struct process_look look(void)
{
	return process_look_at((u32)getpid(), STR("web"), &facts);
}

static bool matches(const char *text)
{
	struct targets t = {0};
	struct target one;
	struct process_look l = look();
	bool yes;

	if (target_parse(text, &one, NULL) || targets_add(&t, &one, NULL))
		abort();
	yes = targets_match(&t, &l);
	targets_release(&t);
	process_look_release(&l);
	return yes;
}

TEST(a_target_names_a_process)
{
	char text[60];

	CHECK(matches("name=web") && matches("name=web-server") && !matches("name=we"));
	CHECK(matches("label=team=a") && !matches("label=team=b") && !matches("label=other=a"));
	CHECK(matches("label=service.name=shop"));
	snprintf(text, sizeof(text), "pid=%d", (int)getpid());
	CHECK(matches(text) && !matches("pid=1"));
	snprintf(text, sizeof(text), "uid=%u", (unsigned)geteuid());
	CHECK(matches(text) && !matches("uid=4294967294"));
	CHECK(matches("cgroup=/") && !matches("cgroup=/no/such"));
}

TEST(all_parts_of_a_target_must_fit_and_one_target_is_enough)
{
	struct targets t = {0};
	struct target both = {.uid = -1, .name = "web", .cgroup = "/no/such"};
	struct target other = {.uid = -1, .name = "web"};
	struct process_look l = look();

	CHECK(targets_match(&t, &l));
	CHECK_OK(targets_add(&t, &both, NULL));
	CHECK(!targets_match(&t, &l));
	CHECK_OK(targets_add(&t, &other, NULL));
	CHECK(targets_match(&t, &l));
	CHECK(!targets_only_pids(&t));
	targets_release(&t);
	process_look_release(&l);
}

TEST(what_is_no_target_is_refused_and_what_is_one_can_be_read_again)
{
	static const char *const bad[] = {
		"",	   "name",     "name=",	    "pid=0", "pid=x", "uid=no-such-user",
		"label=x", "label==x", "colour=red"};
	static const char *const good[] = {"name=a b", "pid=12", "uid=7", "cgroup=/x",
					   "label=a=b=c"};
	struct buf text = BUF_INIT(1000);
	struct fault fault = {0};
	struct target t;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERR(target_parse(bad[i], &t, &fault), ERR_BAD_ARGUMENT);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_OK(target_parse(good[i], &t, &fault));
		buf_clear(&text);
		target_text(&t, &text);
		CHECK_STR(buf_view(&text), good[i]);
	}
	buf_release(&text);
}

static enum err apply(const struct label_rule_text *texts, size_t n, struct process_facts *f,
		      struct arena *arena, bool *drop)
{
	struct label_rules *rules = NULL;
	struct process_look l = process_look_at((u32)getpid(), STR("web"), f);
	enum err e = label_rules_new(texts, n, "x.yaml", &rules, NULL);

	if (!e)
		e = label_rules_apply(rules, &l, arena, f, drop);
	label_rules_free(rules);
	process_look_release(&l);
	return e;
}

static struct config_pair first_labels[] = {{"team", "one"}, {"zone", "x"}};
static struct config_pair second_labels[] = {{"team", "two"}};
static struct config_pair env_yes[] = {{"VESTAL_RULES", "^sh.p$"}};
static struct config_pair env_no[] = {{"VESTAL_NO_SUCH", ""}};

TEST(rules_rename_label_and_drop_in_order)
{
	struct label_rule_text texts[] = {
		{.executable = "web-", .service = "first", .labels = {first_labels, 2}},
		{.cmdline = "test_targets", .labels = {second_labels, 1}},
		{.executable = "^web", .service = "never", .drop = true},
		{.env = {env_yes, 1}, .service = "by-environment"},
		{.env = {env_no, 1}, .drop = true},
		{.cgroup = "no-such-group", .drop = true},
	};
	struct process_facts f = facts;
	struct arena arena;
	bool drop = true;

	setenv("VESTAL_RULES", "shop", 1);
	arena_init(&arena, 1 << 20);
	CHECK_OK(apply(texts, 3, &f, &arena, &drop));
	CHECK(!drop);
	CHECK_STR(f.service, "first");
	CHECK_STR(f.labels, "zone=x\nteam=two\n");
	texts[2].executable = NULL;
	CHECK_OK(apply(texts, 3, &f, &arena, &drop));
	CHECK(drop);
	CHECK_STR(f.service, "never");
	arena_release(&arena);
}

static enum err sweep(void)
{
	struct label_rule_text texts[] = {
		{.executable = "web-", .service = "first", .labels = {first_labels, 2}},
		{.cmdline = "test", .labels = {second_labels, 1}, .env = {env_no, 1}},
	};
	struct process_facts f = facts;
	struct arena arena;
	bool drop;
	enum err e;

	arena_init(&arena, 1 << 20);
	e = apply(texts, 2, &f, &arena, &drop);
	arena_release(&arena);
	return e;
}

TEST(rules_survive_a_lack_of_memory)
{
	ALLOC_SWEEP(sweep());
}

TEST(a_rule_that_is_wrong_is_refused_with_its_line)
{
	struct label_rule_text bad[] = {
		{.executable = "(", .service = "x", .line = 7},
		{.env = {env_yes, 1}, .line = 7},
		{.service = "", .line = 7},
	};
	struct label_rules *rules = NULL;

	for (size_t i = 0; i < 3; i++) {
		struct fault fault = {0};

		CHECK_ERR(label_rules_new(&bad[i], 1, "x.yaml", &rules, &fault), ERR_BAD_ARGUMENT);
		CHECK(strstr(fault.text, "x.yaml line 7: "));
	}
}

static void answer(void *context, const struct control_words *words, struct buf *to)
{
	(void)context;
	for (size_t i = 0; i < words->n; i++)
		buf_printf(to, "<%s>", words->v[i]);
}

TEST(words_are_split_at_tabs_or_blanks)
{
	struct control_words w;
	char tabs[] = "targets\tname=a b\t\tpid=1", blanks[] = " rate  49 ", none[] = "";
	char many[2000];

	CHECK(control_split(tabs, &w) && w.n == 3 && !strcmp(w.v[1], "name=a b"));
	CHECK(control_split(blanks, &w) && w.n == 2 && !strcmp(w.v[1], "49"));
	CHECK(!control_split(none, &w));
	memset(many, ' ', sizeof(many) - 1);
	many[sizeof(many) - 1] = 0;
	for (size_t i = 0; i < sizeof(many) - 1; i += 2)
		many[i] = 'x';
	CHECK(!control_split(many, &w));
}

TEST(a_socket_is_its_users_alone_and_what_is_in_its_place_stays)
{
	char folder[] = "/tmp/vestal-control-XXXXXX", path[100], file[100];
	struct control *c = NULL, *second = NULL;
	struct control_hooks hooks = {NULL, answer};
	struct fault fault = {0};
	struct stat info;
	FILE *f;

	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/in/socket", folder);
	snprintf(file, sizeof(file), "%s/file", folder);
	CHECK_OK(control_open(path, &hooks, &c, &fault));
	CHECK(!stat(path, &info) && (info.st_mode & 0777) == 0600);
	CHECK_ERR(control_open(path, &hooks, &second, &fault), ERR_EXISTS);
	control_turn(c);
	control_close(c);
	CHECK(stat(path, &info) != 0);
	f = fopen(file, "w");
	CHECK(f);
	fclose(f);
	CHECK_ERR(control_open(file, &hooks, &second, &fault), ERR_EXISTS);
	CHECK(!stat(file, &info));
	unlink(file);
	*strrchr(path, '/') = 0;
	rmdir(path);
	rmdir(folder);
}
