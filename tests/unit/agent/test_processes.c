/* Processes and their mappings, with a kernel side that only writes down what it is told. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/prober.h"
#include "agent/processes.h"
#include "agent/raw_stack.h"
#include "agent/target_filter.h"
#include "agent/worker_host.h"
#include "base/clock.h"
#include "test.h"
#include "unwind/arch_x86_64.h"
#include "unwind/unwinders.h"

#define SEGMENTS 4u

/* ---- the kernel side ---- */

static struct {
	struct process_key key;
	struct process_entry entry;
} told[16];
static size_t told_count;

enum err __wrap_kernel_set_process(struct kernel_side *k, const struct process_key *key,
				   const struct process_entry *entry);
void __wrap_kernel_forget_process(struct kernel_side *k, const struct process_key *key);

static size_t told_at(const struct process_key *key)
{
	size_t i = 0;

	while (i < told_count && memcmp(&told[i].key, key, sizeof(*key)) != 0)
		i++;
	return i;
}

enum err __wrap_kernel_set_process(struct kernel_side *k, const struct process_key *key,
				   const struct process_entry *entry)
{
	size_t i = told_at(key);

	(void)k;
	if (i == 16)
		return ERR_NO_SPACE;
	told[i].key = *key;
	told[i].entry = *entry;
	told_count += i == told_count;
	return ERR_OK;
}

void __wrap_kernel_forget_process(struct kernel_side *k, const struct process_key *key)
{
	size_t i = told_at(key);

	(void)k;
	if (i < told_count)
		told[i] = told[--told_count];
}

void __wrap_kernel_refuse(struct kernel_side *k, u32 pid);
bool __wrap_kernel_is_chosen(const struct kernel_side *k, u32 pid);
enum err __wrap_kernel_choose(struct kernel_side *k, u32 pid);

static u32 refused, chosen;

void __wrap_kernel_refuse(struct kernel_side *k, u32 pid)
{
	(void)k, (void)pid;
	refused++;
}

bool __wrap_kernel_is_chosen(const struct kernel_side *k, u32 pid)
{
	(void)k, (void)pid;
	return false;
}

enum err __wrap_kernel_choose(struct kernel_side *k, u32 pid)
{
	(void)k, (void)pid;
	chosen++;
	return ERR_OK;
}

/* ---- what a test works on ---- */

struct world {
	u8 *memory;
	struct unwind_rule *rules;
	struct table_space space;
	struct modules *modules;
	struct processes *processes;
};

static void world_close(struct world *w)
{
	processes_free(w->processes);
	modules_free(w->modules);
	table_space_release(&w->space);
	mem_free(w->memory);
	mem_free(w->rules);
}

static enum err world_open_with(struct world *w, struct prober *prober)
{
	*w = (struct world){0};
	told_count = 0;
	w->memory = mem_zalloc(SEGMENTS, UNWIND_SEGMENT_SIZE);
	w->rules = mem_zalloc(UNWIND_RULES_MAX, sizeof(*w->rules));
	if (!w->memory || !w->rules)
		return ERR_NO_MEMORY;
	TRY(worker_host_start());
	TRY(table_space_init(&w->space, w->memory, SEGMENTS));
	TRY(modules_new(&w->space, w->rules, NULL, &w->modules));
	return processes_new(NULL, w->modules, &w->space, prober, &w->processes);
}

/* /proc is read at once. */
static enum err world_open(struct world *w)
{
	return world_open_with(w, NULL);
}

static bool settle_modules(struct world *w)
{
	bool any = false;

	while (modules_pending(w->modules)) {
		any |= modules_settle(w->modules);
		clock_sleep_ns(NS_PER_MS);
	}
	return any;
}

/* Numbers that no process has. */
#define PARENT 0x40000001u
#define CHILD  0x40000002u

static enum err event(struct world *w, enum sideband_kind kind, u32 pid, u32 parent, u64 time)
{
	struct sideband_event e = {.kind = kind,
				   .pid = pid,
				   .tid = pid,
				   .parent = parent,
				   .time = time,
				   .name = STR("program")};

	return processes_event(w->processes, &e);
}

static enum err map_at(struct world *w, u32 pid, u64 start, u64 end, u64 offset, const char *name)
{
	struct sideband_event e = {.kind = SIDEBAND_MAP,
				   .pid = pid,
				   .tid = pid,
				   .start = start,
				   .end = end,
				   .file_offset = offset,
				   .device_major = 1,
				   .inode = 1000 + strlen(name),
				   .name = str_of(name)};

