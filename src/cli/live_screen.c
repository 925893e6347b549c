#include "cli/live_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static struct termios before;
static volatile sig_atomic_t is_open, ended, stopped;
static char typed[64];
static size_t typed_n;

static void put(const char *text, size_t n)
{
	/* If the terminal was closed, the next read reports it. */
	if (write(STDOUT_FILENO, text, n) < 0)
		ended = 1;
}

/* Only calls that may be made in a signal handler. */
static void restore(void)
{
	if (!is_open)
		return;
	is_open = 0;
	put(LEAVE, sizeof(LEAVE) - 1);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

static void take(void)
{
	struct termios raw = before;

	/* Ctrl-C and Ctrl-Z stay signals. */
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	is_open = 1;
	put(ENTER, sizeof(ENTER) - 1);
}

static void on_end(int number)
{
	(void)number;
	ended = 1;
}

static void on_stop(int number)
{
	(void)number;
	stopped = 1;
}

static void on_resize(int number)
{
	(void)number; /* poll() returns, which is all that is wanted */
}

/* A fault of ours: the terminal first, then what would have happened anyway. */
static void on_fault(int number)
{
	restore();
	signal(number, SIG_DFL);
	raise(number);
}

static void handle(int number, void (*handler)(int))
{
	struct sigaction act = {.sa_handler = handler};

	sigaction(number, &act, NULL);
}

bool screen_open(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before))
		return false;
	handle(SIGINT, on_end);
	handle(SIGTERM, on_end);
	handle(SIGHUP, on_end);
	handle(SIGPIPE, on_end);
	handle(SIGQUIT, on_end);
	handle(SIGTSTP, on_stop);
	handle(SIGWINCH, on_resize);
	handle(SIGSEGV, on_fault);
	handle(SIGBUS, on_fault);
	handle(SIGABRT, on_fault);
	handle(SIGFPE, on_fault);
	handle(SIGILL, on_fault);
	take();
	return true;
}

void screen_close(void)
{
	restore();
}

void screen_size(unsigned *ret_columns, unsigned *ret_rows)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		size.ws_col = 0;
	*ret_columns = size.ws_col ? size.ws_col : 80;
	*ret_rows = size.ws_row ? size.ws_row : 24;
}

void screen_paint(struct str text)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 22);
	struct str line;

	buf_text(&out, "\033[H");
	while (str_split(&text, '\n', &line)) {
		buf_str(&out, line);
		/* Clear the rest of the line; no newline after the last one, which would scroll. */
		buf_text(&out, text.n ? "\033[K\n" : "\033[K");
	}
	buf_text(&out, "\033[J");
	if (!buf_error(&out) && write_all(STDOUT_FILENO, out.data, out.n) != ERR_OK)
		ended = 1;
}

int screen_decode(const char *bytes, size_t n, size_t *used)
{
	static const struct {
		const char *bytes;
		int key;
	} keys[] = {
		{"[A", KEY_UP},	      {"[B", KEY_DOWN}, {"OA", KEY_UP},	   {"OB", KEY_DOWN},
		{"[5~", KEY_PAGE_UP}, {"[H", KEY_HOME}, {"[1~", KEY_HOME}, {"[6~", KEY_PAGE_DOWN},
		{"[F", KEY_END},      {"[4~", KEY_END}, {"OH", KEY_HOME},  {"OF", KEY_END},
	};
	size_t end = 2;

	*used = 1;
	if (bytes[0] != 033)
		return (unsigned char)bytes[0];
	if (n == 1 || (bytes[1] != '[' && bytes[1] != 'O'))
		return KEY_ESCAPE;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t length = strlen(keys[i].bytes);

		if (n > length && !memcmp(bytes + 1, keys[i].bytes, length)) {
			*used = 1 + length;
			return keys[i].key;
		}
	}
	/* Something else: to its last byte, a letter or a tilde. */
	while (end < n && (bytes[end] < 0x40 || bytes[end] > 0x7e))
		end++;
	*used = end < n ? end + 1 : n;
	return KEY_OTHER;
}

static int next_typed(void)
{
	size_t used;
	int key = screen_decode(typed, typed_n, &used);

	typed_n -= used;
	memmove(typed, typed + used, typed_n);
	return key;
}

int screen_key(int milliseconds)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	ssize_t n;

	if (stopped) {
		stopped = 0;
		restore();
		raise(SIGSTOP);
		take();
	}
	if (ended)
		return KEY_GONE;
	if (typed_n)
		return next_typed();
	if (poll(&p, 1, milliseconds) <= 0)
		return ended ? KEY_GONE : KEY_NONE;
	n = read(STDIN_FILENO, typed, sizeof(typed));
	if (n < 0 && errno == EINTR)
		return KEY_NONE;
	if (n <= 0)
		return KEY_GONE;
	typed_n = (size_t)n;
	return next_typed();
}
