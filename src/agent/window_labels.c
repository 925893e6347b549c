#include "agent/window_labels.h"

#include <stdio.h>

#include "agent/turns.h"

/* A waker's stack is one text: what is above this is cut at the root. */
#define WAKER_TEXT 2000

enum err labels_add_text(struct label_list *l, const char *key, struct str value)
{
	if (!value.n || l->n == LABELS_MAX)
		return ERR_OK;
	return dict_label_text(l->dict, str_of(key), value, &l->ids[l->n++]);
}

enum err labels_add_number(struct label_list *l, const char *key, int64_t value)
{
	struct label label = {.type = LABEL_INT, .value = value};

	if (l->n == LABELS_MAX)
		return ERR_OK;
	TRY(dict_text(l->dict, key, &label.key));
	return dict_label(l->dict, &label, &l->ids[l->n++]);
}

enum err labels_add_name(struct label_list *l, const char *key, const char name[16])
{
	struct str text;
	char clean[16];

	memcpy(clean, name, sizeof(clean));
	text = str_n(clean, strnlen(clean, sizeof(clean)));
	if (!utf8_valid(text))
		for (size_t i = 0; i < text.n; i++)
			if ((unsigned char)clean[i] >= 0x80)
				clean[i] = '?';
	return labels_add_text(l, key, text);
}

static bool is_interrupt(struct str name)
{
	return str_starts(name, STR("asm_sysvec_")) ||
	       str_starts(name, STR("asm_common_interrupt"));
}

/*
 * The waker's stack, root first, its functions with a semicolon between. What an interrupt does has
 * nothing to do with the thread that it interrupted: the stack then begins with the interrupt.
 */
static enum err add_waker(const struct collector *c, struct names *n, const struct collected *one,
			  struct label_list *l)
{
	const struct sample_frame *frames = collected_waker(c, one);
	CLEANUP(buf_release) struct buf text = BUF_INIT(2 * WAKER_TEXT + SYMBOL_NAME_CEILING);
	bool interrupt = false;

	for (u32 i = 0; i < one->sample.waker_frame_count && text.n < WAKER_TEXT && !interrupt;
	     i++) {
		uint32_t ids[NAMES_PER_PLACE];
		size_t count;

		TRY(names_frames(n, one->sample.waker, frames[i], ids, NAMES_PER_PLACE, &count));
		for (size_t k = 0; k < count && !interrupt; k++) {
			CLEANUP(buf_release) struct buf name = BUF_INIT(SYMBOL_NAME_CEILING);

			frame_label(l->dict, ids[k], &name);
			interrupt = is_interrupt(buf_view(&name));
			if (text.n)
				buf_byte(&name, ';');
			buf_insert(&text, 0, name.data, name.n);
		}
	}
	TRY(buf_error(&text));
	if (!interrupt)
		TRY(labels_add_name(l, "waker.thread", one->sample.waker_thread));
	return labels_add_text(l, "waker", buf_view(&text));
}

/* The label of a runnable thread: in off-CPU profiles, and in thread counts. */
static const char *const wait_states[WAIT_STATES] = {"preempted", "sleep", "disk", "", "stopped"};
static const char *const thread_states[WAIT_STATES] = {"runnable", "sleep", "disk", "running",
						       "stopped"};

static const char *const memory_kinds[MEMORY_KINDS] = {"file", "anonymous", "swapped", "shared"};

static enum err add_turn(struct label_list *l, u8 bucket)
{
	char text[24];

	turn_bucket_text(bucket, text);
	return labels_add_text(l, "loop.turn", str_of(text));
}

/* A lock of the program's own has a name that is the same in all its processes. */
static enum err add_lock(struct names *n, const struct sample *s, struct label_list *l)
{
	char text[VARIABLE_NAME_MAX];

	if (names_variable(n, s->process, s->lock, text) && utf8_valid(str_of(text)))
		return labels_add_text(l, "lock.name", str_of(text));
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)s->lock);
	return labels_add_text(l, "lock.address", str_of(text));
}

enum err labels_of_sample(const struct collector *c, struct names *n, const struct collected *one,
			  struct label_list *l)
{
	const struct sample *s = &one->sample;

