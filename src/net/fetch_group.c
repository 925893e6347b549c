#include "net/fetch_group.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "net/transfer.h"

struct member {
	struct fetch_group *group;
	struct transfer transfer;
	void (*done)(void *context, enum err error, const struct fault *fault);
	void *context;
	struct member *next, **link;
};

struct fetch_group {
	const struct curl_library *curl;
	CURLM *multi;
	struct member *members;
	size_t running;
	size_t held, most; /* bytes of answers */
};

enum err fetch_group_new(size_t most_bytes, struct fetch_group **ret, struct fault *fault)
{
	struct fetch_group *g = mem_zalloc(1, sizeof(*g));
	enum err e = g ? curl_library_load(&g->curl, fault) : ERR_NO_MEMORY;

	if (!e) {
		g->most = most_bytes;
		g->multi = g->curl->multi_init();
		e = g->multi ? ERR_OK : ERR_NO_MEMORY;
	}
	if (e) {
		fetch_group_free(g);
		return e;
	}
	*ret = g;
	return ERR_OK;
}

static void member_free(struct member *m)
{
	struct fetch_group *g = m->group;

	if (m->link) {
		*m->link = m->next;
		if (m->next)
			m->next->link = m->link;
		g->running--;
		g->curl->multi_remove(g->multi, m->transfer.handle);
	}
	transfer_release(&m->transfer);
	mem_free(m);
}

static enum err begin(struct fetch_group *g, struct member *m, const struct fetch *request,
		      struct buf *body, struct fault *fault)
{
	m->transfer.shared = &g->held;
	m->transfer.shared_most = g->most;
	TRY(transfer_begin(&m->transfer, request, body, fault));
	if (g->curl->setopt(m->transfer.handle, CURLOPT_PRIVATE, m) ||
	    g->curl->multi_add(g->multi, m->transfer.handle))
		return ERR_NO_MEMORY;
	m->link = &g->members;
	m->next = g->members;
	if (m->next)
		m->next->link = &m->next;
	g->members = m;
	g->running++;
	return ERR_OK;
}

enum err fetch_group_start(struct fetch_group *g, const struct fetch *request, struct buf *body,
			   void (*done)(void *context, enum err error, const struct fault *fault),
			   void *context, struct fault *fault)
{
	struct member *m = mem_zalloc(1, sizeof(*m));
	enum err e;

	if (!m)
		return ERR_NO_MEMORY;
	m->group = g;
	m->done = done;
	m->context = context;
	e = begin(g, m, request, body, fault);
	if (e)
		member_free(m);
	return e;
}

size_t fetch_group_running(const struct fetch_group *g)
{
	return g->running;
}

/* Calls `done`. The bytes then belong to the caller, and no longer count for the group. */
static void finish(struct fetch_group *g, struct member *m, CURLcode code)
{
	void (*done)(void *context, enum err error, const struct fault *fault) = m->done;
	void *context = m->context;
	struct fault fault = {0};
	size_t got = m->transfer.body->n - m->transfer.before;
	enum err e = transfer_end(&m->transfer, code, &fault);

	g->held -= got < g->held ? got : g->held;
	member_free(m);
	done(context, e, &fault);
}

static void finish_all(struct fetch_group *g)
{
	CURLMsg *message;
	int left;

	while ((message = g->curl->multi_read(g->multi, &left))) {
		CURLcode code = message->data.result;
		char *private = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		g->curl->getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
		finish(g, (struct member *)(void *)private, code);
	}
}

enum err fetch_group_run(struct fetch_group *g, int64_t wait_ns, struct fault *fault)
{
	int64_t ms = wait_ns <= 0 ? 0 : wait_ns / NS_PER_MS + 1;
	int running;
	CURLMcode code;

	code = g->curl->multi_poll(g->multi, NULL, 0, ms > INT32_MAX ? INT32_MAX : (int)ms, NULL);
	if (!code)
		code = g->curl->multi_perform(g->multi, &running);
	finish_all(g);
	if (code)
		return fault_set(fault, ERR_NETWORK, "libcurl cannot go on (%d)", (int)code);
	return ERR_OK;
}

void fetch_group_wake(struct fetch_group *g)
{
	g->curl->multi_wakeup(g->multi);
}

void fetch_group_free(struct fetch_group *g)
{
	if (!g)
		return;
	while (g->members)
		member_free(g->members);
	if (g->multi)
		g->curl->multi_cleanup(g->multi);
	mem_free(g);
}
