/*
 * Decoding OTLP protobuf into otlp_tables. Private to otlp_read*.c, otlp_layout.c, otlp_locate.c.
 */
#pragma once

#include "format/otlp_fields.h"
#include "format/otlp_tables.h"
#include "format/protobuf.h"

enum otlp_layout { OTLP_1_8, OTLP_1_9, OTLP_1_10 };

struct otlp_decoder {
	struct otlp_tables *t;
	struct reading *out;
	struct pb message; /* not yet stepped; its `start` is the file's */
	enum otlp_layout layout;
};

/* A cursor over the same bytes, for another walk. */
static inline struct pb otlp_walk(const struct otlp_decoder *d)
{
	return d->message;
}

/* The layout of the message; ERR_UNSUPPORTED for those before 1.8. */
enum err otlp_find_layout(struct otlp_decoder *d) MUST_CHECK;
enum err otlp_refuse_ancient(struct otlp_decoder *d);
const char *otlp_layout_name(enum otlp_layout layout);

/* otlp_read_dict.c: fills the tables of the dictionary. */
enum err otlp_read_dictionary(struct otlp_decoder *d) MUST_CHECK;

/* otlp_read_profile.c: a ResourceProfiles at the cursor's current field. */
enum err otlp_read_resource_profiles(struct otlp_decoder *d, const struct pb *at) MUST_CHECK;

/* otlp_read_any.c: a value at the cursor's current field; KeyValues of a message. */
enum err otlp_read_any(struct otlp_decoder *d, const struct pb *at, unsigned depth,
		       struct otlp_any *ret) MUST_CHECK;
/* All occurrences of `field` in a message, which hold KeyValue messages, appended to `*pairs`. */
enum err otlp_read_pairs(struct otlp_decoder *d, struct pb message, uint32_t field, unsigned depth,
			 struct otlp_pair **pairs, uint32_t *n) MUST_CHECK;

/* otlp_locate.c */
void otlp_locate(const struct otlp_tables *t, enum otlp_kind kind, size_t index, struct buf *out);

/* Complaints. `what` is the message's name, or message.field. */
enum err otlp_malformed(struct otlp_decoder *d, const struct pb *c, const char *what);
enum err otlp_wrong_type(struct otlp_decoder *d, const struct pb *c, const char *what);
enum err otlp_too_many(struct otlp_decoder *d, const char *what, uint64_t limit);

/* The field must have this wire type, else the function returns with a fault. */
#define WANT(d, c, wire_type, what)                                \
	do {                                                       \
		if (__builtin_expect((c)->type != (wire_type), 0)) \
			return otlp_wrong_type(d, c, what);        \
	} while (0)

/* Appends to a table that the limits bound. */
#define PUSH(d, table, entry, what)                                                  \
	do {                                                                         \
		if (__builtin_expect((table)->n >= (d)->out->limits.max_entries, 0)) \
			return otlp_too_many(d, what, (d)->out->limits.max_entries); \
		TRY(vec_push(table, entry));                                         \
	} while (0)

/* An index as the wire has it: numbers beyond int32 stay outside any table. */
static inline int32_t otlp_index(uint64_t value)
{
	int64_t v = (int64_t)value;

	if (__builtin_expect(v != (int32_t)v, 0))
		return v < 0 ? INT32_MIN : INT32_MAX;
	return (int32_t)v;
}

/* The numbers of a repeated int32 field at the cursor, packed or not, appended to t->indices and
 * counted in `range`, which must be the last one begun there or empty. */
enum err otlp_read_indices(struct otlp_decoder *d, const struct pb *c, struct otlp_range *range,
			   const char *what) MUST_CHECK;
