#include "symbols/jit_table.h"

#include <errno.h>

#define CODE_SIZE_MAX ((uint64_t)1 << 31)
#define SEARCHED_MAX  ((uint64_t)1 << 26)

enum err jit_symbols_new(size_t memory, struct jit_symbols **ret)
{
	struct jit_symbols *j = mem_zalloc(1, sizeof(*j));

	if (!j)
		return ERR_NO_MEMORY;
	name_pool_init(&j->names, memory);
	j->memory = memory;
	*ret = j;
	return ERR_OK;
}

void jit_symbols_free(struct jit_symbols *j)
{
	if (!j)
		return;
	name_pool_release(&j->names);
	address_ranges_release(&j->ranges);
	vec_release(&j->codes);
	vec_release(&j->lines);
	mem_free(j);
}

size_t jit_symbols_memory(const struct jit_symbols *j)
{
	return name_pool_memory(&j->names) + j->ranges.n * sizeof(*j->ranges.v) +
	       j->codes.n * sizeof(*j->codes.v) + j->lines.n * sizeof(*j->lines.v);
}

static enum err check_room(const struct jit_symbols *j)
{
	return jit_symbols_memory(j) > j->memory ? ERR_TOO_LARGE : ERR_OK;
}

static enum err add_code(struct jit_symbols *j, struct jit_code code, uint64_t size)
{
	struct address_range range = {code.start, code.start + size, (uint32_t)j->codes.n,
				      ++j->sequence};

	if (!size || size > CODE_SIZE_MAX || range.end < range.start)
		return ERR_OK; /* nonsense: nothing to name */
	TRY(check_room(j));
	TRY(vec_push(&j->codes, code));
	return address_ranges_add(&j->ranges, range);
}

enum err jit_table_add(struct jit_symbols *j, uint64_t start, uint64_t size, struct str name,
		       size_t first_line)
{
	struct jit_code code = {.start = start,
				.first_line = (uint32_t)first_line,
				.line_count = (uint32_t)(j->lines.n - first_line)};

	if (name.n >= SYMBOL_NAME_MAX)
		name.n = SYMBOL_NAME_MAX - 1;
	TRY(name_pool_add(&j->names, name, &code.name));
	return add_code(j, code, size);
}

enum err jit_table_move(struct jit_symbols *j, uint64_t from, uint64_t to, uint64_t size)
{
	/* The latest code that began there; the ranges are not in order while a file is read. */
	for (size_t i = j->codes.n; i-- > 0 && j->searched++ < SEARCHED_MAX;) {
		if (j->codes.v[i].start == from) {
			struct jit_code code = j->codes.v[i];

			code.start = to;
			return add_code(j, code, size);
		}
	}
	return ERR_OK;
}

enum err jit_progress_check(struct jit_progress *p, int fd, uint64_t ceiling)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_from_errno(errno);
	if (!S_ISREG(st.st_mode))
		return ERR_UNSUPPORTED;
	if ((uint64_t)st.st_size > ceiling)
		return ERR_TOO_LARGE;
	if (st.st_dev != p->device || st.st_ino != p->inode || (uint64_t)st.st_size < p->offset)
		*p = (struct jit_progress){0, st.st_dev, st.st_ino};
	return ERR_OK;
}

/* The last line that begins at or before an address. */
static const struct jit_line *line_at(const struct jit_symbols *j, const struct jit_code *code,
				      uint64_t distance)
{
	const struct jit_line *found = NULL;

	for (uint32_t i = 0; i < code->line_count; i++) {
		const struct jit_line *l = &j->lines.v[code->first_line + i];

		if (l->distance <= distance && (!found || l->distance >= found->distance))
			found = l;
	}
	return found;
}

bool jit_symbols_find_range(const struct jit_symbols *j, uint64_t address, struct symbol_frame *ret,
			    struct symbol_range *ret_range)
{
	const struct address_range *range = address_ranges_find(&j->ranges, address);
	const struct jit_line *line;
	const struct jit_code *code;

	if (!range)
		return false;
	code = &j->codes.v[range->value];
	line = line_at(j, code, address - code->start);
	*ret = (struct symbol_frame){.function = name_pool_get(&j->names, code->name),
				     .linkage = name_pool_get(&j->names, code->name),
				     .file = line ? name_pool_get(&j->names, line->file) : "",
				     .line = line ? line->line : 0};
	/* Lines change within it. */
	*ret_range = code->line_count ? (struct symbol_range){address, address + 1}
				      : (struct symbol_range){range->start, range->end};
	return true;
}

bool jit_symbols_find(const struct jit_symbols *j, uint64_t address, struct symbol_frame *ret)
{
	struct symbol_range range;

	return jit_symbols_find_range(j, address, ret, &range);
}

bool jit_is_dump(const char *path)
{
	struct str name = str_of(path);
	size_t slash = str_rfind(name, '/');

	if (slash < name.n)
		name = str_skip(name, slash + 1);
	if (!str_starts(name, STR("jit-")) || !str_ends(name, STR(".dump")) || name.n < 10)
		return false;
	for (size_t i = 4; i < name.n - 5; i++)
		if (name.p[i] < '0' || name.p[i] > '9')
			return false;
	return true;
}
