/*
 * The first line of a sample in `perf script` text.
 *
 * Nothing marks where comm ends: it may hold blanks, digits, brackets and colons. So every word is
 * tried as the one behind it, and of the ways that make sense the one is taken that other lines of
 * the file are read by too; without any to compare with, the one that fits perf's column widths and
 * finds most. Which fields are there depends on perf's -F.
 */
#include "format/perf_script.h"

#define MAX_COMM 256 /* bytes in which the end of comm is looked for */

/* What is left of a line, and how the field that was taken last stood in it. */
struct cursor {
	struct str rest;
	struct str word;
	size_t width; /* of the word with the blanks it is padded by */
	bool first;   /* no separating blank before it */
};

static bool next_word(struct cursor *c)
{
	size_t blanks = 0;

	while (blanks < c->rest.n && text_is_space(c->rest.p[blanks]))
		blanks++;
	if (!text_word(&c->rest, &c->word))
		return false;
	c->width = c->word.n + blanks - (blanks && !c->first);
	c->first = false;
	return true;
}

static bool all_digits(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!text_is_digit(s.p[i]))
			return false;
	return s.n > 0;
}

static bool parse_id(struct str s, int64_t *ret)
{
	if (str_eq(s, STR("-1"))) {
		*ret = -1;
		return true;
	}
	return all_digits(s) && s.n <= 10 && str_to_i64(s, ret) == ERR_OK;
}

/* `123` is a thread, `12/34` a process and its thread. */
static bool parse_thread(struct str word, struct perf_header *h)
{
	size_t slash = str_find(word, '/');

	h->pid = h->tid = -1;
	h->fields = slash == word.n ? PERF_HAS_TID : PERF_HAS_PID;
	if (slash == word.n)
		return parse_id(word, &h->tid);
	return parse_id((struct str){word.p, slash}, &h->pid) &&
	       parse_id(str_skip(word, slash + 1), &h->tid);
}

/* perf prints a thread in 5 columns, since 6.4 in 7, or as many as it needs. */
static bool fits_thread(const struct cursor *c)
{
	size_t n = c->word.n, slash = str_find(c->word, '/');
	size_t width = c->width - (n - slash);

	return slash <= 7 && (width == 5 || width == 7 || (slash >= 5 && width == slash));
}

/* `1471.154747:`, seconds with 6 or 9 decimals. */
static bool parse_time(struct str word, uint64_t *ret)
{
	size_t dot = str_find(word, '.');
	uint64_t seconds, fraction;
	struct str decimals;

	if (word.n < 3 || word.p[word.n - 1] != ':' || dot == word.n)
		return false;
	decimals = (struct str){word.p + dot + 1, word.n - dot - 2};
	if (decimals.n != 6 && decimals.n != 9)
		return false;
	if (str_to_u64((struct str){word.p, dot}, 10, &seconds) ||
	    str_to_u64(decimals, 10, &fraction) || seconds > UINT64_MAX / 1000000000 - 1)
		return false;
	*ret = seconds * 1000000000 + fraction * (decimals.n == 6 ? 1000 : 1);
	return true;
}

static bool is_cpu(struct str word)
{
	return word.n > 2 && word.p[0] == '[' && word.p[word.n - 1] == ']' &&
	       all_digits((struct str){word.p + 1, word.n - 2});
}

/* Where the sample was taken: K, U, and more of a record. */
static bool is_misc(struct str word)
{
	static const struct str letters = {"KUHGgMESp", 9};

	for (size_t i = 0; i < word.n; i++)
		if (str_find(letters, word.p[i]) == letters.n)
			return false;
	return word.n > 0 && word.n <= 4;
}

/* `2026-11-18` of a date with a time of day. */
static bool is_date(struct str word)
{
	for (size_t i = 0; i < word.n; i++)
		if (i == 4 || i == 7 ? word.p[i] != '-' : !text_is_digit(word.p[i]))
			return false;
	return word.n == 10;
}

