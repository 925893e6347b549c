#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"

/* Most of these let a shell misbehave; process_run itself uses none. */
#define SHELL(script) ((const char *const[]){"sh", "-c", script, NULL})
#define SOME_SECONDS  (20 * NS_PER_S)

static enum err run(const char *const *argv, struct str input, size_t max_output,
		    struct process_result *ret, struct fault *fault)
{
	struct process_options options = {argv, input, max_output, SOME_SECONDS};

	return process_run(&options, ret, fault);
}

TEST(output_errors_and_status_are_collected)
{
	CLEANUP(process_result_release) struct process_result r = {0};

	CHECK_OK(run(SHELL("echo out; echo err >&2; exit 3"), STR(""), 100, &r, NULL));
	CHECK_STR(buf_view(&r.output), "out\n");
	CHECK_STR(buf_view(&r.errors), "err\n");
	CHECK_INT(r.status, 3);
}

TEST(arguments_are_passed_as_they_are)
{
	const char *const argv[] = {"printf", "%s|", "a b", "$HOME", "'; rm -rf x", "", NULL};
	CLEANUP(process_result_release) struct process_result r = {0};

	CHECK_OK(run(argv, STR(""), 100, &r, NULL));
	CHECK_STR(buf_view(&r.output), "a b|$HOME|'; rm -rf x||");
}

TEST(megabytes_go_in_and_come_back)
{
	const char *const argv[] = {"cat", NULL};
	CLEANUP(process_result_release) struct process_result r = {0};
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 << 20);

	for (int i = 0; i < 300000; i++)
		buf_i64(&b, i);
	CHECK_OK(run(argv, buf_view(&b), 4 << 20, &r, NULL));
	CHECK(str_eq(buf_view(&r.output), buf_view(&b)));
}

TEST(input_may_be_ignored_or_opened_by_name)
{
	const char *const tail[] = {"tail", "-c", "3", "/dev/stdin", NULL};
	CLEANUP(process_result_release) struct process_result ignored = {0}, seeked = {0};

	CHECK_OK(run(SHELL("exit 0"), STR("nobody reads me"), 100, &ignored, NULL));
	CHECK_OK(run(tail, STR("abcdef"), 100, &seeked, NULL));
	CHECK_STR(buf_view(&seeked.output), "def");
	process_result_release(&ignored);
}

TEST(no_input_is_an_empty_file)
{
	CLEANUP(process_result_release) struct process_result r = {0};

	CHECK_OK(run(SHELL("cat; echo end"), STR(""), 100, &r, NULL));
	CHECK_STR(buf_view(&r.output), "end\n");
}

TEST(a_missing_program_is_named)
{
	const char *const argv[] = {"no-such-program-here", NULL};
	struct process_result r;
	struct fault f = {0};

	if (getenv("VESTAL_VALGRIND")) {
		test_skip("valgrind loses what its child says about exec");
		return;
	}
	CHECK_ERR(run(argv, STR(""), 100, &r, &f), ERR_NOT_FOUND);
	CHECK(strstr(f.text, "no-such-program-here is not installed"));
}

TEST(more_output_than_allowed_stops_the_program)
{
	struct process_result r;
	struct fault f = {0};

	CHECK_ERR(run(SHELL("yes"), STR(""), 1000, &r, &f), ERR_TOO_LARGE);
	CHECK(strstr(f.text, "1000 bytes"));
}

TEST(complaints_beyond_their_ceiling_are_dropped_and_the_program_goes_on)
{
	CLEANUP(process_result_release) struct process_result r = {0};

	CHECK_OK(run(SHELL("yes | head -c 300000 >&2; echo done"), STR(""), 100, &r, NULL));
	CHECK_INT(r.errors.n, 64 * 1024);
	CHECK_STR(buf_view(&r.output), "done\n");
}

TEST(a_program_that_takes_too_long_is_killed_with_its_children)
{
	struct process_options options = {SHELL("sleep 1000 & echo $! >&2; sleep 1000"), STR(""),
					  100, 200 * NS_PER_MS};
	struct process_result r;
	struct fault f = {0};
	int64_t begin = clock_monotonic_ns();

	CHECK_ERR(process_run(&options, &r, &f), ERR_TIMEOUT);
	CHECK(clock_monotonic_ns() - begin < 100 * NS_PER_S);
	CHECK(strstr(f.text, "did not end within 1 s"));
}

TEST(a_program_that_closed_its_output_is_still_killed_in_time)
{
	struct process_options options = {SHELL("exec >&- 2>&-; sleep 1000"), STR(""), 100,
					  200 * NS_PER_MS};
	struct process_result r;

	CHECK_ERR(process_run(&options, &r, NULL), ERR_TIMEOUT);
}

TEST(a_left_behind_child_that_holds_the_pipes_does_not_hold_us)
{
	CLEANUP(process_result_release) struct process_result r = {0};

	CHECK_OK(run(SHELL("sleep 5 & echo started"), STR(""), 100, &r, NULL));
	CHECK_STR(buf_view(&r.output), "started\n");
}

TEST(a_signal_that_ended_it_shows_in_the_status)
{
	CLEANUP(process_result_release) struct process_result r = {0};

	CHECK_OK(run(SHELL("kill -9 $$"), STR(""), 100, &r, NULL));
	CHECK_INT(r.status, 128 + SIGKILL);
}

TEST(the_program_inherits_no_other_descriptor)
{
	CLEANUP(process_result_release) struct process_result r = {0};
	int leaked = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */

	CHECK(leaked > 2);
	/* ls itself opens one to read the folder. */
	CHECK_OK(run(SHELL("ls /proc/self/fd | wc -l"), STR(""), 100, &r, NULL));
	close(leaked);
	CHECK_STR(str_trim(buf_view(&r.output)), "4");
}

TEST(the_program_starts_with_default_signals)
{
	CLEANUP(process_result_release) struct process_result r = {0};
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	uint64_t ignored = 0;
	enum err e;

	e = run(SHELL("grep SigIgn /proc/self/status"), STR(""), 100, &r, NULL);
	signal(SIGPIPE, before);
	CHECK_OK(e);
	CHECK_OK(str_to_u64(str_trim(str_skip(buf_view(&r.output), 7)), 16, &ignored));
	CHECK((ignored & 1u << (SIGPIPE - 1)) == 0);
}

TEST(a_failed_program_is_quoted_by_its_first_line)
{
	CLEANUP(process_result_release) struct process_result r = {0}, silent = {0};
	struct fault f = {0};

	CHECK_OK(run(SHELL("echo >&2; echo ' no such event ' >&2; echo more >&2; exit 129"),
		     STR(""), 100, &r, NULL));
	CHECK_ERR(process_check(&r, "perf", &f), ERR_IO);
	CHECK_STR(str_of(f.text), "perf ended with status 129: no such event");
	CHECK_OK(run(SHELL("exit 1"), STR(""), 100, &silent, NULL));
	CHECK_ERR(process_check(&silent, "perf", &f), ERR_IO);
	CHECK(strstr(f.text, "without a message"));
	silent.status = 0;
	CHECK_OK(process_check(&silent, "perf", &f));
	process_result_release(&silent);
}

static enum err run_once(void)
{
	CLEANUP(process_result_release) struct process_result r = {0};

	return run(SHELL("echo out; echo err >&2; head -c 100000 /dev/zero"), STR("in"), 200000, &r,
		   NULL);
}

TEST(processes_survive_every_failing_allocation)
{
	ALLOC_SWEEP(run_once());
}
