/*
 * A profile: rows of (stack, label set, link, time, values) over a shared dictionary.
 *
 * Columns `link` and `time` may be NULL (all zero). A row has one value per sample type: values[row
 * * type_count + type]. `time` is nanoseconds since 1970, 0 = unknown. The profile owns its
 * columns, not the dictionary.
 */
#pragma once

#include "model/dict.h"

struct value_type {
	uint32_t type, unit; /* strings */
};

#define PROFILE_MAX_TYPES 64

struct profile {
	struct dict *dict;
	struct value_type types[PROFILE_MAX_TYPES];
	uint32_t type_count;
	/* A bit per column that a reader derived from counts and their period. It replaces a
	 * measured one, and must not be added to it. */
	uint64_t derived;
	int default_type; /* default column of the file, -1 = not given */
	struct value_type period_type;
	int64_t period;
	int64_t time_ns, duration_ns;
	uint32_t resource;   /* label set of the producer (service.name …) */
	uint32_t attributes; /* label set of the profile itself */
	uint32_t scope_name, scope_version;
	uint32_t doc_url, drop_frames, keep_frames;
	VEC(uint32_t) comments;
	VEC(uint32_t) mappings; /* in the file's order, used or not: the first is the main binary */
	uint8_t profile_id[16];

	size_t row_count, row_cap;
	uint32_t *stack, *labels, *link;
	uint64_t *time;
	int64_t *values;
};

void profile_init(struct profile *p, struct dict *d);
void profile_release(struct profile *p);

enum err profile_add_type(struct profile *p, struct str type, struct str unit) MUST_CHECK;
/* The column for --type NAME; -1 if there is none. NULL or "" is the default column. */
int profile_find_type(const struct profile *p, struct str name);
/* The default column: the file's, else the last, as in pprof. */
int profile_default_type(const struct profile *p);

struct row {
	uint32_t stack, labels, link;
	uint64_t time;
};

/* Appends a row with the values `values[0 … type_count-1]`. All types must have been added. */
enum err profile_add(struct profile *p, const struct row *row, const int64_t *values) MUST_CHECK;
enum err profile_reserve(struct profile *p, size_t rows) MUST_CHECK;
/* A fast version for rows without link and time, in a profile with only such rows, after
 * profile_reserve(). */
static inline void profile_add_plain(struct profile *p, uint32_t stack, uint32_t labels,
				     const int64_t *values)
{
	int64_t *to = p->values + p->row_count * p->type_count;

	p->stack[p->row_count] = stack;
	p->labels[p->row_count++] = labels;
	for (uint32_t t = 0; t < p->type_count; t++)
		to[t] = values[t];
}
struct row profile_row(const struct profile *p, size_t i);
/* Writes row `from` over row `to`. */
void profile_move_row(struct profile *p, size_t from, size_t to);
static inline const int64_t *profile_values(const struct profile *p, size_t i)
{
	return p->values + i * p->type_count;
}

/* Sum of one column, saturating at the ends of int64. */
int64_t profile_total(const struct profile *p, uint32_t type);

/* Several profiles of one file or response, over one dictionary. */
struct profile_list {
	struct profile **v;
	size_t n, cap;
};

enum err profile_list_add(struct profile_list *list, struct dict *d,
			  struct profile **ret) MUST_CHECK;
/* Drops derived columns of resources that have the same column measured in this list. */
enum err profile_list_settle(struct profile_list *list) MUST_CHECK;
/* Removes all but the first n. */
void profile_list_cut(struct profile_list *list, size_t n);
void profile_list_release(struct profile_list *list);
