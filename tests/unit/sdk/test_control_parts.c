/* The control's parts: requests, words of a file, who is let in, what is switched by itself. */
#include "test.h"

#include <netinet/in.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "sdk/control_settings.h"
#include "sdk/governor.h"
#include "sdk/http_request.h"
#include "sdk/kept_samples.h"
#include "sdk/own_socket.h"
#include "sdk/tally.h"
#include "sdk/user_words.h"

#define ROOM 256

static enum http_progress read_request(const char *text, struct http_request *r)
{
	return http_request_read(str_of(text), ROOM, r);
}

/* ---- requests ---- */

TEST(a_request_is_read_in_whatever_pieces_it_comes)
{
	static const char text[] = "POST /a/b?x=1&y=2 HTTP/1.1\r\nHost: h:1\r\nORIGIN: http://o\r\n"
				   "content-length: 3\r\n\r\nabc";
	struct http_request r;

	for (size_t n = 0; n < sizeof(text) - 1; n++)
		CHECK_INT(http_request_read(str_n(text, n), ROOM, &r), HTTP_MORE);
	CHECK_INT(read_request(text, &r), HTTP_COMPLETE);
	CHECK(str_eq(r.method, STR("POST")));
	CHECK(str_eq(r.path, STR("/a/b")));
	CHECK(str_eq(http_parameter(r.query, STR("y")), STR("2")));
	CHECK(!http_parameter(r.query, STR("z")).n);
	CHECK(str_eq(r.host, STR("h:1")));
	CHECK(str_eq(r.origin, STR("http://o")));
	CHECK(str_eq(r.body, STR("abc")));
}

TEST(what_is_no_request_is_refused)
{
	static const char *const wrong[] = {
		"\r\n\r\n",
		"GET /\r\n\r\n",
		"GET x HTTP/1.1\r\n\r\n",
		"GET / HTTP/2.0\r\n\r\n",
		"GET  / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nno colon\r\n\r\n",
		"GET / HTTP/1.1\r\n: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
		"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET /\x01 HTTP/1.1\r\n\r\n",
	};
	struct http_request r;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_INT(read_request(wrong[i], &r), HTTP_WRONG);
	CHECK_INT(read_request("GET / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n",
			       &r),
		  HTTP_TOO_LONG);
	CHECK_INT(read_request("GET / HTTP/1.1\r\nContent-Length: 240\r\n\r\n", &r), HTTP_TOO_LONG);
}

/* ---- words ---- */

TEST(a_block_as_others_write_it_is_understood)
{
	static const char text[] = "service: x\n"
				   "list:\n- a\n- b: [c]\n"
				   "profiling:\n"
				   "  # CPU profiling\n"
				   "  cpu:\n"
				   "    enabled: true\n"
				   "    sample_rate: 100  # samples per second\n"
				   "\n"
				   "  memory:\n"
				   "    enabled: true\n"
				   "    sample_rate: '512KB'  # Every 512KB allocated\n"
				   "  conditional:\n"
				   "    slow_request_threshold: 1s\n"
				   "    cpu_threshold_percent: 80\n"
				   "    profile_errors: true\n"
				   "  max_stack_depth: 64\n"
				   "  upload_interval: 10s\n"
				   "  load_shedding: {enabled: true, cpu_threshold: 90%}\n"
				   "other:\n  cpu: {x: y}\n";
	struct control_settings c;
	struct fault fault = {0};

	CHECK_INT(words_read(STR(text), &fault), ERR_OK);
	CHECK_STR(str_of(word("VESTAL_RATE")), "100");
	CHECK_STR(str_of(word("VESTAL_ALLOC_INTERVAL")), "512KB");
	CHECK_STR(str_of(word("VESTAL_TYPES")), "cpu,alloc,heap");
	CHECK_STR(str_of(word("VESTAL_INTERVAL_MS")), "10000");
	CHECK(!word("VESTAL_LISTEN"));
	CHECK_INT(control_settings_read(NULL, &c, &fault), ERR_OK);
	CHECK_INT(c.slow_ns, NS_PER_S);
	CHECK_INT(c.cpu_percent, 80);
	CHECK(c.keep_failed);
	CHECK_INT(c.load_percent, 90);
	CHECK(control_keeps(&c) && !control_can_switch(&c));
	words_forget();
	CHECK(!word("VESTAL_RATE"));
}

