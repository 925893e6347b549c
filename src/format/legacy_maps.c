/*
 * The memory map at the end of a legacy profile: lines of /proc/PID/maps, or a brief form
 *
 *	00400000-00fcb000: /path/to/binary (@offset) buildid
 *
 * with log prefixes, and variables (`source=/home`, then `$source/bin`). The heuristics, which
 * order the main binary first and repair ranges, are those of google/pprof, so that addresses end
 * up in the same modules.
 */
#include "format/legacy.h"

#define MAX_MAPPINGS  65536
#define MAX_VARIABLES 64
#define MAX_LINE      65536
#define MAX_STEPS     ((uint64_t)1 << 31)

struct variables {
	struct {
		char *name, *value;
	} v[MAX_VARIABLES];
	size_t n;
};

static void variables_release(struct variables *vars)
{
	for (size_t i = 0; i < vars->n; i++) {
		mem_free(vars->v[i].name);
		mem_free(vars->v[i].value);
	}
}

bool legacy_is_map_start(struct str line)
{
	return str_search(line, STR("--- Memory map: ---")) < line.n ||
	       str_search(line, STR("MAPPED_LIBRARIES:")) < line.n;
}

/* `$name` becomes its value; lines that get too long are left unchanged. */
static struct str expand(const struct variables *vars, struct str line, struct buf *scratch)
{
	struct str whole = line;

	if (!vars->n || str_find(line, '$') == line.n)
		return line;
	buf_clear(scratch);
	while (line.n) {
		size_t i, used = 1;

		for (i = 0; i < vars->n && line.p[0] == '$'; i++) {
			if (!str_starts(str_skip(line, 1), str_of(vars->v[i].name)))
				continue;
			buf_text(scratch, vars->v[i].value);
			used = 1 + strlen(vars->v[i].name);
			break;
		}
		if (i == vars->n || line.p[0] != '$')
			buf_byte(scratch, (unsigned char)line.p[0]);
		line = str_skip(line, used);
	}
	return scratch->error == ERR_TOO_LARGE ? whole : buf_view(scratch);
}

static enum err define(struct variables *vars, struct str line)
{
	size_t equals = str_find(line, '=');
	struct str name = str_trim((struct str){line.p, equals});
	struct str value = str_trim(str_skip(line, equals + 1));

	if (equals == line.n || !name.n || vars->n == MAX_VARIABLES || line.n > 4096)
		return ERR_OK;
	vars->v[vars->n].name = mem_strndup(name.p, name.n);
	vars->v[vars->n].value = mem_strndup(value.n ? value.p : "", value.n);
	vars->n++;
	return vars->v[vars->n - 1].name && vars->v[vars->n - 1].value ? ERR_OK : ERR_NO_MEMORY;
}

/* `I0101 12:00:00 file.cc:123] text` is text. */
static struct str without_log_prefix(struct str line)
{
	size_t end = str_find(line, ']'), colon, open = str_find(line, '[');

	if (end + 1 >= line.n || open < end || !text_is_space(line.p[end + 1]))
		return line;
	colon = str_rfind((struct str){line.p, end}, ':');
	if (colon == end || colon == 0 || colon + 1 == end)
		return line;
	for (size_t i = colon + 1; i < end; i++)
		if (!text_is_digit(line.p[i]))
			return line;
	return str_skip(line, end + 2);
}

static bool take_hex(struct str *s, uint64_t *ret)
{
	size_t n = 0;

	if (str_starts(*s, STR("0x")))
		*s = str_skip(*s, 2);
	while (n < s->n && ((s->p[n] >= '0' && s->p[n] <= '9') ||
			    ((s->p[n] | 0x20) >= 'a' && (s->p[n] | 0x20) <= 'f')))
		n++;
	if (str_to_u64((struct str){s->p, n}, 16, ret) != ERR_OK)
		return false;
	*s = str_skip(*s, n);
	return true;
}

static bool take_range(struct str *s, struct mapping *m)
{
	*s = str_trim(*s);
	if (!take_hex(s, &m->start) || !s->n || (s->p[0] != '-' && !text_is_space(s->p[0])))
		return false;
	*s = str_trim(str_skip(*s, 1));
	if (!take_hex(s, &m->limit))
		return false;
	if (s->n && s->p[0] == ':')
		*s = str_skip(*s, 1);
	return !s->n || text_is_space(s->p[0]);
}