	return processes_event(w->processes, &e);
}

static struct process *get(struct world *w, u32 pid)
{
	struct process *p = NULL;

	return processes_get(w->processes, pid, &p) == ERR_OK ? p : NULL;
}

/* "start-end@offset" of all mappings, in pages. */
static const char *layout(struct process *p)
{
	static char text[512];
	size_t n = 0;

	text[0] = 0;
	vec_for_each (m, &p->mappings)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%llx-%llx@%llx", n ? " " : "",
				      (unsigned long long)m->start, (unsigned long long)m->end,
				      (unsigned long long)m->file_offset);
	return text;
}

TEST(a_mapping_cuts_what_it_covers)
{
	CLEANUP(world_close) struct world w;
	struct process *p;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_EXEC, PARENT, 0, 1));
	CHECK_OK(map_at(&w, PARENT, 0x1000, 0x9000, 0, "/no/such/a"));
	CHECK_OK(map_at(&w, PARENT, 0xa000, 0xc000, 0, "/no/such/b2"));
	p = get(&w, PARENT);
	CHECK(p && !strcmp(layout(p), "1000-9000@0 a000-c000@0"));
	/* The end of one and the beginning of the next. */
	CHECK_OK(map_at(&w, PARENT, 0x8000, 0xb000, 0x500, ""));
	CHECK(!strcmp(layout(p), "1000-8000@0 8000-b000@500 b000-c000@1000"));
	/* In the middle: it goes on behind. */
	CHECK_OK(map_at(&w, PARENT, 0x3000, 0x4000, 0x700, ""));
	CHECK(!strcmp(layout(p), "1000-3000@0 3000-4000@700 4000-8000@3000 8000-b000@500 "
				 "b000-c000@1000"));
	/* Two mappings, and the process whose program it is. */
	CHECK_INT(modules_get(w.modules, p->mappings.v[0].module)->users, 3);
	/* Over the same place again. */
	CHECK_OK(map_at(&w, PARENT, 0x3000, 0x4000, 0x800, ""));
	CHECK(strstr(layout(p), "3000-4000@800 4000"));
	/* Over everything. */
	CHECK_OK(map_at(&w, PARENT, 0x0, 0x10000, 0, ""));
	CHECK(!strcmp(layout(p), "0-10000@0"));
	CHECK_INT(modules_get(w.modules, 2)->users, 1);
	CHECK_INT(modules_get(w.modules, 3)->users, 0);
	CHECK(process_find(p, 0xffff) && !process_find(p, 0x10000));
}

/* Against a model that knows of every page which mapping is the last one there. */
TEST(mappings_at_random_are_where_the_last_one_put_them)
{
	CLEANUP(world_close) struct world w;
	u64 state = 3;
	u32 owner[64] = {0};
	struct process *p;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_EXEC, PARENT, 0, 1));
	p = get(&w, PARENT);
	for (u32 round = 1; round < 2000; round++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		u32 from = (state >> 40) % 64, size = 1 + (state >> 50) % (64 - from);

		CHECK_OK(map_at(&w, PARENT, from, from + size, (u64)round * 1000 + from, ""));
		for (u32 i = from; i < from + size; i++)
			owner[i] = round;
		for (u32 i = 0; i < 64; i++) {
			struct process_mapping *m = process_find(p, i);

			CHECK(!m == !owner[i]);
			CHECK(!m || m->file_offset + (i - m->start) == (u64)owner[i] * 1000 + i);
		}
	}
}

