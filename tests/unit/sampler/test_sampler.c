#include <signal.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "sampler/own_symbols.h"
#include "sampler/sampler.h"
#include "test.h"

static void release_sampler(struct sampler **s)
{
	sampler_free(*s);
}

/* Something that takes CPU time and that no compiler takes away. */
__attribute__((noinline)) static void sampler_test_spin(int64_t cpu_ns)
{
	int64_t end = clock_process_cpu_ns() + cpu_ns;
	unsigned work = 0;

	while (clock_process_cpu_ns() < end)
		for (unsigned i = 0; i < 10000; i++) {
			work += i;
			__asm__ volatile("" : "+r"(work));
		}
}

static void spin_there(void *context)
{
	bool *done = context;

	sampler_test_spin(400 * NS_PER_MS);
	*done = true; /* and no tail call */
}

static bool has_frame(const struct profile *p, size_t row, const char *name)
{
	uint32_t n;
	const uint32_t *frames = stack_frames(p->dict, p->stack[row], &n);

	for (uint32_t i = 0; i < n; i++)
		if (str_eq(frame_name(p->dict, frames[i]), str_of(name)))
			return true;
	return false;
}

/* CPU time under both functions. */
static int64_t time_under(const struct profile *p, const char *a, const char *b)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->row_count; i++)
		if (has_frame(p, i, a) && has_frame(p, i, b))
			sum += profile_values(p, i)[1];
	return sum;
}

TEST(sampler_finds_the_function_that_spins_in_this_thread_and_in_a_new_one)
{
	CLEANUP(release_sampler) struct sampler *s = NULL;
	struct thread other = {0};
	bool done = false;

	CHECK_OK(sampler_new(97, &s, NULL));
	sampler_test_spin(400 * NS_PER_MS);
	CHECK_OK(sampler_poll(s));
	CHECK(time_under(sampler_profile(s), "sampler_test_spin", "main") > 0);
	CHECK_INT(time_under(sampler_profile(s), "sampler_test_spin", "spin_there"), 0);
	sampler_clear(s);
	CHECK_INT(sampler_profile(s)->row_count, 0);
	CHECK_OK(thread_start(&other, "spin", spin_there, &done));
	for (int i = 0;
	     i < 50 && !time_under(sampler_profile(s), "sampler_test_spin", "spin_there"); i++) {
		clock_sleep_ns(20 * NS_PER_MS);
		CHECK_OK(sampler_poll(s));
	}
	thread_join(&other);
	CHECK_OK(sampler_poll(s));
	CHECK(time_under(sampler_profile(s), "sampler_test_spin", "spin_there") > 0);
	CHECK(sampler_counts(s).samples > 0);
}

TEST(profile_of_a_cleared_sampler_is_of_the_types_of_cpu_time)
{
	CLEANUP(release_sampler) struct sampler *s = NULL;
	const struct profile *p;

	CHECK_OK(sampler_new(97, &s, NULL));
	sampler_clear(s);
	CHECK_OK(sampler_poll(s));
	p = sampler_profile(s);
	CHECK_INT(p->type_count, 2);
	CHECK_STR(dict_str(p->dict, p->types[1].type), "cpu");
	CHECK_STR(dict_str(p->dict, p->types[1].unit), "nanoseconds");
	CHECK_INT(p->period, NS_PER_S / 97);
	CHECK(p->time_ns > 0 && p->duration_ns >= 0);
}

/* The profile's time is about the time used: nothing is counted twice. */
TEST(sampled_time_does_not_exceed_the_time_used)
{
	CLEANUP(release_sampler) struct sampler *s = NULL;
	int64_t used, sampled = 0;

	used = clock_process_cpu_ns();
	CHECK_OK(sampler_new(997, &s, NULL));
	sampler_test_spin(500 * NS_PER_MS);
	CHECK_OK(sampler_poll(s));
	used = clock_process_cpu_ns() - used;
	for (size_t i = 0; i < sampler_profile(s)->row_count; i++)
		sampled += profile_values(sampler_profile(s), i)[1];
	CHECK(sampled <= used + 100 * NS_PER_MS);
}

