#include "agent/window.h"

#include <math.h>
#include <stdio.h>

static enum err add_types(const struct window *w, struct profile *p)
{
	if (w->types & CAPTURE_CPU) {
		TRY(profile_add_type(p, STR("samples"), STR("count")));
		TRY(profile_add_type(p, STR("cpu"), STR("nanoseconds")));
		TRY(dict_text(p->dict, "cpu", &p->period_type.type));
		TRY(dict_text(p->dict, "nanoseconds", &p->period_type.unit));
		p->period = (int64_t)w->period_ns;
		p->default_type = 1;
	}
	if (w->types & CAPTURE_WAITS) {
		TRY(profile_add_type(p, STR("off_cpu_waits"), STR("count")));
		TRY(profile_add_type(p, STR("off_cpu"), STR("nanoseconds")));
		if (p->default_type < 0)
			p->default_type = 1;
	}
	return ERR_OK;
}

static enum err stack_of(const struct collector *c, struct names *n, const struct collected *one,
			 struct dict *d, uint32_t *ret)
{
	uint32_t ids[4096];
	size_t count = 0, added;
	const struct sample_frame *frames = collected_frames(c, one);

	for (u32 i = 0; i < one->sample.frame_count && count < sizeof(ids) / sizeof(ids[0]); i++) {
		TRY(names_frames(n, one->sample.process, frames[i], ids + count,
				 sizeof(ids) / sizeof(ids[0]) - count, &added));
		count += added;
	}
	return dict_stack(d, ids, (uint32_t)count, ret);
}

static enum err add_text(struct dict *d, const char *key, struct str value, uint32_t *labels, u32 *n)
{
	if (!value.n)
		return ERR_OK;
	return dict_label_text(d, str_of(key), value, &labels[(*n)++]);
}

/* A name of 16 bytes that a program chose: whatever is no text is replaced. */
static struct str clean_name(const char name[16], char out[16])
{
	struct str s = str_n(name, strnlen(name, 16));

	memcpy(out, name, 16);
	if (!utf8_valid(s))
		for (size_t i = 0; i < s.n; i++)
			if ((unsigned char)out[i] >= 0x80)
				out[i] = '?';
	return str_n(out, s.n);
}

static enum err labels_of(const struct collected *one, struct dict *d, uint32_t *ret)
{
	static const char *const states[] = {"preempted", "sleep", "disk"};
	const struct sample *s = &one->sample;
	char process[16], thread[16];
	uint32_t labels[6];
	u32 n = 0;

	TRY(add_text(d, "process", clean_name(s->process->comm, process), labels, &n));
	TRY(add_text(d, "thread.name", clean_name(s->thread, thread), labels, &n));
	TRY(dict_string(d, STR("process.pid"), &labels[n]));
	TRY(dict_label(d, &(struct label){.key = labels[n], .type = LABEL_INT,
					  .value = s->process->pid}, &labels[n]));
	n++;
	if (s->kind == RECORD_WAIT)
		TRY(add_text(d, "state", str_of(states[s->wait_state % 3]), labels, &n));
	return dict_label_set(d, labels, n, ret);
}

enum err window_profile(struct collector *c, struct names *n, const struct window *w,
			struct profile *p)
{
	u32 waits = w->types & CAPTURE_CPU ? 2 : 0;

	TRY(add_types(w, p));
	p->time_ns = w->start_ns;
	p->duration_ns = w->duration_ns;
	names_begin(n, p->dict);
	vec_for_each(one, &c->list)
	{
		int64_t values[4] = {0};
		struct row row = {0};
		u32 at = one->sample.kind == RECORD_WAIT ? waits : 0;

		values[at] = llround(one->count);
		values[at + 1] = llround(one->value);
		TRY(stack_of(c, n, one, p->dict, &row.stack));
		TRY(labels_of(one, p->dict, &row.labels));
		TRY(profile_add(p, &row, values));
	}
	return ERR_OK;
}
