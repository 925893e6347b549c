/*
 * What is lost on purpose, for every cause there is, comes back in the answers of a server with the
 * exact amount: through the agent's lists, a request as it is sent, and a store.
 */
#include "agent/losses.h"

#include <math.h>

#include "agent/lost_requests.h"
#include "agent/processes.h"
#include "agent/wait_levels.h"
#include "base/clock.h"
#include "model/profile_maker.h"
#include "server/server_peer.h"
#include "test.h"

#define SECOND	((int64_t)NS_PER_S)
#define AMOUNTS 100
#define SERVICE "svc"
#define CPU	"process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define PERIOD	10000000

/* One window of a process that has everything. */
struct seeded {
	int64_t start, cpu, waits, lost[LOSS_KERNEL_SIDE_CAUSES], lost_waits;
	unsigned types;
	struct budget_state budget;
	unsigned wait_level;
	double clockless;
	bool unread;
};

struct making {
	struct dict dict;
	struct profile_list list, about;
	struct processes *processes;
	struct losses losses;
	struct wait_level_set levels;
	uint32_t unread;
};

static void making_release(struct making *m)
{
	losses_release(&m->losses);
	profile_list_release(&m->about);
	profile_list_release(&m->list);
	processes_free(m->processes);
	dict_release(&m->dict);
}

/* A frame that has no name, of a file that ended its reader. */
static enum err add_nameless(struct making *m, struct profile *p, int64_t count)
{
	struct frame f = {.address = 0x10};
	struct row row = {0};
	uint32_t id;

	TRY(dict_module(&m->dict, STR("/bin/odd"), "", (struct mapping){0}, &m->unread));
	f.mapping = m->unread;
	TRY(dict_frame(&m->dict, &f, &id));
	TRY(dict_stack(&m->dict, &id, 1, &row.stack));
	return profile_add(p, &row, (int64_t[]){count, count * PERIOD});
}

static enum err add_profile(struct making *m, const struct seeded *s, const char *count,
			    const char *value, int64_t n)
{
	struct profile *p;

	TRY(profile_list_add(&m->list, &m->dict, &p));
	TRY(profile_add_type(p, str_of(count), STR("count")));
	TRY(profile_add_type(p, str_of(value), STR("nanoseconds")));
	p->time_ns = s->start;
	p->duration_ns = SECOND;
	if (str_eq(str_of(value), STR("cpu"))) {
		TRY(dict_text(&m->dict, "cpu", &p->period_type.type));
		TRY(dict_text(&m->dict, "nanoseconds", &p->period_type.unit));
		p->period = PERIOD;
	}
	TRY(maker_labels(&m->dict, "service.name=" SERVICE ",host.name=h", &p->resource));
	TRY(maker_add(p, "main;work", "", (int64_t[]){n, n * PERIOD}));
	return s->unread && p->period ? add_nameless(m, p, n) : ERR_OK;
}

static void add_losses(struct making *m, const struct seeded *s)
{
	for (unsigned cause = 0; cause < LOSS_KERNEL_SIDE_CAUSES; cause++) {
		struct loss one = {{0, RECORD_CPU, (u16)cause},
				   (double)s->lost[cause],
				   (double)(s->lost[cause] * PERIOD),
				   SERVICE};

		if (s->lost[cause])
			losses_add(&m->losses, &one);
	}
	if (s->lost_waits)
		losses_add(&m->losses, &(struct loss){{0, RECORD_WAIT, LOSS_RING},
						      (double)s->lost_waits,
						      (double)(s->lost_waits * PERIOD),
						      SERVICE});
}

/* What would be sent of a window: the profiles, what is missing, and what they hold. */
static enum err request_of(struct making *m, const struct seeded *s, struct buf *ret)
{
	struct window window = {.start_ns = s->start,
				.duration_ns = SECOND,
				.types = s->types,
				.host = "h",
				.period_ns = PERIOD};
	struct losses_window how = {.window = &window,
				    .budget = &s->budget,
				    .asked = CAPTURE_CPU | CAPTURE_WAITS | CAPTURE_LOCKS,
				    .had = CAPTURE_CPU | CAPTURE_WAITS,
				    .wait_mean_ns = 1000,
				    .clockless = s->clockless};
	VEC(struct profile *) both = {0};
	enum err e;

