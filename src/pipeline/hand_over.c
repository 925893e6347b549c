#include "pipeline/hand_over.h"

/* One profile on its way. */
struct handing {
	struct receive *r;
	const struct address *to;
	struct profile *p;
	struct row_plans plans;
	struct arena arena;
	uint32_t *groups; /* by row, when there are several */
	bool idle;	  /* no row has a value: what is kept says that it was measured */
};

bool is_rejection(enum err e)
{
	return e && !err_retry(e) && err_http(e) < 500;
}

void reject(struct receive *r, uint64_t n, enum err e, const struct fault *reason)
{
	if (!r->result.rejected) {
		r->result.reason = *reason;
		if (!reason->text[0])
			(void)fault_set(&r->result.reason, e, "%s", err_text(e));
	}
	r->result.rejected += n;
}

/* Whether a row has something to say in the columns that are kept. */
static bool row_counts(const struct handing *h, const int64_t *values)
{
	bool any = false;

	for (uint32_t i = 0; i < h->p->type_count; i++) {
		if (!h->to->types[i].n)
			continue;
		if (values[i] < 0)
			return false;
		any |= values[i] != 0;
	}
	return any;
}

static bool has_negative(const struct handing *h, const int64_t *values)
{
	for (uint32_t i = 0; i < h->p->type_count; i++)
		if (h->to->types[i].n && values[i] < 0)
			return true;
	return false;
}

/* Returns how many were negative. */
static size_t drop_rows(struct handing *h)
{
	struct profile *p = h->p;
	struct received *result = &h->r->result;
	size_t kept = 0, negative = 0;

	for (size_t i = 0; i < p->row_count; i++) {
		const int64_t *values = profile_values(p, i);

		if (!row_counts(h, values)) {
			negative += has_negative(h, values);
			continue;
		}
		if (kept != i)
			profile_move_row(p, i, kept);
		kept++;
	}
	p->row_count = kept;
	result->dropped_rows += negative;
	if (negative)
		notes_add(&result->notes, "rows with negative values were left out");
	return negative;
}

static enum err set_link(struct profile *p, size_t row, uint32_t link)
{
	if (!link)
		return ERR_OK;
	if (!p->link) {
		p->link = mem_zalloc(p->row_cap, sizeof(*p->link));
		if (!p->link)
			return ERR_NO_MEMORY;
	}
	if (!p->link[row])
		p->link[row] = link;
	return ERR_OK;
}

static enum err set_group(struct handing *h, size_t row, uint32_t group)
{
	if (!h->groups) {
		if (!group)
			return ERR_OK;
		h->groups = arena_zalloc(&h->arena, h->p->row_count, sizeof(*h->groups));
		if (!h->groups)
			return ERR_NO_MEMORY;
	}
	h->groups[row] = group;
	return ERR_OK;
}

static enum err plan_rows(struct handing *h)
{
	struct profile *p = h->p;
	const struct row_plan *plan = NULL;

	for (size_t i = 0; i < p->row_count; i++) {
		if (!plan || plan->set != p->labels[i])
			TRY(row_plans_get(&h->plans, p->labels[i], &plan));
		p->labels[i] = plan->labels;
		h->plans.groups.v[plan->group].rows++;
		TRY(set_link(p, i, plan->link));
		TRY(set_group(h, i, plan->group));
	}
	return ERR_OK;
}

static bool has_labels(const struct profile *p)
{
	for (size_t i = 0; i < p->row_count; i++)
		if (p->labels[i])
			return true;
	return false;
}

static enum err give(struct handing *h, const struct row_group *g, const struct profile *p,
		     struct fault *fault)
{
	struct series_labels labels;
	struct series_profile series = {.types = h->to->types,
					.profile = p,
					.time_ns = h->to->time_ns,
					.duration_ns = h->to->duration_ns};
	struct received *result = &h->r->result;

