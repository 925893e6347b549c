#include "../test.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "server/scrape_task.h"
#include "server/server_internal.h"

#define DAY_NS (86400 * NS_PER_S)

/* A file with this text, gone at the end of the test. */
struct scratch_file {
	char path[64];
};

static void scratch_remove(struct scratch_file *f)
{
	unlink(f->path);
}

static enum err scratch_write(struct scratch_file *f, struct str text)
{
	static int number;

	snprintf(f->path, sizeof(f->path), "/tmp/vestal-settings-%d-%d.yaml", (int)getpid(),
		 number++);
	return file_write(f->path, text, OUTPUT_FORCE, NULL);
}

/* The example of docs/config.md: between its marks. */
static enum err read_example(struct buf *ret)
{
	struct buf page = BUF_INIT(1 << 20);
	enum err e = file_read(DOCS "/config.md", &page, NULL);

	if (!e) {
		struct str text = buf_view(&page), open = STR("```yaml\n");

		text = str_skip(text, str_search(text, open) + open.n);
		buf_str(ret, str_n(text.p, str_search(text, STR("```"))));
		e = buf_error(ret);
	}
	buf_release(&page);
	return e;
}

TEST(the_example_of_the_manual_is_valid_and_its_figures_are_the_defaults)
{
	CLEANUP(buf_release) struct buf example = BUF_INIT(1 << 20);
	CLEANUP(scratch_remove) struct scratch_file file = {""};
	CLEANUP(settings_release) struct server_settings s;
	struct server_settings d;
	struct fault fault = {0};
	const struct scrape_job *job;
	struct scrape_job fresh;

	settings_init(&s);
	settings_init(&d);
	CHECK_OK(read_example(&example));
	CHECK(example.n > 1000);
	CHECK_OK(scratch_write(&file, buf_view(&example)));
	if (settings_load(&s, file.path, &fault))
		test_fail(__FILE__, __LINE__, "%s", fault.text);
	CHECK_INT(s.retention_ns, d.retention_ns);
	CHECK_INT(s.span_retention_ns, d.span_retention_ns);
	CHECK(!memcmp(&s.limits, &d.limits, sizeof(s.limits)));
	CHECK(!strcmp(s.log_level, d.log_level) && !strcmp(s.log_format, d.log_format));
	CHECK(s.insecure == d.insecure && s.trust_tenant_header == d.trust_tenant_header);
	CHECK_INT(s.scrape.n, 1);
	job = s.scrape.v;
	memset(&fresh, 0, sizeof(fresh));
	scrape_job_table.defaults(&fresh);
	CHECK(job->interval_ns == fresh.interval_ns && job->timeout_ns == fresh.timeout_ns);
	CHECK(!strcmp(job->scheme, fresh.scheme) && !strcmp(job->tenant, fresh.tenant));
	CHECK_INT(job->profiles[SCRAPE_PROCESS_CPU].window_ns, job->interval_ns - NS_PER_S);
	for (int k = 0; k < SCRAPE_KINDS; k++) {
		CHECK(job->profiles[k].enabled == fresh.profiles[k].enabled);
		CHECK(job->profiles[k].delta == fresh.profiles[k].delta);
		CHECK(!strcmp(job->profiles[k].path, fresh.profiles[k].path));
	}
}

static const char some[] = "retention: 7d\n"
			   "max_size: 2GB\n"
			   "service_retention: {a: 1d, b: 2d}\n"
			   "tokens: /tokens\n"
			   "tls: {cert: c, key: k, client_ca: ca, require_client: true}\n"
			   "limits: {max_body: 1MiB, max_labels: 5, max_stack_depth: 100}\n"
			   "scrape_configs:\n"
			   "  - job_name: shop\n"
			   "    targets: ['a:1', '[::1]:2']\n"
			   "    profiles: {block: {enabled: false}}\n"
			   "  - {job_name: cart, targets: ['b:1'], interval: 1s,\n"
			   "     labels: {service_name: other, x: y}}\n";

