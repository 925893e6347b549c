/*
 * Text profiles that count stacks: Go's goroutine and threadcreate profiles, thread dumps, and
 * contention on locks.
 */
#include "format/legacy.h"

static enum err set_period(struct legacy *l, struct str type, int64_t period)
{
	l->profile->period = period;
	TRY(dict_string(l->out->dict, type, &l->profile->period_type.type));
	return dict_text(l->out->dict, "count", &l->profile->period_type.unit);
}

/*
 *	goroutine profile: total 7
 *	1 @ 0x448d11 0x48895d …
 *	# labels: {"worker":"1"}
 *	#	0x448d10	main.f+0xb0	/src/main.go:85
 */
static enum err read_count_sample(struct legacy *l, struct str line)
{
	struct legacy_sample *s;
	int64_t count;

	if (!legacy_take_int(&line, &count) || count < 0 || !legacy_take(&line, "@"))
		return text_fault(&l->lines, l->out, ERR_CORRUPT, "expected \"count @ addresses\"");
	/* Go pads stacks of threads with zeros. */
	while (str_ends(line, STR(" 0x0")))
		line.n -= 4;
	TRY(legacy_begin_sample(l, &s));
	s->values[0] = count;
	return legacy_push_all(l, line, 1, false);
}

enum err legacy_count(struct legacy *l)
{
	struct str line, type;
	bool maps = false;

	l->out->variant = "legacy Go count";
	if (!legacy_first_line(&l->lines, &line) || !text_word(&line, &type))
		return text_fault(&l->lines, l->out, ERR_CORRUPT,
				  "expected \"x profile: total N\"");
	TRY(profile_add_type(l->profile, type, STR("count")));
	TRY(set_period(l, type, 1));
	while (text_line(&l->lines, &line)) {
		maps = legacy_is_map_start(line);
		if (maps || str_starts(line, STR("---")))
			break;
		TRY(legacy_is_comment(line) ? legacy_comment(l, line) : read_count_sample(l, line));
	}
	return legacy_read_maps(l, !maps);
}

/*
 *	--- Thread 7f794ab90940 (name: main/14748) stack: ---
 *	  PC:  0x00bc8f1c: helper(arg *)
 *	  0x0040be31: main
 */
static bool is_thread_start(struct str line)
{
	return str_starts(line, STR("--- Thread ")) && str_search(line, STR(" (name: ")) < line.n &&
	       str_search(line, STR(") stack: ---")) < line.n;
}

/* The stack below the line of a thread; *line becomes the one that ends it. */
static enum err read_thread(struct legacy *l, struct str *line)
{
	struct legacy_sample *s;
	bool same = false, more;

	TRY(legacy_begin_sample(l, &s));
	while ((more = text_line(&l->lines, line))) {
		*line = str_trim(*line);
		if (str_starts(*line, STR("---")) || legacy_is_map_start(*line))
			break;
		if (str_search(*line, STR("same as previous thread")) < line->n)
			same = true;
		else
			TRY(legacy_push_all(l, *line, 1, true));
	}
	if (!more)
		*line = (struct str){0};
	s = &l->samples.v[l->samples.n - 1];
	s->values[0] = 1;
	if (!same && s->n)
		return ERR_OK;
	/* The stack of the thread before, once more. */
	l->addresses.n = s->at;
	l->samples.n--;
	if (l->samples.n)
		l->samples.v[l->samples.n - 1].values[0]++;
	return ERR_OK;
}

enum err legacy_threads(struct legacy *l)
{
	struct str line = {0};

	l->out->variant = "legacy threads";
	TRY(profile_add_type(l->profile, STR("thread"), STR("count")));
	TRY(set_period(l, STR("thread"), 1));
	if (legacy_first_line(&l->lines, &line) && str_starts(line, STR("--- threadz ")))
		while (text_line(&l->lines, &line))
			if (legacy_is_map_start(line) || str_starts(line, STR("-")))
				break;
	while (line.n && !legacy_is_map_start(line)) {
		if (str_starts(line, STR("---- no stack trace for")))
			break;
		if (!is_thread_start(line))
			return text_fault(&l->lines, l->out, ERR_CORRUPT,
					  "expected \"--- Thread ID (name: NAME/N) stack: ---\"");
		TRY(read_thread(l, &line));
	}
	legacy_drop_doubled_leaves(l);
	return legacy_read_maps(l, !legacy_is_map_start(line));
}

/*
 *	--- contention:
 *	cycles/second=2596139568
 *	sampling period=1
 *	4936247270 3460 @ 0x673450 …
 *
 * Cycles waited, times waited. Go writes `--- mutex:` too.
 */
static enum err read_attribute(struct legacy *l, struct str line, int64_t *cycles_per_second)
{
	size_t equals = str_find(line, '=');
	struct str key = str_trim((struct str){line.p, equals});
	int64_t value = 0;

	if (str_to_i64(str_trim(str_skip(line, equals + 1)), &value) != ERR_OK)
		return text_fault(&l->lines, l->out, ERR_CORRUPT, "\"%.*s\" is not a number",
				  (int)(key.n < 40 ? key.n : 40), key.p);
	if (str_eq(key, STR("cycles/second")))
		*cycles_per_second = value;
	else if (str_eq(key, STR("sampling period")))
		l->profile->period = value;
	else if (str_eq(key, STR("ms since reset")))
		l->profile->duration_ns = legacy_to_i64((double)value * 1e6);
	else if (!str_eq(key, STR("discarded samples")))
		return text_fault(&l->lines, l->out, ERR_CORRUPT, "unknown attribute \"%.*s\"",
				  (int)(key.n < 40 ? key.n : 40), key.p);
	return ERR_OK;
}

static enum err read_contention(struct legacy *l, struct str line, int64_t cycles_per_second)
{
	int64_t delay, count, period = l->profile->period;
	struct legacy_sample *s;

	if (!legacy_take_int(&line, &delay) || !legacy_take_int(&line, &count) || delay < 0 ||
	    count < 0 || !legacy_take(&line, "@"))
		return text_fault(&l->lines, l->out, ERR_CORRUPT,
				  "expected \"cycles count @ addresses\"");
	if (period > 0 && cycles_per_second > 0)
		delay = legacy_to_i64((double)delay * (double)period /
				      ((double)cycles_per_second / 1e9));
	if (period > 0 && __builtin_mul_overflow(count, period, &count))
		return text_fault(&l->lines, l->out, ERR_CORRUPT,
				  "count times sampling period does not fit in 64 bits");
	TRY(legacy_begin_sample(l, &s));
	s->values[0] = count;
	s->values[1] = delay;
	return legacy_push_all(l, line, 1, false);
}

enum err legacy_contention(struct legacy *l)
{
	int64_t cycles_per_second = 0;
	struct str line;

	l->out->variant = "legacy contention";
	TRY(profile_add_type(l->profile, STR("contentions"), STR("count")));
	TRY(profile_add_type(l->profile, STR("delay"), STR("nanoseconds")));
	TRY(set_period(l, STR("contentions"), 1));
	(void)legacy_first_line(&l->lines, &line);
	while (text_line(&l->lines, &line)) {
		if (str_starts(line, STR("---")))
			return legacy_read_maps(l, !legacy_is_map_start(line));
		if (legacy_is_comment(line))
			TRY(legacy_comment(l, line));
		else if (str_find(line, '=') < line.n && !l->samples.n)
			TRY(read_attribute(l, line, &cycles_per_second));
		else
			TRY(read_contention(l, str_trim(line), cycles_per_second));
	}
	return legacy_read_maps(l, false);
}