TEST(the_environment_wins_over_the_file)
{
	CHECK_INT(words_read(STR("profiling:\n  cpu: {sample_rate: 50}\n"), NULL), ERR_OK);
	CHECK_STR(str_of(word("VESTAL_RATE")), "50");
	setenv("VESTAL_RATE", "70", 1);
	CHECK_STR(str_of(word("VESTAL_RATE")), "70");
	unsetenv("VESTAL_RATE");
	words_forget();
}

TEST(a_group_that_is_off_stays_off)
{
	CHECK_INT(words_read(STR("profiling:\n  cpu:\n    enabled: no\n  memory:\n"
				 "    sample_rate: 1MB\n  load_shedding:\n    cpu_threshold: 90%\n"
				 "    enabled: false\n"),
			     NULL),
		  ERR_OK);
	CHECK_STR(str_of(word("VESTAL_TYPES")), "alloc,heap");
	CHECK(!word("VESTAL_LOAD_LIMIT"));
	words_forget();
}

TEST(what_is_wrong_in_a_file_is_said_with_its_line)
{
	static const struct {
		const char *text, *word;
	} wrong[] = {
		{"profiling:\n  cpu:\n    rate: 5\n", "line 3"},
		{"profiling:\n  nothing: 5\n", "nothing"},
		{"profiling:\n  - a\n", "line 2"},
		{"profiling:\n \tcpu: x\n", "spaces"},
		{"profiling:\n  cpu: {enabled: true\n", "closed"},
		{"profiling:\n  cpu:\n    enabled: perhaps\n", "true or false"},
		{"profiling:\n  upload_interval: soon\n", "line 2"},
		{"profiling:\n  a:\n   b:\n    c:\n     d:\n      e: 1\n", "line"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct fault fault = {0};

		CHECK(words_read(str_of(wrong[i].text), &fault) != ERR_OK);
		CHECK(strstr(fault.text, wrong[i].word));
		CHECK(!word("VESTAL_RATE"));
	}
}

/* ---- settings ---- */

static enum err with(const char *variable, const char *value, struct control_settings *c)
{
	struct fault fault = {0};
	enum err e;

	setenv(variable, value, 1);
	e = control_settings_read(NULL, c, &fault);
	unsetenv(variable);
	/* A word that is refused is named. */
	return !e || strstr(fault.text, value) || strstr(fault.text, variable) ? e : ERR_INTERNAL;
}

TEST(where_to_listen_is_loopback_unless_it_was_allowed)
{
	struct control_settings c;

	CHECK_INT(with("VESTAL_LISTEN", "127.0.0.1:6060", &c), ERR_OK);
	CHECK_INT(ntohs(c.listen_address.v4.sin_port), 6060);
	CHECK_INT(with("VESTAL_LISTEN", "[::1]:7070", &c), ERR_OK);
	CHECK_INT(c.listen_address.any.sa_family, AF_INET6);
	CHECK_INT(with("VESTAL_LISTEN", "localhost:1", &c), ERR_OK);
	CHECK_INT(with("VESTAL_LISTEN", ":1", &c), ERR_OK);
	CHECK_INT(with("VESTAL_LISTEN", "0.0.0.0:6060", &c), ERR_NO_PERMISSION);
	CHECK_INT(with("VESTAL_LISTEN", "10.1.2.3:6060", &c), ERR_NO_PERMISSION);
	CHECK_INT(with("VESTAL_LISTEN", "[::]:6060", &c), ERR_NO_PERMISSION);
	setenv("VESTAL_LISTEN_ANYWHERE", "1", 1);
	CHECK_INT(with("VESTAL_LISTEN", "0.0.0.0:6060", &c), ERR_OK);
	unsetenv("VESTAL_LISTEN_ANYWHERE");
	CHECK_INT(with("VESTAL_LISTEN", "host:6060", &c), ERR_BAD_ARGUMENT);
	CHECK_INT(with("VESTAL_LISTEN", "127.0.0.1:0", &c), ERR_BAD_ARGUMENT);
	CHECK_INT(with("VESTAL_LISTEN", "127.0.0.1", &c), ERR_BAD_ARGUMENT);
}

TEST(amounts_have_their_limits)
{
	struct control_settings c;

	CHECK_INT(with("VESTAL_WINDOW", "10s/5m", &c), ERR_OK);
	CHECK_INT(c.window_ns, 10 * NS_PER_S);
	CHECK_INT(c.every_ns, 300 * NS_PER_S);
	CHECK_INT(with("VESTAL_WINDOW", "5m/10s", &c), ERR_BAD_ARGUMENT);
	CHECK_INT(with("VESTAL_WINDOW", "10s", &c), ERR_BAD_ARGUMENT);
	CHECK_INT(with("VESTAL_BUDGET", "0.5%", &c), ERR_OK);
	CHECK_INT(c.budget_permille, 5);
	CHECK_INT(with("VESTAL_BUDGET", "0", &c), ERR_BAD_ARGUMENT);
	CHECK_INT(with("VESTAL_LOAD_LIMIT", "101%", &c), ERR_BAD_ARGUMENT);
	CHECK_INT(with("VESTAL_SIGNAL", "SIGUSR2", &c), ERR_OK);
	CHECK_INT(c.signal_number, SIGUSR2);
	CHECK_INT(with("VESTAL_SIGNAL", "KILL", &c), ERR_BAD_ARGUMENT);
	CHECK_INT(with("VESTAL_PROFILING", "maybe", &c), ERR_BAD_ARGUMENT);
	CHECK_INT(with("VESTAL_SLOW", "1us", &c), ERR_BAD_ARGUMENT);
	CHECK_INT(with("VESTAL_KEEP_RATE", "0", &c), ERR_BAD_ARGUMENT);
}

/* ---- what is switched by itself ---- */

TEST(the_machines_load_is_read)
{
	u64 busy = 0, total = 0;

	CHECK(governor_read_load(STR("cpu  10 20 30 400 40 5 6 7 8 9\ncpu0 1 2\n"), &busy, &total));
	CHECK_INT(busy, 78);
	CHECK_INT(total, 518);
	CHECK(!governor_read_load(STR("cpu0 1 2 3 4\n"), &busy, &total));
	CHECK(!governor_read_load(STR("cpu  1 x 3 4\n"), &busy, &total));
	CHECK(!governor_read_load(STR(""), &busy, &total));
}

TEST(the_rate_follows_the_budget)
{
	CHECK_INT(governor_next_rate(1000, 1000, 20, 10), 500);
	CHECK_INT(governor_next_rate(1, 1000, 900, 10), 1);
	CHECK_INT(governor_next_rate(100, 1000, 8, 10), 100);
	CHECK_INT(governor_next_rate(100, 1000, 2, 10), 126);
	CHECK_INT(governor_next_rate(999, 1000, 0, 10), 1000);
}

/* ---- descriptors ---- */

TEST(a_socket_is_used_only_while_its_number_means_it)
{
	struct own_socket s;
	int other;

	CHECK(own_socket_take(&s, socket(AF_INET, SOCK_STREAM, 0)));
	CHECK(s.fd >= 64);
	CHECK(own_socket_there(&s));
	/* The host closes all it finds, and opens another there. */
	close(s.fd);
	CHECK(!own_socket_there(&s));
	other = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(dup2(other, s.fd) == s.fd);
	CHECK(!own_socket_there(&s));
	own_socket_close(&s);
	CHECK_INT(s.fd, -1);
	CHECK(fcntl(other, F_GETFD) >= 0);
	close(other);
	CHECK(!own_socket_take(&s, -1));
}

/* ---- tallies ---- */

TEST(rows_of_a_kind_are_added_to_another_tally)
{
	struct span_context none = {0};
	const u64 places[] = {1, 2, 3};
	struct tally a, b;
	u32 stack, context;

	tally_init(&a, 10);
	tally_init(&b, 10);
	CHECK_INT(tally_stack(&a, places, 3, &stack), ERR_OK);
	CHECK_INT(tally_context(&a, &none, &context), ERR_OK);
	tally_add(&a, SAMPLE_ALLOC, stack, context, 1, 100);
	tally_add(&a, SAMPLE_CPU, stack, context, 1, 5);
	CHECK_INT(tally_copy(&b, &a, SAMPLE_ALLOC), ERR_OK);
	CHECK_INT(tally_copy(&b, &a, SAMPLE_ALLOC), ERR_OK);
	CHECK_INT(b.rows.n, 1);
	CHECK_INT(b.rows.v[0].value, 200);
	tally_release(&a);
	tally_release(&b);
}

/* ---- samples that wait for the end of their span ---- */

static struct kept_samples kept;

static void open_kept(struct sdk_settings *s, struct tally *t, u32 *ret_stack)
{
	static const u64 place = 1;

	memset(s, 0, sizeof(*s));
	s->types = SDK_CPU;
	s->rate_hz = 10;
	s->control.slow_ns = 100 * NS_PER_MS;
	s->control.keep_failed = true;
	s->control.keep_rate_hz = 100;
	s->control.keep_ns = NS_PER_S;
	tally_init(t, 100);
	if (tally_stack(t, &place, 1, ret_stack))
		abort();
	kept_samples_init(&kept, s, t);
}

/* `n` samples of a millisecond, one every millisecond from `from` on. */
static void add_samples(u32 thread, u32 stack, s64 from, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		struct waiting_sample w = {.time = from + i * NS_PER_MS,
					   .count = 1,
					   .value = NS_PER_MS,
					   .thread = thread,
					   .stack = stack};

		kept_samples_add(&kept, &w);
	}
}

