#include "agent/window.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Longest stack that is written, inlined functions counted. */
#define STACK_MAX 4096

static enum err add_cpu_types(const struct window *w, struct profile *p)
{
	TRY(profile_add_type(p, STR("samples"), STR("count")));
	TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
	TRY(dict_text(p->dict, "cpu", &p->period_type.type));
	TRY(dict_text(p->dict, "nanoseconds", &p->period_type.unit));
	p->period = (int64_t)w->period_ns;
	return ERR_OK;
}

static enum err add_wait_types(struct profile *p)
{
	TRY(profile_add_type(p, STR("off_cpu_waits"), STR("count")));
	return profile_add_type(p, STR("off_cpu"), STR("nanoseconds"));
}

static enum err stack_of(const struct collector *c, struct names *n, const struct collected *one,
			 struct dict *d, uint32_t *ret)
{
	uint32_t ids[STACK_MAX];
	size_t count = 0, added;
	const struct sample_frame *frames = collected_frames(c, one);

	for (u32 i = 0; i < one->sample.frame_count && count < STACK_MAX; i++) {
		TRY(names_frames(n, one->sample.process, frames[i], ids + count, STACK_MAX - count,
				 &added));
		count += added;
	}
	return dict_stack(d, ids, (uint32_t)count, ret);
}

#define LABELS_MAX 16

struct label_list {
	struct dict *dict;
	uint32_t ids[LABELS_MAX];
	uint32_t n;
};

static enum err add_text(struct label_list *l, const char *key, struct str value)
{
	if (!value.n || l->n == LABELS_MAX)
		return ERR_OK;
	return dict_label_text(l->dict, str_of(key), value, &l->ids[l->n++]);
}

static enum err add_number(struct label_list *l, const char *key, int64_t value)
{
	struct label label = {.type = LABEL_INT, .value = value};

	if (l->n == LABELS_MAX)
		return ERR_OK;
	TRY(dict_text(l->dict, key, &label.key));
	return dict_label(l->dict, &label, &l->ids[l->n++]);
}

/* A name of 16 bytes that a program chose: whatever is no text is replaced. */
static struct str clean_name(const char name[16], char out[16])
{
	struct str s = str_n(out, strnlen(name, 16));

	memcpy(out, name, 16);
	if (!utf8_valid(s))
		for (size_t i = 0; i < s.n; i++)
			if ((unsigned char)out[i] >= 0x80)
				out[i] = '?';
	return s;
}

static enum err sample_labels(const struct sample *s, struct label_list *l)
{
	static const char *const states[] = {"preempted", "sleep", "disk"};
	char thread[16];

	TRY(add_text(l, "thread.name", clean_name(s->thread, thread)));
	if (s->kind == RECORD_WAIT)
		TRY(add_text(l, "state", str_of(states[s->wait_state % 3])));
	return ERR_OK;
}

static enum err add_row(const struct collector *c, struct names *n, const struct collected *one,
			u32 column, struct label_list *labels, struct profile *p)
{
	int64_t values[4] = {0};
	struct row row = {0};

	values[column] = llround(one->count);
	values[column + 1] = llround(one->value);
	TRY(stack_of(c, n, one, p->dict, &row.stack));
	TRY(sample_labels(&one->sample, labels));
	TRY(dict_label_set(p->dict, labels->ids, labels->n, &row.labels));
	return profile_add(p, &row, values);
}

enum err window_profile(struct collector *c, struct names *n, const struct window *w,
			struct profile *p)
{
	u32 waits = w->types & CAPTURE_CPU ? 2 : 0;

	if (w->types & CAPTURE_CPU)
		TRY(add_cpu_types(w, p));
	if (w->types & CAPTURE_WAITS)
		TRY(add_wait_types(p));
	p->default_type = 1;
	p->time_ns = w->start_ns;
	p->duration_ns = w->duration_ns;
	names_begin(n, p->dict);
	vec_for_each (one, &c->list) {
		struct label_list labels = {.dict = p->dict};
		char process[16];

		TRY(add_text(&labels, "process", clean_name(one->sample.process->comm, process)));
		TRY(add_number(&labels, "process.pid", one->sample.process->pid));
		TRY(add_row(c, n, one, one->sample.kind == RECORD_WAIT ? waits : 0, &labels, p));
	}
	return ERR_OK;
}