	TRY(labels_add_name(l, "thread.name", s->thread));
	if (s->kind == RECORD_THREAD)
		return labels_add_text(l, "state",
				       str_of(thread_states[s->wait_state % WAIT_STATES]));
	if (s->kind == RECORD_FAULT)
		return labels_add_text(l, "memory",
				       str_of(memory_kinds[s->wait_state % MEMORY_KINDS]));
	if (s->kind == RECORD_LOOP)
		return add_turn(l, s->wait_state);
	if (s->kind != RECORD_WAIT)
		return ERR_OK;
	TRY(labels_add_text(l, "state", str_of(wait_states[s->wait_state % WAIT_STATES])));
	if (s->lock && !one->other_wait)
		TRY(add_lock(n, s, l));
	return s->waker ? add_waker(c, n, one, l) : ERR_OK;
}

/* Lines "key=value". */
static enum err add_rule_labels(struct label_list *l, struct str lines)
{
	struct str one;

	while (str_split(&lines, '\n', &one) && l->n < LABELS_MAX) {
		size_t at = str_find(one, '=');

		if (at < one.n)
			TRY(dict_label_text(l->dict, str_n(one.p, at), str_skip(one, at + 1),
					    &l->ids[l->n++]));
	}
	return ERR_OK;
}

static bool has_rule_label(struct str lines, struct str key)
{
	struct str one;

	while (str_split(&lines, '\n', &one))
		if (str_eq(str_n(one.p, str_find(one, '=')), key))
			return true;
	return false;
}

/* Attributes set by the process: "a=b,c=d". Rules take precedence. */
static enum err add_attributes(struct label_list *l, const struct process_facts *f)
{
	struct str list = f->attributes, one;

	while (str_split(&list, ',', &one) && l->n < LABELS_MAX) {
		size_t at = str_find(one, '=');
		struct str key = str_trim(str_n(one.p, at)), value;

		if (at == one.n || !key.n || str_eq(key, STR("service.name")) ||
		    has_rule_label(f->labels, key))
			continue;
		value = str_trim(str_skip(one, at + 1));
		if (value.n && utf8_valid(key) && utf8_valid(value))
			TRY(dict_label_text(l->dict, key, value, &l->ids[l->n++]));
	}
	return ERR_OK;
}

enum err labels_of_process(const struct process *process, const char *host, struct dict *d,
			   uint32_t *ret)
{
	struct label_list l = {.dict = d};
	const struct process_facts *f = &process->facts;
	size_t slash = str_rfind(f->program, '/');

	TRY(labels_add_text(&l, "service.name", f->service));
	TRY(labels_add_text(&l, "host.name", str_of(host)));
	TRY(labels_add_text(&l, "process.executable.path", f->program));
	TRY(labels_add_text(&l, "process.executable.name",
			    slash < f->program.n ? str_skip(f->program, slash + 1) : f->program));
	TRY(labels_add_text(&l, "container.id", f->container));
	TRY(labels_add_text(&l, "systemd.unit", f->unit));
	if (!process->ended)
		TRY(labels_add_number(&l, "process.pid", process->pid));
	TRY(add_rule_labels(&l, f->labels));
	TRY(add_attributes(&l, f));
	return dict_label_set(d, l.ids, l.n, ret);
}

/* In steps that are worth a text of their own. */
static enum err add_share(struct label_list *l, const char *key, double share)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4f", share);
	return labels_add_text(l, key, str_of(text));
}

enum err labels_of_limit(const struct window *w, const struct process *process, struct dict *d,
			 uint32_t *ret)
{
	struct label_list l = {.dict = d};
	unsigned level =
		process && w->wait_levels ? wait_level_of(w->wait_levels, process->pid) : 0;

	*ret = 0;
	if (w->wanted_hz) {
		TRY(labels_add_number(&l, "vestal.rate.wanted", w->wanted_hz));
		TRY(labels_add_text(&l, "vestal.rate.limited_by", str_of(w->limited_by)));
	}
	if (level)
		TRY(labels_add_number(&l, "vestal.waits.mean",
				      (int64_t)(w->wait_mean_ns << level)));
	if (w->cpu_share > 0)
		TRY(add_share(&l, "vestal.agent.cpu_share", w->cpu_share));
	if (w->cpu_budget > 0)
		TRY(add_share(&l, "vestal.agent.cpu_budget", w->cpu_budget));
	if (w->lost)
		TRY(labels_add_number(&l, "vestal.samples.lost", (int64_t)w->lost));
	return l.n ? dict_label_set(d, l.ids, l.n, ret) : ERR_OK;
}
