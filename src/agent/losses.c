#include "agent/losses.h"

#include <math.h>

#include "agent/window_labels.h"
#include "base/alloc.h"

/* A storm of short processes must not fill memory with what they lost. */
#define LOSSES_MAX   4096
#define CAUSE_UNREAD "symbol reader ended"

static const char *const causes[LOSS_KERNEL_SIDE_CAUSES] = {
	[LOSS_RING] = "ring full",
	[LOSS_NESTED] = "another sample under way",
	[LOSS_AGENT] = "agent buffer full",
	[LOSS_TABLE] = "kernel table full",
};

/* Measures by type; a record may belong to several. */
static const struct {
	unsigned type; /* enum capture_types */
	u32 kind;      /* enum record_kind of their samples; 0 = none */
	const char *measure;
	bool time;
} measures[] = {
	{CAPTURE_CPU, RECORD_CPU, "cpu", true},
	{CAPTURE_WAITS, RECORD_WAIT, "off_cpu", true},
	{CAPTURE_LOCKS, 0, "delay", true},
	{CAPTURE_WALL, RECORD_CPU, "wall", true},
	{CAPTURE_WALL, RECORD_WAIT, "wall", true},
	{CAPTURE_THREADS, 0, "threads", false},
	{CAPTURE_FAULTS, RECORD_FAULT, "faults", false},
	{CAPTURE_MAPPED, RECORD_MAP, "mapped", false},
	{CAPTURE_LOOPS, RECORD_LOOP, "lag", true},
};
#define MEASURES (sizeof(measures) / sizeof(measures[0]))

const char *loss_cause_text(enum loss_cause cause)
{
	return cause < LOSS_KERNEL_SIDE_CAUSES ? causes[cause] : "";
}

void losses_release(struct losses *l)
{
	vec_release(&l->list);
}

void losses_take(struct losses *from, struct losses *to)
{
	losses_release(to);
	*to = *from;
	from->list.v = NULL;
	from->list.n = from->list.cap = 0;
}

static bool add_to(struct losses *l, const struct loss *more)
{
	vec_for_each (one, &l->list)
		if (!memcmp(&one->key, &more->key, sizeof(one->key))) {
			one->count += more->count;
			one->value += more->value;
			return true;
		}
	/* There are few kinds and causes, so those of process 0 always have a slot. */
	if (more->key.pid && l->list.n >= LOSSES_MAX)
		return false;
	return vec_push(&l->list, *more) == ERR_OK;
}

void losses_add(struct losses *l, const struct loss *one)
{
	struct loss nobodys = *one;

	if (one->key.cause < LOSS_KERNEL_SIDE_CAUSES)
		l->totals[one->key.cause] += one->count;
	if (add_to(l, one))
		return;
	nobodys.key.pid = 0;
	(void)add_to(l, &nobodys);
}

void losses_add_record(struct losses *l, const struct record_head *head)
{
	double kept = head->keep ? -expm1(-(double)head->keep / KEEP_ONE) : 1;
	double p = ldexp(kept, -(int)head->thin);
	struct loss one = {{head->pid, head->kind, LOSS_AGENT}, 1 / p, (double)head->value / p, ""};

	memcpy(one.comm, head->comm, sizeof(one.comm));
	switch (head->kind) {
	case RECORD_CPU:
	case RECORD_WAIT:
	case RECORD_FAULT:
	case RECORD_MAP:
	case RECORD_LOOP:
		if (head->value)
			losses_add(l, &one);
		break;
	default:
		break; /* reported again later, or a detail of another record */
	}
}

/* ------------------------------------------------------------------ profiles */

struct making {
	const struct losses_window *w;
	struct dict *dict;
	struct profile_list *list;
	size_t data; /* profiles of the window; later ones are completeness profiles, or empty */
	struct profile like;
};

static bool begin_like(struct making *m, uint32_t resource, struct profile **ret, enum err *e)
{
	for (size_t i = m->data; i < m->list->n; i++)
		if (m->list->v[i]->resource == resource && profile_is_completeness(m->list->v[i])) {
			*ret = m->list->v[i];
			return false;
		}
	m->like.resource = resource;
	*e = completeness_beside(m->list, &m->like, ret);
	return true;
}

