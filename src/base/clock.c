#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec now;

	/* These clocks exist on every kernel we run on: the call cannot fail. */
	clock_gettime(id, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t clock_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_suspended_ns(void)
{
	return read_clock(CLOCK_BOOTTIME) - read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t clock_process_cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_thread_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void clock_sleep_ns(int64_t ns)
{
	struct timespec left = {ns / NS_PER_S, ns % NS_PER_S};

	if (ns <= 0)
		return;
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

/* Days since 1970-01-01 of a date in the Gregorian calendar; years begin in March here, so that
 * the leap day is the last of its year. */
static int64_t days_from_date(int64_t year, int month, int day)
{
	int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
	int64_t of_era = y - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719468;
}

static void date_from_days(int64_t days, int64_t *year, int *month, int *day)
{
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t of_era = z - era * 146097;
	int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t day_of_year = of_era - (365 * y + y / 4 - y / 100);
	int64_t from_march = (5 * day_of_year + 2) / 153;

	*day = (int)(day_of_year - (153 * from_march + 2) / 5 + 1);
	*month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
	*year = y + era * 400 + (*month <= 2);
}

char *clock_format(int64_t wall_ns, int digits, char text[CLOCK_TEXT_SIZE])
{
	int64_t seconds = wall_ns / NS_PER_S, part = wall_ns % NS_PER_S, days, of_day, year;
	int month, day, n;

	if (part < 0) {
		part += NS_PER_S;
		seconds--;
	}
	days = seconds / 86400;
	of_day = seconds % 86400;
	if (of_day < 0) {
		of_day += 86400;
		days--;
	}
	date_from_days(days, &year, &month, &day);
	n = snprintf(text, CLOCK_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%09d", (int)year, month,
		     day, (int)(of_day / 3600), (int)(of_day / 60 % 60), (int)(of_day % 60),
		     (int)part);
	digits = digits < 0 ? 0 : digits > 9 ? 9 : digits;
	n -= digits ? 9 - digits : 10;
	text[n] = 'Z';
	text[n + 1] = '\0';
	return text;
}

/* Takes exactly n digits off the front. */
static enum err take_digits(struct str *s, size_t n, int *ret)
{
	uint64_t value;

	if (s->n < n)
		return ERR_CORRUPT;
	TRY(str_to_u64(str_n(s->p, n), 10, &value));
	*ret = (int)value;
	*s = str_skip(*s, n);
	return ERR_OK;
}

static enum err take_char(struct str *s, const char *accepted, char *ret)
{
	if (!s->n || !s->p[0] || !strchr(accepted, s->p[0]))
		return ERR_CORRUPT;
	if (ret)
		*ret = s->p[0];
	*s = str_skip(*s, 1);
	return ERR_OK;
}

static int days_in_month(int year, int month)
{
	static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return month == 2 && leap ? 29 : days[month - 1];
}

/* "2026-01-31T" to days. */
static enum err parse_date(struct str *s, int64_t *ret_days)
{
	int year, month, day;

	TRY(take_digits(s, 4, &year));
	TRY(take_char(s, "-", NULL));
	TRY(take_digits(s, 2, &month));
	TRY(take_char(s, "-", NULL));
	TRY(take_digits(s, 2, &day));
	TRY(take_char(s, "Tt ", NULL));
	/* The first and the last year that 64 bits of nanoseconds hold in full. */
	if (year < 1678 || year > 2261 || month < 1 || month > 12 || day < 1 ||
	    day > days_in_month(year, month))
		return ERR_CORRUPT;
	*ret_days = days_from_date(year, month, day);
	return ERR_OK;
}

/* "12:34:56.789" to nanoseconds; a leap second is the one before it, as POSIX has it. */
static enum err parse_time(struct str *s, int64_t *ret_ns)
{
	int hour, minute, second;
	int64_t fraction = 0, unit = NS_PER_S / 10;

	TRY(take_digits(s, 2, &hour));
	TRY(take_char(s, ":", NULL));
	TRY(take_digits(s, 2, &minute));
	TRY(take_char(s, ":", NULL));
	TRY(take_digits(s, 2, &second));
	if (hour > 23 || minute > 59 || second > 60)
		return ERR_CORRUPT;
	if (second == 60)
		second = 59;
	if (s->n && s->p[0] == '.') {
		*s = str_skip(*s, 1);
		if (!s->n || s->p[0] < '0' || s->p[0] > '9')
			return ERR_CORRUPT;
		for (; s->n && s->p[0] >= '0' && s->p[0] <= '9'; *s = str_skip(*s, 1)) {
			fraction += (s->p[0] - '0') * unit;
			unit /= 10;
		}
	}
	*ret_ns = (hour * 3600LL + minute * 60LL + second) * NS_PER_S + fraction;
	return ERR_OK;
}

/* "Z" or "+02:00" to seconds east of Greenwich. */
static enum err parse_offset(struct str *s, int64_t *ret_seconds)
{
	int hours, minutes;
	char sign;

	TRY(take_char(s, "Zz+-", &sign));
	*ret_seconds = 0;
	if (sign != '+' && sign != '-')
		return ERR_OK;
	TRY(take_digits(s, 2, &hours));
	TRY(take_char(s, ":", NULL));
	TRY(take_digits(s, 2, &minutes));
	if (hours > 23 || minutes > 59)
		return ERR_CORRUPT;
	*ret_seconds = (hours * 3600LL + minutes * 60LL) * (sign == '-' ? -1 : 1);
	return ERR_OK;
}

enum err clock_parse(struct str text, int64_t *ret_wall_ns)
{
	int64_t days, of_day, offset;

	TRY(parse_date(&text, &days));
	TRY(parse_time(&text, &of_day));
	TRY(parse_offset(&text, &offset));
	if (text.n)
		return ERR_CORRUPT;
	*ret_wall_ns = (days * 86400 - offset) * NS_PER_S + of_day;
	return ERR_OK;
}