static void end_span(u32 thread, s64 from, s64 to, bool failed, bool outermost)
{
	struct span_end e = {from, to, thread, failed, outermost};

	span_ends_add(&e);
	kept_samples_begin(&kept);
	kept_samples_end(&kept, to, false);
}

static s64 counted(const struct tally *t, bool labelled)
{
	s64 sum = 0;

	vec_for_each (row, &t->rows)
		if (!!t->contexts.v[row->context].label_set == labelled)
			sum += row->count;
	return sum;
}

TEST(a_quick_span_is_thinned_and_a_slow_one_is_kept)
{
	struct sdk_settings s;
	struct tally t;
	u32 stack;

	open_kept(&s, &t, &stack);
	CHECK_INT(kept.every, 10);
	add_samples(1, stack, NS_PER_S, 50);
	add_samples(2, stack, NS_PER_S, 50);
	/* Nothing is counted before it is known. */
	kept_samples_end(&kept, NS_PER_S, false);
	CHECK_INT(t.rows.n, 0);
	end_span(1, NS_PER_S, NS_PER_S + 50 * NS_PER_MS, false, true);
	CHECK_INT(counted(&t, true), 0);
	CHECK_INT(counted(&t, false), 50);
	end_span(2, NS_PER_S, NS_PER_S + 200 * NS_PER_MS, false, true);
	CHECK_INT(counted(&t, true), 50);
	CHECK_INT(counted(&t, false), 50);
	kept_samples_release(&kept);
	tally_release(&t);
}