/* The profile of completeness of a resource; a new one says how it was measured. */
static enum err profile_for(struct making *m, uint32_t resource, struct profile **ret);

struct weight {
	double count, value;
};

static struct tally_part time_part(double ns)
{
	return (struct tally_part){0, llround(ns)};
}

/* Types that brought nothing, and why. */
static enum err put_off(const struct making *m, struct profile *p)
{
	const struct losses_window *w = m->w;
	double length = (double)w->window->duration_ns;
	const char *last = NULL;

	for (size_t i = 0; i < MEASURES; i++) {
		struct str measure = str_of(measures[i].measure);
		const char *why = NULL;
		double part = 1;

		if (!(w->asked & measures[i].type) || last == measures[i].measure)
			continue;
		last = measures[i].measure;
		if (!(w->had & measures[i].type))
			why = "kernel refused";
		else if (w->budget->paused)
			why = budget_reason_text(BUDGET_LOAD);
		else if (!(w->window->types & measures[i].type))
			why = budget_reason_text(BUDGET_CPU);
		else if (measures[i].type == CAPTURE_CPU && w->clockless > 0)
			why = "kernel refused", part = w->clockless;
		if (why)
			TRY(completeness_put(p, measure, PART_OFF, why, time_part(part * length)));
	}
	return ERR_OK;
}

/* The process of an ended thread is unknown. */
static unsigned level_of(const struct making *m, uint32_t resource)
{
	const struct label *pid = label_find(m->dict, resource, STR("process.pid"));
	const struct wait_level_set *levels = m->w->window->wait_levels;

	return levels ? wait_level_of(levels, pid ? (u32)pid->value : 0) : 0;
}

/* Fewer samples than configured; their weights are correct, so nothing is lost. */
static enum err put_level(const struct making *m, struct profile *p)
{
	const struct losses_window *w = m->w;
	double length = (double)w->window->duration_ns;
	const struct budget_state *b = w->budget;
	unsigned level = level_of(m, p->resource);
	u64 threshold = w->wait_mean_ns << (level < 16 ? level : 16);

	if (b->paused)
		return ERR_OK;
	if (w->window->types & CAPTURE_CPU && b->level)
		TRY(completeness_put(p, STR("cpu"), PART_LOWERED, budget_reason_text(b->reason),
				     time_part(length)));
	if (!(w->window->types & CAPTURE_WAITS))
		return ERR_OK;
	if (level)
		TRY(completeness_put(p, STR("off_cpu"), PART_LOWERED,
				     b->wait_level ? budget_reason_text(BUDGET_CPU)
						   : "rate of switches",
				     time_part(length)));
	return completeness_put(p, STR("off_cpu"), PART_THRESHOLD, NULL,
				(struct tally_part){llround(length / 1e6),
						    llround(length / 1e6 * (double)threshold)});
}

static enum err profile_for(struct making *m, uint32_t resource, struct profile **ret)
{
	enum err e = ERR_OK;

	if (!begin_like(m, resource, ret, &e))
		return ERR_OK;
	TRY(e);
	TRY(completeness_put(*ret, STR(COMPLETENESS_ALL), PART_WATCHED, NULL,
			     time_part((double)m->w->window->duration_ns)));
	TRY(put_off(m, *ret));
	return put_level(m, *ret);
}

/* What a profile of the window says of a kind of record: count and value. */
static struct weight weight_of(const struct profile *p, u32 kind)
{
	struct weight w = {0};
	uint32_t last = p->type_count - 1;
	struct str value = dict_str(p->dict, p->types[last].type);

	for (size_t i = 0; i < MEASURES; i++)
		if (measures[i].kind == kind && measures[i].type != CAPTURE_WALL &&
		    str_eq(value, str_of(measures[i].measure))) {
			w.value = (double)profile_total(p, last);
			w.count = last ? (double)profile_total(p, last - 1) : 0;
		}
	return w;
}

