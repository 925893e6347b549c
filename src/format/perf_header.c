/*
 * The first line of a sample in `perf script` text.
 *
 * Nothing marks where comm ends: it may hold blanks, digits and brackets. So every word that could
 * be a thread id is tried from the left, and the first one behind which the rest of the line makes
 * sense is it. Which fields are there depends on perf's -F.
 */
#include "format/perf_script.h"

#define MAX_COMM 256 /* bytes in which the thread id is looked for */

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
	if (slash == word.n)
		return parse_id(word, &h->tid);
	return parse_id((struct str){word.p, slash}, &h->pid) &&
	       parse_id(str_skip(word, slash + 1), &h->tid);
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

static bool has_letter(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'z')
			return true;
	return false;
}

/* What follows the thread: `[cpu] time: period event: rest`, each optional. */
static bool parse_tail(struct str tail, struct perf_header *h)
{
	struct str rest = tail, word;

	h->has_time = h->has_period = h->record = false;
	h->event = h->rest = (struct str){0};
	if (!text_word(&rest, &word))
		return true;
	if (is_cpu(word) && !text_word(&rest, &word))
		return true;
	if (parse_time(word, &h->time_ns)) {
		h->has_time = true;
		if (!text_word(&rest, &word))
			return true;
	}
	if (str_starts(word, STR("PERF_RECORD_"))) {
		h->record = true;
		return true;
	}
	if (all_digits(word)) {
		struct str period = word, behind = rest;

		if (text_word(&behind, &word) && word.p[word.n - 1] == ':' && has_letter(word) &&
		    str_to_u64(period, 10, &h->period) == ERR_OK) {
			h->has_period = true;
			rest = behind;
		}
	}
	if (word.n > 1 && word.p[word.n - 1] == ':' && has_letter(word)) {
		h->event = (struct str){word.p, word.n - 1};
		h->rest = str_trim(rest);
		return true;
	}
	/* No event: behind a time there may be a frame. */
	h->rest = str_trim((struct str){word.p, (size_t)(tail.p + tail.n - word.p)});
	return h->has_time;
}

bool perf_header_parse(struct str line, struct perf_header *ret)
{
	struct str rest = str_trim(line), all = rest, word;
	struct perf_header h = {.pid = -1, .tid = -1};

	while (text_word(&rest, &word) && word.p - all.p < MAX_COMM) {
		if (!parse_thread(word, &h) || !parse_tail(rest, &h))
			continue;
		h.thread = (struct str){all.p, (size_t)(word.p + word.n - all.p)};
		h.comm = str_trim((struct str){all.p, (size_t)(word.p - all.p)});
		*ret = h;
		return true;
	}
	h = (struct perf_header){.pid = -1, .tid = -1};
	if (parse_tail(all, &h) && (h.has_time || h.event.n || h.record)) {
		*ret = h;
		return true;
	}
	*ret = (struct perf_header){.pid = -1, .tid = -1, .comm = all, .thread = all};
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
