/* What the server is put together from: queues, timers, mailboxes, parameters. */
#include <poll.h>
#include <unistd.h>

#include "base/thread.h"
#include "net/buf_pool.h"
#include "net/clients.h"
#include "net/http.h"
#include "net/mailbox.h"
#include "net/outqueue.h"
#include "net/timer_heap.h"

#include "test.h"

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return random_state >> 8;
}

/* Sends up to `n` bytes of the queue to `out`. */
static void drain(struct outqueue *q, size_t n, struct buf *out)
{
	struct iovec parts[3];
	int count = outqueue_view(q, parts, 3);
	size_t taken = 0;

	for (int i = 0; i < count && taken < n; i++) {
		size_t piece = parts[i].iov_len < n - taken ? parts[i].iov_len : n - taken;

		buf_append(out, parts[i].iov_base, piece);
		taken += piece;
	}
	outqueue_sent(q, taken);
}

TEST(outqueue_gives_back_what_went_in_however_it_is_sent)
{
	CLEANUP(buf_release) struct buf want = BUF_INIT(1 << 26), got = BUF_INIT(1 << 26);
	CLEANUP(outqueue_release) struct outqueue q = {0};
	static char bytes[40000];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)next_random();
	for (int round = 0; round < 2000; round++) {
		size_t n = next_random() % (round % 7 ? 300 : 40000);
		struct str piece = str_n(bytes + next_random() % (sizeof(bytes) - n), n);
		struct buf own = BUF_INIT(1 << 20);

		buf_str(&want, piece);
		if (round % 3 == 0) {
			buf_str(&own, piece);
			outqueue_take(&q, &own, NULL);
			CHECK(!own.data);
		} else if (round % 3 == 1) {
			outqueue_static(&q, piece);
		} else {
			outqueue_copy(&q, piece);
		}
		if (round % 2)
			drain(&q, next_random() % 20000, &got);
		CHECK_INT(q.bytes, want.n - got.n);
	}
	while (q.bytes)
		drain(&q, 100000, &got);
	CHECK(!q.first && !q.error);
	CHECK(str_eq(buf_view(&want), buf_view(&got)));
}

static enum err fill_queue(void)
{
	CLEANUP(outqueue_release) struct outqueue q = {0};
	CLEANUP(buf_release) struct buf large = BUF_INIT(1 << 20);
	static const char bytes[20000];

	buf_append(&large, bytes, sizeof(bytes));
	TRY(buf_error(&large));
	outqueue_copy(&q, STR("small"));
	outqueue_take(&q, &large, NULL);
	outqueue_copy(&q, str_n(bytes, sizeof(bytes)));
	outqueue_static(&q, str_n(bytes, sizeof(bytes)));
	outqueue_copy(&q, STR("small"));
	return q.error ? q.error : q.bytes == 60010 ? ERR_OK : ERR_INTERNAL;
}

TEST(outqueue_survives_no_memory)
{
	ALLOC_SWEEP(fill_queue());
}

#define TIMERS 500

TEST(timers_come_in_order_and_may_be_moved_and_removed)
{
	CLEANUP(timer_heap_release) struct timer_heap h = {0};
	static struct timer timers[TIMERS];
	static int64_t wanted[TIMERS];
	int64_t last = 0;
	unsigned left = 0, seen = 0;
	struct timer *t;

	CHECK_OK(timer_heap_reserve(&h, TIMERS));
	for (unsigned i = 0; i < TIMERS * 10; i++) {
		unsigned k = next_random() % TIMERS;
		int64_t at = 1 + next_random() % 100000;

		if (i % 5 == 0) {
			timer_remove(&h, &timers[k]);
			wanted[k] = 0;
			continue;
		}
		timer_set(&h, &timers[k], at);
		/* A later moment leaves it where it is. */
		if (!wanted[k] || at < wanted[k])
			wanted[k] = at;
		CHECK(timers[k].at_ns == wanted[k]);
	}
	timer_set(&h, &timers[0], INT64_MAX);
	for (unsigned i = 0; i < TIMERS; i++)
		left += wanted[i] != 0;
	CHECK_INT(h.items.n, left);
	CHECK(timer_heap_pop(&h, 0) == NULL);
	while ((t = timer_heap_pop(&h, 1000000))) {
		CHECK(t->at_ns >= last && !t->place);
		CHECK(t->at_ns == wanted[t - timers]);
		last = t->at_ns;
		seen++;
	}
	CHECK_INT(seen, left);
	CHECK(timer_heap_next(&h) == INT64_MAX);
}