TEST(the_file_says_what_the_server_does)
{
	CLEANUP(scratch_remove) struct scratch_file file = {""};
	CLEANUP(settings_release) struct server_settings s;
	struct server_options o = server_options_default;

	settings_init(&s);
	CHECK_OK(settings_add_override(&s, STR("b"), 9 * DAY_NS, NULL));
	CHECK_OK(scratch_write(&file, str_of(some)));
	CHECK_OK(settings_load(&s, file.path, NULL));
	settings_apply(&s, &o);
	CHECK_INT(o.store.retention_ns, 7 * DAY_NS);
	CHECK_INT(o.store.max_size, (int64_t)2 << 30);
	CHECK_INT(o.store.override_count, 2);
	/* What was said before the file holds. */
	CHECK_INT(o.store.overrides[0].retention_ns, 9 * DAY_NS);
	CHECK_STR(o.store.overrides[1].service, "a");
	CHECK_STR(str_of(o.token_file), "/tokens");
	CHECK_STR(str_of(o.http.tls.client_ca), "ca");
	CHECK(o.http.tls.require_client);
	CHECK_INT(o.http.max_body, 1 << 20);
	CHECK_INT(o.store.limits.max_labels, 5);
	CHECK_INT(o.store.limits.max_depth, 100);
}

/* The age that is refused, with a retention and perhaps a word of its own. */
static int64_t max_age_with(const char *text)
{
	CLEANUP(scratch_remove) struct scratch_file file = {""};
	CLEANUP(settings_release) struct server_settings s;
	struct server_options o = server_options_default;

	settings_init(&s);
	if (scratch_write(&file, str_of(text)) || settings_load(&s, file.path, NULL))
		return -1;
	settings_apply(&s, &o);
	return o.store.limits.max_age_ns;
}

TEST(what_would_be_kept_is_taken_unless_somebody_says_otherwise)
{
	CHECK_INT(max_age_with("retention: 7d\n"), 30 * DAY_NS);
	CHECK_INT(max_age_with("retention: 90d\n"), 90 * DAY_NS);
	CHECK_INT(max_age_with("service_retention: {a: 60d}\n"), 60 * DAY_NS);
	CHECK_INT(max_age_with("retention: 0\nmax_age: 365d\n"), 365 * DAY_NS);
	CHECK_INT(max_age_with("retention: 90d\nmax_age: 1d\n"), DAY_NS);
}

static bool refused(const char *text, const char *part)
{
	CLEANUP(scratch_remove) struct scratch_file file = {""};
	CLEANUP(settings_release) struct server_settings s;
	struct fault fault = {0};

	settings_init(&s);
	if (scratch_write(&file, str_of(text)) || !settings_load(&s, file.path, &fault))
		return false;
	if (!strstr(fault.text, part))
		printf("# %s\n", fault.text);
	return strstr(fault.text, part) && strstr(fault.text, file.path);
}

#define ONE "scrape_configs: [{job_name: a, targets: ['h:1']"

TEST(jobs_that_cannot_be_meant_are_refused)
{
	CHECK(refused("scrape_configs: [{job_name: a, targets: ['h']}]", "host:port"));
	CHECK(refused("scrape_configs: [{job_name: a, targets: ['http://h:1']}]", "host:port"));
	CHECK(refused("scrape_configs: [{job_name: a, targets: ['u@h:1']}]", "host:port"));
	CHECK(refused("scrape_configs: [{job_name: a, targets: ['h:0']}]", "host:port"));
	CHECK(refused("scrape_configs: [{job_name: a, targets: [':1']}]", "host:port"));
	CHECK(refused("scrape_configs: [{job_name: '', targets: ['h:1']}]", "needs a name"));
	CHECK(refused(ONE ", tenant: ../x}]", "tenant"));
	CHECK(refused(ONE ", path_prefix: x}]", "path_prefix"));
	CHECK(refused(ONE ", profiles: {memory: {path: x}}}]", "path"));
	CHECK(refused(ONE ", interval: 1ms}]", "too small"));
	CHECK(refused(ONE ", interval: 3s, profiles: {memory: {seconds: 4}}}]", "more seconds"));
	CHECK(refused(ONE ", bearer_token: x, basic_auth: {username: u}}]", "both a bearer"));
	CHECK(refused(ONE ", bearer_token: x, bearer_token_file: f}]", "both bearer_token"));
	CHECK(refused(ONE ", basic_auth: {username: u, password: p, password_file: f}}]",
		      "both password"));
	CHECK(refused(ONE ", basic_auth: {password: p}}]", "username"));
	CHECK(refused(ONE ", basic_auth: {username: 'a:b'}}]", "username"));
	CHECK(refused(ONE "}, {job_name: a, targets: ['i:1']}]", "there twice"));
}