	labels.limits = h->to->labels->limits;
	labels.lenient = h->to->labels->lenient;
	labels.n = h->to->labels->n;
	memcpy(labels.v, h->to->labels->v, labels.n * sizeof(*labels.v));
	/* Row labels were not sent as series labels: cut or drop invalid ones instead of refusing
	 * them. */
	if (!labels.lenient)
		labels.lenient = &result->notes;
	for (uint32_t i = 0; g && i < g->n; i++) {
		const struct label_pair *pair = &h->plans.pairs.v[g->at + i];

		TRY(series_labels_set(&labels, pair->name, pair->value, fault));
	}
	TRY(series_labels_finish(&labels, fault));
	series.labels = labels.v;
	series.label_count = labels.n;
	TRY(h->r->sink.profile(h->r->sink.context, &series, fault));
	result->profiles++;
	result->samples += p->row_count;
	return ERR_OK;
}

static enum err merge_equal(struct profile *p)
{
	struct profile merged;

	TRY(profile_aggregate(p, 0, &merged));
	profile_release(p);
	*p = merged;
	return ERR_OK;
}

/* The rows of one group in a profile of their own. */
static enum err give_part(struct handing *h, uint32_t group, struct fault *fault)
{
	const struct row_group *g = &h->plans.groups.v[group];
	const struct profile *p = h->p;
	struct profile part;
	enum err e;

	if (!g->rows)
		return ERR_OK;
	profile_init(&part, p->dict);
	memcpy(part.types, p->types, sizeof(part.types));
	part.type_count = p->type_count;
	part.default_type = p->default_type;
	part.period_type = p->period_type;
	part.period = p->period;
	e = profile_reserve(&part, g->rows);
	for (size_t i = 0; !e && i < p->row_count; i++) {
		struct row row = profile_row(p, i);

		if (h->groups[i] == group)
			e = profile_add(&part, &row, profile_values(p, i));
	}
	if (!e && h->plans.merge)
		e = merge_equal(&part);
	if (!e)
		e = give(h, g, &part, fault);
	profile_release(&part);
	return e;
}

static enum err give_all(struct handing *h, struct fault *fault)
{
	struct row_plans *plans = &h->plans;
	size_t used = 0, only = 0;

	for (size_t i = 0; i < plans->groups.n; i++) {
		if (!plans->groups.v[i].rows)
			continue;
		used++;
		only = i;
	}
	if (used == 1) {
		if (plans->merge)
			TRY(merge_equal(h->p));
		return give(h, &plans->groups.v[only], h->p, fault);
	}
	for (uint32_t i = 0; i < plans->groups.n; i++)
		TRY(give_part(h, i, fault));
	return ERR_OK;
}

static enum err split(struct handing *h, struct fault *fault)
{
	const struct row_rules rules = {.limits = &h->r->limits,
					.series = h->to->labels,
					.contexts = h->to->contexts,
					.services = h->to->services};
	enum err e;

	arena_init(&h->arena, (size_t)256 << 20);
	e = row_plans_init(&h->plans, h->p->dict, &rules, &h->arena, &h->r->result.notes);
	if (!e)
		e = plan_rows(h);
	/* The series are those of the rows, which say nothing besides. */
	if (h->idle)
		h->p->row_count = 0;
	if (!e)
		e = give_all(h, fault);
	row_plans_release(&h->plans);
	arena_release(&h->arena);
	return e;
}

/* A profile that holds the same in two units would count twice. */
static void drop_repeated_types(struct handing *h, struct address *to)
{
	for (uint32_t i = 1; i < h->p->type_count; i++)
		for (uint32_t k = 0; to->types[i].n && k < i; k++)
			if (str_eq(to->types[k], to->types[i])) {
				notes_add(&h->r->result.notes,
					  "a second column of %.*s was left out",
					  (int)(to->types[i].n < 100 ? to->types[i].n : 100),
					  to->types[i].p);
				to->types[i] = (struct str){NULL, 0};
				h->r->result.dropped_columns++;
			}
}

