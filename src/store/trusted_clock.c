#include "store/trusted_clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define NS_PER_HOUR (3600 * NS_PER_S)

/* A wall clock that is off by more has jumped. Time servers correct less, and slowly. */
#define JUMP_NS	  NS_PER_HOUR
#define DRIFT_PER 1000 /* … and a poor clock may drift by one part in so many */

/* A restart takes less. */
#define GAP_NS	  (600 * NS_PER_S)
/* Suspension shorter than this is noise between two readings. */
#define NAP_NS	  (60 * NS_PER_S)
/* So long after a boot the clock may be set right by the first time server that answers. */
#define SETTLE_NS NS_PER_HOUR

static int64_t no_sleep(void)
{
	return 0;
}

/* Empty where the kernel does not say: then every start counts as one after another boot. */
static void read_boot_id(char *to, size_t size)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, to, size - 1) : 0;

	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = '\0';
	to[strcspn(to, "\n ")] = '\0';
}

void trusted_clock_init(struct trusted_clock *c, const struct store_options *o)
{
	memset(c, 0, sizeof(*c));
	mutex_init(&c->lock);
	c->wall_ns = o->now_ns ? o->now_ns : clock_wall_ns;
	c->steady_ns = o->steady_ns ? o->steady_ns : o->now_ns ? o->now_ns : clock_monotonic_ns;
	c->asleep_ns = o->asleep_ns		   ? o->asleep_ns
		       : o->steady_ns || o->now_ns ? no_sleep
						   : clock_suspended_ns;
	read_boot_id(c->boot, sizeof(c->boot));
	c->anchor_ns = c->start_ns = c->steady_ns();
	c->asleep_seen_ns = c->asleep_ns();
	atomic_store(&c->offset_ns, c->wall_ns() - c->start_ns);
}

void trusted_clock_release(struct trusted_clock *c)
{
	if (c->wall_ns)
		mutex_release(&c->lock);
}

/* ------------------------------------------------------------------ gaps */

/* Two neighbours become one, with the time between them: data is kept longer by that. */
static void merge_nearest(struct trusted_clock *c)
{
	size_t at = 0;

	for (size_t i = 1; i + 1 < c->gap_count; i++)
		if (c->gaps[i + 1].from_ns - c->gaps[i].until_ns <
		    c->gaps[at + 1].from_ns - c->gaps[at].until_ns)
			at = i;
	c->gaps[at].until_ns = c->gaps[at + 1].until_ns;
	c->gap_count--;
	memmove(&c->gaps[at + 1], &c->gaps[at + 2], (c->gap_count - at - 1) * sizeof(*c->gaps));
}

/* Later than all that are there. */
static void add_gap(struct trusted_clock *c, int64_t from_ns, int64_t until_ns)
{
	if (until_ns - from_ns < GAP_NS)
		return;
	if (c->gap_count && from_ns < c->gaps[c->gap_count - 1].until_ns)
		from_ns = c->gaps[c->gap_count - 1].until_ns;
	if (until_ns <= from_ns)
		return;
	if (c->gap_count == CLOCK_GAPS_MAX)
		merge_nearest(c);
	c->gaps[c->gap_count++] = (struct time_gap){from_ns, until_ns};
}

void trusted_clock_forget(struct trusted_clock *c, int64_t before_ns)
{
	size_t gone = 0;

	mutex_lock(&c->lock);
	while (!c->settling && gone < c->gap_count && c->gaps[gone].until_ns < before_ns)
		gone++;
	c->gap_count -= gone;
	memmove(c->gaps, c->gaps + gone, c->gap_count * sizeof(*c->gaps));
	mutex_unlock(&c->lock);
}

/* ------------------------------------------------------------------ comparing */

static void believe(struct trusted_clock *c, int64_t trusted_ns, int64_t steady_ns)
{
	atomic_store(&c->offset_ns, trusted_ns - steady_ns);
	c->anchor_ns = steady_ns;
}

/*
 * After another boot: the record has the time record_ns; since then the machine was off for an
 * unknown time. Trust the wall clock, and treat the time in between as a gap.
 */
static void settle(struct trusted_clock *c, int64_t wall_ns, int64_t steady_ns)
{
	int64_t least = c->record_ns + (steady_ns - c->start_ns);

	c->gap_count = c->settled_gaps;
	if (wall_ns < least - JUMP_NS) {
		/* It was later than this already. */
		believe(c, least, steady_ns);
		return;
	}
	believe(c, wall_ns, steady_ns);
	add_gap(c, c->record_ns, wall_ns - (steady_ns - c->start_ns));
}

static void begin_to_settle(struct trusted_clock *c, int64_t record_ns)
{
	c->record_ns = record_ns;
	c->settled_gaps = c->gap_count;
	settle(c, c->wall_ns(), c->start_ns);
	/* A machine that has been up for long has the right time, or its clock will jump. */
	c->settling = c->start_ns < SETTLE_NS;
}

