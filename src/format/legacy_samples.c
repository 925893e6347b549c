/*
 * What the legacy formats have in common: lines of addresses, names and labels in comments, and
 * samples that become rows once the memory map is known.
 */
#include <math.h>

#include "base/hash.h"
#include "format/legacy.h"

bool legacy_is_comment(struct str line)
{
	line = str_trim(line);
	return !line.n || line.p[0] == '#';
}

static void skip_blanks(struct str *s)
{
	while (s->n && text_is_space(s->p[0]))
		*s = str_skip(*s, 1);
}

bool legacy_take_int(struct str *s, int64_t *ret)
{
	size_t n;

	skip_blanks(s);
	for (n = s->n && s->p[0] == '-'; n < s->n && text_is_digit(s->p[n]); n++)
		;
	if (str_to_i64((struct str){s->p, n}, ret) != ERR_OK)
		return false;
	*s = str_skip(*s, n);
	return true;
}

bool legacy_take(struct str *s, const char *mark)
{
	skip_blanks(s);
	if (!str_starts(*s, str_of(mark)))
		return false;
	*s = str_skip(*s, strlen(mark));
	return true;
}

enum err legacy_begin_sample(struct legacy *l, struct legacy_sample **ret)
{
	struct legacy_sample s = {.at = l->addresses.n};

	TRY(legacy_end_comments(l));
	if (l->samples.n >= l->out->limits.max_samples)
		return text_fault(&l->lines, l->out, ERR_TOO_LARGE, "more than %llu samples",
				  (unsigned long long)l->out->limits.max_samples);
	TRY(vec_push(&l->samples, s));
	l->last_symbol = UINT32_MAX;
	*ret = &l->samples.v[l->samples.n - 1];
	return ERR_OK;
}

enum err legacy_push(struct legacy *l, uint64_t address)
{
	struct legacy_sample *s = &l->samples.v[l->samples.n - 1];

	if (s->n >= l->out->limits.max_depth) {
		s->cut = true;
		return ERR_OK;
	}
	TRY(vec_push(&l->addresses, address));
	s->n++;
	return ERR_OK;
}

enum err legacy_push_all(struct legacy *l, struct str text, uint64_t adjust, bool keep_leaf)
{
	for (;;) {
		size_t at = str_search(text, STR("0x")), n = 0;
		bool leaf = l->samples.v[l->samples.n - 1].n == 0;
		uint64_t address;

		if (at == text.n)
			return ERR_OK;
		text = str_skip(text, at + 2);
		while (n < text.n && memchr("0123456789abcdef", text.p[n], 16))
			n++;
		if (n && str_to_u64((struct str){text.p, n}, 16, &address) != ERR_OK)
			return text_fault(&l->lines, l->out, ERR_CORRUPT,
					  "the address 0x%.*s does not fit in 64 bits",
					  (int)(n < 40 ? n : 40), text.p);
		if (n)
			TRY(legacy_push(l, leaf && keep_leaf ? address : address - adjust));
		text = str_skip(text, n);
	}
}

void legacy_drop_second(struct legacy *l, struct legacy_sample *s)
{
	uint64_t *a = l->addresses.v + s->at;

	memmove(a + 1, a + 2, (s->n - 2) * sizeof(*a));
	s->n--;
}

void legacy_drop_doubled_leaves(struct legacy *l)
{
	vec_for_each (s, &l->samples) {
		const uint64_t *a = s->n > 1 ? l->addresses.v + s->at : NULL;

		if (a && a[0] == a[1] + 1)
			legacy_drop_second(l, s);
	}
}

int64_t legacy_to_i64(double value)
{
	if (isnan(value))
		return 0;
	if (value >= 9.2233720368547748e18)
		return INT64_MAX;
	return value <= -9.2233720368547748e18 ? INT64_MIN : (int64_t)value;
}

/*
 * A sampler with a mean distance of R bytes sees a block of S bytes with probability 1 - exp(-S/R):
 * what it saw stands for that much more.
 */
void legacy_unsample(int64_t *count, int64_t *size, int64_t rate)
{
	double mean, scale;

	if (!*count || !*size) {
		*count = *size = 0;
		return;
	}
	if (rate <= 1)
		return;
	mean = (double)*size / (double)*count;
	scale = 1 / (1 - exp(-mean / (double)rate));
	*count = legacy_to_i64((double)*count * scale);
	*size = legacy_to_i64((double)*size * scale);
}

uint32_t legacy_find_symbol(const struct legacy *l, uint64_t address)
{
	MAP_PROBE(&l->symbol_index, hash_mix(address, l->out->dict->seed), i)
	{
		if (l->symbols.v[i].address == address)
			return i;
	}
	return UINT32_MAX;
}

enum err legacy_add_symbol(struct legacy *l, const struct legacy_symbol *symbol, bool inlined)
{
	struct legacy_symbol s = *symbol;
	uint32_t id = (uint32_t)l->symbols.n;

