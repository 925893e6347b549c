#include "server/scrape_task.h"

#include <stdio.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "server/batch_sink.h"

#define MAX_SECRET ((size_t)64 << 10)

/* ------------------------------------------------------------------ preparing */

static enum err make_url(struct scrape_task *t, struct arena *arena)
{
	const struct scrape_job *j = t->job;
	const struct scrape_profile *p = &j->profiles[t->kind];
	char seconds[40] = "";

	if (p->window_ns)
		snprintf(seconds, sizeof(seconds), "%cseconds=%lld",
			 strchr(p->path, '?') ? '&' : '?', (long long)(p->window_ns / NS_PER_S));
	t->url = arena_printf(arena, "%s://%s%s%s%s", j->scheme, t->target, j->path_prefix, p->path,
			      seconds);
	return t->url ? ERR_OK : ERR_NO_MEMORY;
}

static bool has_label(const struct scrape_job *j, const char *name)
{
	for (size_t i = 0; i < j->labels.n; i++)
		if (!strcmp(j->labels.v[i].name, name))
			return true;
	return false;
}

/* The job's labels; by default its name is the service and the target the instance. */
static enum err make_labels(struct scrape_task *t, struct arena *arena)
{
	const struct config_map *given = &t->job->labels;
	struct label_pair *v = arena_zalloc(arena, given->n + 2, sizeof(*v));
	size_t n = 0;

	if (!v)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < given->n; i++)
		v[n++] = (struct label_pair){str_of(given->v[i].name), str_of(given->v[i].value)};
	if (!has_label(t->job, "service_name"))
		v[n++] = (struct label_pair){STR("service_name"), str_of(t->job->name)};
	if (!has_label(t->job, "instance"))
		v[n++] = (struct label_pair){STR("instance"), str_of(t->target)};
	t->labels = v;
	t->label_count = n;
	return ERR_OK;
}

enum err scrape_task_init(struct scrape_task *t, struct arena *arena)
{
	const struct scrape_job *j = t->job;

	buf_init(&t->authorization, 2 * MAX_SECRET);
	buf_init(&t->body, t->scraper->server->options.http.max_body);
	TRY(make_url(t, arena));
	TRY(make_labels(t, arena));
	t->request = (struct fetch){
		.url = t->url,
		.user_agent = "vestal/" VESTAL_VERSION,
		.timeout = (double)(j->timeout_ns + j->profiles[t->kind].window_ns) / NS_PER_S,
		.insecure = j->insecure,
		.ca_file = j->ca_file,
		.unattended = true};
	return ERR_OK;
}

void scrape_task_release(struct scrape_task *t)
{
	buf_release(&t->authorization);
	buf_release(&t->body);
	baseline_release(&t->before);
}

/* ------------------------------------------------------------------ outcome */

/* Logged when it changes, counted always. */
static void note_outcome(struct scrape_task *t, enum err error, const struct fault *fault,
			 bool reset)
{
	enum scrape_state state = error ? SCRAPE_DOWN : SCRAPE_UP, before = t->seen.state;
	const char *reason = fault->text[0] ? fault->text : err_text(error);
	const char *kind = scrape_kind_name(t->kind);

	mutex_lock(&t->scraper->lock);
	t->seen.state = state;
	t->seen.scrapes++;
	t->seen.failures += error != ERR_OK;
	t->seen.resets += reset;
	t->seen.last_ns = clock_wall_ns();
	t->seen.took_ns = clock_monotonic_ns() - t->begun_ns;
	if (error)
		snprintf(t->seen.reason, sizeof(t->seen.reason), "%.159s", reason);
	mutex_unlock(&t->scraper->lock);
	if (error && before != SCRAPE_DOWN)
		log_warn("scrape fails", log_text("job", t->job->name),
			 log_text("target", t->target), log_text("profile", kind),
			 log_text("reason", reason));
	else if (!error && before != SCRAPE_UP)
		log_info(before == SCRAPE_DOWN ? "scrape works again" : "scrape works",
			 log_text("job", t->job->name), log_text("target", t->target),
			 log_text("profile", kind));
	if (reset)
		log_info("counters were reset", log_text("job", t->job->name),
			 log_text("target", t->target), log_text("profile", kind));
}

/* ------------------------------------------------------------------ storing */

