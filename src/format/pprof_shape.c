#include "format/pprof_shape.h"

#include "format/pprof.h"

#define MAX_TRIES 256

/* Rows of `to`: numbers from the first and the second 16 bytes, the large one and what is fixed
 * likewise. */
enum { SMALL_ROW = 0, LARGE_ROW = 2 };
#define FIXED_AT 8
#define NO_BYTE	 0x80

void shapes_init(struct shapes *s, const struct shape_field *fields)
{
	*s = (struct shapes){.fields = fields, .tries = MAX_TRIES};
#ifdef __x86_64__
	s->usable = pprof_means >= PPROF_SHUFFLES && __builtin_cpu_supports("avx2") &&
		    __builtin_cpu_supports("bmi2");
#endif
}

/* Byte `from` of an entry goes to this place of a pair of rows. */
static void place(struct shape *shape, unsigned row, unsigned at, unsigned from)
{
	shape->to[row + from / 16][at] = (uint8_t)(from % 16);
}

static void clear(struct shape *shape)
{
	memset(shape->to, NO_BYTE, sizeof(shape->to));
	shape->fixed = 0;
}

/* Walks through an entry as `plan` goes along with its fields. */
struct walk {
	struct shape *shape;
	const uint8_t *p;
	unsigned n, at, fixed;
};

static bool place_fixed(struct walk *w, uint8_t value)
{
	if (w->at == w->n || w->p[w->at] != value || w->fixed == SHAPE_FIXED)
		return false;
	place(w->shape, LARGE_ROW, FIXED_AT + w->fixed, w->at++);
	w->shape->fixed |= (uint64_t)value << 8 * w->fixed++;
	return true;
}

static bool place_number(struct walk *w, unsigned where)
{
	unsigned row = where == SHAPE_LARGE ? LARGE_ROW : SMALL_ROW;
	unsigned first = where == SHAPE_LARGE ? 0 : 4 * where;
	unsigned room = where == SHAPE_LARGE ? 8 : 4;

	for (unsigned i = 0; i < room && w->at < w->n; i++) {
		place(w->shape, row, first + i, w->at);
		if (w->p[w->at++] < 0x80)
			return true;
	}
	return false;
}

/* The length of what is the rest of the entry, in one byte. */
static bool place_rest(struct walk *w)
{
	return w->at < w->n && place_fixed(w, (uint8_t)(w->n - w->at - 1));
}

static bool plan(struct walk *w, const struct shape_field *field)
{
	for (; field->tag && w->at < w->n; field++) {
		if (w->p[w->at] != field->tag) {
			/* What follows are fields of the message that is not there. */
			if (field->place == SHAPE_REST)
				break;
			continue;
		}
		if (!place_fixed(w, field->tag) ||
		    !(field->place == SHAPE_REST ? place_rest(w) : place_number(w, field->place)))
			return false;
	}
	return w->at == w->n;
}

bool shape_learn(struct shapes *s, struct shape *shape, const uint8_t *p, unsigned n, uint64_t key)
{
	struct walk w = {.shape = shape, .p = p, .n = n};

	if (!s->tries)
		return false;
	s->tries--;
	clear(shape);
	shape->key = key;
	if (!plan(&w, s->fields)) {
		/* No tag is 0. */
		clear(shape);
		shape->fixed = 1;
	}
	return true;
}
