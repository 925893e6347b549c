#include "server/exemplars.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "server/querier.h"

#define UUID_TEXT 36

enum err profile_id_write(struct arena *scope, uint64_t id, struct str *ret)
{
	char text[UUID_TEXT + 1];

	snprintf(text, sizeof(text), "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-0000-000000000000",
		 id >> 32, id >> 16 & 0xffff, id & 0xffff);
	return copy_str(scope, str_of(text), ret);
}

bool profile_id_read(struct str text, uint64_t *ret)
{
	uint64_t halves[2] = {0};
	size_t digits = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		int digit = c >= '0' && c <= '9'		     ? c - '0'
			    : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
								     : -1;

		if (c == '-')
			continue;
		if (digit < 0 || digits == 32)
			return false;
		halves[digits / 16] = halves[digits / 16] << 4 | (uint64_t)digit;
		digits++;
	}
	*ret = halves[1] ? 0 : halves[0];
	return digits == 32;
}

struct str exemplar_label(const struct exemplar *e, struct str name)
{
	for (size_t i = 0; i < e->label_count; i++)
		if (str_eq(e->labels[i].name, name))
			return e->labels[i].value;
	return (struct str){0};
}

static bool is_grouped_by(struct str name, const struct str *group_by, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(group_by[i], name))
			return true;
	return false;
}

/* An id that is all zeros is none. */
static enum err copy_hex(struct arena *scope, const uint8_t *bytes, size_t n, struct str *ret)
{
	char text[33];
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
		any |= bytes[i] != 0;
	}
	return any ? copy_str(scope, str_n(text, 2 * n), ret) : ERR_OK;
}

static enum err fill_exemplar(struct arena *scope, const struct exemplar *from,
			      const struct str *group_by, size_t group_count,
			      struct exemplar_message *to)
{
	struct label_message *labels =
		list_make(&to->labels, from->label_count, sizeof(*labels), scope);

	if (!labels)
		return ERR_NO_MEMORY;
	to->labels.n = 0;
	for (size_t i = 0; i < from->label_count; i++) {
		struct label_message *label = &labels[to->labels.n];

		if (is_grouped_by(from->labels[i].name, group_by, group_count))
			continue;
		TRY(copy_str(scope, from->labels[i].name, &label->name));
		TRY(copy_str(scope, from->labels[i].value, &label->value));
		to->labels.n++;
	}
	to->timestamp = from->time_ns / NS_PER_MS;
	to->value = llround(from->value);
	TRY(copy_hex(scope, from->link.span_id, sizeof(from->link.span_id), &to->span_id));
	TRY(copy_hex(scope, from->link.trace_id, sizeof(from->link.trace_id), &to->trace_id));
	return profile_id_write(scope, from->profile, &to->profile_id);
}

enum err keep_largest(struct arena *scope, const struct exemplar *from, const struct str *group_by,
		      size_t group_count, struct list *list)
{
	struct exemplar_message *one = list->v;

	if (list->n && one->value >= llround(from->value))
		return ERR_OK;
	if (!list->n) {
		one = list_make(list, 1, sizeof(*one), scope);
		if (!one)
			return ERR_NO_MEMORY;
	}
	*one = (struct exemplar_message){0};
	return fill_exemplar(scope, from, group_by, group_count, one);
}