static void count(const struct scrape_task *t, const struct received *r)
{
	struct server *s = t->scraper->server;

	atomic_fetch_add(&s->metrics.profiles, r->profiles);
	atomic_fetch_add(&s->metrics.samples, r->samples);
	tenant_counts_add(s->counts, str_of(t->job->tenant),
			  &(struct tenant_numbers){.profiles = r->profiles, .samples = r->samples});
}

static enum err store_answer(struct scrape_task *t, int64_t answered_ns, struct scraped *ret,
			     struct fault *fault)
{
	struct server *s = t->scraper->server;
	struct scrape_request q = {.labels = t->labels,
				   .label_count = t->label_count,
				   .name = str_of(scrape_kind_name(t->kind)),
				   .before = t->job->profiles[t->kind].delta ? &t->before : NULL,
				   .elapsed_ns = answered_ns - t->before_ns,
				   .body = buf_view(&t->body)};
	struct receive receive = {0};
	struct store_batch *batch;
	enum err e;

	TRY(store_batch_new(s->store, str_of(t->job->tenant), &batch, fault));
	receive_into_batch(&receive, s, batch);
	e = receive_scrape(&receive, &q, ret, fault);
	if (e) {
		store_batch_abandon(batch);
	} else {
		e = batch_commit(batch, fault);
		if (e)
			baseline_release(&ret->next);
		else
			count(t, &receive.result);
	}
	received_release(&receive.result);
	return e;
}

static void on_answer(void *context, enum err error, const struct fault *fault)
{
	struct scrape_task *t = context;
	struct fault own = *fault;
	struct scraped got = {.outcome = BASELINE_FIRST};
	int64_t answered_ns = clock_monotonic_ns();

	t->running = false;
	if (!error)
		error = store_answer(t, answered_ns, &got, &own);
	if (!error) {
		baseline_release(&t->before);
		t->before = got.next;
		t->before_ns = answered_ns;
	}
	buf_release(&t->body);
	if (t->due_ns < t->scraper->next_ns)
		t->scraper->next_ns = t->due_ns;
	note_outcome(t, error, &own, !error && got.outcome == BASELINE_RESET);
}

/* ------------------------------------------------------------------ asking */

static enum err put_secret(struct buf *out, const char *text, const char *path, struct fault *fault)
{
	struct buf file = BUF_INIT(MAX_SECRET);
	enum err e = ERR_OK;

	if (path)
		e = file_read(path, &file, fault);
	if (!e)
		buf_str(out, path ? str_trim(buf_view(&file)) : str_of(text));
	buf_release(&file);
	return e;
}

static enum err put_basic(struct buf *out, const struct scrape_job *j, struct fault *fault)
{
	struct buf pair = BUF_INIT(2 * MAX_SECRET);
	enum err e;

	buf_printf(&pair, "%s:", j->username);
	e = j->password || j->password_file
		    ? put_secret(&pair, j->password, j->password_file, fault)
		    : ERR_OK;
	if (!e)
		e = buf_error(&pair);
	if (!e) {
		buf_text(out, "Authorization: Basic ");
		base64_put(out, buf_view(&pair), true);
	}
	buf_release(&pair);
	return e;
}

static enum err make_headers(struct scrape_task *t, struct fault *fault)
{
	const struct scrape_job *j = t->job;
	struct buf *out = &t->authorization;

	t->request.headers = NULL;
	if (!j->username && !j->bearer_token && !j->bearer_token_file)
		return ERR_OK;
	buf_clear(out);
	if (j->username) {
		TRY(put_basic(out, j, fault));
	} else {
		buf_text(out, "Authorization: Bearer ");
		TRY(put_secret(out, j->bearer_token, j->bearer_token_file, fault));
	}
	TRY(buf_error(out));
	if (memchr(out->data, '\n', out->n) || memchr(out->data, '\r', out->n))
		return fault_set(fault, ERR_BAD_ARGUMENT, "the token has several lines");
	t->headers[0] = out->data;
	t->headers[1] = NULL;
	t->request.headers = t->headers;
	return ERR_OK;
}

void scrape_task_begin(struct scrape_task *t)
{
	struct fault fault = {0};
	enum err e = make_headers(t, &fault);

	t->begun_ns = clock_monotonic_ns();
	buf_init(&t->body, t->scraper->server->options.http.max_body);
	if (!e)
		e = fetch_group_start(t->scraper->group, &t->request, &t->body, on_answer, t,
				      &fault);
	t->running = !e;
	if (e)
		note_outcome(t, e, &fault, false);
}