/* ---- a profile per process and kind ---- */

/* Rows of one profile lie together after sorting. Processes that have ended count as one when they
 * were the same program: a thousand short ones must not make a thousand profiles. */
static int compare_processes(const struct process *a, const struct process *b)
{
	int order = str_cmp(a->facts.service, b->facts.service);

	if (!order)
		order = str_cmp(a->facts.program, b->facts.program);
	if (!order)
		order = str_cmp(a->facts.container, b->facts.container);
	if (!order)
		order = str_cmp(a->facts.attributes, b->facts.attributes);
	if (order || (a->ended && b->ended))
		return order;
	if (!a->ended != !b->ended)
		return a->ended ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int compare_rows(const void *x, const void *y)
{
	const struct collected *a = *(struct collected *const *)x,
			       *b = *(struct collected *const *)y;

	if (a->sample.kind != b->sample.kind)
		return a->sample.kind < b->sample.kind ? -1 : 1;
	return compare_processes(a->sample.process, b->sample.process);
}

/* What the process itself says of its service: "a=b,c=d". */
static enum err add_attributes(struct label_list *l, struct str list)
{
	struct str one;

	while (str_split(&list, ',', &one) && l->n < LABELS_MAX) {
		size_t at = str_find(one, '=');
		struct str key = str_trim(str_n(one.p, at)), value;

		if (at == one.n || !key.n || str_eq(key, STR("service.name")))
			continue;
		value = str_trim(str_skip(one, at + 1));
		if (value.n && utf8_valid(key) && utf8_valid(value))
			TRY(dict_label_text(l->dict, key, value, &l->ids[l->n++]));
	}
	return ERR_OK;
}

static enum err resource_of(const struct process *process, const struct window *w, struct dict *d,
			    uint32_t *ret)
{
	struct label_list l = {.dict = d};
	const struct process_facts *f = &process->facts;
	size_t slash = str_rfind(f->program, '/');

	TRY(add_text(&l, "service.name", f->service));
	TRY(add_text(&l, "host.name", str_of(w->host)));
	TRY(add_text(&l, "process.executable.path", f->program));
	TRY(add_text(&l, "process.executable.name",
		     slash < f->program.n ? str_skip(f->program, slash + 1) : f->program));
	TRY(add_text(&l, "container.id", f->container));
	TRY(add_text(&l, "systemd.unit", f->unit));
	if (!process->ended)
		TRY(add_number(&l, "process.pid", process->pid));
	TRY(add_attributes(&l, f->attributes));
	return dict_label_set(d, l.ids, l.n, ret);
}

static enum err begin_profile(const struct collected *one, const struct window *w, struct dict *d,
			      struct profile_list *list, struct profile **ret)
{
	struct profile *p;

	TRY(profile_list_add(list, d, &p));
	if (one->sample.kind == RECORD_WAIT)
		TRY(add_wait_types(p));
	else
		TRY(add_cpu_types(w, p));
	p->time_ns = w->start_ns;
	p->duration_ns = w->duration_ns;
	TRY(resource_of(one->sample.process, w, d, &p->resource));
	TRY(dict_text(d, "vestal", &p->scope_name));
	TRY(dict_text(d, VESTAL_VERSION, &p->scope_version));
	*ret = p;
	return ERR_OK;
}

enum err window_profiles(struct collector *c, struct names *n, const struct window *w,
			 struct dict *d, struct profile_list *ret)
{
	VEC(struct collected *) order = {0};
	struct profile *p = NULL;
	enum err e = ERR_OK;

	names_begin(n, d);
	vec_for_each (one, &c->list)
		TRY(vec_push(&order, one));
	if (order.n)
		qsort(order.v, order.n, sizeof(*order.v), compare_rows);
	for (size_t i = 0; !e && i < order.n; i++) {
		struct label_list labels = {.dict = d};

		if (!i || compare_rows(&order.v[i - 1], &order.v[i]))
			e = begin_profile(order.v[i], w, d, ret, &p);
		if (!e)
			e = add_row(c, n, order.v[i], 0, &labels, p);
	}
	vec_release(&order);
	return e;
}
