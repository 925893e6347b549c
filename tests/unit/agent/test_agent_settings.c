#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/agent_settings.h"
#include "base/clock.h"
#include "base/file.h"

struct loaded {
	struct agent_settings s;
	struct daemon_options o;
	enum err error;
	struct fault fault;
};

static void loaded_release(struct loaded *l)
{
	agent_settings_release(&l->s);
}

static struct loaded load(const char *yaml)
{
	struct loaded l = {.o = daemon_options_default};
	char path[] = "/tmp/vestal-settings-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || write_all(fd, yaml, strlen(yaml)))
		abort();
	close(fd);
	agent_settings_init(&l.s);
	l.error = agent_settings_load(&l.s, path, &l.fault);
	if (!l.error)
		agent_settings_apply(&l.s, &l.o);
	unlink(path);
	return l;
}

/* As they stand in the texts that asked for them. */
TEST(profiling_blocks_are_read_as_others_write_them)
{
	CLEANUP(loaded_release)
	struct loaded a = load("# Production profiling configuration\n"
			       "profiling:\n"
			       "  # CPU profiling\n"
			       "  cpu:\n"
			       "    enabled: true\n"
			       "    sample_rate: 100  # samples per second\n"
			       "\n"
			       "  memory:\n"
			       "    enabled: true\n"
			       "    sample_rate: 512KB  # Every 512KB allocated\n"
			       "  conditional:\n"
			       "    slow_request_threshold: 1s\n"
			       "    cpu_threshold_percent: 80\n"
			       "    profile_errors: true\n");
	CLEANUP(loaded_release)
	struct loaded b = load("profiling:\n"
			       "  cpu:\n"
			       "    sample_rate: 100  # 100Hz is usually safe\n"
			       "  memory:\n"
			       "    sample_rate: 1MB  # Sample every 1MB\n"
			       "  max_stack_depth: 64\n"
			       "  max_profile_size: 10MB\n"
			       "  upload_interval: 10s\n"
			       "  load_shedding:\n"
			       "    enabled: true\n"
			       "    cpu_threshold: 90%\n");

	CHECK_OK(a.error);
	CHECK(a.o.capture.kernel.rate_hz == 100 && a.s.profiling.memory);
	CHECK(a.s.profiling.memory_rate == 512 << 10 && a.s.profiling.slow_request_ns == NS_PER_S);
	CHECK(a.s.profiling.cpu_percent == 80 && a.s.profiling.errors);
	CHECK_OK(b.error);
	CHECK(b.o.capture.kernel.rate_hz == 100 && b.o.interval_ns == 10 * NS_PER_S);
	CHECK(b.o.max_request == 10 << 20 && b.s.profiling.shedding);
	CHECK(b.s.profiling.shedding_share == 0.9 && b.s.profiling.stack_depth == 64);
}

TEST(the_agents_own_keys_are_applied_and_win_over_the_block)
{
	CLEANUP(loaded_release)
	struct loaded l = load("server: grpcs://profiles:4317\n"
			       "token: t\n"
			       "headers: {X-Scope: a, Other: b c}\n"
			       "tls: {ca_file: /ca, cert: /c, key: /k, insecure: true}\n"
			       "rate: 49\n"
			       "interval: 30s\n"
			       "types: cpu,offcpu\n"
			       "queue: {directory: /q, size: 1GB}\n"
			       "redact: {names: true, pattern: acme, paths: mask}\n"
			       "log: {level: debug}\n"
			       "profiling: {cpu: {sample_rate: 100}, upload_interval: 10s}\n");
	const struct endpoint_options *e = &l.o.exporter.endpoint;

	CHECK_OK(l.error);
	CHECK(!strcmp(e->server, "grpcs://profiles:4317") && !strcmp(e->token, "t"));
	CHECK(e->header_count == 2 && !strcmp(e->headers[0], "X-Scope: a"));
	CHECK(!strcmp(e->headers[1], "Other: b c"));
	CHECK(!strcmp(e->ca_file, "/ca") && !strcmp(e->certificate, "/c") && e->insecure);
	CHECK(l.o.capture.kernel.rate_hz == 49 && l.o.interval_ns == 30 * NS_PER_S);
	CHECK(!strcmp(l.o.exporter.queue.directory, "/q"));
	CHECK(l.o.exporter.queue.max_bytes == 1 << 30);
	CHECK(l.o.redact_names && str_eq(l.o.redact.pattern, STR("acme")));
	CHECK(l.o.redact.paths == PATHS_MASK && !strcmp(l.s.log_level, "debug"));
}

