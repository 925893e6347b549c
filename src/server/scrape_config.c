#include "server/scrape_config.h"

#include "base/clock.h"
#include "server/request.h"

#define DAY_NS (86400 * NS_PER_S)

static const char *const names[SCRAPE_KINDS] = {"process_cpu", "memory", "goroutine",
						"block",       "mutex",	 "fgprof"};

const char *scrape_kind_name(enum scrape_kind kind)
{
	return names[kind];
}

static void set_defaults(void *item)
{
	struct scrape_job *j = item;

	j->tenant = DEFAULT_TENANT;
	j->interval_ns = 15 * NS_PER_S;
	j->timeout_ns = 10 * NS_PER_S;
	j->scheme = "http";
	j->path_prefix = "";
	j->profiles[SCRAPE_PROCESS_CPU] =
		(struct scrape_profile){true, false, "/debug/pprof/profile", 0};
	j->profiles[SCRAPE_MEMORY] = (struct scrape_profile){true, true, "/debug/pprof/allocs", 0};
	j->profiles[SCRAPE_GOROUTINE] =
		(struct scrape_profile){true, false, "/debug/pprof/goroutine", 0};
	j->profiles[SCRAPE_BLOCK] = (struct scrape_profile){true, true, "/debug/pprof/block", 0};
	j->profiles[SCRAPE_MUTEX] = (struct scrape_profile){true, true, "/debug/pprof/mutex", 0};
	j->profiles[SCRAPE_FGPROF] = (struct scrape_profile){false, false, "/debug/fgprof", 0};
}

#define JOB(path_, kind_, field_, ...) \
	CONFIG_ROW(path_, kind_, struct scrape_job, field_, ##__VA_ARGS__)
#define PROFILE(name_, kind_)                                                          \
	JOB("profiles." name_ ".enabled", BOOL, profiles[kind_].enabled),              \
		JOB("profiles." name_ ".path", TEXT, profiles[kind_].path),            \
		JOB("profiles." name_ ".delta", BOOL, profiles[kind_].delta),          \
		JOB("profiles." name_ ".seconds", DURATION, profiles[kind_].window_ns, \
		    .min = NS_PER_S, .max = DAY_NS)

static const struct config_option options[] = {
	JOB("job_name", TEXT, name, .required = true),
	JOB("tenant", TEXT, tenant),
	JOB("interval", DURATION, interval_ns, .min = NS_PER_S, .max = DAY_NS),
	JOB("timeout", DURATION, timeout_ns, .min = NS_PER_S, .max = DAY_NS),
	JOB("scheme", CHOICE, scheme, .choices = "http https"),
	JOB("path_prefix", TEXT, path_prefix),
	JOB("targets", LIST, targets, .required = true),
	JOB("labels", MAP, labels),
	PROFILE("process_cpu", SCRAPE_PROCESS_CPU),
	PROFILE("memory", SCRAPE_MEMORY),
	PROFILE("goroutine", SCRAPE_GOROUTINE),
	PROFILE("block", SCRAPE_BLOCK),
	PROFILE("mutex", SCRAPE_MUTEX),
	PROFILE("fgprof", SCRAPE_FGPROF),
	JOB("bearer_token", TEXT, bearer_token),
	JOB("bearer_token_file", TEXT, bearer_token_file),
	JOB("basic_auth.username", TEXT, username),
	JOB("basic_auth.password", TEXT, password),
	JOB("basic_auth.password_file", TEXT, password_file),
	JOB("tls.ca_file", TEXT, ca_file),
	JOB("tls.insecure_skip_verify", BOOL, insecure),
	{0},
};

const struct config_table scrape_job_table = {options, sizeof(struct scrape_job), set_defaults, 0};

static enum err refuse(const struct scrape_job *j, const char *file, const char *what,
		       struct fault *fault)
{
	return fault_set(fault, ERR_BAD_ARGUMENT, "%.60s: the job \"%.60s\" of scrape_configs %s",
			 file, j->name, what);
}

/* host:port, and nothing that would make another URL of it. */
static bool is_target(struct str target)
{
	size_t colon = str_rfind(target, ':');
	uint64_t port;

	for (size_t i = 0; i < target.n; i++) {
		unsigned char c = (unsigned char)target.p[i];

		if (c <= ' ' || c == 0x7f || memchr("/?#@\\\"", c, 6))
			return false;
	}
	return colon && colon < target.n && !str_to_u64(str_skip(target, colon + 1), 10, &port) &&
	       port && port < 65536;
}

static enum err check_auth(const struct scrape_job *j, const char *file, struct fault *fault)
{
	bool bearer = j->bearer_token || j->bearer_token_file;
	bool basic = j->username || j->password || j->password_file;

	if (bearer && basic)
		return refuse(j, file, "has both a bearer token and basic_auth", fault);
	if (j->bearer_token && j->bearer_token_file)
		return refuse(j, file, "has both bearer_token and bearer_token_file", fault);
	if (j->password && j->password_file)
		return refuse(j, file, "has both password and password_file", fault);
	if (basic && (!j->username || strchr(j->username, ':')))
		return refuse(j, file, "has basic_auth without a usable username", fault);
	return ERR_OK;
}

static enum err check_profiles(struct scrape_job *j, const char *file, struct fault *fault)
{
	for (int k = 0; k < SCRAPE_KINDS; k++) {
		struct scrape_profile *p = &j->profiles[k];
		bool sampled = k == SCRAPE_PROCESS_CPU || k == SCRAPE_FGPROF;

		if (p->enabled && p->path[0] != '/')
			return refuse(j, file, "has a path that does not begin with /", fault);
		/* A second is left to get it over. */
		if (!p->window_ns && sampled)
			p->window_ns = j->interval_ns > 2 * NS_PER_S ? j->interval_ns - NS_PER_S
								     : NS_PER_S;
		if (p->window_ns > j->interval_ns)
			return refuse(j, file, "has more seconds than its interval", fault);
	}
	return ERR_OK;
}

static enum err check_job(struct scrape_job *j, const char *file, struct fault *fault)
{
	if (!j->name[0] || !utf8_valid(str_of(j->name)))
		return refuse(j, file, "needs a name", fault);
	if (!tenant_valid(str_of(j->tenant)))
		return refuse(j, file, "has a tenant that is no name of one", fault);
	if (j->path_prefix[0] && j->path_prefix[0] != '/')
		return refuse(j, file, "has a path_prefix that does not begin with /", fault);
	if (!j->targets.n)
		return refuse(j, file, "has no targets", fault);
	for (size_t i = 0; i < j->targets.n; i++)
		if (!is_target(str_of(j->targets.v[i])))
			return refuse(j, file, "has a target that is not host:port", fault);
	TRY(check_auth(j, file, fault));
	return check_profiles(j, file, fault);
}

enum err scrape_jobs_check(struct scrape_job *jobs, size_t n, const char *file, struct fault *fault)
{
	size_t tasks = 0;

	for (size_t i = 0; i < n; i++) {
		TRY(check_job(&jobs[i], file, fault));
		tasks += jobs[i].targets.n * SCRAPE_KINDS;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(jobs[i].name, jobs[k].name))
				return refuse(&jobs[i], file, "is there twice", fault);
	}
	if (tasks > SCRAPE_MAX_TASKS)
		return fault_set(fault, ERR_TOO_LARGE,
				 "%.60s: scrape_configs has more than %d targets in all", file,
				 SCRAPE_MAX_TASKS / SCRAPE_KINDS);
	return ERR_OK;
}