TEST(a_child_inherits_and_a_new_program_begins_from_nothing)
{
	CLEANUP(world_close) struct world w;
	struct process *parent, *child, *fresh;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_EXEC, PARENT, 0, 1));
	CHECK_OK(map_at(&w, PARENT, 0x1000, 0x9000, 0, "/no/such/a"));
	CHECK_OK(event(&w, SIDEBAND_FORK, CHILD, PARENT, 2));
	parent = get(&w, PARENT);
	child = get(&w, CHILD);
	CHECK(parent && child && parent != child && child->parent == PARENT);
	CHECK(!strcmp(layout(child), "1000-9000@0") && !strcmp(child->comm, "program"));
	CHECK_INT(modules_get(w.modules, 2)->users, 4);
	CHECK(child->program == 2);
	child->references++;
	CHECK_OK(event(&w, SIDEBAND_EXEC, CHILD, 0, 3));
	fresh = get(&w, CHILD);
	CHECK(fresh && fresh != child && !fresh->mappings.n && fresh->parent == PARENT);
	CHECK_INT(child->ended, 3);
	/* Samples still refer to the old one: it stays until they are gone. */
	CHECK_OK(processes_settle(w.processes, false));
	CHECK_INT(processes_count(w.processes), 3);
	child->references--;
	CHECK_OK(processes_settle(w.processes, false));
	CHECK_INT(processes_count(w.processes), 2);
	CHECK_INT(modules_get(w.modules, 2)->users, 2);
	CHECK(get(&w, CHILD) == fresh);
}

TEST(the_kernel_side_is_told_of_changes_and_of_the_end)
{
	CLEANUP(world_close) struct world w;
	struct unwind_mapping *list;
	struct process *p;
	u32 place;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_EXEC, PARENT, 0, 1));
	CHECK_OK(map_at(&w, PARENT, 0x1000, 0x9000, 0, ""));
	CHECK_OK(processes_settle(w.processes, false));
	CHECK_INT(told_count, 0);
	p = get(&w, PARENT);
	processes_want(w.processes, p, 5);
	CHECK_OK(processes_settle(w.processes, false));
	CHECK(told_count == 1 && told[0].key.pid == PARENT && told[0].key.address_space == 5);
	CHECK_INT(told[0].entry.count, 1);
	list = table_space_at(&w.space, told[0].entry.mappings);
	CHECK(list[0].start == 0x1000 && list[0].length == 8);
	CHECK_INT(list[0].unwinder, UNWINDER_FRAME_POINTERS);
	place = told[0].entry.mappings;
	CHECK_OK(processes_settle(w.processes, false));
	CHECK_INT(told[0].entry.mappings, place);
	CHECK_OK(map_at(&w, PARENT, 0x8000, 0xb000, 0, ""));
	CHECK_OK(processes_settle(w.processes, false));
	CHECK(told[0].entry.mappings != place && told[0].entry.count == 2);
	/* Under another key: the old one must not lead to memory that is given back. */
	processes_want(w.processes, p, 6);
	CHECK_OK(processes_settle(w.processes, false));
	CHECK(told_count == 1 && told[0].key.address_space == 6);
	CHECK_OK(event(&w, SIDEBAND_EXIT, PARENT, 0, 9));
	CHECK_OK(processes_settle(w.processes, false));
	CHECK_INT(told_count, 0);
	CHECK_INT(processes_count(w.processes), 0);
}

/* Whoever is told gets a new list of its mappings. */
TEST(only_who_maps_a_file_is_told_when_its_table_has_come)
{
	CLEANUP(world_close) struct world w;
	struct process_key ours = {(u32)getpid(), 1};
	u32 before, before_ours;
	struct process *p;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_EXEC, PARENT, 0, 1));
	CHECK_OK(map_at(&w, PARENT, 0x1000, 0x9000, 0, ""));
	processes_want(w.processes, get(&w, PARENT), 5);
	p = get(&w, (u32)getpid());
	processes_want(w.processes, p, 1);
	CHECK_OK(processes_settle(w.processes, false));
	CHECK(told_count == 2 && told_at(&ours) < 2);
	before = told[!told_at(&ours)].entry.mappings;
	before_ours = told[told_at(&ours)].entry.mappings;
	CHECK(settle_modules(&w));
	CHECK_OK(processes_settle(w.processes, true));
	CHECK_INT(told[!told_at(&ours)].entry.mappings, before);
	CHECK(told[told_at(&ours)].entry.mappings != before_ours);
	/* And once. */
	before_ours = told[told_at(&ours)].entry.mappings;
	CHECK_OK(processes_settle(w.processes, true));
	CHECK_INT(told[told_at(&ours)].entry.mappings, before_ours);
}

TEST(without_room_the_kernel_side_forgets_rather_than_keeps_what_is_old)
{
	CLEANUP(world_close) struct world w;
	struct space_range r;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_EXEC, PARENT, 0, 1));
	CHECK_OK(map_at(&w, PARENT, 0x1000, 0x9000, 0, ""));
	processes_want(w.processes, get(&w, PARENT), 5);
	CHECK_OK(processes_settle(w.processes, false));
	CHECK_INT(told_count, 1);
	while (!table_space_take(&w.space, 1 << 16, &r) || !table_space_take(&w.space, 64, &r))
		;
	CHECK_OK(map_at(&w, PARENT, 0x2000, 0x3000, 0, ""));
	CHECK_OK(processes_settle(w.processes, false));
	CHECK_INT(told_count, 0);
}

