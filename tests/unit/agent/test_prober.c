/* Threads that ask what may not answer. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/prober.h"
#include "base/clock.h"
#include "test.h"

#define SOON (clock_monotonic_ns() + 60 * NS_PER_S)

static struct probe *take(struct prober *p, enum probe_kind kind)
{
	struct probe *probe = NULL;

	for (u32 i = 0; i < 60000 && !(probe = prober_take(p, kind)); i++) {
		prober_turn(p);
		clock_sleep_ns(NS_PER_MS);
	}
	return probe;
}

static enum err post_process(struct prober *p, u32 pid, unsigned parts, u64 ticket)
{
	struct probe *probe = probe_new(PROBE_PROCESS, pid);
	char comm[16] = "";

	if (!probe)
		return ERR_NO_MEMORY;
	probe->ticket = ticket;
	probe->report = process_report_new(pid, parts, comm, (struct str){0});
	return prober_post(p, probe);
}

TEST(a_process_is_read_while_nobody_waits)
{
	struct process_report *r;
	struct prober *p;
	struct probe *probe;
	bool found = false;

	CHECK_OK(prober_new(&p));
	CHECK_OK(post_process(p, (u32)getpid(), REPORT_MAPS | REPORT_FACTS | REPORT_TEXTS, 5));
	probe = take(p, PROBE_PROCESS);
	CHECK(probe && probe->ticket == 5 && probe->pid == (u32)getpid());
	r = probe->report;
	CHECK(!r->gone && r->mappings.n > 1 && r->comm[0] && r->uid == geteuid());
	CHECK(r->facts.read && r->facts.service.n && r->look.command.n);
	vec_for_each (m, &r->mappings)
		found |= m->start <= (u64)(uintptr_t)&take && (u64)(uintptr_t)&take < m->end;
	CHECK(found && !prober_pending(p, PROBE_PROCESS));
	probe_free(probe);
	CHECK_OK(post_process(p, 0x40000001u, REPORT_MAPS, 6));
	probe = take(p, PROBE_PROCESS);
	CHECK(probe && probe->report->gone && !probe->report->mappings.n);
	probe_free(probe);
	prober_free(p);
}

TEST(only_regular_files_are_opened)
{
	char folder[] = "/tmp/vestal-prober-XXXXXX", path[64];
	struct prober *p;

	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/pipe", folder);
	CHECK(!mkfifo(path, 0600));
	CHECK_OK(prober_new(&p));
	for (u32 i = 0; i < 2; i++) {
		struct probe *probe = probe_new(PROBE_MODULE, (u32)getpid());
		const char *name = i ? "/proc/self/exe" : path;

		CHECK(probe);
		probe->path = str_n(mem_strdup(name), strlen(name));
		CHECK_OK(prober_post(p, probe));
		probe = take(p, PROBE_MODULE);
		CHECK(probe && (probe->fd >= 0) == (i == 1));
		CHECK(!i || (probe->size && probe->owner == geteuid()));
		probe_free(probe);
	}
	CHECK_INT(prober_perf_map(p, (u32)getpid(), SOON), -1);
	prober_free(p);
	unlink(path);
	rmdir(folder);
}

/* A process with 20,000 mappings of code: what is kept of it is bounded. */
TEST(a_process_of_many_mappings_is_bounded)
{
	const size_t page = 4096, count = 20000;
	char *all = mmap(NULL, 2 * count * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct process_report *r;
	char comm[16] = "";

	CHECK(all != MAP_FAILED);
	for (size_t i = 0; i < count; i++)
		CHECK(!mprotect(all + 2 * i * page, page, PROT_READ | PROT_EXEC));
	r = process_report_new((u32)getpid(), REPORT_MAPS, comm, (struct str){0});
	CHECK(r);
	process_report_read(r);
	munmap(all, 2 * count * page);
	CHECK(r->mappings.n <= MAPPINGS_MAX && !r->gone);
	process_report_free(r);
}

TEST(much_at_once_is_answered_or_refused)
{
	struct prober *p;
	u32 posted = 0, answered = 0, hung;
	struct probe *probe;
	u64 refused;

	CHECK_OK(prober_new(&p));
	for (u32 i = 0; i < 9000; i++)
		posted += post_process(p, 0x40000001u + i, REPORT_MAPS, i) == ERR_OK;
	while (answered < posted && (probe = take(p, PROBE_PROCESS))) {
		answered++;
		probe_free(probe);
	}
	prober_counts(p, &hung, &refused);
	CHECK(answered == posted && posted + refused == 9000);
	/* What waits is dropped with it. */
	for (u32 i = 0; i < 100; i++)
		CHECK_OK(post_process(p, 0x40000001u + i, REPORT_MAPS, i));
	prober_free(p);
}

static struct probe *of_rank(enum probe_rank rank)
{
	struct probe *probe = probe_new(PROBE_PROCESS, 0x40000001u + rank);
	char comm[16] = "";

	if (!probe)
		return NULL;
	probe->rank = rank;
	probe->number = rank;
	probe->report = process_report_new(probe->pid, REPORT_MAPS, comm, (struct str){0});
	return probe;
}

/* From now on its threads rest: they may use next to nothing, and have used more. */
static bool lay_to_rest(struct prober *p)
{
	struct probe *probe;

	prober_set_pace(p, 1);
	if (post_process(p, (u32)getpid(), REPORT_MAPS, 0) != ERR_OK)
		return false;
	probe = take(p, PROBE_PROCESS);
	/* It is charged with the answer. */
	while (probe && !prober_cpu_ns(p))
		clock_sleep_ns(NS_PER_MS);
	probe_free(probe);
	return probe;
}

TEST(what_samples_wait_for_is_read_first)
{
	static const enum probe_rank posted[] = {PROBE_LATER, PROBE_SOON, PROBE_SAMPLES_WAIT};
	struct prober *p;
	int64_t begun;

	CHECK_OK(prober_new(&p));
	CHECK(prober_oldest(p, PROBE_PROCESS) == INT64_MAX);
	CHECK(lay_to_rest(p));
	begun = clock_monotonic_ns();
	for (u32 i = 0; i < 3; i++)
		CHECK_OK(prober_post(p, of_rank(posted[i])));
	CHECK(prober_oldest(p, PROBE_PROCESS) >= begun);
	CHECK(prober_oldest(p, PROBE_PROCESS) <= clock_monotonic_ns());
	CHECK(!prober_take(p, PROBE_PROCESS) && prober_pending(p, PROBE_PROCESS) == 3);
	prober_set_pace(p, 0);
	for (u32 i = 3; i-- > 0;) {
		struct probe *probe = take(p, PROBE_PROCESS);

		CHECK(probe && probe->number == posted[i]);
		probe_free(probe);
	}
	CHECK(prober_oldest(p, PROBE_PROCESS) == INT64_MAX);
	prober_free(p);
}

TEST(whoever_waits_for_an_answer_gets_it_while_the_threads_rest)
{
	struct prober *p;
	u64 refused;
	u32 hung;

	CHECK_OK(prober_new(&p));
	CHECK(lay_to_rest(p));
	CHECK_OK(post_process(p, 0x40000001u, REPORT_MAPS, 1));
	CHECK_INT(prober_perf_map(p, (u32)getpid(), SOON), -1);
	prober_counts(p, &hung, &refused);
	CHECK(!refused && prober_pending(p, PROBE_PROCESS) == 1);
	prober_free(p);
}

/* By the threads' own clocks: on a busy machine they can only be slower. */
TEST(reading_takes_no_more_cpu_time_than_its_pace_allows)
{
	const u64 pace = 10 * NS_PER_MS; /* a second */
	/* What was saved, and the probes that the threads are in. */
	const u64 slack = 10 * NS_PER_MS;
	struct prober *p;
	int64_t from = clock_monotonic_ns();
	struct probe *probe;
	u64 used;

	CHECK_OK(prober_new(&p));
	prober_set_pace(p, pace);
	for (u32 i = 0; i < 5000; i++)
		CHECK_OK(post_process(p, (u32)getpid(), REPORT_MAPS | REPORT_FACTS, i));
	do {
		clock_sleep_ns(20 * NS_PER_MS);
		used = prober_cpu_ns(p);
		CHECK(used <= (u64)(clock_monotonic_ns() - from) * pace / NS_PER_S + slack);
	} while (clock_monotonic_ns() - from < NS_PER_S);
	CHECK(used && prober_pending(p, PROBE_PROCESS));
	while ((probe = prober_take(p, PROBE_PROCESS)))
		probe_free(probe);
	prober_free(p);
}
