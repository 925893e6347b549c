/*
 * The header of a chunk, its events one after the other, and its clock.
 *
 *	 0  "FLR\0"            32  start, ns since 1970
 *	 4  u16 major, minor   40  duration, ns
 *	 8  size               48  start, ticks
 *	16  last checkpoint    56  ticks a second
 *	24  metadata           64  state (0 finished), two bytes unused, flags (1 = compressed)
 *
 * A chunk that is still being written, or that was cut off, has a size of 0 or one beyond the end
 * of the file, and offsets that lead nowhere. Then its whole events are walked to find the metadata
 * and the checkpoints they hold.
 */
#include "format/jfr.h"

#define TYPE_METADATA	0
#define TYPE_CHECKPOINT 1
#define MIN_EVENT_SIZE	2

static uint64_t be(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

static struct jfr_header parse_header(const uint8_t *p)
{
	return (struct jfr_header){
		.major = (uint16_t)be(p + 4, 2),
		.minor = (uint16_t)be(p + 6, 2),
		.size = be(p + 8, 8),
		.pool_offset = be(p + 16, 8),
		.metadata_offset = be(p + 24, 8),
		.start_ns = be(p + 32, 8),
		.duration_ns = be(p + 40, 8),
		.start_ticks = be(p + 48, 8),
		.ticks_per_second = be(p + 56, 8),
		.state = p[64],
		.compressed = p[67] & 1,
	};
}

bool jfr_next_event(const struct jfr_chunk *k, uint64_t *at, struct jfr_cursor *ret,
		    uint64_t *ret_type)
{
	struct jfr_cursor c = jfr_at(k, *at);
	uint64_t size = (uint32_t)jfr_int(&c);

	if (c.failed || size < MIN_EVENT_SIZE || size > k->size - *at)
		return false;
	c.end = (size_t)(*at + size);
	if (c.at > c.end)
		return false;
	*ret_type = jfr_long(&c);
	if (c.failed)
		return false;
	*ret = c;
	*at += size;
	return true;
}

static bool offset_is_inside(const struct jfr_chunk *k, uint64_t offset)
{
	return offset >= JFR_HEADER_SIZE && offset < k->size;
}

/* Finds metadata and checkpoints by walking the events up to the first that is not whole. */
static enum err scan(struct jfr_chunk *k)
{
	uint64_t at = JFR_HEADER_SIZE, begin = at, type;
	struct jfr_cursor c;

	k->checkpoints.n = 0;
	k->header.metadata_offset = 0;
	while (at < k->size) {
		begin = at;
		if (k->size - at >= 4 && memcmp(k->base + at, "FLR", 4) == 0)
			break; /* the next chunk */
		if (!jfr_next_event(k, &at, &c, &type))
			break;
		if (type == TYPE_METADATA)
			k->header.metadata_offset = begin;
		if (type == TYPE_CHECKPOINT)
			TRY(vec_push(&k->checkpoints, begin));
		begin = at;
	}
	k->size = (size_t)begin;
	/* Newest first, as a chain gives them. */
	for (size_t i = 0, j = k->checkpoints.n; j && i < --j; i++) {
		uint64_t swap = k->checkpoints.v[i];

		k->checkpoints.v[i] = k->checkpoints.v[j];
		k->checkpoints.v[j] = swap;
	}
	return ERR_OK;
}

enum err jfr_chunk_open(struct jfr_chunk *k, struct str bytes, uint64_t file_offset,
			struct fault *fault)
{
	const struct jfr_header *h = &k->header;

	if (bytes.n < JFR_HEADER_SIZE)
		return fault_set(fault, ERR_TRUNCATED,
				 "the JFR chunk at byte %llu ends inside its header of %d bytes",
				 (unsigned long long)file_offset, JFR_HEADER_SIZE);
	k->base = (const uint8_t *)bytes.p;
	k->file_offset = file_offset;
	k->header = parse_header(k->base);
	if (h->major != 2)
		return fault_set(
			fault, ERR_UNSUPPORTED,
			"the JFR chunk at byte %llu has version %u.%u; versions 2.x (JDK 9 "
			"and later) can be read",
			(unsigned long long)file_offset, h->major, h->minor);
	if (!h->ticks_per_second)
		k->header.ticks_per_second = 1000000000;
	k->complete = h->size >= JFR_HEADER_SIZE && h->size <= bytes.n;
	k->size = k->complete ? (size_t)h->size : bytes.n;
	if (!offset_is_inside(k, h->metadata_offset) || !offset_is_inside(k, h->pool_offset))
		k->complete = false;
	return k->complete ? ERR_OK : scan(k);
}

void jfr_chunk_release(struct jfr_chunk *k)
{
	arena_release(&k->arena);
	vec_release(&k->classes);
	vec_release(&k->fields);
	vec_release(&k->ops);
	vec_release(&k->checkpoints);
	vec_release(&k->settings);
	vec_release(&k->events);
	for (unsigned i = 0; i < JFR_RULE_COUNT; i++)
		vec_release(&k->event_plans[i].steps);
	map_release(&k->class_index);
	for (unsigned i = 0; i < JFR_KIND_COUNT_; i++) {
		vec_release(&k->plans[i].steps);
		vec_release(&k->pools[i].entries);
		map_release(&k->pools[i].index);
	}
}

static int64_t clamp(__int128 v)
{
	return v > INT64_MAX ? INT64_MAX : v < 0 ? 0 : (int64_t)v;
}

static __int128 scale(const struct jfr_chunk *k, enum jfr_unit unit, int64_t value)
{
	switch (unit) {
	case JFR_UNIT_NANOSECONDS:
		return value;
	case JFR_UNIT_MICROSECONDS:
		return (__int128)value * 1000;
	case JFR_UNIT_MILLISECONDS:
		return (__int128)value * 1000000;
	case JFR_UNIT_SECONDS:
		return (__int128)value * 1000000000;
	default:
		return (__int128)value * 1000000000 / k->header.ticks_per_second;
	}
}

int64_t jfr_span_ns(const struct jfr_chunk *k, const struct jfr_value *v)
{
	if (v->kind != JFR_NUMBER)
		return 0;
	return clamp(scale(k, v->unit, (int64_t)v->number));
}

int64_t jfr_time_ns(const struct jfr_chunk *k, const struct jfr_value *v)
{
	if (v->kind != JFR_NUMBER)
		return 0;
	if (v->unit != JFR_UNIT_TICKS && v->unit != JFR_UNIT_NONE)
		return clamp(scale(k, v->unit, (int64_t)v->number));
	return clamp((__int128)k->header.start_ns +
		     scale(k, JFR_UNIT_TICKS, (int64_t)(v->number - k->header.start_ticks)));
}