TEST(more_targets_than_can_be_asked_are_refused)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

	buf_text(&text, "scrape_configs:\n- job_name: a\n  targets:\n");
	for (int i = 0; i < 4000; i++)
		buf_printf(&text, "  - h%d:1\n", i);
	CHECK(refused(text.data, "more than 3333 targets"));
}

static enum err make_scraper(struct server *server, const char *path, struct scraper **ret)
{
	struct server_settings s;
	enum err e;

	settings_init(&s);
	e = settings_load(&s, path, NULL);
	if (!e)
		e = scraper_new(server, &s, ret, NULL);
	settings_release(&s);
	return e;
}

static void free_scraper(struct scraper **s)
{
	scraper_free(*s);
}

TEST(a_scraper_has_a_task_for_every_target_and_profile)
{
	CLEANUP(scratch_remove) struct scratch_file file = {""};
	CLEANUP(free_scraper) struct scraper *s = NULL;
	CLEANUP(buf_release) struct buf out = BUF_INIT(100000);
	struct server server = {.options = {.http = {.max_body = 1000}}};

	CHECK_OK(scratch_write(&file, str_of(some)));
	CHECK_OK(make_scraper(&server, file.path, &s));
	CHECK_INT(s->task_count, 4 + 4 + 5);
	CHECK_STR(str_of(s->tasks[0].url), "http://a:1/debug/pprof/profile?seconds=14");
	CHECK_STR(str_of(s->tasks[5].url), "http://[::1]:2/debug/pprof/allocs");
	CHECK_INT(s->tasks[0].label_count, 2);
	CHECK_STR(s->tasks[0].labels[0].value, "shop");
	CHECK_STR(s->tasks[0].labels[1].value, "a:1");
	CHECK_INT(s->tasks[8].label_count, 3);
	CHECK_STR(s->tasks[8].labels[0].value, "other");
	s->tasks[0].seen.state = SCRAPE_DOWN;
	s->tasks[0].seen.failures = 3;
	scraper_print_metrics(s, STR(""), &out);
	CHECK(strstr(out.data, "\nvestal_scrape_failures_total{job=\"shop\"} 3\n"));
	CHECK(strstr(out.data, "\nvestal_scrape_failures_total{job=\"cart\"} 0\n"));
	CHECK(strstr(out.data, "\nvestal_scrape_up{job=\"shop\",instance=\"a:1\",profile="
			       "\"process_cpu\"} 0\n"));
	buf_clear(&out);
	scraper_print_metrics(s, STR("stranger"), &out);
	CHECK(!strstr(out.data, "shop"));
}

TEST(a_scraper_inherits_what_was_known_of_its_targets)
{
	CLEANUP(scratch_remove) struct scratch_file one = {""}, two = {""};
	CLEANUP(free_scraper) struct scraper *old = NULL, *new = NULL;
	struct server server = {.options = {.http = {.max_body = 1000}}};

	CHECK_OK(scratch_write(&one, str_of(some)));
	CHECK_OK(scratch_write(&two, STR("scrape_configs: [{job_name: shop, targets: ['z:9', "
					 "'[::1]:2']}]")));
	CHECK_OK(make_scraper(&server, one.path, &old));
	CHECK_OK(make_scraper(&server, two.path, &new));
	old->tasks[5].before.known = true;
	old->tasks[5].seen.scrapes = 42;
	CHECK_OK(scraper_inherit(new, old));
	CHECK(new->tasks[6].before.known && !old->tasks[5].before.known);
	CHECK_INT(new->tasks[6].seen.scrapes, 42);
	CHECK_INT(new->tasks[1].seen.scrapes, 0);
}

static enum err sweep(const char *path)
{
	struct server server = {.options = {.http = {.max_body = 1000}}};
	struct scraper *s = NULL, *old = NULL;
	enum err e = make_scraper(&server, path, &s);

	if (!e)
		e = make_scraper(&server, path, &old);
	if (!e)
		e = scraper_inherit(s, old);
	scraper_free(s);
	scraper_free(old);
	return e;
}

TEST(every_allocation_may_fail)
{
	CLEANUP(scratch_remove) struct scratch_file file = {""};

	CHECK_OK(scratch_write(&file, str_of(some)));
	ALLOC_SWEEP(sweep(file.path));
}