static bool is_permissions(struct str word)
{
	for (size_t i = 0; i < word.n; i++)
		if (!memchr("-rwxps", word.p[i], 6))
			return false;
	return word.n > 0;
}

/* `offset dev:dev inode file` after the permissions. */
static bool proc_tail(struct str rest, struct mapping *m, struct str *ret_file)
{
	struct str offset, device, inode;
	uint64_t number;
	size_t colon;

	if (!text_word(&rest, &offset) || !text_word(&rest, &device) || !text_word(&rest, &inode))
		return false;
	colon = str_find(device, ':');
	if (colon == device.n || str_to_u64((struct str){device.p, colon}, 16, &number) ||
	    str_to_u64(str_skip(device, colon + 1), 16, &number) ||
	    str_to_u64(inode, 10, &number) || str_to_u64(offset, 16, &m->offset))
		return false;
	*ret_file = str_trim(rest);
	return true;
}

/* `file (@offset) buildid`, each optional. */
static void brief_tail(struct str rest, struct mapping *m, struct str *ret_file,
		       struct str *ret_build_id)
{
	struct str word;
	uint64_t number;

	if (!text_word(&rest, ret_file))
		return;
	if (!text_word(&rest, &word))
		return;
	if (word.n > 3 && str_starts(word, STR("(@")) && word.p[word.n - 1] == ')' &&
	    str_to_u64((struct str){word.p + 2, word.n - 3}, 16, &number) == ERR_OK) {
		m->offset = number;
		if (!text_word(&rest, &word))
			return;
	}
	for (size_t i = 0; i < word.n; i++)
		if (!memchr("0123456789abcdefABCDEF", word.p[i], 22))
			return;
	*ret_build_id = word;
}

/* Adds an executable range; *ret says whether the line was a range at all. */
static enum err read_range(struct legacy *l, struct str line, bool *ret)
{
	struct mapping m = {0};
	struct str rest = line, word, behind, file = {0}, build_id = {0};

	*ret = take_range(&rest, &m);
	if (!*ret)
		return ERR_OK;
	behind = rest;
	if (text_word(&behind, &word) && is_permissions(word)) {
		rest = behind;
		if (!memchr(word.p, 'x', word.n))
			return ERR_OK;
	}
	if (!proc_tail(rest, &m, &file))
		brief_tail(rest, &m, &file, &build_id);
	if (l->mappings.n == MAX_MAPPINGS)
		return text_fault(&l->lines, l->out, ERR_TOO_LARGE,
				  "more than %d mappings in the memory map", MAX_MAPPINGS);
	TRY(text_intern(l->out, file, &m.file));
	TRY(text_intern(l->out, build_id, &m.build_id));
	return vec_push(&l->mappings, m);
}

static bool adjacent(const struct mapping *a, const struct mapping *b)
{
	if (a->file && b->file && a->file != b->file)
		return false;
	if (a->build_id && b->build_id && a->build_id != b->build_id)
		return false;
	if (a->limit != b->start)
		return false;
	return !a->offset || !b->offset || a->offset + (a->limit - a->start) == b->offset;
}

static void merge_adjacent(struct legacy *l)
{
	size_t kept = 0;

	for (size_t i = 1; i < l->mappings.n; i++) {
		struct mapping *last = &l->mappings.v[kept], *m = &l->mappings.v[i];

		if (!adjacent(last, m)) {
			l->mappings.v[++kept] = *m;
			continue;
		}
		last->limit = m->limit;
		last->file = m->file ? m->file : last->file;
		last->build_id = m->build_id ? m->build_id : last->build_id;
	}
	if (l->mappings.n)
		l->mappings.n = kept + 1;
}

/* `libx.so`, `libx.so.6`, `libx.so_1`. */
static bool is_library(struct str file)
{
	for (size_t at = 0; at + 3 <= file.n; at++) {
		struct str rest = str_skip(file, at);

		if (!str_starts(rest, STR(".so")))
			continue;
		if (rest.n == 3)
			return true;
		if (rest.n > 4 && (rest.p[3] == '.' || rest.p[3] == '_') &&
		    text_is_digit(rest.p[4]))
			return true;
	}
	return false;
}

