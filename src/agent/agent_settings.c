#include "agent/agent_settings.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

/* One of `targets`, as the file has it. */
struct target_item {
	int64_t pid;
	const char *uid, *name, *cgroup;
	struct config_map labels;
	size_t line;
};

#define ITEM(path_, kind_, field_, ...) \
	CONFIG_ROW(path_, kind_, struct target_item, field_, ##__VA_ARGS__)

static const struct config_option target_rows[] = {
	ITEM("pid", INT, pid, .min = 1, .max = INT32_MAX),
	ITEM("uid", TEXT, uid),
	ITEM("name", TEXT, name),
	ITEM("cgroup", TEXT, cgroup),
	ITEM("labels", MAP, labels),
	{0},
};

static const struct config_table target_table = {target_rows, sizeof(struct target_item), NULL,
						 offsetof(struct target_item, line)};

#define SET(path_, kind_, field_, ...) \
	CONFIG_ROW(path_, kind_, struct agent_settings, field_, ##__VA_ARGS__)
#define RATES  .min = 1, .max = 5000
#define WINDOW .min = NS_PER_S, .max = 3600 * NS_PER_S

static const struct config_option rows[] = {
	SET("server", TEXT, server),
	SET("token", TEXT, token),
	SET("headers", MAP, headers),
	SET("tls.ca_file", TEXT, tls.ca_file),
	SET("tls.cert", TEXT, tls.certificate),
	SET("tls.key", TEXT, tls.key),
	SET("tls.insecure", BOOL, tls.insecure),
	SET("rate", INT, rate, RATES),
	SET("interval", DURATION, interval_ns, WINDOW),
	SET("types", TEXT, types),
	SET("sample_times", BOOL, sample_times),
	SET("log.level", CHOICE, log_level, .choices = "debug info warn error off"),
	SET("queue.directory", TEXT, queue.directory),
	SET("queue.size", SIZE, queue.size),
	SET("metrics", TEXT, metrics),
	SET("control", TEXT, control),
	SET("debuginfod.urls", TEXT, debuginfod.urls),
	SET("debuginfod.directory", TEXT, debuginfod.directory),
	SET("debuginfod.max_file", SIZE, debuginfod.max_file),
	SET("debuginfod.max_size", SIZE, debuginfod.max_size),
	SET("debuginfod.timeout", DURATION, debuginfod.timeout_ns),
	SET("budget.cpu", PERCENT, budget.cpu),
	SET("budget.memory", SIZE, budget.memory),
	SET("targets", ITEMS, targets, .items = &target_table),
	SET("rules", ITEMS, rules, .items = &label_rule_table),
	SET("redact.names", BOOL, redact.names),
	SET("redact.pattern", TEXT, redact.pattern),
	SET("redact.paths", CHOICE, redact.paths, .choices = "keep strip mask"),
	SET("profiling.cpu.enabled", BOOL, profiling.cpu),
	SET("profiling.cpu.sample_rate", INT, profiling.cpu_rate, RATES),
	SET("profiling.memory.enabled", BOOL, profiling.memory),
	SET("profiling.memory.sample_rate", SIZE, profiling.memory_rate),
	SET("profiling.conditional.slow_request_threshold", DURATION, profiling.slow_request_ns),
	SET("profiling.conditional.cpu_threshold_percent", INT, profiling.cpu_percent, .min = 0,
	    .max = 100),
	SET("profiling.conditional.profile_errors", BOOL, profiling.errors),
	SET("profiling.max_stack_depth", INT, profiling.stack_depth, .min = 1, .max = UINT32_MAX),
	SET("profiling.max_profile_size", SIZE, profiling.profile_size),
	SET("profiling.upload_interval", DURATION, profiling.upload_ns, WINDOW),
	SET("profiling.load_shedding.enabled", BOOL, profiling.shedding),
	SET("profiling.load_shedding.cpu_threshold", PERCENT, profiling.shedding_share),
	{0},
};

static const struct config_table table = {rows, sizeof(struct agent_settings), NULL, 0};

void agent_settings_init(struct agent_settings *s)
{
	*s = (struct agent_settings){.log_level = "info",
				     .sample_times = true,
				     .budget = {.cpu = -1, .memory = SIZE_MAX},
				     .redact = {.names = true, .paths = "keep"},
				     .profiling = {.cpu = true}};
}

/* "Name: value" of every header. */
static enum err make_lines(struct agent_settings *s)
{
	if (!s->headers.n)
		return ERR_OK;
	s->lines = mem_zalloc(s->headers.n, sizeof(*s->lines));
	if (!s->lines)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < s->headers.n; i++) {
		struct buf line = BUF_INIT(1 << 16);

		buf_printf(&line, "%s: %s", s->headers.v[i].name, s->headers.v[i].value);
		if (buf_error(&line)) {
			enum err e = buf_error(&line);

			buf_release(&line);
			return e;
		}
		s->lines[i] = line.data;
	}
	return ERR_OK;
}

static enum err check(const struct agent_settings *s, const char *path, struct fault *fault)
{
	struct pattern *pattern = NULL;
	struct fault why = {0};
	unsigned types;

	if (!s->profiling.cpu && !s->types)
		return fault_set(
			fault, ERR_BAD_ARGUMENT,
			"%.60s: profiling.cpu.enabled is false and types does not say what "
			"else to capture",
			path);
	if (s->types && capture_types_parse(str_of(s->types), &types, &why) != ERR_OK)
		return fault_set(fault, ERR_BAD_ARGUMENT, "%.60s line %zu: types: %.200s", path,
				 config_line(s->config, "types"), why.text);
	if (s->redact.pattern &&
	    pattern_new(str_of(s->redact.pattern), PATTERN_IGNORE_CASE, &pattern, &why))
		return fault_set(fault, ERR_BAD_ARGUMENT, "%.60s line %zu: redact.pattern: %.200s",
				 path, config_line(s->config, "redact.pattern"), why.text);
	pattern_free(pattern);
	return ERR_OK;
}

static enum err add_target(struct agent_settings *s, const struct target_item *item,
			   const char *path, struct fault *fault)
{
	struct target t = {
		.pid = (u32)item->pid, .uid = -1, .name = item->name, .cgroup = item->cgroup};

	if (item->uid && uid_parse(str_of(item->uid), &t.uid) != ERR_OK)
		return fault_set(fault, ERR_BAD_ARGUMENT, "%.60s line %zu: uid: %.60s is no user",
				 path, item->line, item->uid);
	if (item->labels.n > TARGET_LABELS)
		return fault_set(fault, ERR_TOO_LARGE, "%.60s line %zu: more than %d labels", path,
				 item->line, TARGET_LABELS);
	for (size_t i = 0; i < item->labels.n; i++)
		t.labels[t.label_count++] =
			(struct target_label){item->labels.v[i].name, item->labels.v[i].value};
	if (!t.pid && t.uid < 0 && !t.name && !t.cgroup && !t.label_count)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "%.60s line %zu: the target has no condition: pid, uid, name, "
				 "cgroup or labels is missing",
				 path, item->line);
	return targets_add(&s->chosen, &t, fault);
}