	TRY(dict_init(&m->dict, 0));
	TRY(processes_new(NULL, NULL, NULL, NULL, &m->processes));
	m->levels.level_of_all = s->wait_level;
	window.wait_levels = &m->levels;
	how.processes = m->processes;
	if (s->cpu)
		TRY(add_profile(m, s, "samples", "cpu", s->cpu));
	if (s->waits)
		TRY(add_profile(m, s, "off_cpu_waits", "off_cpu", s->waits));
	add_losses(m, s);
	how.unread = &m->unread;
	how.unread_count = s->unread;
	TRY(losses_profiles(&m->losses, &how, &m->dict, &m->list));
	TRY(completeness_of_profiles(&m->list, &m->dict, &m->about));
	e = vec_append(&both, m->list.v, m->list.n);
	if (!e)
		e = vec_append(&both, m->about.v, m->about.n);
	if (!e) {
		struct profile_list all = {.v = both.v, .n = both.n};
		struct writing w = {.list = &all, .type = -1, .compress = 0};

		e = format_write(&formats[FORMAT_OTLP], &w, ret);
		notes_release(&w.notes);
	}
	vec_release(&both);
	return e;
}

static enum err make_request(const struct seeded *s, struct buf *ret)
{
	CLEANUP(making_release) struct making m = {0};

	return request_of(&m, s, ret);
}

#define SERVER(name_)                            \
	CLEANUP(peer_close) struct server name_; \
	CHECK_OK(peer_open(&(name_)))

static int post(struct server *s, struct str body, bool packed)
{
	return peer_status(
		s, "POST", "/v1development/profiles",
		packed ? "content-type: application/x-protobuf\r\ncontent-encoding: gzip\r\n"
		       : "content-type: application/x-protobuf\r\n",
		body);
}

static bool send_window(struct server *server, const struct seeded *s)
{
	CLEANUP(buf_release) struct buf request = BUF_INIT((size_t)1 << 20);

	return make_request(s, &request) == ERR_OK &&
	       post(server, buf_view(&request), false) == 200;
}

/* Whether the answer about a window, or all from it on, has this text in its completeness. */
static bool answer_says(struct server *s, const char *type, int64_t from, int64_t until,
			const char *wanted)
{
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0};
	char target[400];
	struct str body;
	size_t at;

	snprintf(target, sizeof(target),
		 "/api/v1/top?query=" SERVICE "&type=%s&from=%lld&until=%lld", type,
		 (long long)from, (long long)until);
	if (peer_ask(s, &p, "GET", target, "", STR("")) != ERR_OK)
		return false;
	body = rpc_peer_body(&p);
	at = str_search(body, STR("\"completeness\":"));
	if (p.x->reply.status == 200 && at < body.n &&
	    str_search(str_skip(body, at), str_of(wanted)) < body.n - at)
		return true;
	printf("# %s is not in %.*s\n", wanted, (int)body.n, body.p);
	return false;
}

static bool has_cause(struct server *s, const char *type, int64_t start, const char *list,
		      const char *cause, int64_t count, int64_t time_ns)
{
	char wanted[200];

	snprintf(wanted, sizeof(wanted),
		 "\"%s\":[{\"cause\":\"%s\",\"count\":%lld,\"time_ns\":%lld}]", list, cause,
		 (long long)count, (long long)time_ns);
	return answer_says(s, type, start, start + SECOND, wanted);
}

/* Amounts of all sizes: 1, and what no other amount is. */
static int64_t amount(int i)
{
	return 1 + (int64_t)i * i * i * 7 + i;
}

static struct seeded window_at(int64_t start)
{
	return (struct seeded){.start = start,
			       .cpu = 3,
			       .waits = 2,
			       .types = CAPTURE_CPU | CAPTURE_WAITS,
			       .budget = budget_begin(100)};
}

static int64_t long_ago(void)
{
	return (clock_wall_ns() / SECOND - 2 * AMOUNTS) * SECOND;
}

TEST(every_cause_of_the_kernel_side_comes_back_with_its_amount)
{
	SERVER(server);
	int64_t begin = long_ago();

	for (unsigned cause = 0; cause < LOSS_KERNEL_SIDE_CAUSES; cause++)
		for (int i = 0; i < AMOUNTS; i++) {
			struct seeded s = window_at(begin + i * SECOND);

			/* Each cause has a window of its own. */
			s.start -= cause * 4 * AMOUNTS * SECOND;
			s.lost[cause] = amount(i);
			CHECK(send_window(&server, &s));
			CHECK(has_cause(&server, CPU, s.start, "causes", loss_cause_text(cause),
					amount(i), amount(i) * PERIOD));
		}
}

