#include "format/text_util.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"

void text_lines_init(struct text_lines *t, struct str all)
{
	*t = (struct text_lines){.all = all};
}

bool text_line(struct text_lines *t, struct str *ret)
{
	struct str rest = str_skip(t->all, t->at), line;
	size_t end;

	if (!rest.n)
		return false;
	end = str_find(rest, '\n');
	t->line_at = t->at;
	t->number++;
	t->at += end + 1;
	line = (struct str){rest.p, end};
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	*ret = line;
	return true;
}

enum err text_fault(const struct text_lines *t, struct reading *out, enum err code,
		    const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return fault_set(&out->fault, code, "line %zu (byte %zu): %s", t->number, t->line_at, text);
}

struct str utf8_clean(struct str s, struct buf *scratch)
{
	if (utf8_valid(s) && str_find(s, '\0') == s.n)
		return s;
	buf_clear(scratch);
	while (s.n) {
		size_t n = utf8_length(s);

		if (!n || !s.p[0])
			buf_text(scratch, "\xef\xbf\xbd");
		else
			buf_append(scratch, s.p, n);
		s = str_skip(s, n ? n : 1);
	}
	return buf_view(scratch);
}

enum err text_intern(struct reading *out, struct str s, uint32_t *ret)
{
	CLEANUP(buf_release) struct buf scratch = BUF_INIT((size_t)3 * out->limits.max_string);
	struct str clean;

	if (s.n > out->limits.max_string)
		return fault_set(&out->fault, ERR_TOO_LARGE,
				 "a name of %zu bytes is longer than the limit of %u", s.n,
				 out->limits.max_string);
	clean = utf8_clean(s, &scratch);
	TRY(buf_error(&scratch));
	if (clean.p != s.p)
		notes_add(&out->notes, "invalid UTF-8 in a name was replaced");
	return dict_string(out->dict, clean, ret);
}

void text_memo_release(struct text_memo *m)
{
	if (!m)
		return;
	vec_release(&m->entries);
	map_release(&m->index);
}

uint32_t text_memo_get(const struct text_memo *m, const struct dict *d, struct str text,
		       uint64_t *ret_hash)
{
	uint64_t hash = hash_str(text, d->seed);

	*ret_hash = hash;
	MAP_PROBE(&m->index, hash, i)
	{
		if (str_eq(m->entries.v[i].text, text))
			return m->entries.v[i].id;
	}
	return MAP_NONE;
}

enum err text_memo_put(struct text_memo *m, uint64_t hash, struct str text, uint32_t id)
{
	struct text_memo_entry entry = {text, id};

	if (m->entries.n >= MAP_NONE)
		return ERR_TABLE_FULL;
	TRY(vec_reserve(&m->entries, 1));
	TRY(map_put(&m->index, hash, (uint32_t)m->entries.n));
	m->entries.v[m->entries.n++] = entry;
	return ERR_OK;
}

void stack_builder_release(struct stack_builder *b)
{
	if (b)
		vec_release(&b->frames);
}

void stack_builder_reset(struct stack_builder *b)
{
	b->frames.n = 0;
	b->cut = false;
}

enum err stack_builder_push(struct stack_builder *b, const struct limits *limits, uint32_t frame)
{
	if (stack_builder_full(b, limits)) {
		b->cut = true;
		return ERR_OK;
	}
	return vec_push(&b->frames, frame);
}

enum err stack_builder_finish(struct stack_builder *b, struct reading *out, uint32_t *ret)
{
	if (b->cut)
		notes_add(&out->notes, "a stack deeper than %u frames was cut at its root",
			  out->limits.max_depth);
	return dict_stack(out->dict, b->frames.v, (uint32_t)b->frames.n, ret);
}

enum err text_add_row(struct reading *out, struct profile *p, const struct row *row,
		      const int64_t *values)
{
	if (p->row_count >= out->limits.max_samples)
		return fault_set(&out->fault, ERR_TOO_LARGE, "more than %llu samples",
				 (unsigned long long)out->limits.max_samples);
	return profile_add(p, row, values);
}

enum err text_label(struct reading *out, struct str key, struct str value, uint32_t *ret)
{
	struct label l = {.type = LABEL_STRING};
	uint32_t text;

	TRY(dict_string(out->dict, key, &l.key));
	TRY(text_intern(out, value, &text));
	l.value = text;
	return dict_label(out->dict, &l, ret);
}

enum err text_label_int(struct dict *d, struct str key, int64_t value, struct str unit,
			uint32_t *ret)
{
	struct label l = {.type = LABEL_INT, .value = value};

	TRY(dict_string(d, key, &l.key));
	TRY(dict_string(d, unit, &l.unit));
	return dict_label(d, &l, ret);
}

bool text_looks_plain(struct str head)
{
	size_t n = head.n < 4096 ? head.n : 4096;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)head.p[i];

		if (c < 0x20 && c != '\n' && c != '\r' && c != '\t')
			return false;
	}
	return n > 0;
}

bool text_word(struct str *rest, struct str *ret)
{
	size_t begin = 0, end;

	while (begin < rest->n && text_is_space(rest->p[begin]))
		begin++;
	for (end = begin; end < rest->n && !text_is_space(rest->p[end]); end++)
		;
	if (begin == end)
		return false;
	*ret = (struct str){rest->p + begin, end - begin};
	*rest = str_skip(*rest, end);
	return true;
}

bool text_hex(struct str s, uint64_t *ret)
{
	if (s.n > 2 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X'))
		s = str_skip(s, 2);
	return str_to_u64(s, 16, ret) == ERR_OK;
}