/* `2026-11-18 21:00:00.123456`, or a word in its place before the time. */
static bool take_date(struct cursor *c)
{
	struct cursor next = *c;
	uint64_t ns;

	if (!next_word(&next))
		return false;
	if (is_date(c->word)) {
		*c = next;
		return true;
	}
	return (str_eq(c->word, STR("disabled")) || str_eq(c->word, STR("failed"))) &&
	       parse_time(next.word, &ns);
}

static bool has_letter(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'z')
			return true;
	return false;
}

static bool is_event(struct str word)
{
	return word.n > 1 && word.p[word.n - 1] == ':' && has_letter(word);
}

/* The event at the cursor: a word, or `raw 0x1a8`. */
static bool take_event(struct cursor *c, struct perf_header *h)
{
	struct cursor next = *c;
	struct str name = c->word;

	if (str_eq(name, STR("raw")) && next_word(&next) && str_starts(next.word, STR("0x")) &&
	    is_event(next.word)) {
		*c = next;
		name.n = (size_t)(c->word.p + c->word.n - name.p);
	} else if (!is_event(name)) {
		return false;
	}
	h->event = (struct str){name.p, name.n - 1};
	h->fields |= PERF_HAS_EVENT;
	return true;
}

static bool take_period(struct cursor *c, struct perf_header *h, bool *strict)
{
	struct cursor next = *c;
	bool fits = c->width >= 10, more;

	if (!all_digits(c->word) || str_to_u64(c->word, 10, &h->period))
		return false;
	more = next_word(&next);
	/* Alone, it is one only where perf would have put it. */
	if (!fits && (!more || !(is_event(next.word) || str_eq(next.word, STR("raw")))))
		return false;
	*strict &= fits;
	h->has_period = true;
	h->fields |= PERF_HAS_PERIOD;
	return true;
}

/*
 * What follows the thread: `[cpu] misc date time: period event: rest`, each optional. `strict` is
 * cleared when something does not stand where perf would have put it.
 */
static bool parse_tail(struct cursor c, struct perf_header *h, bool *strict)
{
	struct str from = c.rest;

	if (!next_word(&c))
		return true;
	if (is_cpu(c.word)) {
		h->fields |= PERF_HAS_CPU;
		from = c.rest;
		if (!next_word(&c))
			return true;
	}
	if (is_misc(c.word)) {
		h->fields |= PERF_HAS_MISC;
		from = c.rest;
		if (!next_word(&c))
			return true;
	}
	if (take_date(&c)) {
		h->fields |= PERF_HAS_TOD;
		from = c.rest;
		if (!next_word(&c))
			return true;
	}
	if (parse_time(c.word, &h->time_ns)) {
		h->has_time = true;
		h->fields |= PERF_HAS_TIME;
		from = c.rest;
		if (!next_word(&c))
			return true;
	}
	if (str_starts(c.word, STR("PERF_RECORD_"))) {
		h->record = true;
		return true;
	}
	if (take_period(&c, h, strict)) {
		from = c.rest;
		if (!next_word(&c))
			return true;
	}
	if (take_event(&c, h))
		from = c.rest;
	h->rest = from;
	return h->fields & (PERF_HAS_TIME | PERF_HAS_PERIOD | PERF_HAS_EVENT);
}

/* How much a way to read a line finds. */
static unsigned worth(const struct perf_header *h, bool strict)
{
	static const struct {
		unsigned field, worth;
	} parts[] = {{PERF_HAS_TIME | PERF_HAS_TOD, 8},
		     {PERF_HAS_TID | PERF_HAS_PID, 5},
		     {PERF_HAS_PERIOD, 4},
		     {PERF_HAS_EVENT, 2},
		     {PERF_HAS_CPU, 1}};
	unsigned sum = strict ? 100 : 1;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (h->fields & parts[i].field)
			sum += parts[i].worth;
	return sum;
}

struct choice {
	const struct perf_layout *layout;
	struct perf_header *best;
	uint32_t usual; /* lines that are read like the best one */
	unsigned worth; /* 0 = there is none yet */
};