/* The length of a wait or a turn that nobody measured is assumed to be the mean of the window's
 * others; without any, what one sample stands for. */
static double value_of(const struct making *m, const struct loss *one)
{
	struct weight all = {0};

	if (one->key.cause != LOSS_TABLE || one->value > 0)
		return one->value;
	for (size_t i = 0; i < m->data; i++) {
		struct weight w = weight_of(m->list->v[i], one->key.kind);

		all.count += w.count;
		all.value += w.value;
	}
	if (all.count > 0)
		return one->count * all.value / all.count;
	return one->count *
	       (double)(one->key.kind == RECORD_CPU ? m->w->window->period_ns : m->w->wait_mean_ns);
}

static enum err put_loss(const struct making *m, struct profile *p, const struct loss *one,
			 double part)
{
	double value = value_of(m, one);

	for (size_t i = 0; i < MEASURES; i++) {
		struct tally_part lost = {llround(part * one->count), 0};

		if (measures[i].kind != one->key.kind || !(m->w->window->types & measures[i].type))
			continue;
		if (measures[i].time)
			lost.time_ns = llround(part * value);
		TRY(completeness_put(p, str_of(measures[i].measure), PART_LOST,
				     loss_cause_text(one->key.cause), lost));
	}
	return ERR_OK;
}

static struct str value_type(const struct profile *p)
{
	return dict_str(p->dict, p->types[p->type_count - 1].type);
}

static bool has_profile(const struct making *m, uint32_t resource, const char *measure)
{
	for (size_t i = 0; i < m->list->n; i++)
		if (m->list->v[i]->resource == resource &&
		    str_eq(value_type(m->list->v[i]), str_of(measure)))
			return true;
	return false;
}

/* A type of which everything was lost has a profile all the same: without one nobody would look for
 * it, and its losses would be seen nowhere. */
static enum err put_empty(const struct making *m, uint32_t resource, struct process *process,
			  const struct loss *one)
{
	const struct window *w = m->w->window;

	for (size_t i = 0; i < MEASURES; i++)
		if (measures[i].kind == one->key.kind && w->types & measures[i].type &&
		    !has_profile(m, resource, measures[i].measure))
			TRY(window_add_empty(w, measures[i].measure, process, resource, m->dict,
					     m->list));
	return ERR_OK;
}

/* ---- whose it is ---- */

/* A process of which only the name is known. */
static enum err resource_of_name(struct making *m, const char comm[16], uint32_t *ret)
{
	struct label_list labels = {.dict = m->dict};

	TRY(labels_add_name(&labels, "service.name", comm));
	TRY(labels_add_text(&labels, "host.name", str_of(m->w->window->host)));
	return dict_label_set(m->dict, labels.ids, labels.n, ret);
}

/* In proportion to what there is of each; where there is nothing, to the service "unknown". */
static enum err share_out(struct making *m, const struct loss *one)
{
	struct profile *to;
	uint32_t resource;
	double all = 0;

	for (size_t i = 0; i < m->data; i++)
		all += weight_of(m->list->v[i], one->key.kind).value;
	for (size_t i = 0; i < m->data && all > 0; i++) {
		double weight = weight_of(m->list->v[i], one->key.kind).value;

		if (weight <= 0)
			continue;
		TRY(profile_for(m, m->list->v[i]->resource, &to));
		TRY(put_loss(m, to, one, weight / all));
	}
	if (all > 0)
		return ERR_OK;
	TRY(resource_of_name(m, "unknown\0\0\0\0\0\0\0\0", &resource));
	TRY(profile_for(m, resource, &to));
	TRY(put_empty(m, resource, NULL, one));
	return put_loss(m, to, one, 1);
}