	if (l->symbols.n >= l->out->limits.max_entries || l->symbols.n >= MAP_NONE)
		return text_fault(&l->lines, l->out, ERR_TOO_LARGE, "too many names of addresses");
	s.next = UINT32_MAX;
	TRY(vec_push(&l->symbols, s));
	if (inlined)
		l->symbols.v[l->last_symbol].next = id;
	else
		TRY(map_put(&l->symbol_index, hash_mix(s.address, l->out->dict->seed), id));
	l->last_symbol = id;
	return ERR_OK;
}

/* `#	0x67301e	main.hold+0x5e		/src/main.go:19` */
static enum err read_symbol(struct legacy *l, struct str rest)
{
	struct legacy_symbol s = {0};
	struct str address, place;
	size_t mark;
	bool same;

	if (!text_word(&rest, &address) || !text_hex(address, &s.address))
		return ERR_OK;
	rest = str_trim(rest);
	mark = str_find(rest, '\t');
	if (mark == rest.n)
		return ERR_OK;
	s.name = str_trim((struct str){rest.p, mark});
	mark = str_rfind(s.name, '+');
	s.name.n = mark < s.name.n ? mark : s.name.n;
	place = str_trim(str_skip(rest, str_rfind(rest, '\t') + 1));
	mark = str_rfind(place, ':');
	if (mark < place.n && str_to_i64(str_skip(place, mark + 1), &s.line) == ERR_OK)
		place.n = mark;
	s.file = place;
	/* Lines with one address are one call, inlined; an address named before is known. */
	same = l->last_symbol != UINT32_MAX && l->symbols.v[l->last_symbol].address == s.address;
	l->commented = true;
	if (!s.name.n || (!same && legacy_find_symbol(l, s.address) != UINT32_MAX))
		return ERR_OK;
	return legacy_add_symbol(l, &s, same);
}

static enum err name_runtime_frame(struct legacy *l, uint64_t address, const char *name)
{
	struct legacy_symbol s = {.address = address};
	const char *text =
		name ? name
		     : arena_printf(&l->names, "runtime.0x%llx", (unsigned long long)address);

	if (!text)
		return ERR_NO_MEMORY;
	s.name = str_of(text);
	return legacy_add_symbol(l, &s, false);
}

/*
 * Go does not name runtime.goexit at the root, nor what of the runtime stands below the first
 * function of the program. Without a name they would look like functions of the program to
 * drop_frames, so they get one that says as much as is known.
 */
enum err legacy_end_comments(struct legacy *l)
{
	const struct legacy_sample *s = l->samples.n ? &l->samples.v[l->samples.n - 1] : NULL;
	const uint64_t *a;

	if (!l->commented || !s || !s->n)
		return ERR_OK;
	l->commented = false;
	a = l->addresses.v + s->at;
	if (!s->cut && legacy_find_symbol(l, a[s->n - 1]) == UINT32_MAX)
		TRY(name_runtime_frame(l, a[s->n - 1], "runtime.goexit"));
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t known = legacy_find_symbol(l, a[i]);

		if (known == UINT32_MAX)
			TRY(name_runtime_frame(l, a[i], NULL));
		else if (!str_starts(l->symbols.v[known].name, STR("runtime.")))
			break;
	}
	return ERR_OK;
}

/* A Go string in quotes at the front of a slice, without its escapes. */
static bool take_quoted(struct str *s, struct buf *out)
{
	size_t i;

	if (!s->n || s->p[0] != '"')
		return false;
	for (i = 1; i < s->n && s->p[i] != '"'; i++) {
		if (s->p[i] == '\\' && i + 1 < s->n && (s->p[i + 1] == '"' || s->p[i + 1] == '\\'))
			i++;
		buf_byte(out, (unsigned char)s->p[i]);
	}
	if (i >= s->n)
		return false;
	*s = str_skip(*s, i + 1);
	return true;
}

/* `{"worker":"1", "job":"x"}` */
static enum err read_labels(struct legacy *l, struct str rest, uint32_t *ret)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(4096);
	CLEANUP(buf_release) struct buf value = BUF_INIT(65536);
	uint32_t labels[64], n = 0;

	(void)legacy_take(&rest, "{");
	while (n < 64) {
		buf_clear(&key);
		buf_clear(&value);
		skip_blanks(&rest);
		if (!take_quoted(&rest, &key) || !legacy_take(&rest, ":") ||
		    !take_quoted(&rest, &value) || buf_error(&key) || buf_error(&value))
			break;
		TRY(text_label(l->out, buf_view(&key), buf_view(&value), &labels[n++]));
		(void)legacy_take(&rest, ",");
	}
	TRY(buf_error(&key) == ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_OK);
	TRY(buf_error(&value) == ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_OK);
	return dict_label_set(l->out->dict, labels, n, ret);
}

enum err legacy_comment(struct legacy *l, struct str line)
{
	line = str_trim(line);
	if (!line.n || !l->samples.n)
		return ERR_OK;
	line = str_skip(line, 1);
	if (str_starts(line, STR("\t0x")))
		return read_symbol(l, line);
	if (str_starts(line, STR(" labels: ")))
		return read_labels(l, str_skip(line, 9), &l->samples.v[l->samples.n - 1].labels);
	return ERR_OK;
}