/* The kernel advances the wall clock by as much as it was suspended. */
static void notice_sleep(struct trusted_clock *c, int64_t steady_ns)
{
	int64_t asleep = c->asleep_ns(), slept = asleep - c->asleep_seen_ns;
	int64_t trusted = steady_ns + atomic_load(&c->offset_ns);

	if (slept < NAP_NS)
		return;
	c->asleep_seen_ns = asleep;
	add_gap(c, trusted, trusted + slept);
	atomic_fetch_add(&c->offset_ns, slept);
}

/* With the lock. */
static void tell(struct trusted_clock *c, int64_t steady_ns, struct store_clock_state *ret)
{
	*ret = (struct store_clock_state){.trust = c->trust,
					  .off_by_ns = c->off_by_ns,
					  .trusted_ns = steady_ns + atomic_load(&c->offset_ns),
					  .since_ns = c->since_ns};
	for (size_t i = 0; i < c->gap_count; i++)
		ret->uncounted_ns += c->gaps[i].until_ns - c->gaps[i].from_ns;
}

/* With the lock. */
static bool compare(struct trusted_clock *c, struct store_clock_state *ret)
{
	int64_t wall = c->wall_ns(), steady = c->steady_ns(), off, tolerance;
	enum store_clock_trust before = c->trust;

	notice_sleep(c, steady);
	if (c->settling) {
		settle(c, wall, steady);
		c->settling = steady < SETTLE_NS;
	}
	off = wall - (steady + atomic_load(&c->offset_ns));
	tolerance = JUMP_NS + (steady - c->anchor_ns) / DRIFT_PER;
	c->trust = off > tolerance    ? STORE_CLOCK_AHEAD
		   : off < -tolerance ? STORE_CLOCK_BEHIND
				      : STORE_CLOCK_TRUSTED;
	c->off_by_ns = c->trust == STORE_CLOCK_TRUSTED ? 0 : off;
	if (c->trust != before)
		c->since_ns = steady + atomic_load(&c->offset_ns);
	tell(c, steady, ret);
	return c->trust != before;
}

bool trusted_clock_look(struct trusted_clock *c, struct store_clock_state *ret)
{
	bool changed;

	mutex_lock(&c->lock);
	changed = compare(c, ret);
	mutex_unlock(&c->lock);
	return changed;
}

void trusted_clock_peek(struct trusted_clock *c, struct store_clock_state *ret)
{
	mutex_lock(&c->lock);
	tell(c, c->steady_ns(), ret);
	mutex_unlock(&c->lock);
}

void trusted_clock_confirm(struct trusted_clock *c)
{
	mutex_lock(&c->lock);
	c->settling = false;
	c->gap_count = 0;
	c->asleep_seen_ns = c->asleep_ns();
	c->trust = STORE_CLOCK_TRUSTED;
	c->off_by_ns = 0;
	believe(c, c->wall_ns(), c->steady_ns());
	mutex_unlock(&c->lock);
}

int64_t trusted_clock_age(struct trusted_clock *c, int64_t time_ns)
{
	int64_t now, age;

	mutex_lock(&c->lock);
	now = c->wall_ns();
	age = now - time_ns;
	for (size_t i = 0; i < c->gap_count; i++) {
		const struct time_gap *g = &c->gaps[i];
		int64_t from = g->from_ns > time_ns ? g->from_ns : time_ns;
		int64_t until = g->until_ns < now ? g->until_ns : now;

		if (until > from)
			age -= until - from;
	}
	mutex_unlock(&c->lock);
	return age > 0 ? age : 0;
}

void trusted_clock_bounds(const struct trusted_clock *c, int64_t *ret_low_ns, int64_t *ret_high_ns)
{
	int64_t wall = c->wall_ns(), trusted = c->steady_ns() + atomic_load(&c->offset_ns);

	*ret_low_ns = wall < trusted ? wall : trusted;
	*ret_high_ns = wall < trusted ? trusted : wall;
}

/* ------------------------------------------------------------------ the record */

/*
 * Lines of a word and numbers:
 *
 *	clock 1			the format
 *	boot ID			of the machine, as the kernel calls it
 *	trusted NS		what the time is, for certain …
 *	steady NS		… at this time of the monotonic clock
 *	asleep NS		suspension since the boot
 *	anchor NS		steady time since which the clock was believed
 *	off_by NS		by how much the wall clock has jumped; 0 = not
 *	gap FROM UNTIL		any number of them, in order
 *	end			so that a cut record is none
 */
struct clock_record {
	int64_t format, trusted_ns, steady_ns, asleep_ns, anchor_ns, off_by_ns;
	struct str boot;
	struct time_gap gaps[CLOCK_GAPS_MAX];
	size_t gap_count;
	bool ended;
};

enum err trusted_clock_write(struct trusted_clock *c, struct buf *out)
{
	struct store_clock_state now;
	int64_t steady;