static void ignore_signal(int number)
{
	(void)number;
}

TEST(second_sampler_and_foreign_handler_are_refused)
{
	CLEANUP(release_sampler) struct sampler *s = NULL;
	struct sampler *second;
	struct sigaction action = {0};
	struct fault fault = {0};

	CHECK_OK(sampler_new(97, &s, NULL));
	CHECK_ERR(sampler_new(97, &second, &fault), ERR_EXISTS);
	sampler_free(s);
	s = NULL;
	/* What SIGPROF did before is back. */
	CHECK(sigaction(SIGPROF, NULL, &action) == 0);
	CHECK(action.sa_handler == SIG_DFL);
	action.sa_handler = ignore_signal;
	CHECK(sigaction(SIGPROF, &action, NULL) == 0);
	CHECK_ERR(sampler_new(97, &second, &fault), ERR_EXISTS);
	action.sa_handler = SIG_DFL;
	CHECK(sigaction(SIGPROF, &action, NULL) == 0);
}

static void spin_long(void *context)
{
	atomic_bool *stop = context;

	while (!atomic_load(stop))
		sampler_test_spin(NS_PER_MS);
}

TEST(sampler_comes_and_goes_while_threads_run)
{
	atomic_bool stop = false;
	struct thread busy[3] = {0};
	bool fine = true;

	for (int i = 0; i < 3; i++)
		CHECK_OK(thread_start(&busy[i], "busy", spin_long, &stop));
	for (int i = 0; i < 20 && fine; i++) {
		struct sampler *s = NULL;

		fine = sampler_new(997, &s, NULL) == ERR_OK;
		clock_sleep_ns(10 * NS_PER_MS);
		if (fine)
			fine = sampler_poll(s) == ERR_OK;
		sampler_free(s);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		thread_join(&busy[i]);
	CHECK(fine);
}

static enum err sample_once(void)
{
	struct sampler *s = NULL;
	enum err e = sampler_new(997, &s, NULL);

	if (!e) {
		sampler_test_spin(8 * NS_PER_MS);
		e = sampler_poll(s);
	}
	sampler_free(s);
	return e;
}

TEST(sampler_survives_failing_allocations)
{
	for (long n = 0; n < 60; n++) {
		enum err e;

		alloc_fail_at(n, false);
		e = sample_once();
		alloc_fail_off();
		CHECK(e == ERR_OK || e == ERR_NO_MEMORY);
	}
	CHECK_OK(sample_once());
}

static void release_symbols(struct own_symbols *s)
{
	own_symbols_release(s);
}

TEST(symbols_name_hidden_functions_and_libraries)
{
	CLEANUP(release_symbols) struct own_symbols s = {0};
	char text[SYMBOL_TEXT];

	CHECK_OK(own_symbols_load(&s, NULL));
	CHECK_STR(own_symbols_find(&s, (uintptr_t)sampler_test_spin + 1, text),
		  "sampler_test_spin");
	CHECK_STR(own_symbols_find(&s, 1, text), "[unknown]");
}

/* Any cut and any changed byte of the headers: no name is worth a crash. */
TEST(symbols_of_a_broken_file_are_few_but_harmless)
{
	CLEANUP(buf_release) struct buf elf = BUF_INIT((size_t)1 << 30);

	CHECK_OK(file_read("/proc/self/exe", &elf, NULL));
	for (size_t i = 0; i < 64; i++) {
		CLEANUP(release_symbols) struct own_symbols cut = {0}, changed = {0};
		char before = elf.data[i];

		CHECK_OK(own_symbols_parse(&cut, str_n(elf.data, elf.n / 64 * i + i)));
		elf.data[i] = (char)~before;
		CHECK_OK(own_symbols_parse(&changed, buf_view(&elf)));
		elf.data[i] = before;
	}
}
