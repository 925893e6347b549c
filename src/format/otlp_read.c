/*
 * OTLP profiles from protobuf: ProfilesData or ExportProfilesServiceRequest, one message or, as
 * the collector's file exporter writes, many with a 4-byte big-endian length before each.
 *
 * A message is walked several times, for the dictionary may follow the samples: strings, the
 * other tables, the votes on the layout, the profiles. Walks skip what they do not need.
 */
#include <stdio.h>

#include "format/formats_internal.h"
#include "format/otlp_decode.h"

enum err otlp_malformed(struct otlp_decoder *d, const struct pb *c, const char *what)
{
	return fault_set(&d->out->fault, ERR_CORRUPT, "%s is cut or malformed at byte %zu", what,
			 pb_offset(c));
}

enum err otlp_wrong_type(struct otlp_decoder *d, const struct pb *c, const char *what)
{
	static const char *const names[] = {"a varint", "a fixed64", "bytes",
					    "a group",	"a group",   "a fixed32"};

	return fault_set(&d->out->fault, ERR_CORRUPT,
			 "%s (field %u) at byte %zu is written as %s, which it cannot be", what,
			 c->field, pb_offset(c), names[c->type % 6]);
}

enum err otlp_too_many(struct otlp_decoder *d, const char *what, uint64_t limit)
{
	return fault_set(&d->out->fault, ERR_TOO_LARGE, "%s has more than %llu entries", what,
			 (unsigned long long)limit);
}

static enum err decode_message(struct otlp_decoder *d)
{
	struct pb c;

	TRY(otlp_read_dictionary(d));
	TRY(otlp_find_layout(d));
	c = otlp_walk(d);
	while (pb_next(&c)) {
		if (c.field != DATA_RESOURCE_PROFILES)
			continue;
		WANT(d, &c, PB_BYTES, "ProfilesData.resource_profiles");
		TRY(otlp_read_resource_profiles(d, &c));
	}
	return c.failed ? otlp_malformed(d, &c, "ProfilesData") : ERR_OK;
}

/* `start` is where offsets in messages for people count from. */
static enum err read_message(struct otlp_tables *t, struct reading *out, struct str bytes,
			     const void *start)
{
	struct otlp_decoder d = {.t = t, .out = out, .message = pb_of(bytes)};

	d.message.start = start;
	otlp_tables_clear(t);
	t->locate = otlp_locate;
	t->locate_context = &d.message;
	t->readable = d.message.end;
	TRY(decode_message(&d));
	out->variant = otlp_layout_name(d.layout);
	return otlp_build(t, out);
}

/* Takes the next message of a sequence; false at the end and when the bytes are not one. */
static bool next_message(struct str *rest, struct str *ret)
{
	const uint8_t *p = (const uint8_t *)rest->p;
	size_t n;

	if (rest->n < 4)
		return false;
	n = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
	if (n > rest->n - 4)
		return false;
	*ret = (struct str){rest->p + 4, n};
	*rest = str_skip(*rest, 4 + n);
	return true;
}

static bool is_sequence(struct str bytes)
{
	struct str message;

	if (bytes.n < 5)
		return false;
	while (bytes.n)
		if (!next_message(&bytes, &message))
			return false;
	return true;
}

static bool is_message(struct str bytes)
{
	struct pb c = pb_of(bytes);

	while (pb_next(&c))
		;
	return !c.failed;
}

/* The exporter compresses message by message, so each may be packed on its own. */
static enum err read_packed(struct otlp_tables *t, struct reading *out, struct str bytes,
			    const void *start, size_t *unpacked_bytes)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT(0);
	struct limits limits = out->limits;
	const char *name;

	limits.max_bytes -= *unpacked_bytes < limits.max_bytes ? *unpacked_bytes : limits.max_bytes;
	TRY(decompress(bytes, &limits, &plain, &name, &out->fault));
	if (strcmp(name, "none") == 0)
		return read_message(t, out, bytes, start);
	*unpacked_bytes += plain.n;
	return read_message(t, out, buf_view(&plain), plain.data);
}

static enum err read_sequence(struct otlp_tables *t, struct reading *out, struct str bytes)
{
	size_t unpacked = 0;
	struct str rest = bytes, message;

	while (next_message(&rest, &message)) {
		size_t at = (size_t)(message.p - bytes.p);
		enum err e = read_packed(t, out, message, bytes.p, &unpacked);
		char prefix[64];

		reading_tick(out, at, bytes.n);
		if (!e)
			continue;
		(void)snprintf(prefix, sizeof(prefix), "message at byte %zu", at);
		fault_prefix(&out->fault, prefix);
		return e;
	}
	return ERR_OK;
}

enum err otlp_read(struct str bytes, struct reading *out)
{
	CLEANUP(otlp_tables_release) struct otlp_tables t;

	otlp_tables_init(&t, &out->limits);
	if (!is_message(bytes) && is_sequence(bytes))
		TRY(read_sequence(&t, out, bytes));
	else
		TRY(read_message(&t, out, bytes, bytes.p));
	return profile_list_settle(out->list);
}

/* ResourceProfiles begins with a resource or a scope, both messages; pprof's field 1 does not. */
static int sniff_message(struct str head)
{
	struct pb c = pb_of(head);
	bool resources = false, dictionary = false;

	if (head.n < 3 || (head.p[0] != 0x0a && head.p[0] != 0x12))
		return 0;
	while (pb_next(&c)) {
		if (c.type != PB_BYTES || c.field > DATA_DICTIONARY)
			return 0;
		if (c.field == DATA_DICTIONARY)
			dictionary = true;
		else if (c.bytes.n && c.bytes.p[0] != 0x0a && c.bytes.p[0] != 0x12 &&
			 c.bytes.p[0] != 0x1a)
			return 0;
		else
			resources = true;
	}
	if (c.failed)
		return resources ? 30 : 0;
	return resources && dictionary ? 85 : 35;
}

int otlp_sniff(struct str head)
{
	struct str rest = head, message;

	if (head.n > 4 && head.p[0] == 0 && is_sequence(head) && next_message(&rest, &message))
		return sniff_message(message) ? 80 : 0;
	return sniff_message(head);
}
