/*
 * What the tests of text formats share: a file read from a string, and a profile as folded text,
 * which says everything about stacks and one column of values in a form a test can compare.
 */
#pragma once

#include "../test.h"

#include "base/buf.h"
#include "format/format.h"

typedef enum err text_reader(struct str bytes, struct reading *out);
typedef enum err text_writer(struct writing *in, struct buf *out);

struct loaded {
	struct dict dict;
	struct profile_list list;
	struct reading reading;
};

static inline enum err loaded_init(struct loaded *l)
{
	*l = (struct loaded){0};
	TRY(dict_init(&l->dict, 1));
	l->reading = (struct reading){.dict = &l->dict, .list = &l->list, .limits = LIMITS_DEFAULT};
	return ERR_OK;
}

static inline void loaded_release(struct loaded *l)
{
	profile_list_release(&l->list);
	notes_release(&l->reading.notes);
	dict_release(&l->dict);
}

static inline enum err load(struct loaded *l, text_reader *read, struct str text)
{
	TRY(loaded_init(l));
	return read(text, &l->reading);
}

static inline bool noted(const struct notes *notes, const char *part)
{
	for (size_t i = 0; i < notes->list.n; i++)
		if (strstr(notes->list.v[i].text, part))
			return true;
	return false;
}

/* Column `type` of profile `i`, written by `write`. */
static inline enum err store(struct loaded *l, text_writer *write, size_t i, int type,
			     struct buf *out)
{
	struct profile_list one = {.v = &l->list.v[i], .n = 1};
	struct writing w = {.list = &one, .type = type, .compress = -1};
	enum err e = write(&w, out);

	notes_release(&w.notes);
	return e;
}

/* Read from memory of its exact size, so that the address sanitizer sees a byte too far. */
static inline enum err read_copy(text_reader *read, const char *data, size_t n)
{
	struct loaded l;
	char *copy = mem_alloc(n ? n : 1);
	enum err e;

	if (!copy)
		return ERR_NO_MEMORY;
	if (n)
		memcpy(copy, data, n);
	e = loaded_init(&l);
	if (!e)
		e = read((struct str){copy, n}, &l.reading);
	loaded_release(&l);
	mem_free(copy);
	return e;
}

/* Every prefix is read or refused, never worse. */
static inline void read_prefixes(text_reader *read, struct str s)
{
	for (size_t n = 0; n <= s.n; n++)
		(void)!read_copy(read, s.p, n);
}

/* Every byte replaced by some others in turn. */
static inline void read_mutations(text_reader *read, struct str s)
{
	static const char others[] = {'\0', '\n', ' ', '9', '-', '\xff', '('};
	char *copy = mem_strndup(s.p, s.n);

	for (size_t i = 0; copy && i < s.n; i++) {
		copy[i] = others[i % sizeof(others)];
		(void)!read_copy(read, copy, s.n);
		copy[i] = s.p[i];
	}
	mem_free(copy);
}
