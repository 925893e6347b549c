#include "symbols/elf_functions.h"

#include <stdlib.h>

#include "symbols/byte_cursor.h"

#define FUNCTIONS_MAX (1u << 22)
#define ENCLOSING_MAX 16 /* number of symbols before the nearest that are checked for an address */

static struct elf_symbol symbol_of(const struct elf_functions *f, const struct elf_function *at)
{
	return elf_symbol_at(f->image, f->table, at->index);
}

static struct str name_of(const struct elf_functions *f, const struct elf_function *at)
{
	return text_at(elf_symbol_strings(f->image, f->table), symbol_of(f, at).name);
}

static bool in_code_section(const struct elf_image *e, const struct elf_symbol *s)
{
	return s->section < e->sections.n && (e->sections.v[s->section].flags & SHF_EXECINSTR);
}

static bool is_function(const struct elf_image *e, const struct elf_symbol *s, struct str strings)
{
	const char *name;

	/* So near the end of all addresses that a size would wrap there is no code. */
	if (s->section == SHN_UNDEF || !s->value || s->value >= UINT64_MAX - UINT32_MAX ||
	    !s->name || s->name >= strings.n)
		return false;
	/* Does not read names, which are many megabytes in a large program. */
	if (s->type == STT_FUNC || s->type == STT_GNU_IFUNC)
		return true;
	name = strings.p + s->name;
	/* Labels of assembler, but not the marks of ARM ($x, $d) and of compilers (.L). */
	return s->type == STT_NOTYPE && in_code_section(e, s) && *name && *name != '$' &&
	       *name != '.';
}

static int rank(const struct elf_symbol *s)
{
	return (s->size ? 4 : 0) + (s->type != STT_NOTYPE ? 2 : 0) + (s->bind != STB_LOCAL);
}

static size_t underscores(struct str name)
{
	size_t n = 0;

	while (n < name.n && name.p[n] == '_')
		n++;
	return n;
}

static bool better(const struct elf_functions *f, const struct elf_function *a,
		   const struct elf_function *b)
{
	struct elf_symbol sa = symbol_of(f, a), sb = symbol_of(f, b);
	struct str na, nb;

	if (rank(&sa) != rank(&sb))
		return rank(&sa) > rank(&sb);
	na = name_of(f, a);
	nb = name_of(f, b);
	if (underscores(na) != underscores(nb))
		return underscores(na) < underscores(nb);
	if ((sa.bind == STB_WEAK) != (sb.bind == STB_WEAK))
		return sb.bind == STB_WEAK;
	return na.n != nb.n ? na.n < nb.n : str_cmp(na, nb) < 0;
}

static int by_start(const void *pa, const void *pb)
{
	const struct elf_function *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

#define BUCKET_BITS 11
#define BUCKETS	    (1u << BUCKET_BITS)

static unsigned bucket_shift(uint64_t span)
{
	unsigned shift = 0;

	while (span >> shift >= BUCKETS)
		shift++;
	return shift;
}

/* Sorts in place, because a large file has a hundred thousand functions, and a copy would take
 * megabytes: first into buckets by the upper bits, then within each bucket. */
static void sort(struct elf_functions *f)
{
	uint64_t lowest = UINT64_MAX, highest = 0;
	uint32_t next[BUCKETS] = {0}, end[BUCKETS], sum = 0;
	unsigned shift;

	vec_for_each (one, &f->v) {
		lowest = one->start < lowest ? one->start : lowest;
		highest = one->start > highest ? one->start : highest;
	}
	shift = bucket_shift(highest - lowest);
	vec_for_each (one, &f->v)
		next[(one->start - lowest) >> shift]++;
	for (unsigned b = 0; b < BUCKETS; b++) {
		end[b] = sum + next[b];
		next[b] = sum;
		sum = end[b];
	}
	for (unsigned b = 0; b < BUCKETS; b++)
		while (next[b] < end[b]) {
			struct elf_function *at = &f->v.v[next[b]], moved = *at;
			unsigned to = (unsigned)((moved.start - lowest) >> shift);

			*at = f->v.v[next[to]];
			f->v.v[next[to]++] = moved;
		}
	for (unsigned b = 0, begin = 0; b < BUCKETS; begin = end[b++])
		qsort(f->v.v + begin, end[b] - begin, sizeof(*f->v.v), by_start);
}

static void keep_best(struct elf_functions *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->v.n; i++) {
		if (n && f->v.v[n - 1].start == f->v.v[i].start) {
			if (better(f, &f->v.v[i], &f->v.v[n - 1]))
				f->v.v[n - 1] = f->v.v[i];
		} else {
			f->v.v[n++] = f->v.v[i];
		}
	}
	f->v.n = n;
}

