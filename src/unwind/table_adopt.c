/*
 * A table that another process made of a stranger's file. Nothing it says is believed: afterwards
 * every block lies inside, every search stays inside its block, and every rule is one of ours.
 */
#include "base/vec.h"
#include "unwind/unwind.h"

/* Any rule will do: a step looks at every field before it uses it. */
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

/* Rows are words of 4 bytes; the padding behind them is zero and stays so. */
static enum err adopt_block(char *block, size_t size, const struct translation *t)
{
	u16 head[UNWIND_BLOCK_HEAD / 2];
	size_t rows;

	if (size < UNWIND_BLOCK_HEAD + 4 || size > UNWIND_SEGMENT_SIZE)
		return ERR_CORRUPT;
	rows = (size - UNWIND_BLOCK_HEAD) / 4;
	memcpy(head, block, sizeof(head));
	for (u32 slot = 0; slot <= UNWIND_SLOTS; slot++)
		if (head[slot] >= rows || (slot && head[slot] < head[slot - 1]))
			return ERR_BAD_INDEX;
	for (size_t i = 0; i < rows; i++) {
		char *at = block + UNWIND_BLOCK_HEAD + 4 * i;
		u32 row;

		memcpy(&row, at, sizeof(row));
		if (!(row & UNWIND_ESCAPE))
			continue;
		if ((row & (UNWIND_ESCAPE - 1)) >= t->ours.n)
			return ERR_BAD_INDEX;
		row = (row & 0xffff0000u) | t->ours.v[row & (UNWIND_ESCAPE - 1)];
		memcpy(at, &row, sizeof(row));
	}
	return ERR_OK;
}

static enum err adopt_blocks(struct unwind_table *t, const struct translation *translation)
{
	u64 begin = 0; /* offset plus 1 of the block that is not looked at yet */

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