TEST(a_sample_after_the_end_belongs_to_who_ended)
{
	CLEANUP(world_close) struct world w;
	struct process *p;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_EXEC, PARENT, 0, 1));
	CHECK_OK(map_at(&w, PARENT, 0x1000, 0x9000, 0, ""));
	p = get(&w, PARENT);
	CHECK_OK(event(&w, SIDEBAND_EXIT, PARENT, 0, 5));
	CHECK(get(&w, PARENT) == p);
	CHECK_INT(processes_count(w.processes), 1);
	/* The number is given out again. */
	CHECK_OK(event(&w, SIDEBAND_FORK, PARENT, CHILD, 6));
	CHECK(get(&w, PARENT) != p);
}

TEST(who_is_gone_before_it_is_known_does_not_stay)
{
	CLEANUP(world_close) struct world w;

	CHECK_OK(world_open(&w));
	for (u32 i = 0; i < 100; i++) {
		CHECK(get(&w, CHILD + i));
		CHECK_OK(processes_settle(w.processes, false));
	}
	CHECK_INT(processes_count(w.processes), 0);
}

TEST(who_is_gone_is_still_known_by_what_is_told_later)
{
	CLEANUP(world_close) struct world w;
	struct process *p;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_EXEC, PARENT, 0, 1));
	/* A sample before its first mapping; /proc does not have it any more. */
	p = get(&w, PARENT);
	processes_reread(w.processes, p, 1);
	CHECK_OK(map_at(&w, PARENT, 0x1000, 0x9000, 0, ""));
	CHECK(get(&w, PARENT) == p && process_find(p, 0x1000));
}

static void *idle(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

/* A process whose first thread is gone goes on. */
TEST(the_end_of_the_first_thread_is_not_the_end)
{
	CLEANUP(world_close) struct world w;
	pid_t pid = fork();
	char path[64], state[512] = "";

	if (!pid) {
		pthread_t other;

		pthread_create(&other, NULL, idle, NULL);
		pthread_exit(NULL);
	}
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int i = 0; i < 5000 && !strstr(state, ") Z "); i++) {
		FILE *f = fopen(path, "r");

		clock_sleep_ns(NS_PER_MS);
		state[f ? fread(state, 1, sizeof(state) - 1, f) : 0] = 0;
		if (f)
			fclose(f);
	}
	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_EXEC, (u32)pid, 0, 1));
	CHECK_OK(map_at(&w, (u32)pid, 0x1000, 0x9000, 0, ""));
	CHECK_OK(event(&w, SIDEBAND_EXIT, (u32)pid, 0, 2));
	CHECK_OK(processes_settle(w.processes, false));
	CHECK(get(&w, (u32)pid) && get(&w, (u32)pid)->mappings.n == 1);
	/* What it runs is asked of a thread that is there. */
	CHECK_OK(processes_facts(w.processes, get(&w, (u32)pid)));
	CHECK(!get(&w, (u32)pid)->facts.gone && get(&w, (u32)pid)->facts.program.n);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK_OK(processes_settle(w.processes, false));
	CHECK_INT(processes_count(w.processes), 0);
}

