/*
 * The tree above the samples and the samples themselves, in any of the layouts.
 */
#include "format/otlp_usual.h"

/* The number of a sample's field in the current layout. */
static uint32_t sample_field(const struct otlp_decoder *d, uint32_t field)
{
	static const uint32_t since_1_8[] = {[SAMPLE_1_9_VALUES] = SAMPLE_VALUES,
					     [SAMPLE_1_9_ATTRIBUTES] = SAMPLE_ATTRIBUTES,
					     [SAMPLE_1_9_LINK] = SAMPLE_LINK};

	if (d->layout < OTLP_1_10 && field >= 2 && field <= 4)
		return since_1_8[field];
	return field;
}

static enum err read_values(struct otlp_decoder *d, const struct pb *c)
{
	struct otlp_tables *t = d->t;
	const uint8_t *p, *end;
	uint64_t value;

	if (c->type == PB_VARINT)
		return vec_push(&t->values, (int64_t)c->value);
	WANT(d, c, PB_BYTES, "Sample.values");
	TRY(vec_reserve(&t->values, c->bytes.n));
	p = (const uint8_t *)c->bytes.p;
	end = p + c->bytes.n;
	while (p < end) {
		if (!pb_varint(&p, end, &value))
			return otlp_malformed(d, c, "Sample.values");
		t->values.v[t->values.n++] = (int64_t)value;
	}
	return ERR_OK;
}

static enum err read_times(struct otlp_decoder *d, const struct pb *c)
{
	struct pb_packed run = pb_packed_fixed64(c);
	uint64_t value;

	if (c->type != PB_FIXED64)
		WANT(d, c, PB_BYTES, "Sample.timestamps_unix_nano");
	while (pb_packed_next(&run, &value))
		TRY(vec_push(&d->t->times, value));
	return run.failed ? otlp_malformed(d, c, "Sample.timestamps_unix_nano") : ERR_OK;
}

static enum err read_sample(struct otlp_decoder *d, const struct pb *at)
{
	struct otlp_tables *t = d->t;
	struct otlp_sample s = {.values.at = (uint32_t)t->values.n,
				.times.at = (uint32_t)t->times.n};
	struct pb c = pb_sub(at);
	int64_t value;

	if (otlp_usual_sample(d, at->bytes, &s.stack, &value)) {
		c.p = c.end;
		TRY(vec_push(&t->values, value));
	}
	while (pb_next(&c)) {
		switch (sample_field(d, c.field)) {
		case SAMPLE_STACK:
			WANT(d, &c, PB_VARINT, "Sample.stack_index");
			s.stack = otlp_index(c.value);
			break;
		case SAMPLE_ATTRIBUTES:
			TRY(otlp_read_indices(d, &c, &s.attributes, "Sample.attribute_indices"));
			break;
		case SAMPLE_LINK:
			WANT(d, &c, PB_VARINT, "Sample.link_index");
			s.link = otlp_index(c.value);
			break;
		case SAMPLE_VALUES:
			TRY(read_values(d, &c));
			break;
		case SAMPLE_TIMES:
			TRY(read_times(d, &c));
			break;
		}
	}
	if (c.failed)
		return otlp_malformed(d, &c, "Sample");
	s.values.n = (uint32_t)t->values.n - s.values.at;
	s.times.n = (uint32_t)t->times.n - s.times.at;
	if (t->samples.n >= d->out->limits.max_samples || t->times.n > d->out->limits.max_samples)
		return otlp_too_many(d, "the list of samples", d->out->limits.max_samples);
	return vec_push(&t->samples, s);
}

static enum err read_value_type(struct otlp_decoder *d, const struct pb *at,
				struct otlp_value_type *ret)
{
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		if (c.field > VALUE_TYPE_UNIT)
			continue;
		WANT(d, &c, PB_VARINT, "a number of a ValueType");
		if (c.field == VALUE_TYPE_TYPE)
			ret->type = otlp_index(c.value);
		else
			ret->unit = otlp_index(c.value);
	}
	return c.failed ? otlp_malformed(d, &c, "ValueType") : ERR_OK;
}

/* The number that field of a profile has since 1.9. 1.8 has one more, the comments. */
static uint32_t profile_field(const struct otlp_decoder *d, uint32_t field)
{
	if (d->layout == OTLP_1_8 && field > PROFILE_1_8_COMMENTS)
		return field - 1;
	return field;
}

static enum err read_profile_tail(struct otlp_decoder *d, const struct pb *c,
				  struct otlp_profile *p)
{
	if (d->layout == OTLP_1_8 && c->field == PROFILE_1_8_COMMENTS)
		return otlp_read_indices(d, c, &p->comments, "Profile.comment_strindices");
	switch (profile_field(d, c->field)) {
	case PROFILE_ID:
		WANT(d, c, PB_BYTES, "Profile.profile_id");
		p->id = c->bytes;
		return ERR_OK;
	case PROFILE_DROPPED:
		WANT(d, c, PB_VARINT, "Profile.dropped_attributes_count");
		p->dropped_attributes = (uint32_t)c->value;
		return ERR_OK;
	case PROFILE_PAYLOAD_FORMAT:
		WANT(d, c, PB_BYTES, "Profile.original_payload_format");
		p->payload_format = c->bytes;
		return ERR_OK;
	case PROFILE_PAYLOAD:
		WANT(d, c, PB_BYTES, "Profile.original_payload");
		p->payload = c->bytes;
		return ERR_OK;
	case PROFILE_ATTRIBUTES:
		return otlp_read_indices(d, c, &p->attributes, "Profile.attribute_indices");
	default:
		return ERR_OK;
	}
}

