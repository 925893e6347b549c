/*
 * Validates a table built by another process from an untrusted file: afterwards every block is
 * inside the table, every search stays inside its block, and every rule is one of ours.
 */
#include "base/vec.h"
#include "unwind/unwind.h"

/* Any rule is acceptable, because a step checks every field before using it. */
struct translation {
	VEC(u16) ours; /* by their number */
};

static enum err translate(const struct unwind_rule *theirs, size_t count,
			  struct unwind_rules *rules, struct translation *ret)
{
	if (count > UNWIND_RULES_MAX)
		return ERR_TOO_LARGE;
	for (size_t i = 0; i < count; i++)
		TRY(vec_push(&ret->ours, (u16)unwind_rules_intern(rules, &theirs[i])));
	return ERR_OK;
}

static u32 half(const char *block, size_t offset)
{
	u16 value;

	memcpy(&value, block + offset, sizeof(value));
	return value;
}

/* Locates rows, rules and high bytes of a block, and checks that they are inside it. */
struct block_parts {
	u32 rows, rules;
	size_t rules_at, high_at;
};

static enum err find_parts(const char *block, size_t size, struct block_parts *ret)
{
	struct block_parts p;

	if (size < UNWIND_BLOCK_HEAD || size > UNWIND_SEGMENT_SIZE)
		return ERR_CORRUPT;
	p.rows = half(block, 2 * (size_t)UNWIND_SLOTS);
	p.rules = half(block, 2 * (size_t)UNWIND_SLOTS + 2);
	p.rules_at = UNWIND_BLOCK_HEAD + 2 * (size_t)p.rows;
	p.high_at = p.rules_at + 2 * (size_t)p.rules;
	if (p.high_at + (p.rules > UNWIND_NUMBERS ? p.rows : 0) > size)
		return ERR_CORRUPT;
	*ret = p;
	return ERR_OK;
}

/* Checks that each search begins at an existing row and does not end before it. */
static enum err check_head(const char *block)
{
	u32 before = 1;

	for (u32 slot = 0; slot <= UNWIND_SLOTS; slot++) {
		u32 first = half(block, 2 * (size_t)slot);

		if (first < before)
			return ERR_BAD_INDEX;
		before = first;
	}
	return ERR_OK;
}

static enum err check_rows(const char *block, const struct block_parts *p)
{
	for (u32 row = 0; row < p->rows; row++) {
		u32 number =
			half(block, UNWIND_BLOCK_HEAD + 2 * (size_t)row) & (UNWIND_NUMBERS - 1);

		if (p->rules > UNWIND_NUMBERS)
			number |= (u32)(u8)block[p->high_at + row] << UNWIND_NUMBER_BITS;
		if (number >= p->rules)
			return ERR_BAD_INDEX;
	}
	return ERR_OK;
}

/* Validates a block and translates its long rules. The padding after it is zero and stays so. */
static enum err adopt_block(char *block, size_t size, const struct translation *t)
{
	struct block_parts p;

	TRY(find_parts(block, size, &p));
	TRY(check_head(block));
	TRY(check_rows(block, &p));
	for (u32 i = 0; i < p.rules; i++) {
		size_t at = p.rules_at + 2 * (size_t)i;
		u32 rule = half(block, at);

		if (!(rule & UNWIND_ESCAPE))
			continue;
		if ((rule & (UNWIND_ESCAPE - 1)) >= t->ours.n)
			return ERR_BAD_INDEX;
		memcpy(block + at, &t->ours.v[rule & (UNWIND_ESCAPE - 1)], sizeof(u16));
	}
	return ERR_OK;
}

static enum err adopt_blocks(struct unwind_table *t, const struct translation *translation)
{
	u64 begin = 0; /* offset plus 1 of the next unchecked block */

	for (u32 page = 0; page < t->page_count; page++) {
		u64 next = t->pages[page];

		if (!next)
			continue;
		if ((next - 1) % UNWIND_UNIT || next - 1 > t->blocks.n || (!begin && next != 1) ||
		    next <= begin)
			return ERR_CORRUPT;
		if (begin)
			TRY(adopt_block(t->blocks.data + begin - 1, next - begin, translation));
		begin = next;
	}
	return begin ? adopt_block(t->blocks.data + begin - 1, t->blocks.n - (begin - 1),
				   translation)
		     : ERR_OK;
}

enum err unwind_table_adopt(struct unwind_table *t, const struct unwind_rule *theirs, size_t count,
			    struct unwind_rules *rules)
{
	struct translation translation = {0};
	enum err e = translate(theirs, count, rules, &translation);

	if (!e)
		e = adopt_blocks(t, &translation);
	vec_release(&translation.ours);
	return e;
}