/* Waits until it is ended, as a service of this name. */
static pid_t begin_service(const char *variable)
{
	char *environment[] = {(char *)variable, NULL};
	char path[64], target[256] = "";
	pid_t pid = fork();

	if (!pid) {
		execle("/bin/sleep", "sleep", "1000", NULL, environment);
		_exit(1);
	}
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	for (int i = 0; i < 5000 && !strstr(target, "/sleep"); i++) {
		ssize_t n = readlink(path, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = 0;
		clock_sleep_ns(NS_PER_MS);
	}
	return pid;
}

/* Most processes of a server that forks end before anybody can ask them who they are. */
TEST(who_is_gone_is_of_the_service_of_its_parent)
{
	CLEANUP(world_close) struct world w;
	pid_t service = begin_service("OTEL_SERVICE_NAME=shop"), other = begin_service("A=b");
	struct process *p;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_FORK, CHILD, (u32)service, 1));
	p = get(&w, CHILD);
	CHECK_OK(processes_facts(w.processes, p));
	CHECK_STR(p->facts.service, "shop");
	CHECK(strstr(p->facts.program.p, "/sleep"));
	/* A child of it runs another program: the environment is the same, the program is not. */
	CHECK_OK(event(&w, SIDEBAND_FORK, CHILD + 1, CHILD, 2));
	CHECK_OK(event(&w, SIDEBAND_EXEC, CHILD + 1, 0, 3));
	p = get(&w, CHILD + 1);
	CHECK_OK(processes_facts(w.processes, p));
	CHECK_STR(p->facts.service, "shop");
	CHECK(!p->facts.program.n);
	/* A service that is only called after its program: other programs are others. */
	CHECK_OK(event(&w, SIDEBAND_FORK, CHILD + 2, (u32)other, 4));
	CHECK_OK(event(&w, SIDEBAND_FORK, CHILD + 3, (u32)other, 5));
	CHECK_OK(event(&w, SIDEBAND_EXEC, CHILD + 3, 0, 6));
	p = get(&w, CHILD + 2);
	CHECK_OK(processes_facts(w.processes, p));
	CHECK_STR(p->facts.service, "sleep");
	p = get(&w, CHILD + 3);
	CHECK_OK(processes_facts(w.processes, p));
	CHECK_STR(p->facts.service, "program");
	kill(service, SIGKILL);
	kill(other, SIGKILL);
	waitpid(service, NULL, 0);
	waitpid(other, NULL, 0);
}

/* As in a turn of the agent, until it is clear who it is. */
static enum err find_out(struct world *w, struct process *p)
{
	enum err e = ERR_OK;

	p->references++;
	for (int i = 0; !e && i < 10000 && !p->facts.read; i++) {
		e = processes_facts(w->processes, p);
		processes_take(w->processes);
		if (!e)
			e = processes_settle(w->processes, false);
		clock_sleep_ns(NS_PER_MS);
	}
	p->references--;
	return e ? e : p->facts.read ? ERR_OK : ERR_TIMEOUT;
}

/* `count` that begin one another, the last of which runs another program; all end. */
static enum err end_in_a_row(struct world *w, u32 from, u32 first, u32 count)
{
	for (u32 i = 0; i < count; i++)
		TRY(event(w, SIDEBAND_FORK, first + i, i ? first + i - 1 : from, i + 1));
	TRY(event(w, SIDEBAND_EXEC, first + count - 1, 0, count + 1));
	for (u32 i = 0; i < count; i++)
		TRY(event(w, SIDEBAND_EXIT, first + i, 0, count + 2));
	return ERR_OK;
}

/* What is asked for is answered turns later: those before it stay known until then. */
TEST(who_is_gone_is_of_the_service_of_its_parent_although_that_is_gone_and_asked_later)
{
	pid_t service = begin_service("OTEL_SERVICE_NAME=shop");
	struct prober *prober;
	struct world w;
	struct process *p;

	CHECK_OK(prober_new(&prober));
	CHECK_OK(world_open_with(&w, prober));
	CHECK_OK(end_in_a_row(&w, (u32)service, CHILD, 4));
	p = get(&w, CHILD + 3);
	CHECK_OK(find_out(&w, p));
	CHECK_STR(p->facts.service, "shop");
	CHECK(p->facts.said && p->facts.gone && !p->facts.program.n);
	/* More than are asked: it ends all the same. */
	CHECK_OK(end_in_a_row(&w, (u32)service, CHILD + 100, 30));
	p = get(&w, CHILD + 129);
	CHECK_OK(find_out(&w, p));
	CHECK_STR(p->facts.service, "program");
	/* Nobody keeps anybody any more: a turn for each generation. */
	for (int i = 0; i < 20; i++)
		CHECK_OK(processes_settle(w.processes, false));
	CHECK_INT(processes_count(w.processes), 1);
	world_close(&w);
	prober_free(prober);
	kill(service, SIGKILL);
	waitpid(service, NULL, 0);
}

