#include "agent/daemon_control.h"

#include "agent/worker_host.h"
#include "base/jsonout.h"
#include "base/log.h"

#define TEXTS_CEILING ((size_t)64 << 10)

static void put_targets(const struct daemon_control *c, struct buf *to)
{
	for (size_t i = 0; c->targets && i < c->targets->list.n; i++) {
		target_text(&c->targets->list.v[i], to);
		buf_byte(to, '\n');
	}
}

/* Limited processes, and replaced workers. */
static void put_limits(const struct capture_stats *stats, struct jsonout *o)
{
	const struct processes_limits *l = &stats->limits;
	struct worker_usage workers;
	u64 replaced = 0;

	worker_usage(&workers);
	for (unsigned i = 0; i < WORKER_FATES; i++)
		replaced += workers.replaced[i];
	jsonout_put_u64(o, "readers_replaced", replaced + workers.zygotes);
	jsonout_put_u64(o, "readers_lost", workers.lost);
	jsonout_put_u64(o, "limited_processes", l->limited);
	jsonout_put_array(o, "limited");
	for (u32 i = 0; i < l->named_count; i++) {
		const struct limited_process *p = &l->named[i];

		jsonout_object(o);
		jsonout_put_u64(o, "pid", p->pid);
		jsonout_put_str(o, "name", str_n(p->comm, strnlen(p->comm, sizeof(p->comm))));
		jsonout_put_u64(o, "mappings_joined", p->joined);
		jsonout_put_u64(o, "mappings_left_out", p->left_out);
		jsonout_put_u64(o, "too_many_events", p->shut_out);
		jsonout_end_object(o);
	}
	jsonout_end_array(o);
}

static void put_status(struct daemon_control *c, struct buf *to)
{
	struct jsonout o = jsonout_of(to, true);
	struct exporter_stats sent;
	struct capture_stats stats;
	unsigned types = capture_types(c->capture);

	exporter_stats(c->exporter, &sent);
	capture_stats(c->capture, &stats);
	jsonout_object(&o);
	jsonout_put_text(&o, "schema", "vestal.agent/1");
	jsonout_put_u64(&o, "rate_hz", budget_rate(&c->self->state));
	jsonout_put_u64(&o, "wanted_hz", c->self->state.wanted_hz);
	jsonout_put_double(&o, "cpu_share", c->self->measure.cpu_share);
	jsonout_put_double(&o, "cpu_budget", c->self->options.limits.cpu_share);
	jsonout_put_u64(&o, "memory_bytes", c->self->measure.memory_bytes);
	jsonout_put_u64(&o, "memory_budget", c->self->options.limits.memory_bytes);
	jsonout_put_u64(&o, "pss_bytes", c->self->pss_bytes);
	jsonout_put_bool(&o, "paused", c->self->state.paused);
	jsonout_put_bool(&o, "own_processes_only", capture_is_own(c->capture));
	jsonout_put_bool(&o, "waits", types & (CAPTURE_WAITS | CAPTURE_LOCKS | CAPTURE_WALL));
	jsonout_put_u64(&o, "targets", c->targets ? c->targets->list.n : 0);
	jsonout_put_u64(&o, "processes", stats.processes);
	jsonout_put_u64(&o, "samples", stats.kernel.samples);
	jsonout_put_u64(&o, "samples_lost", stats.kernel.dropped);
	jsonout_put_u64(&o, "requests_sent", sent.sent);
	jsonout_put_u64(&o, "requests_dropped", sent.dropped);
	jsonout_put_u64(&o, "requests_queued", sent.queue.entries + sent.queue.memory_entries);
	jsonout_put_text(&o, "last_fault", sent.last_fault);
	put_limits(&stats, &o);
	jsonout_end_object(&o);
	buf_byte(to, '\n');
}

/* The texts stay as long as the targets that point into them. */
static enum err read_targets(const struct control_words *words, struct buf *texts,
			     struct targets *ret, struct fault *fault)
{
	size_t at = 0;

	for (size_t i = 1; i < words->n; i++)
		buf_append(texts, words->v[i], strlen(words->v[i]) + 1);
	TRY(buf_error(texts));
	for (size_t i = 1; i < words->n; i++) {
		struct target one;

		TRY(target_parse(texts->data + at, &one, fault));
		TRY(targets_add(ret, &one, fault));
		at += strlen(texts->data + at) + 1;
	}
	return ERR_OK;
}

static enum err set_targets(struct daemon_control *c, const struct control_words *words,
			    struct fault *fault)
{
	struct buf texts = BUF_INIT(TEXTS_CEILING);
	struct targets fresh = {0}, old = c->given;
	enum err e = ERR_OK;

	if (words->n != 2 || strcmp(words->v[1], "all") != 0)
		e = read_targets(words, &texts, &fresh, fault);
	if (!e) {
		c->given = fresh;
		c->targets = &c->given;
		e = capture_set_targets(c->capture, &c->given);
		fresh = old;
		buf_release(&c->given_texts);
		c->given_texts = texts;
		texts = (struct buf){0};
		log_info("targets changed", log_u64("targets", c->given.list.n));
	}
	targets_release(&fresh);
	buf_release(&texts);
	return e;
}

static enum err set_rate(struct daemon_control *c, const struct control_words *words,
			 struct fault *fault)
{
	u64 rate;

	if (words->n != 2 || str_to_u64(str_of(words->v[1]), 10, &rate) != ERR_OK || !rate ||
	    rate > 5000)
		return fault_set(fault, ERR_BAD_ARGUMENT, "rate takes a number from 1 to 5000");
	c->rate_wanted = (u32)rate;
	log_info("rate changed", log_u64("rate_hz", rate));
	return ERR_OK;
}

static void obey(void *context, const struct control_words *words, struct buf *to)
{
	struct daemon_control *c = context;
	struct fault fault = {0};
	enum err e = ERR_OK;

	if (!strcmp(words->v[0], "status") && words->n == 1) {
		put_status(c, to);
		return;
	}
	if (!strcmp(words->v[0], "targets") && words->n == 1) {
		put_targets(c, to);
		if (!to->n)
			buf_text(to, "all\n");
		return;
	}
	if (!strcmp(words->v[0], "targets"))
		e = set_targets(c, words, &fault);
	else if (!strcmp(words->v[0], "rate"))
		e = set_rate(c, words, &fault);
	else
		e = fault_set(&fault, ERR_BAD_ARGUMENT,
			      "%.60s is not understood: status, targets or rate", words->v[0]);
	if (e)
		buf_printf(to, "error: %s\n", fault.text[0] ? fault.text : err_text(e));
	else
		buf_text(to, "ok\n");
}

enum err daemon_control_open(struct daemon_control *c, const char *path, struct fault *fault)
{
	if (!path)
		return ERR_OK;
	return control_open(path, &(struct control_hooks){c, obey}, &c->socket, fault);
}

void daemon_control_close(struct daemon_control *c)
{
	control_close(c->socket);
	targets_release(&c->given);
	buf_release(&c->given_texts);
}

void daemon_control_turn(struct daemon_control *c)
{
	control_turn(c->socket);
}
