#include "cli/term.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "model/model.h"

bool term_is(int fd)
{
	return isatty(fd) == 1;
}

unsigned term_width(int fd)
{
	struct winsize size;

	if (!term_is(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

bool term_color(int fd, const char *when)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (when && strcmp(when, "always") == 0)
		return true;
	if ((when && strcmp(when, "never") == 0) || (no_color && no_color[0]))
		return false;
	if (!term || strcmp(term, "dumb") == 0)
		return false;
	return term_is(fd);
}

#define PROGRESS_DELAY_NS  NS_PER_S
#define PROGRESS_PERIOD_NS (NS_PER_S / 10)
#define PROGRESS_BAR	   24

static struct {
	bool active;
	volatile bool shown; /* read by the signal handler */
	const char *what;
	enum progress_unit unit;
	uint64_t total;
	int64_t started, painted;
} progress;

void progress_begin(const char *what, enum progress_unit unit, uint64_t total, bool quiet)
{
	progress_end();
	if (quiet || !term_is(STDERR_FILENO))
		return;
	progress.active = true;
	progress.what = what;
	progress.unit = unit;
	progress.total = total;
	progress.started = clock_monotonic_ns();
	progress.painted = 0;
}

static void put_amount(struct buf *out, uint64_t amount)
{
	if (progress.unit == PROGRESS_BYTES)
		unit_format(out, (double)amount, STR("bytes"));
	else
		buf_u64(out, amount);
}

static void put_bar(struct buf *out, uint64_t done)
{
	uint64_t total = progress.total;
	unsigned filled =
		(unsigned)((double)(done < total ? done : total) / (double)total * PROGRESS_BAR);

	buf_byte(out, '[');
	for (unsigned i = 0; i < PROGRESS_BAR; i++)
		buf_byte(out, i < filled ? '#' : '.');
	buf_text(out, "] ");
}

static void paint(uint64_t done)
{
	static const char *const names[] = {"", " files", " s"};
	CLEANUP(buf_release) struct buf line = BUF_INIT(4096);
	unsigned width = term_width(STDERR_FILENO);

	buf_printf(&line, "%.60s ", progress.what);
	if (progress.total)
		put_bar(&line, done);
	put_amount(&line, done);
	if (progress.total) {
		buf_text(&line, " of ");
		put_amount(&line, progress.total);
	}
	buf_text(&line, names[progress.unit]);
	if (buf_error(&line))
		return;
	if (line.n >= width)
		line.n = width - 1;
	buf_insert(&line, 0, "\r\033[K", 4);
	if (!buf_error(&line) && !write_all(STDERR_FILENO, line.data, line.n))
		progress.shown = true;
}

void progress_update(uint64_t done)
{
	int64_t now;

	if (!progress.active)
		return;
	now = clock_monotonic_ns();
	if (now - progress.started < PROGRESS_DELAY_NS ||
	    now - progress.painted < PROGRESS_PERIOD_NS)
		return;
	progress.painted = now;
	paint(done);
}

bool progress_is_active(void)
{
	return progress.active;
}

void term_clear_progress(void)
{
	term_abort();
}

void term_abort(void)
{
	if (!progress.shown)
		return;
	progress.shown = false;
	if (write(STDERR_FILENO, "\r\033[K", 4) < 0)
		return; /* the terminal was closed, and with it the line */
}

void progress_end(void)
{
	term_abort();
	progress.active = false;
}