#define POSTERS 4
#define LETTERS 2000

struct letter {
	struct mail mail;
	unsigned poster, number;
};

struct poster {
	struct mailbox *box;
	struct thread thread;
	unsigned number;
	struct letter letters[LETTERS];
};

static void post_all(void *context)
{
	struct poster *p = context;

	for (unsigned i = 0; i < LETTERS; i++) {
		p->letters[i] = (struct letter){.poster = p->number, .number = i};
		mailbox_post(p->box, &p->letters[i].mail);
	}
}

TEST(mail_of_several_threads_arrives_once_and_in_order)
{
	static struct poster posters[POSTERS];
	unsigned next[POSTERS] = {0}, all = 0;
	struct mailbox box;

	CHECK_OK(mailbox_open(&box));
	for (unsigned i = 0; i < POSTERS; i++) {
		posters[i] = (struct poster){.box = &box, .number = i};
		CHECK_OK(thread_start(&posters[i].thread, "poster", post_all, &posters[i]));
	}
	while (all < POSTERS * LETTERS) {
		struct mail *mail = mailbox_take(&box);

		if (!mail && mailbox_sleep(&box)) {
			struct pollfd wake = {.fd = box.fd, .events = POLLIN};
			uint64_t count;

			/* Nobody is lost: a letter posted now wakes. */
			CHECK(poll(&wake, 1, 20000) == 1);
			CHECK(read(box.fd, &count, sizeof(count)) == sizeof(count));
		}
		mailbox_awake(&box);
		for (; mail; mail = mail->next, all++) {
			struct letter *l = (struct letter *)mail;

			CHECK_INT(l->number, next[l->poster]);
			next[l->poster]++;
		}
	}
	for (unsigned i = 0; i < POSTERS; i++)
		thread_join(&posters[i].thread);
	CHECK(!mailbox_take(&box));
	mailbox_release(&box);
}

TEST(pooled_buffers_are_used_again_within_bounds)
{
	struct buf_pool pool = {0};
	struct buf b = buf_pool_get(&pool, 1 << 20), large = BUF_INIT(SIZE_MAX);
	char *memory;

	buf_text(&b, "body");
	memory = b.data;
	buf_pool_put(&pool, &b);
	CHECK(!b.data);
	b = buf_pool_get(&pool, 3);
	CHECK(b.data == memory && !b.n && b.ceiling == 3);
	buf_text(&b, "body");
	CHECK_ERR(buf_error(&b), ERR_TOO_LARGE);
	buf_pool_put(&pool, &b);
	buf_reserve(&large, BUF_POOL_MAX + 1);
	buf_pool_put(&pool, &large);
	CHECK_INT(pool.n, 1);
	for (int i = 0; i < 2 * BUF_POOL_SLOTS; i++) {
		struct buf one = BUF_INIT(100);

		buf_text(&one, "x");
		buf_pool_put(&pool, &one);
	}
	CHECK_INT(pool.n, BUF_POOL_SLOTS);
	buf_pool_release(&pool);
}

static enum err list_pair(void *context, struct str name, struct str value)
{
	buf_printf(context, "[%.*s=%.*s]", (int)name.n, name.p, (int)value.n, value.p);
	return ERR_OK;
}