TEST(all_causes_at_once_are_told_apart_and_add_up)
{
	SERVER(server);
	struct seeded s = window_at(long_ago());
	char sum[100];

	s.lost[LOSS_RING] = 300;
	s.lost[LOSS_NESTED] = 20;
	s.lost[LOSS_AGENT] = 1;
	s.lost[LOSS_TABLE] = 4000;
	CHECK(send_window(&server, &s));
	for (unsigned cause = 0; cause < LOSS_KERNEL_SIDE_CAUSES; cause++) {
		char one[100];

		snprintf(one, sizeof(one), "{\"cause\":\"%s\",\"count\":%lld,",
			 loss_cause_text(cause), (long long)s.lost[cause]);
		CHECK(answer_says(&server, CPU, s.start, s.start + SECOND, one));
	}
	snprintf(sum, sizeof(sum), "\"lost\":{\"count\":4321,\"time_ns\":%lld}", 4321LL * PERIOD);
	CHECK(answer_says(&server, CPU, s.start, s.start + SECOND, sum));
}

/* Reports a request of which the server rejected `rejected` profiles; `samples` is the expected
 * loss. */
static bool lose_request(struct server *server, const struct seeded *s, const char *cause,
			 uint64_t rejected, int64_t samples)
{
	CLEANUP(buf_release) struct buf request = BUF_INIT((size_t)1 << 20);
	CLEANUP(lost_requests_release) struct lost_requests lost = {0};
	struct buf taken;
	bool sent;

	if (make_request(s, &request) != ERR_OK)
		return false;
	/* For the metrics: of all types. */
	if (lost_requests_add(&lost, buf_view(&request), cause, rejected) != (uint64_t)samples)
		return false;
	if (!lost_requests_take(&lost, &taken))
		return false;
	sent = post(server, buf_view(&taken), true) == 200;
	buf_release(&taken);
	return sent;
}

TEST(requests_that_nobody_took_come_back_as_lost_with_all_they_held)
{
	static const char *const causes[] = {"queue full", "refused by the server"};
	SERVER(server);
	int64_t begin = long_ago();
	struct seeded first = window_at(begin - SECOND);

	CHECK(send_window(&server, &first));
	for (size_t k = 0; k < 2; k++)
		for (int i = 0; i < AMOUNTS; i++) {
			struct seeded s = window_at(begin - (int64_t)k * 4 * AMOUNTS * SECOND +
						    2 * i * SECOND);
			struct seeded kept = s;

			s.cpu = amount(i);
			CHECK(lose_request(&server, &s, causes[k], LOST_WHOLE, s.cpu + s.waits));
			/* Another that arrived: the answer is about both. */
			CHECK(send_window(&server, &kept));
			CHECK(has_cause(&server, CPU, s.start, "causes", causes[k], amount(i),
					amount(i) * PERIOD));
		}
}

TEST(rejected_profiles_count_as_lost_in_proportion)
{
	SERVER(server);
	struct seeded s = window_at(long_ago());

	s.cpu = 1200;
	s.waits = 0;
	CHECK(send_window(&server, &s));
	/* The request has one profile of the window and two of completeness, each with two
	 * types. */
	CHECK(lose_request(&server, &s, "refused by the server", 1, 200));
	CHECK(has_cause(&server, CPU, s.start, "causes", "refused by the server", 200,
			200LL * PERIOD));
	/* Kept and lost are what was measured. */
	CHECK(answer_says(&server, CPU, s.start, s.start + SECOND, "\"kept\":{\"count\":1000,"));
	CHECK(answer_says(&server, CPU, s.start, s.start + SECOND, "\"kept_share\":0.8333"));
}

static bool body_has(struct server *s, const char *target, const char *wanted)
{
	CLEANUP(rpc_peer_release) struct rpc_peer p = {0};
	struct str body;

	if (peer_ask(s, &p, "GET", target, "", STR("")) != ERR_OK)
		return false;
	body = rpc_peer_body(&p);
	if (str_search(body, str_of(wanted)) < body.n)
		return true;
	printf("# %s is not in %.*s\n", wanted, (int)body.n, body.p);
	return false;
}

