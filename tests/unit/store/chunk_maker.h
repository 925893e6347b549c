/*
 * Random rows for the tests of chunks and blocks, and a plain sum over rows to compare with.
 */
#pragma once

#include "../test.h"

#include "store/block.h"

static inline uint32_t maker_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

#define MAKER_ROWS  300
#define MAKER_TYPES 3

/* Rows over `stacks` stacks; shape: 1 = label sets, 2 = links, 4 = times, 8 = values that are no
 * multiples of each other, 16 = large and negative values. */
struct made_rows {
	struct chunk_rows rows;
	uint32_t types[MAKER_TYPES], column[MAKER_TYPES];
	uint32_t stack[MAKER_ROWS], labels[MAKER_ROWS], link[MAKER_ROWS];
	uint64_t time[MAKER_ROWS];
	int64_t values[MAKER_ROWS * MAKER_TYPES];
	struct link links[8];
};

static inline void made_rows_fill(struct made_rows *m, uint64_t *state, unsigned shape,
				  uint32_t stacks)
{
	*m = (struct made_rows){0};
	m->rows = (struct chunk_rows){
		.series = maker_next(state) % 5,
		.profiles = 1,
		.time_ns = 1700000000000000000 + maker_next(state),
		.duration_ns = 15000000000,
		.type_count = MAKER_TYPES,
		.types = m->types,
		.n = maker_next(state) % MAKER_ROWS,
		.stack = m->stack,
		.labels = shape & 1 ? m->labels : NULL,
		.link = shape & 2 ? m->link : NULL,
		.links = m->links,
		.time = shape & 4 ? m->time : NULL,
		.values = m->values,
		.stride = MAKER_TYPES,
		.column = m->column,
	};
	for (uint32_t i = 1; i < 8; i++)
		memset(&m->links[i], (int)i, sizeof(m->links[i]));
	for (uint32_t t = 0; t < MAKER_TYPES; t++) {
		m->types[t] = 10 + t;
		m->column[t] = MAKER_TYPES - 1 - t;
	}
	for (uint32_t i = 0; i < m->rows.n; i++) {
		int64_t count = 1 + maker_next(state) % 9, *v = m->values + i * MAKER_TYPES;

		m->stack[i] = maker_next(state) % stacks;
		m->labels[i] = maker_next(state) % 4;
		m->link[i] = maker_next(state) % 8;
		m->time[i] = maker_next(state) % 5
				     ? (uint64_t)m->rows.time_ns + maker_next(state) % 1000 - 10
				     : 0;
		v[0] = count;
		v[1] = count * 10000000;
		v[2] = shape & 8 ? (int64_t)maker_next(state) * 512 : 7;
		if (shape & 16)
			v[2] = (int64_t)((uint64_t)maker_next(state) << 8) * (i & 1 ? 1 : -1);
	}
}

/* Sum of a type's values over rows with a stack. */
static inline int64_t made_rows_sum(const struct made_rows *m, uint32_t type, uint32_t stack)
{
	uint64_t sum = 0;

	for (uint32_t t = 0; t < MAKER_TYPES; t++)
		for (uint32_t i = 0; m->types[t] == type && i < m->rows.n; i++)
			if (m->stack[i] == stack)
				sum += (uint64_t)m->values[i * MAKER_TYPES + m->column[t]];
	return (int64_t)sum;
}