void address_when(struct address *to, int64_t time_ns, int64_t duration_ns, int64_t arrived_ns)
{
	to->duration_ns = duration_ns > 0 ? duration_ns : 0;
	if (time_ns > 0)
		to->time_ns = time_ns;
	else
		to->time_ns =
			to->duration_ns < arrived_ns ? arrived_ns - to->duration_ns : arrived_ns;
}

enum err hand_over(struct receive *r, struct address *to, struct profile *p, struct fault *fault)
{
	struct handing h = {.r = r, .to = to, .p = p};
	size_t rows = p->row_count, negative;
	bool any = false;

	drop_repeated_types(&h, to);
	for (uint32_t i = 0; i < p->type_count; i++)
		any |= to->types[i].n != 0;
	if (!any)
		return ERR_OK;
	negative = drop_rows(&h);
	h.idle = !p->row_count;
	/* Negative values are no measurement. */
	if (h.idle && negative)
		return ERR_OK;
	if (h.idle)
		p->row_count = rows;
	if (has_labels(p)) {
		TRY(split(&h, fault));
	} else {
		p->row_count = h.idle ? 0 : p->row_count;
		TRY(give(&h, NULL, p, fault));
	}
	r->result.derived_profiles += p->derived != 0;
	return ERR_OK;
}

enum err decoding_unpack(const struct receive *r, struct str *bytes, struct buf *owner,
			 struct fault *fault)
{
	struct fault found = {0};
	const char *name;
	enum err e = decompress(*bytes, &r->limits.format, owner, &name, &found);

	if (e) {
		if (fault)
			*fault = found;
		return found.text[0] ? e : fault_set(fault, e, "%s", err_text(e));
	}
	if (owner->data)
		*bytes = buf_view(owner);
	return ERR_OK;
}

enum err decoding_init(struct decoding *d, struct receive *r, const struct str *service,
		       struct fault *fault)
{
	d->r = r;
	d->list = (struct profile_list){0};
	d->out =
		(struct reading){.list = &d->list, .limits = r->limits.format, .no_programs = true};
	d->owns = false;
	if (service && r->sink.dictionary) {
		TRY(r->sink.dictionary(r->sink.context, *service, &d->out.dict, fault));
	} else {
		TRY(dict_init(&d->own, r->sink.seed));
		d->owns = true;
		d->out.dict = &d->own;
	}
	/* Notes of the request go on. */
	d->out.notes = r->result.notes;
	r->result.notes = (struct notes){0};
	return ERR_OK;
}

static void give_back_notes(struct decoding *d)
{
	d->r->result.notes = d->out.notes;
	d->out.notes = (struct notes){0};
}

void decoding_release(struct decoding *d)
{
	profile_list_release(&d->list);
	if (d->owns)
		dict_release(&d->own);
}

/* Types are known by their usual unit, so every profile comes in that. */
static enum err settle_units(struct decoding *d)
{
	for (size_t i = 0; i < d->list.n; i++) {
		uint64_t clamped = 0;

		TRY(profile_usual_units(d->list.v[i], &clamped));
		d->r->result.clamped_values += clamped;
		if (clamped)
			notes_add(&d->out.notes,
				  "%llu values were too large for 64 bits in the usual unit",
				  (unsigned long long)clamped);
	}
	return ERR_OK;
}

static enum err tell(struct decoding *d, enum err e, struct fault *fault)
{
	if (!e)
		e = settle_units(d);
	give_back_notes(d);
	if (!e)
		return ERR_OK;
	if (fault)
		*fault = d->out.fault;
	if (!d->out.fault.text[0])
		return fault_set(fault, e, "%s", err_text(e));
	return e;
}

enum err decoding_read(struct decoding *d, struct str bytes, const struct format *format,
		       const struct format **ret_format, struct fault *fault)
{
	return tell(d, format_read(bytes, format, &d->out, ret_format), fault);
}

enum err decoding_read_with(struct decoding *d, struct str bytes,
			    enum err (*read)(struct str bytes, struct reading *out),
			    struct fault *fault)
{
	return tell(d, read(bytes, &d->out), fault);
}