TEST(of_ten_samples_that_are_not_kept_one_stands_for_all)
{
	struct sdk_settings s;
	struct tally t;
	u32 stack;

	open_kept(&s, &t, &stack);
	add_samples(0, stack, NS_PER_S, 9);
	CHECK_INT(t.rows.n, 0);
	add_samples(0, stack, NS_PER_S, 1);
	CHECK_INT(t.rows.n, 1);
	CHECK_INT(t.rows.v[0].count, 10);
	CHECK_INT(t.rows.v[0].value, 10 * NS_PER_MS);
	kept_samples_release(&kept);
	tally_release(&t);
}

TEST(a_slow_span_inside_another_is_kept_and_the_rest_waits_for_the_outer_one)
{
	struct sdk_settings s;
	struct tally t;
	u32 stack;

	open_kept(&s, &t, &stack);
	s.control.slow_ns = 0;
	add_samples(1, stack, NS_PER_S, 40);
	end_span(1, NS_PER_S + 10 * NS_PER_MS, NS_PER_S + 20 * NS_PER_MS - 1, true, false);
	CHECK_INT(t.rows.n, 0);
	end_span(1, NS_PER_S, NS_PER_S + 60 * NS_PER_MS, false, true);
	CHECK_INT(counted(&t, true), 10);
	CHECK_INT(counted(&t, false), 30);
	kept_samples_release(&kept);
	tally_release(&t);
}

TEST(what_waited_too_long_is_let_go_and_a_full_ring_forgets_nothing)
{
	struct sdk_settings s;
	struct tally t;
	u32 stack;

	open_kept(&s, &t, &stack);
	add_samples(1, stack, NS_PER_S, 20);
	kept_samples_end(&kept, 3 * NS_PER_S, false);
	CHECK_INT(counted(&t, false), 20);
	add_samples(1, stack, NS_PER_S, WAITING_SAMPLES + 100);
	CHECK_INT(counted(&t, false), 120);
	kept_samples_end(&kept, NS_PER_S, true);
	CHECK_INT(kept.n, 0);
	/* But for what is fewer than ten. */
	CHECK(counted(&t, false) > 120 + WAITING_SAMPLES - 10);
	kept_samples_release(&kept);
	tally_release(&t);
}