static enum err read_choice(struct agent_settings *s, const char *path, struct fault *fault)
{
	const struct target_item *items = s->targets.v;

	for (size_t i = 0; i < s->targets.n; i++)
		TRY(add_target(s, &items[i], path, fault));
	return s->rules.n ? label_rules_new(s->rules.v, s->rules.n, path, &s->compiled, fault)
			  : ERR_OK;
}

enum err agent_settings_load(struct agent_settings *s, const char *path, struct fault *fault)
{
	TRY(config_open(path, &s->config, fault));
	TRY(config_read(s->config, &table, s, fault));
	TRY(check(s, path, fault));
	TRY(read_choice(s, path, fault));
	return make_lines(s);
}

void agent_settings_release(struct agent_settings *s)
{
	for (size_t i = 0; s->lines && i < s->headers.n; i++)
		mem_free((void *)s->lines[i]);
	mem_free(s->lines);
	targets_release(&s->chosen);
	label_rules_free(s->compiled);
	config_free(s->config);
	*s = (struct agent_settings){0};
}

static void apply_endpoint(const struct agent_settings *s, struct endpoint_options *e)
{
	e->server = s->server;
	e->token = s->token;
	e->ca_file = s->tls.ca_file;
	e->certificate = s->tls.certificate;
	e->key = s->tls.key;
	e->insecure = s->tls.insecure;
	e->headers = s->lines;
	e->header_count = s->lines ? s->headers.n : 0;
}

void agent_settings_apply(const struct agent_settings *s, struct daemon_options *o)
{
	/* The agent's own keys are the more precise ones. */
	int64_t rate = s->rate ? s->rate : s->profiling.cpu_rate;
	int64_t interval = s->interval_ns ? s->interval_ns : s->profiling.upload_ns;

	apply_endpoint(s, &o->exporter.endpoint);
	if (rate)
		o->capture.kernel.rate_hz = (u32)rate;
	if (interval)
		o->interval_ns = interval;
	if (s->profiling.profile_size)
		o->max_request = s->profiling.profile_size;
	if (s->profiling.shedding)
		o->self.limits.host_share = s->profiling.shedding_share;
	if (s->budget.cpu >= 0)
		o->self.limits.cpu_share = s->budget.cpu;
	if (s->budget.memory != SIZE_MAX)
		o->self.limits.memory_bytes = s->budget.memory;
	o->debuginfod = (struct debug_source_options){.urls = s->debuginfod.urls,
						      .directory = s->debuginfod.directory,
						      .max_file = s->debuginfod.max_file,
						      .max_size = s->debuginfod.max_size,
						      .timeout = (double)s->debuginfod.timeout_ns /
								 NS_PER_S};
	o->self.metrics = s->metrics;
	o->control = s->control;
	o->capture.targets = &s->chosen;
	o->capture.rules = s->compiled;
	o->exporter.queue.directory = s->queue.directory;
	if (s->queue.size)
		o->exporter.queue.max_bytes = s->queue.size;
	o->redact_names = s->redact.names;
	o->sample_times = s->sample_times;
	o->redact.pattern = str_of(s->redact.pattern);
	o->redact.paths = s->redact.paths[0] == 's'   ? PATHS_STRIP
			  : s->redact.paths[0] == 'm' ? PATHS_MASK
						      : PATHS_KEEP;
}

void agent_settings_tell(const struct agent_settings *s)
{
	const struct {
		bool asked;
		const char *key, *why;
	} notes[] = {
		{s->profiling.memory || s->profiling.memory_rate, "profiling.memory",
		 "allocations are seen from inside a program alone: its runtime or a library "
		 "reports them"},
		{s->profiling.slow_request_ns || s->profiling.cpu_percent || s->profiling.errors,
		 "profiling.conditional",
		 "the agent does not know requests, and profiles all the time"},
		{s->profiling.stack_depth, "profiling.max_stack_depth",
		 "stacks are sent whole; the server's limits.max_stack_depth cuts them"},
	};

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (notes[i].asked)
			log_warn("has no effect here", log_text("key", notes[i].key),
				 log_text("reason", notes[i].why));
}
