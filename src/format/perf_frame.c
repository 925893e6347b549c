/*
 * A line of a stack in `perf script` text: `address symbol+0xoffset (dso)`.
 *
 * Symbols hold blanks and brackets (C++), paths too (`/tmp/x (deleted)`), so the dso is what the
 * last closing bracket of the line closes. A function inlined into the next frame says `(inlined)`
 * instead of a dso. Compilers put brackets behind the names of parts and copies of functions, too:
 * `f(int) (.cold)`.
 */
#include "format/perf_script.h"

/* The position of the bracket that matches the last one of the line, or s.n. */
static size_t opening_bracket(struct str s)
{
	size_t depth = 0;

	for (size_t i = s.n; i-- > 0;) {
		if (s.p[i] == ')')
			depth++;
		else if (s.p[i] == '(' && --depth == 0)
			return i;
	}
	return s.n;
}

static bool is_known(struct str s)
{
	return s.n && !str_eq(s, STR("[unknown]"));
}

/* `name+0x1f` without its offset; a name may hold a plus of its own. */
static struct str without_offset(struct str symbol)
{
	size_t plus = str_rfind(symbol, '+');
	uint64_t offset;

	if (plus == symbol.n || !str_starts(str_skip(symbol, plus), STR("+0x")) ||
	    !text_hex(str_skip(symbol, plus + 1), &offset))
		return symbol;
	return (struct str){symbol.p, plus};
}

/* Takes ` (dso)` or ` (inlined)` off the end. */
static void take_dso(struct str *text, struct perf_frame *f)
{
	size_t at;
	struct str inside;

	if (!text->n || text->p[text->n - 1] != ')')
		return;
	at = opening_bracket(*text);
	if (at == text->n)
		return;
	if (at && !text_is_space(text->p[at - 1]))
		return;
	inside = (struct str){text->p + at + 1, text->n - at - 2};
	if (inside.n > 1 && inside.p[0] == '.' && str_find(inside, '/') == inside.n)
		return;
	if (str_eq(inside, STR("inlined")))
		f->inlined = true;
	else if (is_known(inside))
		f->dso = without_offset(inside); /* perf 6.4 has -F +dsoff */
	*text = str_trim((struct str){text->p, at});
}

/* Columns that the word ends at, behind the tab if there is one. */
static size_t columns(struct str line, struct str word)
{
	size_t tab = str_rfind(line, '\t');
	const char *from = tab < line.n && line.p + tab < word.p ? line.p + tab + 1 : line.p;

	return (size_t)(word.p + word.n - from);
}

static bool is_address(struct str line, struct str word, const struct perf_layout *layout,
		       uint64_t *ret)
{
	if (word.n > 18 || !text_hex(word, ret))
		return false;
	if (!layout)
		return true;
	return layout->addresses && (!layout->aligned || columns(line, word) >= 16);
}

/* After the address, if there is one. */
static void parse_symbol(struct str rest, struct perf_frame *f)
{
	rest = str_trim(rest);
	take_dso(&rest, f);
	f->symbol = without_offset(rest);
	if (!is_known(f->symbol))
		f->symbol = (struct str){0};
}

bool perf_frame_parse(struct str line, const struct perf_layout *layout, struct perf_frame *ret)
{
	struct perf_frame f = {.text = str_trim(line)};
	struct str rest = line, address;

	if (!text_word(&rest, &address))
		return false;
	f.has_address = is_address(line, address, layout, &f.address);
	/* If frames have addresses, a line without one is no frame. */
	if (!f.has_address && (!layout || layout->addresses))
		return false;
	parse_symbol(f.has_address ? rest : f.text, &f);
	*ret = f;
	return true;
}

/*
 * It begins with the last address: comm, addresses of data and weights come before it and are as
 * wide. What comes behind it are numbers alone.
 */
bool perf_frame_find(struct str line, struct perf_frame *ret, size_t *ret_at)
{
	struct perf_frame f = {.has_address = true};
	struct str rest = line, word;
	const char *end = line.p;
	bool found = false;
	uint64_t address;

	while (text_word(&rest, &word)) {
		size_t width = (size_t)(word.p + word.n - end);
		bool after_dso = found && end[-1] == ')';

		end = word.p + word.n;
		if (width < 16 || word.n > 16 || !text_hex(word, &address))
			continue;
		if (after_dso && !str_trim(rest).n)
			break;
		f.address = address;
		f.text = word;
		*ret_at = (size_t)(word.p - line.p);
		found = true;
	}
	if (!found)
		return false;
	f.text = str_trim(str_skip(line, *ret_at));
	rest = f.text;
	text_word(&rest, &word);
	parse_symbol(rest, &f);
	*ret = f;
	return true;
}