TEST(an_empty_file_leaves_the_defaults)
{
	CLEANUP(loaded_release) struct loaded l = load("");

	CHECK_OK(l.error);
	CHECK(l.o.interval_ns == daemon_options_default.interval_ns && l.o.redact_names);
	CHECK(!l.o.exporter.endpoint.server && l.o.redact.paths == PATHS_KEEP);
}

#define REFUSED(yaml, said)                                           \
	do {                                                          \
		CLEANUP(loaded_release) struct loaded l = load(yaml); \
		CHECK_ERR(l.error, ERR_BAD_ARGUMENT);                 \
		CHECK(strstr(l.fault.text, (said)));                  \
	} while (0)

TEST(what_is_wrong_is_named)
{
	REFUSED("profiling: {cpu: {sample_rat: 100}}", "unknown key \"profiling.cpu.sample_rat\"");
	REFUSED("serve: x", "did you mean \"server\"");
	REFUSED("rate: 0", "too small");
	REFUSED("rate: 5001", "too large");
	REFUSED("interval: 10ms", "too small");
	REFUSED("redact: {paths: drop}", "keep strip mask");
	REFUSED("redact: {pattern: (}", "redact.pattern");
	REFUSED("profiling: {cpu: {enabled: false}}", "what else to capture");
}

TEST(targets_rules_and_limits_are_read)
{
	CLEANUP(loaded_release)
	struct loaded l = load("budget: {cpu: 2%, memory: 32MB}\n"
			       "metrics: 127.0.0.1:9\n"
			       "control: /run/x.sock\n"
			       "targets:\n"
			       "  - {name: nginx, uid: 7}\n"
			       "  - labels: {a: b, c: d}\n"
			       "  - pid: 12\n"
			       "rules:\n"
			       "  - match: {executable: python, env: {APP: x}}\n"
			       "    service: web\n"
			       "    labels: {team: shop}\n"
			       "  - {match: {cmdline: y}, drop: true}\n");

	CHECK_OK(l.error);
	CHECK(l.o.self.limits.cpu_share == 0.02 && l.o.self.limits.memory_bytes == 32 << 20);
	CHECK(!strcmp(l.o.self.metrics, "127.0.0.1:9") && !strcmp(l.o.control, "/run/x.sock"));
	CHECK_INT(l.s.chosen.list.n, 3);
	CHECK(!strcmp(l.s.chosen.list.v[0].name, "nginx") && l.s.chosen.list.v[0].uid == 7);
	CHECK_INT(l.s.chosen.list.v[1].label_count, 2);
	CHECK_INT(l.s.chosen.list.v[2].pid, 12);
	CHECK(l.o.capture.rules && label_rules_drop(l.o.capture.rules));
}

TEST(what_is_not_understood_is_refused_with_its_line)
{
	static const struct {
		const char *yaml, *part;
	} bad[] = {
		{"rate: 97\ntargets:\n  - {uid: no-such-user}\n", "line 3: uid: no-such-user"},
		{"targets:\n  - {}\n", "line 2: the target has no condition"},
		{"targets:\n  - {pid: x}\n", "line 2"},
		{"targets:\n  - {colour: red}\n", "line 2"},
		{"rules:\n  - match: {executable: x}\n", "line 2: the rule has no effect"},
		{"rules:\n  - {match: {cgroup: '['}, drop: true}\n", "line 2: match.cgroup"},
		{"rate: 97\nredact:\n  pattern: '('\n", "line 3: redact.pattern"},
		{"rate: 97\ntypes: cpu,cows\n", "line 2: types: cows is not one of cpu, offcpu"},
		{"types: ''\n", "line 1: types"},
		{"profiling:\n  load_shedding:\n    cpu_threshold: much\n", "line 3"},
		{"profiling:\n  memory:\n    sample_rate: 512 cows\n", "line 3"},
		{"budget: {cpu: 200%}\n", "line 1"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(loaded_release) struct loaded l = load(bad[i].yaml);

		CHECK(l.error && strstr(l.fault.text, bad[i].part));
	}
}