static enum err put_losses(struct making *m, const struct losses *l)
{
	vec_for_each (one, &l->list) {
		struct process *process =
			one->key.pid ? processes_last(m->w->processes, one->key.pid) : NULL;
		struct profile *to;
		uint32_t resource;

		/* Whether it is wanted may still be unknown. */
		if (process && process->unwanted && !process->blind)
			continue;
		if (!process && !one->comm[0]) {
			TRY(share_out(m, one));
			continue;
		}
		if (process) {
			TRY(processes_facts(m->w->processes, process));
			TRY(labels_of_process(process, m->w->window->host, m->dict, &resource));
		} else {
			TRY(resource_of_name(m, one->comm, &resource));
		}
		TRY(profile_for(m, resource, &to));
		TRY(put_empty(m, resource, process, one));
		TRY(put_loss(m, to, one, 1));
	}
	return ERR_OK;
}

/* ---- names that nobody could read ---- */

/* By stack of the dictionary: whether a frame has no name because its file ended a reader. */
static enum err stacks_unread(const struct making *m, uint8_t **ret)
{
	const struct dict *d = m->dict;
	uint8_t *unread = mem_zalloc(d->stacks.entries.n + 1, sizeof(*unread));

	if (!unread)
		return ERR_NO_MEMORY;
	for (uint32_t stack = 0; stack < d->stacks.entries.n; stack++) {
		uint32_t n;
		const uint32_t *ids = stack_frames(d, stack, &n);

		for (uint32_t i = 0; i < n && !unread[stack]; i++)
			for (size_t k = 0; k < m->w->unread_count && !frame_name(d, ids[i]).n; k++)
				unread[stack] |= d->frames.v[ids[i]].mapping == m->w->unread[k];
	}
	*ret = unread;
	return ERR_OK;
}

/* The last column of a profile of the window is its value, the one before it the count. */
static enum err put_unread(struct making *m, const struct profile *p, const uint8_t *unread)
{
	uint32_t value = p->type_count - 1;
	struct str measure = dict_str(p->dict, p->types[value].type);
	struct tally_part part = {0};
	struct profile *to;

	if (!str_eq(dict_str(p->dict, p->types[value].unit), STR("nanoseconds")))
		return ERR_OK;
	for (size_t i = 0; i < p->row_count; i++) {
		if (!unread[p->stack[i]])
			continue;
		part.count += value ? profile_values(p, i)[value - 1] : 0;
		part.time_ns += profile_values(p, i)[value];
	}
	TRY(profile_for(m, p->resource, &to));
	return completeness_put(to, measure, PART_NAMELESS, CAUSE_UNREAD, part);
}

static enum err put_all_unread(struct making *m)
{
	CLEANUP(mem_free_ptr) uint8_t *unread = NULL;

	if (!m->w->unread_count)
		return ERR_OK;
	TRY(stacks_unread(m, &unread));
	for (size_t i = 0; i < m->data; i++)
		TRY(put_unread(m, m->list->v[i], unread));
	return ERR_OK;
}

/* If types are off, processes may have no profile to report that. */
static enum err say_of_all(void *context, struct process *process)
{
	struct making *m = context;
	struct profile *to;
	uint32_t resource;

	if (process->ended || process->unwanted || !process->facts.read)
		return ERR_OK;
	TRY(labels_of_process(process, m->w->window->host, m->dict, &resource));
	return profile_for(m, resource, &to);
}

enum err losses_profiles(struct losses *l, const struct losses_window *w, struct dict *d,
			 struct profile_list *list)
{
	struct making m = {.w = w, .dict = d, .list = list, .data = list->n};
	bool off = w->budget->paused || (w->had & w->asked & ~w->window->types);
	struct profile *to;
	enum err e = ERR_OK;

	m.like = (struct profile){
		.dict = d, .time_ns = w->window->start_ns, .duration_ns = w->window->duration_ns};
	TRY(dict_text(d, "vestal", &m.like.scope_name));
	TRY(dict_text(d, VESTAL_VERSION, &m.like.scope_version));
	for (size_t i = 0; !e && i < m.data; i++)
		e = profile_for(&m, list->v[i]->resource, &to);
	if (!e && off)
		e = processes_each(w->processes, &m, say_of_all);
	if (!e)
		e = put_losses(&m, l);
	if (!e)
		e = put_all_unread(&m);
	l->list.n = 0;
	return e;
}
