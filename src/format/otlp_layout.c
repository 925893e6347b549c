/*
 * Which layout a message has. Senders do not say, and the numbers moved twice:
 *
 *	          Sample                          Profile
 *	1.8       2 values 3 attributes 4 link    7 comments 8 id … 12 attributes
 *	1.9       2 values 3 attributes 4 link    7 id 8 dropped … 11 attributes
 *	1.10      2 attributes 3 link 4 values    7 id 8 dropped … 11 attributes
 *
 * Wire types tell them apart in nearly every sample (lists are packed, a link is a varint), so
 * samples vote. Where types do not help, a reading that leads out of a table is not the right one.
 */
#include "format/otlp_decode.h"

#define ENOUGH_VOTES 256

struct votes {
	unsigned old_samples, new_samples; /* 1.8 or 1.9; 1.10 */
	unsigned v1_8, v1_9;		   /* of profiles; 1.10 counts as 1.9 */
	bool ancient;
};

/* What a list field of a sample held: how many, and the smallest and largest as an index. */
struct seen {
	unsigned n, packed;
	int64_t low, high;
};

static void look(struct seen *s, const struct pb *c)
{
	struct pb_packed run = pb_packed_of(c);
	uint64_t value;

	s->packed += c->type == PB_BYTES;
	while (pb_packed_next(&run, &value)) {
		int64_t v = (int64_t)value;

		s->low = s->n && s->low < v ? s->low : v;
		s->high = s->n && s->high > v ? s->high : v;
		s->n++;
	}
}

static bool fits(const struct seen *s, size_t table)
{
	/* A sender that forgot a table may still say 0, "not set". */
	return !s->n || (s->low >= 0 && ((uint64_t)s->high < table || s->high == 0));
}

static void vote_sample(const struct otlp_decoder *d, const struct pb *at, struct votes *v)
{
	struct seen field[5] = {0};
	unsigned times = 0;
	bool is_old, is_new, as_new, as_old;
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		if (c.field >= 2 && c.field <= 4)
			look(&field[c.field], &c);
		else if (c.field == SAMPLE_TIMES)
			times += c.type == PB_BYTES ? (unsigned)(c.bytes.n / 8) : 1;
	}
	/* A sender that packs its lists writes only the link as a lone number. */
	is_old = field[3].packed || (field[2].packed && field[4].n && !field[4].packed);
	is_new = field[4].packed || (field[2].packed && field[3].n && !field[3].packed);
	if (is_old != is_new) {
		v->old_samples += is_old;
		v->new_samples += is_new;
		return;
	}
	/* A sample has a value or a time, one link at most, and as many values as times. */
	as_new = (field[4].n || times) && field[3].n <= 1 &&
		 (!times || !field[4].n || field[4].n == times);
	as_old = (field[2].n || times) && field[4].n <= 1 &&
		 (!times || !field[2].n || field[2].n == times);
	as_new = as_new && fits(&field[2], d->t->attributes.n) && fits(&field[3], d->t->links.n);
	as_old = as_old && fits(&field[3], d->t->attributes.n) && fits(&field[4], d->t->links.n);
	/* Unpacked, both may still be possible: a lone varint in 3 is a link far more often. */
	if (as_new && as_old && !field[2].n && field[3].n != field[4].n) {
		v->new_samples += field[3].n != 0;
		v->old_samples += field[4].n != 0;
	} else {
		v->new_samples += as_new && !as_old;
		v->old_samples += as_old && !as_new;
	}
}

static void vote_value_type(const struct pb *at, struct votes *v)
{
	struct pb c = pb_sub(at);

	while (pb_next(&c))
		v->v1_8 += c.field == VALUE_TYPE_1_8_TEMPORALITY;
}

static void vote_profile(const struct otlp_decoder *d, const struct pb *at, struct votes *v)
{
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		bool list = c.type == PB_BYTES;

		switch (c.field) {
		case PROFILE_SAMPLE_TYPE:
		case PROFILE_PERIOD_TYPE:
			if (list)
				vote_value_type(&c, v);
			break;
		case PROFILE_SAMPLES:
			if (list && v->old_samples + v->new_samples < ENOUGH_VOTES)
				vote_sample(d, &c, v);
			else
				pb_skip_alike(&c);
			break;
		case PROFILE_TIME:
			v->ancient |= list; /* location_indices of 1.7 */
			break;
		case PROFILE_ID: /* or a list of comments */
			v->v1_9 += list && c.bytes.n == 16;
			v->v1_8 += !list || (c.bytes.n && c.bytes.n != 16);
			break;
		case PROFILE_DROPPED: /* or the id */
			v->v1_9 += !list;
			v->v1_8 += list;
			break;
		case PROFILE_PAYLOAD_FORMAT: /* or the dropped count */
			v->v1_9 += list;
			v->v1_8 += !list;
			break;
		case PROFILE_1_8_ATTRIBUTES:
			v->v1_8++;
			break;
		}
	}
}

static enum err vote_resource(struct otlp_decoder *d, const struct pb *at, struct votes *v)
{
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		struct pb scope;

		if (c.field != RESOURCE_PROFILES_SCOPES || c.type != PB_BYTES)
			continue;
		scope = pb_sub(&c);
		while (pb_next(&scope))
			if (scope.field == SCOPE_PROFILES_PROFILES && scope.type == PB_BYTES)
				vote_profile(d, &scope, v);
		if (scope.failed)
			return otlp_malformed(d, &scope, "ScopeProfiles");
	}
	return c.failed ? otlp_malformed(d, &c, "ResourceProfiles") : ERR_OK;
}

enum err otlp_refuse_ancient(struct otlp_decoder *d)
{
	return fault_set(&d->out->fault, ERR_UNSUPPORTED,
			 "OTLP profiles in the layout of proto 1.7 or older: Vestal reads 1.8 "
			 "(September 2025) and newer, please update the sender");
}

enum err otlp_find_layout(struct otlp_decoder *d)
{
	struct pb c = otlp_walk(d);
	struct votes v = {0};

	while (pb_next(&c))
		if (c.field == DATA_RESOURCE_PROFILES && c.type == PB_BYTES)
			TRY(vote_resource(d, &c, &v));
	if (v.ancient)
		return otlp_refuse_ancient(d);
	if (v.v1_8 > v.v1_9 && v.old_samples >= v.new_samples)
		d->layout = OTLP_1_8;
	else if (v.old_samples > v.new_samples)
		d->layout = OTLP_1_9;
	else
		d->layout = OTLP_1_10;
	return ERR_OK;
}

const char *otlp_layout_name(enum otlp_layout layout)
{
	static const char *const names[] = {
		[OTLP_1_8] = "OTLP 1.8", [OTLP_1_9] = "OTLP 1.9", [OTLP_1_10] = "OTLP 1.10"};

	return names[layout];
}
