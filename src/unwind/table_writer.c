#include "unwind/table_writer.h"

/* Above every table seen: 900,000 rows are 3.5 MiB. */
#define BLOCKS_CEILING ((size_t)256 << 20)
/* Rows that a file may make us look at, written or not: many times what the largest have. */
#define OFFERED_MAX    ((u64)64 << 20)

void table_writer_init(struct table_writer *w)
{
	*w = (struct table_writer){.blocks = BUF_INIT(BLOCKS_CEILING), .rule = UNWIND_RULE_NONE};
}

void table_writer_release(struct table_writer *w)
{
	vec_release(&w->pages);
	vec_release(&w->rows);
	vec_release(&w->rules);
	mem_free(w->numbers);
	w->numbers = NULL;
	buf_release(&w->blocks);
}

static void keep(struct table_writer *w, enum err e)
{
	if (e && !w->error)
		w->error = e;
}

/* Replaces each row's rule by its index among the rules of this page. */
static enum err number_rules(struct table_writer *w)
{
	if (!w->numbers)
		w->numbers = mem_zalloc((size_t)UINT16_MAX + 1, sizeof(*w->numbers));
	if (!w->numbers)
		return ERR_NO_MEMORY;
	vec_for_each (rule, &w->rules)
		w->numbers[*rule] = 0;
	w->rules.n = 0;
	vec_for_each (row, &w->rows) {
		u16 rule = (u16)*row;

		if (!w->numbers[rule]) {
			TRY(vec_push(&w->rules, rule));
			w->numbers[rule] = (u16)w->rules.n;
		}
		*row = (*row & 0xffff0000u) | (w->numbers[rule] - 1u);
	}
	return ERR_OK;
}

static void write_head(struct table_writer *w)
{
	u16 head[UNWIND_BLOCK_HEAD / 2] = {0};
	size_t row = 1;

	for (u32 slot = 0; slot <= UNWIND_SLOTS; slot++) {
		while (row < w->rows.n && w->rows.v[row] >> 16 < slot << UNWIND_SLOT_SHIFT)
			row++;
		head[slot] = (u16)row;
	}
	head[UNWIND_SLOTS + 1] = (u16)w->rules.n;
	buf_append(&w->blocks, head, sizeof(head));
}

static void write_block(struct table_writer *w)
{
	static const char padding[8];

	keep(w, number_rules(w));
	if (w->error)
		return;
	write_head(w);
	vec_for_each (row, &w->rows) {
		u32 low = (*row >> 16 & (UNWIND_SLOT_SIZE - 1)) << UNWIND_NUMBER_BITS;
		u16 word = (u16)(low | (*row & (UNWIND_NUMBERS - 1)));

		buf_append(&w->blocks, &word, sizeof(word));
	}
	buf_append(&w->blocks, w->rules.v, w->rules.n * sizeof(*w->rules.v));
	for (size_t i = 0; w->rules.n > UNWIND_NUMBERS && i < w->rows.n; i++) {
		u8 high = (u8)((w->rows.v[i] & 0xffff) >> UNWIND_NUMBER_BITS);

		buf_append(&w->blocks, &high, sizeof(high));
	}
	buf_append(&w->blocks, padding, (8 - w->blocks.n % 8) % 8);
}

/* Writes the page if it says anything, and makes its entry. */
static void end_page(struct table_writer *w)
{
	bool silent = w->rows.n == 1 && (w->rows.v[0] & 0xffff) == UNWIND_RULE_NONE;

	while (w->pages.n <= w->page && !w->error)
		keep(w, vec_push(&w->pages, 0));
	if (w->error || silent)
		return;
	w->pages.v[w->page] = (u32)w->blocks.n + 1;
	write_block(w);
	keep(w, buf_error(&w->blocks));
	w->row_count += w->rows.n;
}

static void begin_page(struct table_writer *w, u64 page)
{
	w->page = page;
	w->rows.n = 0;
	w->started = true;
	keep(w, vec_push(&w->rows, w->rule));
}

void table_writer_row(void *writer, u64 address, u32 rule)
{
	struct table_writer *w = writer;
	u64 page = address >> UNWIND_PAGE_SHIFT;
	u32 low = address & (UNWIND_PAGE_SIZE - 1);

	if (++w->offered > OFFERED_MAX)
		keep(w, ERR_TOO_LARGE);
	if (w->error || (w->started && rule == w->rule))
		return;
	if (!w->started)
		begin_page(w, page);
	while (w->page < page && !w->error) {
		end_page(w);
		begin_page(w, w->page + 1);
	}
	if (w->error)
		return;
	w->rule = rule;
	/* Several rules for one address: the last one holds. */
	if (w->rows.v[w->rows.n - 1] >> 16 != low) {
		if (w->rows.n == UNWIND_BLOCK_ROWS)
			return;
		keep(w, vec_push(&w->rows, 0));
		if (w->error)
			return;
	}
	/* In the last place there is, nothing: better than a rule that does not hold any more. */
	w->rows.v[w->rows.n - 1] =
		low << 16 | (w->rows.n == UNWIND_BLOCK_ROWS ? UNWIND_RULE_NONE : rule);
}

enum err table_writer_finish(struct table_writer *w, struct unwind_table *ret)
{
	if (w->started && !w->error)
		end_page(w);
	TRY(w->error);
	*ret = (struct unwind_table){.pages = w->pages.v,
				     .page_count = (u32)w->pages.n,
				     .blocks = w->blocks,
				     .rows = w->row_count};
	w->pages.v = NULL;
	w->blocks = (struct buf){0};
	table_writer_release(w);
	return ERR_OK;
}