/* With samples of another type, or with none at all. */
TEST(a_type_of_which_all_samples_were_lost_is_listed_with_its_losses)
{
	for (int64_t cpu = 0; cpu < 2; cpu++) {
		SERVER(server);
		struct seeded s = window_at(long_ago());
		char overview[200];

		s.cpu = cpu;
		s.waits = 0;
		s.lost_waits = 7;
		CHECK(send_window(&server, &s));
		CHECK(has_cause(&server, "off_cpu", s.start, "causes", "ring full", 7,
				7LL * PERIOD));
		CHECK(answer_says(&server, "off_cpu", s.start, s.start + SECOND,
				  "\"kept_share\":0,"));
		CHECK(body_has(&server, "/api/v1/types?query=" SERVICE, "off_cpu:off_cpu:"));
		snprintf(overview, sizeof(overview), "/api/v1/overview?from=%lld&until=%lld",
			 (long long)s.start, (long long)(s.start + SECOND));
		CHECK(body_has(&server, overview, "100% lost: ring full"));
	}
}

TEST(what_was_off_or_lowered_says_for_how_long_and_why)
{
	SERVER(server);
	int64_t begin = long_ago();

	for (int i = 0; i < AMOUNTS; i++) {
		struct seeded s = window_at(begin + i * SECOND);

		/* CPUs without a clock: this part of the time. */
		s.clockless = (double)amount(i) / (double)(amount(AMOUNTS) + 1);
		s.budget.level = 1;
		s.budget.reason = i % 2 ? BUDGET_CPU : BUDGET_MEMORY;
		s.wait_level = 1 + (unsigned)i % 7;
		s.budget.wait_level = i % 3 ? 2 : 0;
		CHECK(send_window(&server, &s));
		CHECK(has_cause(&server, CPU, s.start, "off", "kernel refused", 0,
				llround(s.clockless * (double)SECOND)));
		CHECK(has_cause(&server, CPU, s.start, "lowered",
				i % 2 ? "cpu budget" : "memory budget", 0, SECOND));
		CHECK(has_cause(&server, "off_cpu", s.start, "lowered",
				i % 3 ? "cpu budget" : "rate of switches", 0, SECOND));
	}
}

/* A window without a profile of the type says why; another before it has one. */
static bool has_off(struct server *server, const struct seeded *s, const char *type,
		    const char *cause)
{
	struct seeded before = window_at(s->start - SECOND);
	char wanted[100];

	snprintf(wanted, sizeof(wanted),
		 "\"off\":[{\"cause\":\"%s\",\"count\":0,\"time_ns\":%lld}]", cause,
		 (long long)SECOND);
	return send_window(server, &before) && send_window(server, s) &&
	       answer_says(server, type, before.start, s->start + SECOND, wanted);
}

TEST(types_that_are_off_say_why)
{
	SERVER(server);
	int64_t begin = long_ago();

	for (int i = 0; i < AMOUNTS; i++) {
		struct seeded load = window_at(begin + 4 * i * SECOND - 8 * AMOUNTS * SECOND);
		struct seeded budget = window_at(load.start + 2 * SECOND);

		load.budget.paused = true;
		load.waits = 0;
		budget.types = CAPTURE_CPU;
		budget.waits = 0;
		CHECK(has_off(&server, &load, CPU, "load of the host"));
		CHECK(has_off(&server, &budget, "off_cpu", "cpu budget"));
	}
}

TEST(samples_whose_reader_of_symbols_ended_say_so)
{
	SERVER(server);
	int64_t begin = long_ago();

	for (int i = 0; i < AMOUNTS; i++) {
		struct seeded s = window_at(begin + i * SECOND);

		s.cpu = amount(i);
		s.unread = true;
		CHECK(send_window(&server, &s));
		CHECK(has_cause(&server, CPU, s.start, "unnamed_causes", "symbol reader ended",
				amount(i), amount(i) * PERIOD));
	}
}

TEST(losses_of_nobody_are_shared_out_by_what_everybody_has)
{
	CLEANUP(making_release) struct making m = {0};
	CLEANUP(buf_release) struct buf request = BUF_INIT((size_t)1 << 20);
	struct seeded s = window_at(SECOND);
	struct completeness c = {0};

	losses_add(&m.losses, &(struct loss){{0, RECORD_CPU, LOSS_RING}, 40, 40.0 * PERIOD, ""});
	CHECK_OK(request_of(&m, &s, &request));
	for (size_t i = 0; i < m.list.n; i++)
		if (profile_is_completeness(m.list.v[i]))
			completeness_read(m.list.v[i], 0, 1, STR("cpu"), &c);
	CHECK_INT(c.parts[PART_LOST].count, 40);
	CHECK_INT(c.parts[PART_LOST].time_ns, 40LL * PERIOD);
}