/* The prober may rest for seconds: samples wait for processes that have not been read yet. */
TEST(a_process_not_read_yet_is_waited_for_longer)
{
	struct prober *prober;
	struct process *first, *second;
	struct world w;

	CHECK_OK(prober_new(&prober));
	CHECK_OK(world_open_with(&w, prober));
	prober_set_pace(prober, 1);
	first = get(&w, PARENT);
	first->references++;
	for (int i = 0; i < 10000 && !prober_cpu_ns(prober); i++)
		clock_sleep_ns(NS_PER_MS);
	CHECK(processes_take(w.processes) && !processes_pending(w.processes, first, REPORT_MAPS));
	second = get(&w, (u32)getpid());
	CHECK(!processes_take(w.processes));
	clock_sleep_ns(NS_PER_S + 10 * NS_PER_MS);
	CHECK(processes_pending(w.processes, second, REPORT_MAPS));
	prober_set_pace(prober, 0);
	for (int i = 0; i < 10000 && !processes_take(w.processes); i++)
		clock_sleep_ns(NS_PER_MS);
	CHECK(!processes_pending(w.processes, second, REPORT_MAPS) && second->mappings.n);
	first->references--;
	world_close(&w);
	prober_free(prober);
}

/* The prober rests: it has used more than the next to nothing that it may use. */
static bool lay_to_rest(struct world *w, struct prober *prober)
{
	u64 before = prober_cpu_ns(prober);

	prober_set_pace(prober, 1);
	if (!get(w, PARENT))
		return false;
	for (int i = 0; i < 10000 && prober_cpu_ns(prober) == before; i++)
		clock_sleep_ns(NS_PER_MS);
	return processes_take(w->processes);
}

/* It rests no more: until /proc has answered all questions about a process. */
static bool wake(struct world *w, struct prober *prober, const struct process *p)
{
	prober_set_pace(prober, 0);
	for (int i = 0; i < 10000 && p->asked; i++) {
		(void)processes_take(w->processes);
		clock_sleep_ns(NS_PER_MS);
	}
	return !p->asked;
}

TEST(a_process_that_was_read_too_late_is_decided_again)
{
	pid_t service = begin_service("OTEL_SERVICE_NAME=shop");
	struct targets targets = {0};
	struct target_filter filter = {&targets, NULL, 1};
	enum target_verdict verdict;
	struct prober *prober;
	struct target target;
	struct process *p;
	struct world w;

	refused = chosen = 0;
	CHECK_OK(target_parse("label=service.name=shop", &target, NULL));
	CHECK_OK(targets_add(&targets, &target, NULL));
	CHECK_OK(prober_new(&prober));
	CHECK_OK(world_open_with(&w, prober));
	CHECK(lay_to_rest(&w, prober));
	p = get(&w, (u32)service);
	CHECK_OK(target_filter_process(&filter, NULL, w.processes, p, &verdict));
	/* Unless this thread was kept from running for a second. */
	CHECK(verdict == FILTER_LATER || verdict == FILTER_UNKNOWN);
	/* Nothing waits for it any longer. Its records must go on coming. */
	p->asked_at = 0;
	for (int i = 0; i < 3; i++) {
		CHECK_OK(target_filter_process(&filter, NULL, w.processes, p, &verdict));
		CHECK_INT(verdict, FILTER_UNKNOWN);
	}
	CHECK(!refused && !chosen);
	CHECK(wake(&w, prober, p));
	CHECK_OK(target_filter_process(&filter, NULL, w.processes, p, &verdict));
	CHECK(wake(&w, prober, p));
	CHECK_OK(target_filter_process(&filter, NULL, w.processes, p, &verdict));
	CHECK_INT(verdict, FILTER_WANTED);
	CHECK(!refused && chosen);
	world_close(&w);
	prober_free(prober);
	targets_release(&targets);
	kill(service, SIGKILL);
	waitpid(service, NULL, 0);
}