static void offer(struct choice *c, const struct perf_header *h, bool strict)
{
	uint32_t usual = c->layout ? c->layout->fields[h->fields] : 0;
	unsigned w = worth(h, strict);

	if (c->worth && (usual < c->usual || (usual == c->usual && w <= c->worth)))
		return;
	*c->best = *h;
	c->usual = usual;
	c->worth = w;
}

/* Comm is what stands before `at`. */
static void set_comm(struct perf_header *h, struct str line, const char *at, size_t behind)
{
	h->comm = str_trim((struct str){line.p, (size_t)(at - line.p)});
	h->thread = str_trim((struct str){line.p, (size_t)(at - line.p) + behind});
	if (h->comm.n)
		h->fields |= PERF_HAS_COMM;
}

/* A comm may end in a number or in brackets, but a thread and a CPU are more likely. */
static bool ends_in_field(struct str comm)
{
	struct perf_header h;
	uint64_t ns;

	return parse_thread(comm, &h) || is_cpu(comm) || parse_time(comm, &ns);
}

/* The word at the cursor is the thread, or what follows comm without one. */
static void try_word(struct choice *choice, struct str line, const struct cursor *before,
		     const struct cursor *c)
{
	const struct perf_header none = {.pid = -1, .tid = -1};
	struct perf_header h = none;
	/* perf never has more of comm. */
	bool strict = c->word.p - line.p <= 32 && fits_thread(c);

	if (parse_thread(c->word, &h) && parse_tail(*c, &h, &strict)) {
		set_comm(&h, line, c->word.p, c->word.n);
		offer(choice, &h, strict);
	}
	h = none;
	strict = c->word.p - line.p <= 32 && !ends_in_field(before->word);
	if (parse_tail(*before, &h, &strict) && (h.fields || h.record)) {
		set_comm(&h, line, c->word.p, 0);
		offer(choice, &h, strict);
	}
}

/* Skips `word:`, a number, and the blank after it. */
static bool skip_numbered(struct str *line, struct str word)
{
	struct str rest = *line;
	size_t digits = 0;

	if (!str_starts(rest, word))
		return false;
	rest = str_skip(rest, word.n);
	while (rest.n && rest.p[0] == ' ')
		rest = str_skip(rest, 1);
	while (digits < rest.n && text_is_digit(rest.p[digits]))
		digits++;
	if (!digits || digits == rest.n || rest.p[digits] != ' ')
		return false;
	*line = str_skip(rest, digits + 1);
	return true;
}

bool perf_header_parse(struct str line, const struct perf_layout *layout, struct perf_header *ret)
{
	struct perf_header best = {.pid = -1, .tid = -1};
	struct choice choice = {.layout = layout, .best = &best};
	struct cursor c, before;

	/* Written by -F machine_pid,vcpu for samples of a guest. */
	if (skip_numbered(&line, STR("VM:")))
		skip_numbered(&line, STR("VCPU:"));
	before = c = (struct cursor){.rest = line, .first = true};
	while (next_word(&c) && c.word.p - line.p < MAX_COMM) {
		try_word(&choice, line, &before, &c);
		before = c;
	}
	*ret = best;
	/* Where most lines are nothing but a comm, `1234` is one too. */
	if (choice.worth && !(layout && layout->fields[PERF_HAS_COMM] > choice.usual))
		return true;
	*ret = (struct perf_header){.pid = -1, .tid = -1};
	ret->comm = ret->thread = str_trim(line);
	ret->fields = PERF_HAS_COMM;
	return false;
}

struct str perf_event_name(struct str event)
{
	static const struct str modifiers = {"ukhHGSDpPIWeb", 13};
	size_t colon = str_rfind(event, ':');
	struct str suffix = str_skip(event, colon + 1);

	if (colon == event.n || colon == 0)
		return event;
	for (size_t i = 0; i < suffix.n; i++)
		if (str_find(modifiers, suffix.p[i]) == modifiers.n)
			return event;
	return (struct str){event.p, colon};
}
