/*
 * Scraped profiles. The first part of type ids is the profile's name in the scrape settings
 * ("memory", "mutex" …), as in Pyroscope's scraper, because mutex and block profiles have the same
 * columns.
 */
#include "pipeline/hand_over.h"
#include "pipeline/scrape.h"

struct scraping {
	struct receive *r;
	const struct scrape_request *request;
	struct series_labels labels;
	struct arena arena; /* of type ids */
	struct scraped *result;
};

static enum err read_answer(struct decoding *d, struct str body, struct fault *fault)
{
	const struct format *format = NULL;
	enum err e = decoding_read(d, body, NULL, &format, fault);

	if (e == ERR_UNKNOWN_FORMAT ||
	    (!e && format->id != FORMAT_PPROF && format->id != FORMAT_LEGACY_PPROF))
		return fault_set(fault, ERR_UNPROCESSABLE, "the answer is no pprof profile");
	if (!e && !d->list.n)
		return fault_set(fault, ERR_UNPROCESSABLE, "the answer has no profile in it");
	return e;
}

/* Columns that are levels (inuse_space) are what they are at any time; all others count up. */
static void find_cumulative(const struct profile *p, bool *cumulative)
{
	for (uint32_t t = 0; t < p->type_count; t++) {
		struct type_words words = type_words_of(p, t);

		cumulative[t] = !type_is_gauge(words.type, words.unit);
	}
}

static enum err merge_rows(struct profile *p)
{
	struct profile merged;

	TRY(profile_aggregate(p, 0, &merged));
	profile_release(p);
	*p = merged;
	return ERR_OK;
}

static enum err address_columns(struct scraping *s, const struct profile *p, const bool *left_out,
				struct address *to)
{
	for (uint32_t t = 0; t < p->type_count; t++) {
		struct type_words words = type_words_of(p, t);

		to->types[t] = (struct str){NULL, 0};
		if (left_out[t])
			continue;
		words.name = s->request->name;
		TRY(type_id_make_pyroscope(&s->arena, &words, &to->types[t]));
	}
	return ERR_OK;
}

static enum err take_profile(struct scraping *s, struct profile *p, struct fault *fault)
{
	const struct scrape_request *q = s->request;
	bool cumulative[PROFILE_MAX_TYPES] = {false}, left_out[PROFILE_MAX_TYPES] = {false};
	struct address to = {.labels = &s->labels};
	bool never = false;

	address_when(&to, p->time_ns, p->duration_ns, s->r->now_ns);
	if (q->before) {
		find_cumulative(p, cumulative);
		TRY(merge_rows(p));
		never = !p->row_count;
		TRY(baseline_subtract(q->before, p, cumulative, &s->result->next,
				      &s->result->outcome));
		if (s->result->outcome != BASELINE_DELTA) {
			memcpy(left_out, cumulative, sizeof(left_out));
		} else if (q->elapsed_ns > 0) {
			to.time_ns -= q->elapsed_ns;
			to.duration_ns = q->elapsed_ns;
		}
	}
	/* Nothing was ever counted: the target may not do so at all. */
	if (never)
		return ERR_OK;
	TRY(address_columns(s, p, left_out, &to));
	return hand_over(s->r, &to, p, fault);
}

static enum err add_labels(struct scraping *s, struct fault *fault)
{
	series_labels_init(&s->labels, &s->r->limits);
	for (size_t i = 0; i < s->request->label_count; i++)
		TRY(series_labels_add(&s->labels, s->request->labels[i].name,
				      s->request->labels[i].value, fault));
	return ERR_OK;
}

enum err receive_scrape(struct receive *r, const struct scrape_request *request,
			struct scraped *ret, struct fault *fault)
{
	struct scraped result = {.outcome = BASELINE_FIRST};
	struct scraping s = {.r = r, .request = request, .result = &result};
	struct str service;
	struct decoding d;
	enum err e;

	TRY(add_labels(&s, fault));
	service = series_labels_service(&s.labels);
	TRY(decoding_init(&d, r, &service, fault));
	arena_init(&s.arena, (size_t)1 << 20);
	e = read_answer(&d, request->body, fault);
	if (!e)
		e = take_profile(&s, d.list.v[0], fault);
	arena_release(&s.arena);
	decoding_release(&d);
	if (e)
		baseline_release(&result.next);
	else
		*ret = result;
	return e;
}