TEST(rules_are_applied_when_a_process_was_read_too_late)
{
	struct config_pair env = {"TEAM", "a"}, label = {"team", "yes"};
	struct label_rule_text text = {.env = {.v = &env, .n = 1}, .labels = {.v = &label, .n = 1}};
	pid_t service = begin_service("TEAM=a");
	struct label_rules *rules;
	struct target_filter filter = {NULL, NULL, 1};
	enum target_verdict verdict;
	struct prober *prober;
	struct process *p;
	struct world w;

	CHECK_OK(label_rules_new(&text, 1, "x.yaml", &rules, NULL));
	filter.rules = rules;
	CHECK_OK(prober_new(&prober));
	CHECK_OK(world_open_with(&w, prober));
	p = get(&w, (u32)service);
	CHECK_OK(find_out(&w, p));
	CHECK(lay_to_rest(&w, prober));
	/* Who it is is known; what the rule looks at is not. */
	CHECK_OK(target_filter_process(&filter, NULL, w.processes, p, &verdict));
	CHECK(verdict == FILTER_LATER || verdict == FILTER_WANTED);
	p->asked_at = 0;
	CHECK_OK(target_filter_process(&filter, NULL, w.processes, p, &verdict));
	CHECK(verdict == FILTER_WANTED && !p->facts.labels.n);
	CHECK(wake(&w, prober, p));
	CHECK_OK(target_filter_process(&filter, NULL, w.processes, p, &verdict));
	CHECK(verdict == FILTER_WANTED);
	CHECK_STR(p->facts.labels, "team=yes\n");
	world_close(&w);
	prober_free(prober);
	label_rules_free(rules);
	kill(service, SIGKILL);
	waitpid(service, NULL, 0);
}

/* Facts of a limited number of processes are read per second, and most others end before their
 * turn. */
TEST(a_process_that_ends_unread_belongs_to_its_parents_service)
{
	pid_t service = begin_service("OTEL_SERVICE_NAME=shop");
	struct prober *prober;
	struct process *p;
	struct world w;
	u32 unasked = 0;

	CHECK_OK(prober_new(&prober));
	CHECK_OK(world_open_with(&w, prober));
	CHECK_OK(event(&w, SIDEBAND_FORK, CHILD, (u32)service, 1));
	CHECK_OK(find_out(&w, get(&w, (u32)service)));
	for (u32 i = 1; i < 1000; i++) {
		CHECK_OK(event(&w, SIDEBAND_FORK, CHILD + i, (u32)service, 2));
		CHECK_OK(event(&w, SIDEBAND_EXEC, CHILD + i, 0, 3));
		p = get(&w, CHILD + i);
		CHECK_OK(processes_facts(w.processes, p));
		unasked += !p->asked;
		CHECK_STR(p->facts.service, "shop");
		/* Facts of live processes are read later. */
		CHECK(!p->facts.read);
	}
	CHECK(unasked > 100);
	world_close(&w);
	prober_free(prober);
	kill(service, SIGKILL);
	waitpid(service, NULL, 0);
}

TEST(who_is_gone_is_of_the_service_of_its_parent_although_that_runs_another_program)
{
	CLEANUP(world_close) struct world w;
	pid_t service = begin_service("OTEL_SERVICE_NAME=shop");
	struct process *p;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_FORK, CHILD, (u32)service, 1));
	CHECK_OK(event(&w, SIDEBAND_EXEC, (u32)service, 0, 2));
	CHECK_OK(processes_settle(w.processes, false));
	p = get(&w, CHILD);
	CHECK_OK(processes_facts(w.processes, p));
	CHECK_STR(p->facts.service, "shop");
	kill(service, SIGKILL);
	waitpid(service, NULL, 0);
}

TEST(our_own_process_is_read_and_its_tables_are_made)
{
	CLEANUP(world_close) struct world w;
	struct process_mapping *m;
	struct process *p;
	u32 rule;

	CHECK_OK(world_open(&w));
	p = get(&w, (u32)getpid());
	CHECK(p && p->mappings.n > 1);
	m = process_find(p, (u64)(uintptr_t)&world_open);
	CHECK(m && m->module != MODULE_NONE);
	/* Only who was sampled is worth it. */
	CHECK(modules_get(w.modules, m->module)->state == MODULE_UNREAD);
	processes_want(w.processes, p, 1);
	CHECK(settle_modules(&w));
	CHECK(processes_place(w.processes, m));
	CHECK_INT(module_rule(w.modules, m->module, (u64)(uintptr_t)&world_open - m->bias, &rule),
		  -1);
	CHECK_INT(rule, UNWIND_RULE_ENTRY);
	/* Asked again nothing is new. */
	p->changed = false;
	processes_reread(w.processes, p, 1);
	/* valgrind translates code meanwhile, into memory it maps. */
	CHECK(!p->changed || getenv("VESTAL_VALGRIND"));
	CHECK_OK(processes_facts(w.processes, p));
	CHECK(p->facts.service.n);
}