	mutex_lock(&c->lock);
	(void)compare(c, &now);
	steady = now.trusted_ns - atomic_load(&c->offset_ns);
	buf_printf(out, "clock 1\nboot %s\ntrusted %lld\nsteady %lld\nasleep %lld\nanchor %lld\n",
		   c->boot, (long long)now.trusted_ns, (long long)steady,
		   (long long)c->asleep_seen_ns, (long long)c->anchor_ns);
	buf_printf(out, "off_by %lld\n", (long long)now.off_by_ns);
	for (size_t i = 0; i < c->gap_count; i++)
		buf_printf(out, "gap %lld %lld\n", (long long)c->gaps[i].from_ns,
			   (long long)c->gaps[i].until_ns);
	mutex_unlock(&c->lock);
	buf_text(out, "end\n");
	return buf_error(out);
}

static bool read_number(struct str text, int64_t *ret)
{
	return str_to_i64(text, ret) == ERR_OK;
}

static bool read_gap(struct clock_record *r, struct str text)
{
	size_t space = str_find(text, ' ');
	struct time_gap g;

	if (space == text.n || r->gap_count == CLOCK_GAPS_MAX ||
	    !read_number(str_n(text.p, space), &g.from_ns) ||
	    !read_number(str_skip(text, space + 1), &g.until_ns) || g.from_ns < 0 ||
	    g.until_ns <= g.from_ns ||
	    (r->gap_count && g.from_ns < r->gaps[r->gap_count - 1].until_ns))
		return false;
	r->gaps[r->gap_count++] = g;
	return true;
}

static bool read_line(struct clock_record *r, struct str line)
{
	const struct {
		struct str word;
		int64_t *to;
	} numbers[] = {{STR("clock"), &r->format},     {STR("trusted"), &r->trusted_ns},
		       {STR("steady"), &r->steady_ns}, {STR("asleep"), &r->asleep_ns},
		       {STR("anchor"), &r->anchor_ns}, {STR("off_by"), &r->off_by_ns}};
	size_t space = str_find(line, ' ');
	struct str word = str_n(line.p, space), rest = {0};

	if (space < line.n)
		rest = str_skip(line, space + 1);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (str_eq(word, numbers[i].word))
			return read_number(rest, numbers[i].to);
	if (str_eq(word, STR("gap")))
		return read_gap(r, rest);
	if (str_eq(word, STR("boot")))
		r->boot = rest;
	r->ended |= str_eq(word, STR("end"));
	return true;
}

/* Times that the sums above cannot overflow on. */
static bool is_plausible(const struct clock_record *r)
{
	const int64_t most = INT64_MAX / 4;

	return r->ended && r->format == 1 && r->trusted_ns > 0 && r->trusted_ns < most &&
	       r->steady_ns >= 0 && r->steady_ns < most && r->asleep_ns > -most &&
	       r->asleep_ns < most && r->anchor_ns >= 0 && r->anchor_ns <= r->steady_ns &&
	       r->off_by_ns > -most && r->off_by_ns < most &&
	       (!r->gap_count || r->gaps[r->gap_count - 1].until_ns < most);
}

/* An unconfirmed jump from before the shutdown that still exists. */
static bool still_off(const struct clock_record *r, int64_t wall_ns)
{
	int64_t off = wall_ns - r->trusted_ns;

	return r->off_by_ns > 0 ? off > r->off_by_ns / 2 : r->off_by_ns < 0 && off < -JUMP_NS;
}

static void resume(struct trusted_clock *c, const struct clock_record *r)
{
	memcpy(c->gaps, r->gaps, sizeof(c->gaps));
	c->gap_count = r->gap_count;
	if (c->boot[0] && str_eq(str_of(c->boot), r->boot) && c->start_ns >= r->steady_ns) {
		atomic_store(&c->offset_ns, r->trusted_ns - r->steady_ns);
		c->anchor_ns = r->anchor_ns;
		c->asleep_seen_ns = r->asleep_ns;
	} else if (still_off(r, c->wall_ns())) {
		believe(c, r->trusted_ns, c->start_ns);
	} else {
		begin_to_settle(c, r->trusted_ns);
	}
}

enum err trusted_clock_read(struct trusted_clock *c, struct str record)
{
	struct clock_record r = {0};
	struct str line;

	while (!r.ended && str_split(&record, '\n', &line))
		if (!read_line(&r, line))
			return ERR_CORRUPT;
	if (!is_plausible(&r))
		return ERR_CORRUPT;
	mutex_lock(&c->lock);
	resume(c, &r);
	mutex_unlock(&c->lock);
	return ERR_OK;
}

void trusted_clock_resume_from(struct trusted_clock *c, int64_t newest_ns)
{
	mutex_lock(&c->lock);
	if (newest_ns < c->wall_ns())
		begin_to_settle(c, newest_ns);
	mutex_unlock(&c->lock);
}
