#include "sdk/kept_samples.h"

#include <sys/mman.h>

#include "sdk/label_sets.h"
#include "sdk/own_pages.h"

enum reason { NOT_KEPT, SLOW, FAILED, BUSY };

static const char *const reason_names[] = {NULL, "slow", "failed", "cpu"};

void kept_samples_init(struct kept_samples *k, const struct sdk_settings *s, struct tally *t)
{
	memset(k, 0, sizeof(*k));
	if (!control_keeps(&s->control) || !(s->types & SDK_CPU))
		return;
	k->ring = own_pages(WAITING_SAMPLES * sizeof(*k->ring));
	if (!k->ring)
		return;
	k->settings = &s->control;
	k->every = sdk_timer_rate(s) / s->rate_hz;
	k->tally = t;
	atomic_store(&span_ends_wanted, true);
}

void kept_samples_release(struct kept_samples *k)
{
	if (!k->ring)
		return;
	atomic_store(&span_ends_wanted, false);
	munmap(k->ring, WAITING_SAMPLES * sizeof(*k->ring));
	k->ring = NULL;
}

/* ------------------------------------------------------------------ counting */

static void count(struct kept_samples *k, const struct waiting_sample *s, s64 samples, s64 value)
{
	u32 context;

	if (tally_context(k->tally, &s->context, &context))
		k->tally->lost++;
	else
		tally_add(k->tally, SAMPLE_CPU, s->stack, context, samples, value);
}

static void thin(struct kept_samples *k, struct thinner *t, const struct waiting_sample *s)
{
	t->count += s->count;
	t->value += s->value;
	if (++t->n < k->every)
		return;
	count(k, s, t->count, t->value);
	*t = (struct thinner){0};
}

/* Out of the ring. */
static void let_go(struct kept_samples *k, struct waiting_sample *s)
{
	u32 labels;

	if (s->reason == NOT_KEPT) {
		thin(k, &k->released, s);
	} else {
		/* Without room for another label it is kept all the same. */
		if (!label_sets_with(s->context.label_set, STR("kept"),
				     str_of(reason_names[s->reason]), &labels, NULL))
			s->context.label_set = labels;
		count(k, s, s->count, s->value);
	}
	s->time = 0;
}

static struct waiting_sample *at(const struct kept_samples *k, u32 i)
{
	return &k->ring[(k->first + i) % WAITING_SAMPLES];
}

static void drop_first(struct kept_samples *k)
{
	if (at(k, 0)->time)
		let_go(k, at(k, 0));
	k->first = (k->first + 1) % WAITING_SAMPLES;
	k->n--;
}

void kept_samples_add(struct kept_samples *k, const struct waiting_sample *s)
{
	if (!s->thread) {
		thin(k, &k->outside, s);
		return;
	}
	if (k->n == WAITING_SAMPLES)
		drop_first(k);
	*at(k, k->n++) = *s;
}

/* ------------------------------------------------------------------ verdicts */

static bool belongs(const struct waiting_sample *s, const struct span_end *e)
{
	return s->time >= e->from && s->time <= e->to && s->thread == e->thread;
}

static enum reason judge(const struct kept_samples *k, const struct span_end *e)
{
	const struct control_settings *c = k->settings;
	s64 used = 0, length = e->to - e->from;

	if (e->failed && c->keep_failed)
		return FAILED;
	if (c->slow_ns && length >= c->slow_ns)
		return SLOW;
	if (!c->cpu_percent)
		return NOT_KEPT;
	for (u32 i = 0; i < k->n; i++)
		if (belongs(at(k, i), e))
			used += at(k, i)->value;
	return used >= length / 100 * c->cpu_percent ? BUSY : NOT_KEPT;
}

static void settle(struct kept_samples *k, const struct span_end *e)
{
	enum reason reason = judge(k, e);

	for (u32 i = 0; i < k->n; i++) {
		struct waiting_sample *s = at(k, i);

		if (!s->time || !belongs(s, e))
			continue;
		if (!s->reason)
			s->reason = (u8)reason;
		/* An outer span may still turn out to be slow. */
		if (e->outermost)
			let_go(k, s);
	}
}

void kept_samples_begin(struct kept_samples *k)
{
	k->end_count = k->settings ? span_ends_take(k->ends, SPAN_ENDS_MAX) : 0;
}

/* A span inside another ended before it: verdicts in that order. */
static void settle_all(struct kept_samples *k)
{
	for (u32 i = 0; i < k->end_count; i++)
		if (!k->ends[i].outermost)
			settle(k, &k->ends[i]);
	for (u32 i = 0; i < k->end_count; i++)
		if (k->ends[i].outermost)
			settle(k, &k->ends[i]);
}

void kept_samples_end(struct kept_samples *k, int64_t now, bool all)
{
	if (!k->settings)
		return;
	settle_all(k);
	while (k->n && (all || !at(k, 0)->time || now - at(k, 0)->time > k->settings->keep_ns))
		drop_first(k);
}