enum err elf_functions_init(struct elf_functions *f, const struct elf_image *image,
			    const struct elf_section *table)
{
	size_t count = table ? elf_symbol_count(image, table) : 0;
	struct str strings;
	bool in_order = true;

	*f = (struct elf_functions){.image = image, .table = table};
	if (!count)
		return ERR_OK;
	strings = elf_symbol_strings(image, table);
	/* Names are read where they lie, so the table must end with a NUL. */
	if (!strings.n || strings.p[strings.n - 1])
		return ERR_OK;
	/* In one piece, of which only what is filled is real: growing would leave the pieces
	 * behind. */
	TRY(vec_reserve(&f->v, count < FUNCTIONS_MAX ? count : FUNCTIONS_MAX));
	for (size_t i = 1; i < count && f->v.n < FUNCTIONS_MAX; i++) {
		struct elf_symbol s = elf_symbol_at(image, table, i);
		struct elf_function one = {
			s.value, s.size > UINT32_MAX ? UINT32_MAX : (uint32_t)s.size, (uint32_t)i};

		if (!is_function(image, &s, strings))
			continue;
		in_order &= !f->v.n || f->v.v[f->v.n - 1].start < one.start;
		if (vec_push(&f->v, one)) {
			elf_functions_release(f);
			return ERR_NO_MEMORY;
		}
	}
	if (!in_order) {
		sort(f);
		keep_best(f);
	}
	return ERR_OK;
}

void elf_functions_release(struct elf_functions *f)
{
	vec_release(&f->v);
}

static bool holds(const struct elf_function *at, uint64_t address)
{
	return address - at->start < at->size;
}

/* The latest end of a symbol without a size, or of the padding after one. */
static uint64_t limit_of(const struct elf_functions *f, size_t i)
{
	uint64_t start = f->v.v[i].start;
	const struct elf_section *s = elf_section_at(f->image, start, SHF_EXECINSTR);
	uint64_t limit = s ? s->address + s->size : start;

	if (i + 1 < f->v.n && (f->v.v[i + 1].start < limit || !s))
		limit = f->v.v[i + 1].start;
	return limit;
}

static bool answer(const struct elf_functions *f, size_t i, uint64_t start, uint64_t end,
		   struct elf_function_range *ret)
{
	struct str name = name_of(f, &f->v.v[i]);
	size_t version = str_find(name, '@');

	if (version)
		name.n = version;
	*ret = (struct elf_function_range){name, start, end};
	return name.n;
}

/* Number of symbols that begin at an address or before. */
static size_t count_until(const struct elf_functions *f, uint64_t address)
{
	size_t low = 0, high = f->v.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->v.v[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t end_of(const struct elf_function *at)
{
	return at->start + at->size;
}

/* The part of a function between those that lie in it. */
static bool answer_enclosing(const struct elf_functions *f, size_t i, size_t nearest,
			     struct elf_function_range *ret)
{
	uint64_t start = f->v.v[i].start, end = end_of(&f->v.v[i]);

	for (size_t inner = i + 1; inner <= nearest; inner++)
		if (end_of(&f->v.v[inner]) > start)
			start = end_of(&f->v.v[inner]);
	if (nearest + 1 < f->v.n && f->v.v[nearest + 1].start < end)
		end = f->v.v[nearest + 1].start;
	return answer(f, i, start, end, ret);
}

/* The end of the nearest symbol, if no symbol covers the addresses after it. */
static uint64_t padded_end(const struct elf_functions *f, size_t nearest)
{
	uint64_t limit = limit_of(f, nearest), end = limit;

	if (f->v.v[nearest].size) {
		end = (end_of(&f->v.v[nearest]) + 15) & ~(uint64_t)15;
		if (end > limit)
			end = limit;
	}
	return end;
}

bool elf_functions_find(const struct elf_functions *f, uint64_t address,
			struct elf_function_range *ret)
{
	size_t nearest = count_until(f, address);
	uint64_t end;

	if (!nearest--)
		return false;
	/* A label inside a function is part of it. */
	for (size_t i = nearest, tries = 0; tries < ENCLOSING_MAX; i--, tries++) {
		if (holds(&f->v.v[i], address))
			return answer_enclosing(f, i, nearest, ret);
		if (!i)
			break;
	}
	end = padded_end(f, nearest);
	return address < end && answer(f, nearest, f->v.v[nearest].start, end, ret);
}

void elf_functions_narrow_gap(const struct elf_functions *f, uint64_t address, uint64_t *start,
			      uint64_t *end)
{
	size_t next = count_until(f, address);

	if (next && padded_end(f, next - 1) > *start)
		*start = padded_end(f, next - 1);
	if (next < f->v.n && f->v.v[next].start < *end)
		*end = f->v.v[next].start;
}