/* perf puts two blanks before it. */
bool perf_is_source(struct str line)
{
	size_t colon;

	if (line.n < 4 || line.p[0] != ' ' || line.p[1] != ' ' || text_is_space(line.p[2]))
		return false;
	line = str_trim(line);
	if (str_ends(line, STR("]")))
		return str_find(line, '[') < line.n;
	colon = str_rfind(line, ':');
	return colon + 1 < line.n && text_is_digit(line.p[colon + 1]);
}

void perf_frame_source(struct perf_frame *f, struct str line)
{
	size_t colon, note;
	int64_t number;

	line = str_trim(line);
	if (str_ends(line, STR("(inlined)"))) {
		f->inlined = true;
		line = str_trim((struct str){line.p, line.n - 9});
	}
	note = str_search(line, STR(" (discriminator"));
	line.n = note < line.n ? note : line.n;
	colon = str_rfind(line, ':');
	if (colon == line.n || !colon || str_to_i64(str_skip(line, colon + 1), &number) ||
	    number <= 0 || str_starts(line, STR("??")))
		return;
	f->file = (struct str){line.p, colon};
	f->line = number;
}

static bool is_kernel(const struct perf_frame *f)
{
	static const char *const user[] = {"[vdso]", "[vsyscall]", "[heap]",   "[stack]",
					   "[anon]", "[vvar]",	   "[uprobes]"};
	struct str dso = f->dso;

	if (f->address >> 63 && !str_eq(dso, STR("[vsyscall]")))
		return true;
	if (str_starts(dso, STR("[JIT]")) || !dso.n)
		return false;
	for (size_t i = 0; i < sizeof(user) / sizeof(user[0]); i++)
		if (str_eq(dso, str_of(user[i])))
			return false;
	return dso.p[0] == '[' || str_ends(dso, STR(".ko")) ||
	       str_search(dso, STR(".ko.")) < dso.n || str_search(dso, STR("/vmlinux")) < dso.n;
}

/* Code made at run time is told by its map file, its language by how names look there. */
static bool is_jit(struct str dso)
{
	return str_starts(dso, STR("/tmp/perf-")) || str_starts(dso, STR("[JIT]")) ||
	       str_search(dso, STR("/jitted-")) < dso.n;
}

static enum err jit_kind(struct dict *d, struct str name, uint32_t *ret)
{
	static const char *const v8[] = {"LazyCompile:", "JS:", "Function:", "Eval:", "Script:"};

	for (size_t i = 0; i < sizeof(v8) / sizeof(v8[0]); i++) {
		if (str_starts(name, str_of(v8[i]))) {
			*ret = KIND_V8JS;
			return ERR_OK;
		}
	}
	if (str_starts(name, STR("py::")))
		*ret = KIND_CPYTHON;
	else if (str_starts(name, STR("L")) && str_search(name, STR(";::")) < name.n)
		*ret = KIND_JVM;
	else
		return dict_text(d, "jit", ret);
	return ERR_OK;
}

static enum err frame_kind(struct dict *d, const struct perf_frame *f, uint32_t *ret)
{
	*ret = is_kernel(f) ? KIND_KERNEL : f->dso.n ? KIND_NATIVE : 0;
	return is_jit(f->dso) ? jit_kind(d, f->symbol, ret) : ERR_OK;
}

static enum err intern_mapping(struct reading *out, struct str dso, uint32_t *ret)
{
	struct mapping m = {.flags = MAPPING_HAS_FUNCTIONS};

	*ret = 0;
	if (!dso.n)
		return ERR_OK;
	TRY(text_intern(out, dso, &m.file));
	return dict_mapping(out->dict, &m, ret);
}

enum err perf_frame_intern(struct reading *out, const struct perf_frame *f,
			   const struct perf_frame *outer, uint32_t *ret)
{
	struct frame frame = {.address = f->address, .line = f->line};
	struct function function = {0};
	struct perf_frame placed = *f;

	/* Frame 0 of the dictionary means "no frame": one without any content needs a name. */
	if (!f->address && !f->symbol.n && !f->dso.n && !f->line)
		return dict_named_frame(out->dict, STR("[unknown]"), ret);
	/* perf says "inlined" of aliased symbols too: only a shared address proves it. */
	if (f->inlined && outer && outer->address == f->address) {
		frame.flags |= FRAME_INLINED;
		placed.dso = outer->dso;
	}
	TRY(frame_kind(out->dict, &placed, &frame.kind));
	TRY(intern_mapping(out, placed.dso, &frame.mapping));
	if (f->symbol.n || f->line) {
		frame.flags |= FRAME_HAS_LINE;
		TRY(text_intern(out, f->symbol, &function.name));
		TRY(text_intern(out, f->file, &function.file));
		TRY(dict_function(out->dict, &function, &frame.function));
	}
	return dict_frame(out->dict, &frame, ret);
}
