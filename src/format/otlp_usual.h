/*
 * Entries as nearly all senders write them, straight from their bytes: fields in order, each once,
 * numbers of up to eight bytes. A false says that an entry is not like that and has to be read
 * field by field; nothing was taken then. Private to otlp_read*.c.
 *
 * Fields are looked for without asking whether the entry has ended: what is found behind its end
 * makes that p is not the end, and the entry not a usual one.
 */
#pragma once

#include "format/otlp_decode.h"

/* An entry that short may be read without looking where it ends, if as much again is readable. */
#define OTLP_USUAL_BYTES 64

#define OTLP_TAG(field, type) ((uint8_t)((field) << 3 | (type)))

static inline bool otlp_may_be_usual(const struct otlp_decoder *d, struct str bytes)
{
	return bytes.n && bytes.n < OTLP_USUAL_BYTES &&
	       d->t->readable - (const uint8_t *)bytes.p >= 3 * OTLP_USUAL_BYTES;
}

/* One line at most, and one attribute of a small number; *ret_lines and *ret_attributes count. */
static inline bool otlp_usual_location(const struct otlp_decoder *d, struct str bytes,
				       struct otlp_location *l, struct otlp_line *line,
				       uint32_t *ret_lines, int32_t *ret_attribute)
{
	const uint8_t *p = (const uint8_t *)bytes.p, *end = p + bytes.n, *line_end;
	uint64_t mapping = 0, address = 0, function = 0, number = 0, column = 0;

	if (!otlp_may_be_usual(d, bytes) ||
	    !pb_take_open(&p, OTLP_TAG(LOCATION_MAPPING, PB_VARINT), &mapping) ||
	    !pb_take_open(&p, OTLP_TAG(LOCATION_ADDRESS, PB_VARINT), &address))
		return false;
	*ret_lines = p < end && *p == OTLP_TAG(LOCATION_LINES, PB_BYTES);
	if (*ret_lines) {
		line_end = p + 2 + p[1];
		p += 2;
		if (!pb_take_open(&p, OTLP_TAG(LINE_FUNCTION, PB_VARINT), &function) ||
		    !pb_take_open(&p, OTLP_TAG(LINE_LINE, PB_VARINT), &number) ||
		    !pb_take_open(&p, OTLP_TAG(LINE_COLUMN, PB_VARINT), &column) || p != line_end)
			return false;
	}
	*ret_attribute = -1;
	if (end - p == 3 && p[0] == OTLP_TAG(LOCATION_ATTRIBUTES, PB_BYTES) && p[1] == 1 &&
	    p[2] < 0x80) {
		*ret_attribute = p[2];
		p = end;
	}
	l->mapping = otlp_index(mapping);
	l->address = address;
	*line = (struct otlp_line){otlp_index(function), (int64_t)number, (int64_t)column};
	return p == end;
}

static inline bool otlp_usual_function(const struct otlp_decoder *d, struct str bytes,
				       struct otlp_function *f)
{
	const uint8_t *p = (const uint8_t *)bytes.p, *end = p + bytes.n;
	uint64_t name = 0, system_name = 0, file = 0, start_line = 0;

	if (!otlp_may_be_usual(d, bytes) ||
	    !pb_take_open(&p, OTLP_TAG(FUNCTION_NAME, PB_VARINT), &name) ||
	    !pb_take_open(&p, OTLP_TAG(FUNCTION_SYSTEM_NAME, PB_VARINT), &system_name) ||
	    !pb_take_open(&p, OTLP_TAG(FUNCTION_FILE, PB_VARINT), &file) ||
	    !pb_take_open(&p, OTLP_TAG(FUNCTION_START_LINE, PB_VARINT), &start_line) || p != end)
		return false;
	*f = (struct otlp_function){otlp_index(name), otlp_index(system_name), otlp_index(file),
				    (int64_t)start_line};
	return true;
}

/* A stack and one value, in the layout of 1.10, and nothing else. */
static inline bool otlp_usual_sample(const struct otlp_decoder *d, struct str bytes,
				     int32_t *ret_stack, int64_t *ret_value)
{
	const uint8_t *p = (const uint8_t *)bytes.p, *end = p + bytes.n;
	uint64_t stack, value;

	if (!otlp_may_be_usual(d, bytes) || d->layout != OTLP_1_10 ||
	    *p++ != OTLP_TAG(SAMPLE_STACK, PB_VARINT) || !pb_varint_open(&p, &stack) ||
	    end - p < 3 || p[0] != OTLP_TAG(SAMPLE_VALUES, PB_BYTES) || p[1] != end - p - 2)
		return false;
	p += 2;
	if (!pb_varint_open(&p, &value) || p != end)
		return false;
	*ret_stack = otlp_index(stack);
	*ret_value = (int64_t)value;
	return true;
}