/* What a window of these profiles tells of a loss whose value nobody knows. */
static enum err tell_unmeasured(const struct seeded *s, u32 kind, const char *measure,
				struct tally_part *ret)
{
	CLEANUP(making_release) struct making m = {0};
	CLEANUP(buf_release) struct buf request = BUF_INIT((size_t)1 << 20);
	struct completeness c = {0};

	losses_add(&m.losses, &(struct loss){{0, (u16)kind, LOSS_TABLE}, 30, 0, SERVICE});
	TRY(request_of(&m, s, &request));
	for (size_t i = 0; i < m.list.n; i++)
		if (profile_is_completeness(m.list.v[i]))
			completeness_read(m.list.v[i], 0, 1, str_of(measure), &c);
	*ret = c.parts[PART_LOST];
	return ERR_OK;
}

TEST(a_loss_whose_length_nobody_knows_counts_for_the_mean_of_the_others)
{
	struct seeded s = window_at(SECOND);
	struct tally_part lost;

	CHECK_OK(tell_unmeasured(&s, RECORD_WAIT, "off_cpu", &lost));
	CHECK_INT(lost.count, 30);
	CHECK_INT(lost.time_ns, 30LL * PERIOD);
	/* Without any, for the threshold; a CPU sample for its period. */
	s.waits = s.cpu = 0;
	CHECK_OK(tell_unmeasured(&s, RECORD_WAIT, "off_cpu", &lost));
	CHECK_INT(lost.count, 30);
	CHECK_INT(lost.time_ns, 30LL * 1000);
	CHECK_OK(tell_unmeasured(&s, RECORD_CPU, "cpu", &lost));
	CHECK_INT(lost.time_ns, 30LL * PERIOD);
}

TEST(a_record_without_room_in_the_agent_counts_for_all_it_stands_for)
{
	struct losses l = {0};
	struct record_head head = {.kind = RECORD_WAIT, .pid = 7, .value = 100, .keep = KEEP_ONE};

	losses_add_record(&l, &head);
	head.kind = RECORD_WAKER;
	losses_add_record(&l, &head);
	CHECK_INT(l.list.n, 1);
	/* Kept with probability 1 - 1/e. */
	CHECK_INT(llround(1000 * l.list.v[0].count), 1582);
	CHECK_INT(l.list.v[0].key.cause, LOSS_AGENT);
	/* Only one wait in eight was followed. */
	head.kind = RECORD_WAIT;
	head.pid = 8;
	head.thin = 3;
	losses_add_record(&l, &head);
	CHECK_INT(llround(1000 * l.list.v[1].count), 12656);
	CHECK_INT(llround(l.list.v[1].value), 1266);
	losses_release(&l);
}

TEST(a_storm_of_processes_takes_no_more_than_its_room_and_loses_no_sum)
{
	struct losses l = {0};
	double sum = 0;

	for (u32 pid = 1; pid <= 10000; pid++)
		losses_add(&l, &(struct loss){{pid, RECORD_CPU, LOSS_RING}, 1, 2, "short"});
	CHECK(l.list.n <= 4097);
	vec_for_each (one, &l.list)
		sum += one->count;
	CHECK_INT(llround(sum), 10000);
	CHECK_INT(llround(l.totals[LOSS_RING]), 10000);
	losses_release(&l);
}

static enum err lose_without_memory(void)
{
	CLEANUP(buf_release) struct buf request = BUF_INIT((size_t)1 << 20);
	CLEANUP(lost_requests_release) struct lost_requests lost = {0};
	struct seeded s = window_at(SECOND);
	struct buf taken;

	s.lost[LOSS_RING] = 5;
	s.unread = true;
	TRY(make_request(&s, &request));
	(void)lost_requests_add(&lost, buf_view(&request), "queue full", LOST_WHOLE);
	if (lost_requests_take(&lost, &taken))
		lost_requests_put_back(&lost, &taken);
	/* Told, or counted as forgotten. */
	return lost.list.n + lost.forgotten == 1 ? ERR_OK : ERR_INTERNAL;
}

TEST(making_and_keeping_them_survives_every_failing_allocation)
{
	ALLOC_SWEEP(lose_without_memory());
}