static enum err read_profile_field(struct otlp_decoder *d, const struct pb *c,
				   struct otlp_profile *p)
{
	switch (c->field) {
	case PROFILE_SAMPLE_TYPE:
		WANT(d, c, PB_BYTES, "Profile.sample_type");
		return read_value_type(d, c, &p->sample_type);
	case PROFILE_SAMPLES:
		WANT(d, c, PB_BYTES, "Profile.samples");
		return ERR_OK; /* in the next walk */
	case PROFILE_TIME:
		WANT(d, c, PB_FIXED64, "Profile.time_unix_nano");
		p->time = c->value;
		return ERR_OK;
	case PROFILE_DURATION:
		WANT(d, c, PB_VARINT, "Profile.duration_nano");
		p->duration = c->value;
		return ERR_OK;
	case PROFILE_PERIOD_TYPE:
		WANT(d, c, PB_BYTES, "Profile.period_type");
		return read_value_type(d, c, &p->period_type);
	case PROFILE_PERIOD:
		WANT(d, c, PB_VARINT, "Profile.period");
		p->period = (int64_t)c->value;
		return ERR_OK;
	default:
		return read_profile_tail(d, c, p);
	}
}

/* Two walks, so that the lists of the profile itself are not torn apart by those of samples. */
static enum err read_profile(struct otlp_decoder *d, const struct pb *at)
{
	struct otlp_profile p = {0};
	struct pb c = pb_sub(at);
	size_t samples = 0;

	while (pb_next(&c)) {
		TRY(read_profile_field(d, &c, &p));
		if (c.field == PROFILE_SAMPLES)
			samples += 1 + pb_skip_alike(&c);
	}
	if (c.failed)
		return otlp_malformed(d, &c, "Profile");
	TRY(vec_reserve(&d->t->samples, samples));
	TRY(vec_reserve(&d->t->values, samples));
	p.samples.at = (uint32_t)d->t->samples.n;
	c = pb_sub(at);
	while (pb_next(&c)) {
		if (c.field != PROFILE_SAMPLES)
			continue;
		do
			TRY(read_sample(d, &c));
		while (pb_next_alike(&c));
	}
	p.samples.n = (uint32_t)d->t->samples.n - p.samples.at;
	PUSH(d, &d->t->profiles, p, "the list of profiles");
	return ERR_OK;
}

static enum err read_scope(struct otlp_decoder *d, const struct pb *at, struct otlp_scope *s)
{
	struct pb c = pb_sub(at);

	TRY(otlp_read_pairs(d, c, SCOPE_ATTRIBUTES, 0, &s->attributes, &s->attribute_count));
	while (pb_next(&c)) {
		switch (c.field) {
		case SCOPE_NAME:
			WANT(d, &c, PB_BYTES, "InstrumentationScope.name");
			s->name = c.bytes;
			break;
		case SCOPE_VERSION:
			WANT(d, &c, PB_BYTES, "InstrumentationScope.version");
			s->version = c.bytes;
			break;
		case SCOPE_DROPPED:
			WANT(d, &c, PB_VARINT, "InstrumentationScope.dropped_attributes_count");
			s->dropped_attributes = (uint32_t)c.value;
			break;
		}
	}
	return ERR_OK;
}

static enum err read_scope_profiles(struct otlp_decoder *d, const struct pb *at)
{
	struct otlp_scope s = {.profiles.at = (uint32_t)d->t->profiles.n};
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		if (c.field > SCOPE_PROFILES_SCHEMA_URL)
			continue;
		WANT(d, &c, PB_BYTES, "a field of ScopeProfiles");
		if (c.field == SCOPE_PROFILES_SCOPE)
			TRY(read_scope(d, &c, &s));
		else if (c.field == SCOPE_PROFILES_PROFILES)
			TRY(read_profile(d, &c));
		else
			s.schema_url = c.bytes;
	}
	if (c.failed)
		return otlp_malformed(d, &c, "ScopeProfiles");
	s.profiles.n = (uint32_t)d->t->profiles.n - s.profiles.at;
	PUSH(d, &d->t->scopes, s, "the list of scopes");
	return ERR_OK;
}

static enum err read_resource(struct otlp_decoder *d, const struct pb *at, struct otlp_resource *r)
{
	struct pb c = pb_sub(at);

	TRY(otlp_read_pairs(d, c, RESOURCE_ATTRIBUTES, 0, &r->attributes, &r->attribute_count));
	while (pb_next(&c)) {
		if (c.field == RESOURCE_DROPPED) {
			WANT(d, &c, PB_VARINT, "Resource.dropped_attributes_count");
			r->dropped_attributes = (uint32_t)c.value;
		} else if (c.field == RESOURCE_ENTITY_REFS) {
			r->entity_refs++;
		}
	}
	return ERR_OK;
}

enum err otlp_read_resource_profiles(struct otlp_decoder *d, const struct pb *at)
{
	struct otlp_resource r = {.scopes.at = (uint32_t)d->t->scopes.n};
	struct pb c = pb_sub(at);

	while (pb_next(&c)) {
		if (c.field > RESOURCE_PROFILES_SCHEMA_URL)
			continue;
		WANT(d, &c, PB_BYTES, "a field of ResourceProfiles");
		if (c.field == RESOURCE_PROFILES_RESOURCE)
			TRY(read_resource(d, &c, &r));
		else if (c.field == RESOURCE_PROFILES_SCOPES)
			TRY(read_scope_profiles(d, &c));
		else
			r.schema_url = c.bytes;
	}
	if (c.failed)
		return otlp_malformed(d, &c, "ResourceProfiles");
	r.scopes.n = (uint32_t)d->t->scopes.n - r.scopes.at;
	PUSH(d, &d->t->resources, r, "the list of resources");
	return ERR_OK;
}