/* A stack as the kernel side sends it, walked with the tables of this very program. */
TEST(a_raw_stack_is_walked)
{
	static struct {
		struct record_head head;
		u64 kernel[2], registers[RECORD_REGISTERS], stack[8];
	} raw = {.head = {.kind = RECORD_CPU, .flags = RECORD_RAW, .kernel_frames = 2}};
	CLEANUP(world_close) struct world w;
	u64 addresses[16];
	struct process *p;
	u32 missing;
	size_t n;

	CHECK_OK(world_open(&w));
	p = get(&w, (u32)getpid());
	raw.head.stack_size = sizeof(raw.stack);
	raw.registers[ARCH_DWARF_RA] = (u64)(uintptr_t)&world_open;
	raw.registers[ARCH_DWARF_RSP] = 0x7fff00000000;
	raw.stack[0] = (u64)(uintptr_t)&world_close + 1;
	raw.stack[1] = 0;
	CHECK_INT(raw_stack_walk(w.processes, w.modules, p, &raw.head, addresses, 16, &n, &missing),
		  UNWIND_NO_TABLE);
	settle_modules(&w);
	CHECK_INT(raw_stack_walk(w.processes, w.modules, p, &raw.head, addresses, 16, &n, &missing),
		  UNWIND_ROOT);
	CHECK_INT(n, 2);
	CHECK_INT(addresses[1], raw.stack[0]);
	/* Memory that was not copied. */
	raw.head.stack_size = 8;
	CHECK_INT(raw_stack_walk(w.processes, w.modules, p, &raw.head, addresses, 16, &n, &missing),
		  UNWIND_BAD_MEMORY);
	raw.head.stack_size = 4;
	CHECK_INT(raw_stack_walk(w.processes, w.modules, p, &raw.head, addresses, 16, &n, &missing),
		  UNWIND_BAD_MEMORY);
	CHECK_INT(n, 1);
	raw.registers[ARCH_DWARF_RA] = 0x10;
	CHECK_INT(raw_stack_walk(w.processes, w.modules, p, &raw.head, addresses, 16, &n, &missing),
		  UNWIND_UNMAPPED);
}

TEST(after_a_loss_of_events_everybody_is_asked_again)
{
	CLEANUP(world_close) struct world w;
	struct process *p, *gone;
	size_t mappings;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_EXEC, PARENT, 0, 1));
	CHECK_OK(map_at(&w, PARENT, 0x1000, 0x9000, 0, "/no/such/a"));
	gone = get(&w, PARENT);
	p = get(&w, (u32)getpid());
	mappings = p->mappings.n;
	/* What it mapped before it ran another program, which nobody told. */
	CHECK_OK(map_at(&w, (u32)getpid(), 0x1000, 0x2000, 0, "/no/such/b2"));
	CHECK(process_find(p, 0x1000));
	p->changed = false;
	CHECK_INT(processes_reread_all(w.processes, 77), 2);
	CHECK(!process_find(p, 0x1000) && p->changed && !p->ended);
	/* Code made at run time, as valgrind does, may have come meanwhile. */
	CHECK(p->mappings.n >= mappings && p->mappings.n <= mappings + 2);
	CHECK(process_find(p, (u64)(uintptr_t)&world_open));
	CHECK(gone->ended);
}

TEST(many_processes_come_and_go_without_growing)
{
	CLEANUP(world_close) struct world w;
	struct modules_stats stats;

	CHECK_OK(world_open(&w));
	CHECK_OK(event(&w, SIDEBAND_EXEC, PARENT, 0, 1));
	CHECK_OK(map_at(&w, PARENT, 0x1000, 0x9000, 0, "/no/such/a"));
	for (u32 i = 0; i < 20000; i++) {
		CHECK_OK(event(&w, SIDEBAND_FORK, CHILD + i, PARENT, 2 * i));
		CHECK_OK(event(&w, SIDEBAND_EXEC, CHILD + i, PARENT, 2 * i + 1));
		CHECK_OK(map_at(&w, CHILD + i, 0x1000, 0x9000, 0, "/no/such/b"));
		CHECK_OK(event(&w, SIDEBAND_EXIT, CHILD + i, PARENT, 2 * i + 2));
		if (i % 10 == 9)
			CHECK_OK(processes_settle(w.processes, false));
	}
	CHECK_INT(processes_count(w.processes), 1);
	modules_stats(w.modules, &stats);
	CHECK_INT(stats.live, 4);
	CHECK_INT(stats.idle, 1);
}