TEST(connections_and_requests_of_a_client_are_bounded_and_given_back)
{
	struct client *at[4] = {0}, *of[4] = {0}, *none = NULL, *extra = NULL;
	struct fault fault = {0};
	struct clients *all;

	CHECK_OK(clients_new(2, &all));
	/* Two requests on one connection; a third is refused. */
	CHECK_OK(clients_count(all, STR("a"), &at[0], &of[0], NULL));
	CHECK_OK(clients_count(all, STR("a"), &at[0], &of[1], NULL));
	CHECK_ERR(clients_count(all, STR("a"), &at[1], &extra, &fault), ERR_BUSY);
	CHECK(strstr(fault.text, "2 running requests"));
	CHECK(!at[1] && !extra);
	client_drop_request(of[0]);
	client_drop_request(of[1]);
	/* Two connections, neither of which has a running request. */
	CHECK_OK(clients_count(all, STR("a"), &at[1], &of[0], NULL));
	client_drop_request(of[0]);
	CHECK_ERR(clients_count(all, STR("a"), &none, &extra, &fault), ERR_BUSY);
	CHECK(strstr(fault.text, "2 connections"));
	CHECK_OK(clients_count(all, STR("b"), &at[2], &of[2], NULL));
	/* A request may outlive its connection. */
	client_drop_connection(at[2]);
	client_drop_request(of[2]);
	client_drop_connection(at[1]);
	CHECK_OK(clients_count(all, STR("a"), &none, &extra, NULL));
	client_drop_connection(none);
	client_drop_connection(at[0]);
	client_drop_request(extra);
	client_drop_request(NULL);
	client_drop_connection(NULL);
	clients_free(all);
	clients_free(NULL);
}

static enum err count_one(void)
{
	struct client *connection = NULL, *request = NULL;
	struct clients *all = NULL;
	enum err error = clients_new(1, &all);

	if (error == ERR_OK)
		error = clients_count(all, STR("somebody"), &connection, &request, NULL);
	client_drop_request(request);
	client_drop_connection(connection);
	clients_free(all);
	return error;
}

TEST(counting_clients_survives_no_memory)
{
	ALLOC_SWEEP(count_one());
}

TEST(parameters_are_split_and_decoded)
{
	static const struct {
		const char *query, *pairs;
	} rows[] = {
		{"", ""},
		{"a=1&b=2", "[a=1][b=2]"},
		{"a", "[a=]"},
		{"a=", "[a=]"},
		{"=1", "[=1]"},
		{"&&a=1&", "[a=1]"},
		{"a=b=c", "[a=b=c]"},
		{"a=x+y%20z", "[a=x y z]"},
		{"%61%3D=%26", "[a==&]"},
		{"a=%", "[a=%]"},
		{"a=%4", "[a=%4]"},
		{"a=%zz%4g%C3%a9", "[a=%zz%4g\xc3\xa9]"},
		{"a=1&a=2", "[a=1][a=2]"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT(4096);
		struct http_exchange x = {0};
		enum err e = http_params(&x, str_of(rows[i].query), list_pair, &out);

		arena_release(&x.arena);
		CHECK_OK(e);
		CHECK_STR(buf_view(&out), rows[i].pairs);
	}
}

TEST(the_first_parameter_of_a_name_counts)
{
	struct http_exchange x = {.query = STR("b=&a=1%2B1&a=2&%63=3&d")};
	struct str a = http_param(&x, STR("a")), b = http_param(&x, STR("b")),
		   c = http_param(&x, STR("c")), d = http_param(&x, STR("d")),
		   none = http_param(&x, STR("e"));
	bool right = str_eq(a, STR("1+1")) && b.p && !b.n && str_eq(c, STR("3")) && d.p && !d.n &&
		     !none.p;

	arena_release(&x.arena);
	CHECK(right);
}

static enum err decode_all(void)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4096);
	struct http_exchange x = {0};
	enum err e = http_params(&x, STR("a=%41&%42=b+c"), list_pair, &out);

	arena_release(&x.arena);
	return e ? e : buf_error(&out);
}

TEST(parameters_survive_no_memory)
{
	ALLOC_SWEEP(decode_all());
}
