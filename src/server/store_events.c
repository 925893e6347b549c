#include "server/store_events.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

#define NS_PER_HOUR (3600 * NS_PER_S)
#define NS_PER_DAY  (24 * NS_PER_HOUR)

/* ------------------------------------------------------------------ deletions */

static void audit_deleted(struct server *s, const struct store_deleted *d, const char *day)
{
	char bytes[24], count[24];
	struct fault fault = {0};
	enum err error;

	snprintf(bytes, sizeof(bytes), "%" PRIu64, d->bytes);
	snprintf(count, sizeof(count), "%" PRIu64, d->count);
	struct audit_pair pairs[] = {{"tenant", d->tenant},
				     {"service", d->service},
				     {"reason", str_of(store_deleted_text(d->why))},
				     {"day", str_of(day)},
				     {"kind", d->spans ? STR("spans") : STR("profiles")},
				     {"bytes", str_of(bytes)},
				     {"count", str_of(count)}};

	error = audit_write(s->audit, "deleted", pairs, sizeof(pairs) / sizeof(*pairs), &fault);
	/* It is in the log, and not deleting it would not make room for the line. */
	if (error)
		log_error("audit line lost", log_text("error", fault.text));
}

static void tell_deleted(struct server *s, const struct store_deleted *d)
{
	char day[CLOCK_TEXT_SIZE];

	clock_format(d->day * NS_PER_DAY, 0, day);
	day[10] = '\0';
	log_info("deleted", log_text("reason", store_deleted_text(d->why)),
		 log_str("tenant", d->tenant), log_text("day", day),
		 log_text("kind", d->spans ? "spans" : "profiles"), log_str("service", d->service),
		 log_u64("bytes", d->bytes), log_u64("count", d->count));
	audit_deleted(s, d, day);
}

/* ------------------------------------------------------------------ clock and disk */

/* "30 days", "5 hours". */
static void put_span(struct buf *out, int64_t ns)
{
	int64_t hours = ((ns < 0 ? -ns : ns) + NS_PER_HOUR / 2) / NS_PER_HOUR;

	if (hours >= 72)
		buf_printf(out, "%lld days", (long long)(hours / 24));
	else
		buf_printf(out, "%lld hour%s", (long long)hours, hours == 1 ? "" : "s");
}

void store_events_clock_text(const struct store_clock_state *clock, struct buf *out)
{
	char trusted[CLOCK_TEXT_SIZE];

	if (clock->trust == STORE_CLOCK_TRUSTED)
		return;
	buf_text(out, "retention is suspended: the wall clock is ");
	put_span(out, clock->off_by_ns);
	buf_printf(out,
		   " %s what has been measured (%s); set it right, or if it is right, run: vestal "
		   "retention confirm",
		   clock->trust == STORE_CLOCK_AHEAD ? "ahead of" : "behind",
		   clock_format(clock->trusted_ns, 0, trusted));
}

static void tell_clock(const struct store_clock_state *clock)
{
	struct buf text = BUF_INIT(1024), hours = BUF_INIT(100);

	store_events_clock_text(clock, &text);
	put_span(&hours, clock->uncounted_ns);
	if (clock->trust != STORE_CLOCK_TRUSTED)
		log_warn("clock", log_str("state", buf_view(&text)));
	else if (clock->uncounted_ns)
		log_info("clock",
			 log_text("state", "trusted; time in which the machine was off does "
					   "not count for retention"),
			 log_str("uncounted", buf_view(&hours)));
	else
		log_info("clock", log_text("state", "trusted; retention continues"));
	buf_release(&text);
	buf_release(&hours);
}

static void tell_disk(const struct server *s, const struct store_disk *disk)
{
	const char *directory = s->options.store.directory;

	if (disk->state != STORE_DISK_OK)
		log_error("disk", log_text("state", store_disk_text(disk->state)),
			  log_text("effect",
				   "uploads are refused with 503; queries and deletes go on"),
			  log_text("directory", directory ? directory : ""),
			  log_u64("free_bytes", disk->free_bytes));
	else
		log_info("disk", log_text("state", "accepts writes again"),
			 log_u64("free_bytes", disk->free_bytes));
}

void store_events_tell(void *context, const struct store_event *event)
{
	struct server *s = context;

	/* The store may be at work before the server has its audit log. */
	mutex_lock(&s->told_lock);
	switch (event->kind) {
	case STORE_DELETED:
		tell_deleted(s, event->deleted);
		break;
	case STORE_CLOCK_CHANGED:
		tell_clock(event->clock);
		break;
	case STORE_DISK_CHANGED:
		tell_disk(s, event->disk);
		break;
	}
	mutex_unlock(&s->told_lock);
}