static void main_binary_first(struct legacy *l)
{
	for (size_t i = 0; i < l->mappings.n; i++) {
		struct str file = dict_str(l->out->dict, l->mappings.v[i].file);
		struct mapping swap = l->mappings.v[0];

		if (str_ends(file, STR("(deleted)")))
			file = str_trim((struct str){file.p, file.n - 9});
		if (!file.n || file.p[0] == '[' || is_library(file))
			continue;
		l->mappings.v[0] = l->mappings.v[i];
		l->mappings.v[i] = swap;
		return;
	}
}

/* Parts of the main binary that were moved to huge pages, and its start at 0x400000. */
static void repair_main_binary(struct legacy *l)
{
	struct mapping *m = l->mappings.v;

	if (l->mappings.n > 1 && m[0].limit == m[1].start &&
	    str_starts(dict_str(l->out->dict, m[0].file), STR("/anon_hugepage"))) {
		memmove(m, m + 1, (l->mappings.n - 1) * sizeof(*m));
		l->mappings.n--;
	}
	if (l->mappings.n && m[0].start - m[0].offset == 0x400000) {
		m[0].start = 0x400000;
		m[0].offset = 0;
	}
}

static enum err read_lines(struct legacy *l, struct variables *vars, struct buf *scratch)
{
	struct str line;

	while (text_line(&l->lines, &line)) {
		bool range;

		line = expand(vars, without_log_prefix(line), scratch);
		if (scratch->error == ERR_NO_MEMORY)
			return ERR_NO_MEMORY;
		TRY(read_range(l, line, &range));
		if (!range)
			TRY(define(vars, line));
	}
	return ERR_OK;
}

enum err legacy_read_maps(struct legacy *l, bool skip)
{
	CLEANUP(buf_release) struct buf scratch = BUF_INIT(MAX_LINE);
	struct variables vars = {.n = 0};
	struct str line;
	enum err e;

	while (skip && text_line(&l->lines, &line))
		if (legacy_is_map_start(line))
			break;
	e = read_lines(l, &vars, &scratch);
	variables_release(&vars);
	merge_adjacent(l);
	main_binary_first(l);
	repair_main_binary(l);
	return e;
}

static size_t find_mapping(struct legacy *l, uint64_t address)
{
	size_t n = l->mappings.n;

	for (size_t i = 0; i < n; i++)
		if (l->mappings.v[i].start <= address && address < l->mappings.v[i].limit)
			return i;
	/* Some writers leave out the first part of a mapping that was split. */
	for (size_t i = 0; i < n; i++) {
		struct mapping *m = &l->mappings.v[i];

		if (!m->offset || m->start - m->offset > address || address >= m->start)
			continue;
		m->start -= m->offset;
		m->offset = 0;
		return i;
	}
	return SIZE_MAX;
}

enum err legacy_place(struct legacy *l, const uint64_t *addresses, uint32_t *mapping, size_t n)
{
	CLEANUP(mem_free_ptr) size_t *place = mem_zalloc(n + 1, sizeof(*place));
	CLEANUP(mem_free_ptr) uint32_t *ids = mem_zalloc(l->mappings.n + 1, sizeof(*ids));
	struct mapping unknown = {.limit = UINT64_MAX};
	uint32_t unknown_id;

	if (!place || !ids)
		return ERR_NO_MEMORY;
	if (l->mappings.n && n > MAX_STEPS / l->mappings.n)
		return fault_set(&l->out->fault, ERR_TOO_LARGE,
				 "%zu addresses in %zu mappings are more than can be matched", n,
				 l->mappings.n);
	for (size_t i = 0; i < n; i++)
		place[i] = addresses[i] ? find_mapping(l, addresses[i]) : SIZE_MAX - 1;
	for (size_t i = 0; i < l->mappings.n; i++)
		TRY(dict_mapping(l->out->dict, &l->mappings.v[i], &ids[i]));
	TRY(dict_mapping(l->out->dict, &unknown, &unknown_id));
	for (size_t i = 0; i < n; i++)
		mapping[i] = place[i] < l->mappings.n ? ids[place[i]]
			     : addresses[i]	      ? unknown_id
						      : 0;
	return ERR_OK;
}
