#include "agent/name_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/worker_host.h"
#include "agent/worker_wire.h"
#include "base/clock.h"

#define CACHE_CEILING  ((size_t)6 << 20)
/* A debug build of a gigabyte on a slow disk; the agent waits. */
#define PATIENCE_NS    (30 * NS_PER_S)
/* A worker that has taken more is replaced; one that nobody needs is sent away. */
#define WORKER_MEMORY  ((u64)16 << 20)
#define WINDOWS_UNUSED 2u
#define CPU_MOST_NS    ((u64)60 * NS_PER_S)
#define REFUSED_MAX    4096u
#define AWAITED_MAX    256u

void name_reader_init(struct name_reader *r, enum worker_kind kind, struct debug_source *debug)
{
	*r = (struct name_reader){.worker = -1, .wake = -1, .kind = kind, .debug = debug};
	name_cache_init(&r->cache, CACHE_CEILING);
}

static void send_away(struct name_reader *r)
{
	worker_close(r->worker);
	r->worker = -1;
	r->memory = 0;
	r->question.active = false;
	buf_release(&r->question.answer);
}

void name_reader_release(struct name_reader *r)
{
	send_away(r);
	name_cache_release(&r->cache);
	vec_release(&r->question.addresses);
	vec_release(&r->refused);
	vec_release(&r->awaited);
}

static enum err send_question(struct name_reader *r, u32 kind, const struct module *module,
			      const u64 *addresses, u32 count)
{
	struct wire_head head = {.kind = kind,
				 .count = count,
				 .size = (u32)(module->path.n < WIRE_PATH_MAX ? module->path.n : 0),
				 .serial = module->serial};

	TRY(wire_send_head(r->worker, &head, module->fd));
	TRY(wire_send(r->worker, module->path.p, head.size));
	return wire_send(r->worker, addresses, count * sizeof(*addresses));
}

static enum err receive_answer(struct name_reader *r, struct buf *ret, enum err *ret_error,
			       bool *ret_wants_debug)
{
	struct wire_names head;
	int64_t deadline;
	char *to;

	TRY(worker_wait(r->worker, PATIENCE_NS));
	deadline = clock_monotonic_ns() + PATIENCE_NS;
	TRY(wire_recv(r->worker, &head, sizeof(head), deadline));
	if (head.error >= ERR_COUNT_ || head.size > WIRE_NAMES_MAX)
		return ERR_CORRUPT;
	to = buf_reserve(ret, head.size + 1);
	if (!to)
		return ERR_NO_MEMORY;
	TRY(wire_recv(r->worker, to, head.size, deadline));
	ret->n = head.size;
	r->memory = head.memory;
	*ret_wants_debug = head.wants_debug;
	*ret_error = (enum err)head.error;
	return ERR_OK;
}

/* A worker that ended since is replaced: it is not this file's fault. */
static enum err begin_question(struct name_reader *r, u32 kind, const struct module *module,
			       const u64 *addresses, u32 count)
{
	if (r->worker >= 0 && send_question(r, kind, module, addresses, count) == ERR_OK)
		return ERR_OK;
	send_away(r);
	TRY(worker_open(r->kind, &r->worker));
	return send_question(r, kind, module, addresses, count);
}

static bool is_refused(const struct name_reader *r, u64 serial)
{
	vec_for_each (one, &r->refused)
		if (*one == serial)
			return true;
	return false;
}

static void refuse(struct name_reader *r, u64 serial)
{
	worker_count_lost();
	send_away(r);
	/* Without memory to remember it, it is tried again. */
	if (r->refused.n >= REFUSED_MAX)
		r->refused.n = 0;
	(void)!vec_push(&r->refused, serial);
}

/* Without memory to remember it, it is named when everything is forgotten. */
static void await(struct name_reader *r, const struct module *module)
{
	vec_for_each (a, &r->awaited)
		if (a->serial == module->serial)
			return;
	if (r->awaited.n < AWAITED_MAX)
		(void)!vec_push(&r->awaited,
				((struct awaited_module){module->serial, module->image}));
}

/* Gives the worker the debug file it lacks; false when there is none (yet). */
static bool send_debug(struct name_reader *r, const struct module *module)
{
	struct wire_head head = {.kind = WIRE_DEBUG, .serial = module->serial};
	bool pending;
	int fd = debug_source_open(r->debug, module, &pending);
	enum err e;

	if (pending)
		await(r, module);
	if (fd < 0)
		return false;
	e = wire_send_head(r->worker, &head, fd);
	close(fd);
	return e == ERR_OK;
}

static enum err ask(struct name_reader *r, u32 kind, const struct module *module,
		    const u64 *addresses, u32 count, struct buf *answer, enum err *ret_error)
{
	bool wants_debug = false;

	TRY(begin_question(r, kind, module, addresses, count));
	TRY(receive_answer(r, answer, ret_error, &wants_debug));
	if (!wants_debug || !send_debug(r, module))
		return ERR_OK;
	buf_clear(answer);
	TRY(begin_question(r, kind, module, addresses, count));
	return receive_answer(r, answer, ret_error, &wants_debug);
}

bool name_reader_settle(struct name_reader *r)
{
	size_t kept = 0, before = r->awaited.n;

	for (size_t i = 0; i < before; i++) {
		if (debug_source_pending(r->debug, &r->awaited.v[i].image))
			r->awaited.v[kept++] = r->awaited.v[i];
		else
			name_cache_forget(&r->cache, r->awaited.v[i].serial);
	}
	r->awaited.n = kept;
	return kept < before;
}

static enum err learn_some(struct name_reader *r, const struct module *module, const u64 *addresses,
			   u32 count)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(WIRE_NAMES_MAX + 1);
	enum err error = ERR_OK, e = ERR_UNAVAILABLE;

	if (module->fd >= 0 && !is_refused(r, module->serial)) {
		e = ask(r, WIRE_NAMES, module, addresses, count, &answer, &error);
		if (!e && !error)
			e = name_cache_add(&r->cache, module->serial, addresses, count,
					   buf_view(&answer));
		if (e == ERR_NO_MEMORY)
			return e;
		if (e)
			refuse(r, module->serial);
	}
	if (!e && !error)
		return ERR_OK;
	return name_cache_add_nameless(&r->cache, module->serial);
}

/* ---- questions that nobody waits for ---- */

static bool module_is(struct modules *m, const struct wanted_name *w)
{
	const struct module *module = modules_get(m, w->module);

	return module && (!w->serial || module->serial == w->serial);
}

static bool is_known(const struct name_reader *r, const struct module *module, u64 address)
{
	return name_cache_find(&r->cache, module->serial, address);
}

static int by_address(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Those of one module, out of the list; what is known by now is dropped. */
static enum err gather_addresses(struct name_reader *r, struct modules *m,
				 struct wanted_name *wanted, size_t *count)
{
	struct name_question *q = &r->question;
	const struct module *module = modules_get(m, wanted[0].module);
	size_t kept = 0, n = 0;

	q->first = wanted[0];
	q->addresses.n = 0;
	for (size_t i = 0; i < *count; i++) {
		if (wanted[i].module != q->first.module || wanted[i].serial != q->first.serial ||
		    q->addresses.n == WIRE_ADDRESSES_MAX)
			wanted[kept++] = wanted[i];
		else if (module_is(m, &wanted[i]) && !is_known(r, module, wanted[i].address))
			TRY(vec_push(&q->addresses, wanted[i].address));
	}
	*count = kept;
	if (q->addresses.n)
		qsort(q->addresses.v, q->addresses.n, sizeof(*q->addresses.v), by_address);
	for (size_t i = 0; i < q->addresses.n; i++)
		if (!n || q->addresses.v[n - 1] != q->addresses.v[i])
			q->addresses.v[n++] = q->addresses.v[i];
	q->addresses.n = n;
	return ERR_OK;
}

static enum err send_addresses(struct name_reader *r, const struct module *module)
{
	struct name_question *q = &r->question;
	enum err e = begin_question(r, WIRE_NAMES, module, q->addresses.v, (u32)q->addresses.n);

	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	if (e)
		return e;
	/* It may be there already; without it the answer is found with the next turn. */
	if (r->wake >= 0)
		(void)!epoll_ctl(r->wake, EPOLL_CTL_ADD, r->worker, &event);
	q->active = true;
	q->head_got = 0;
	buf_release(&q->answer);
	q->answer = BUF_INIT(WIRE_NAMES_MAX + 1);
	q->cpu_begun = q->cpu_seen = worker_cpu_ns(r->worker);
	q->seen = clock_monotonic_ns();
	return ERR_OK;
}

enum err name_reader_ask(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			 size_t *count)
{
	const struct module *module;

	if (r->question.active || !*count)
		return ERR_OK;
	TRY(gather_addresses(r, m, wanted, count));
	if (!r->question.addresses.n)
		return ERR_OK;
	r->unused_windows = 0;
	module = modules_get(m, r->question.first.module);
	if (module->fd >= 0 && !is_refused(r, module->serial) &&
	    send_addresses(r, module) == ERR_OK)
		return ERR_OK;
	TRY(name_cache_add_nameless(&r->cache, module->serial));
	return name_cache_settle(&r->cache);
}

/* ERR_TIMEOUT: not all of it is there yet. */
static enum err take_bytes(int socket, void *to, size_t size, size_t *got)
{
	while (*got < size) {
		ssize_t n = recv(socket, (char *)to + *got, size - *got, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? ERR_TIMEOUT : err_from_errno(errno);
		if (!n)
			return ERR_TRUNCATED;
		*got += (size_t)n;
	}
	return ERR_OK;
}

static enum err take_answer(struct name_reader *r)
{
	struct name_question *q = &r->question;
	char *to;

	TRY(take_bytes(r->worker, &q->head, sizeof(q->head), &q->head_got));
	if (q->head.error >= ERR_COUNT_ || q->head.size > WIRE_NAMES_MAX)
		return ERR_CORRUPT;
	to = buf_reserve(&q->answer, q->head.size + 1 - q->answer.n);
	if (!to)
		return ERR_NO_MEMORY;
	TRY(take_bytes(r->worker, q->answer.data, q->head.size, &q->answer.n));
	r->memory = q->head.memory;
	return ERR_OK;
}

/* A worker that is slowed down may take long, but it goes on. */
static bool is_stuck(struct name_reader *r)
{
	struct name_question *q = &r->question;
	int64_t now = clock_monotonic_ns();
	u64 cpu;

	if (now - q->seen < PATIENCE_NS)
		return false;
	cpu = worker_cpu_ns(r->worker);
	if (cpu <= q->cpu_seen || cpu - q->cpu_begun > CPU_MOST_NS)
		return true;
	q->cpu_seen = cpu;
	q->seen = now;
	return false;
}

static enum err add_answer(struct name_reader *r, const struct module *module)
{
	struct name_question *q = &r->question;
	enum err e;

	if (q->head.error)
		return name_cache_add_nameless(&r->cache, module->serial);
	e = name_cache_add(&r->cache, module->serial, q->addresses.v, (u32)q->addresses.n,
			   buf_view(&q->answer));
	if (!e || e == ERR_NO_MEMORY)
		return e;
	refuse(r, module->serial);
	return name_cache_add_nameless(&r->cache, module->serial);
}

static enum err end_question(struct name_reader *r, struct modules *m, enum err e)
{
	struct name_question *q = &r->question;
	const struct module *module =
		module_is(m, &q->first) ? modules_get(m, q->first.module) : NULL;
	bool again = !e && module && q->head.wants_debug && send_debug(r, module);

	q->active = false;
	if (again && send_addresses(r, module) == ERR_OK)
		return ERR_OK;
	if (e) {
		refuse(r, q->first.serial);
		if (module)
			TRY(name_cache_add_nameless(&r->cache, q->first.serial));
	} else if (module) {
		TRY(add_answer(r, module));
	}
	buf_release(&q->answer);
	return name_cache_settle(&r->cache);
}

enum err name_reader_poll(struct name_reader *r, struct modules *m, bool *ret_busy)
{
	enum err e;

	*ret_busy = false;
	if (!r->question.active)
		return ERR_OK;
	e = take_answer(r);
	if (e != ERR_TIMEOUT || is_stuck(r)) {
		if (e == ERR_NO_MEMORY)
			return e;
		TRY(end_question(r, m, e));
	}
	*ret_busy = r->question.active;
	return ERR_OK;
}

static enum err wait_a_little(struct name_reader *r)
{
	enum err e = wire_wait(r->worker, clock_monotonic_ns() + NS_PER_S);

	return e == ERR_TIMEOUT ? ERR_OK : e;
}

/* ---- questions that somebody waits for ---- */

static int by_module(const void *a, const void *b)
{
	const struct wanted_name *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

enum err name_reader_learn(struct name_reader *r, struct modules *m, struct wanted_name *wanted,
			   size_t count)
{
	u64 addresses[WIRE_ADDRESSES_MAX];
	u32 n = 0;
	bool busy = r->question.active;

	while (busy) {
		TRY(wait_a_little(r));
		TRY(name_reader_poll(r, m, &busy));
	}
	if (count)
		qsort(wanted, count, sizeof(*wanted), by_module);
	for (size_t i = 0; i < count; i++) {
		addresses[n++] = wanted[i].address;
		if (n < WIRE_ADDRESSES_MAX && i + 1 < count &&
		    wanted[i + 1].module == wanted[i].module)
			continue;
		TRY(learn_some(r, modules_get(m, wanted[i].module), addresses, n));
		n = 0;
	}
	if (count)
		r->unused_windows = 0;
	return name_cache_settle(&r->cache);
}

enum err name_reader_variable(struct name_reader *r, const struct module *module, u64 address,
			      char *name, size_t size, u64 *ret_offset)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(WIRE_NAMES_MAX + 1);
	enum err error = ERR_OK, e;
	struct str text;

	if (module->fd < 0 || is_refused(r, module->serial))
		return ERR_UNAVAILABLE;
	e = ask(r, WIRE_VARIABLE, module, &address, 1, &answer, &error);
	if (!e && !error && answer.n < sizeof(*ret_offset))
		e = ERR_CORRUPT;
	if (e) {
		refuse(r, module->serial);
		return e;
	}
	if (error)
		return error;
	memcpy(ret_offset, answer.data, sizeof(*ret_offset));
	text = str_skip(buf_view(&answer), sizeof(*ret_offset));
	if (text.n >= size)
		text.n = size - 1;
	memcpy(name, text.p, text.n);
	name[text.n] = 0;
	return ERR_OK;
}

bool name_reader_refuses(const struct name_reader *r, u64 serial)
{
	return is_refused(r, serial);
}

void name_reader_rest(struct name_reader *r)
{
	send_away(r);
}

void name_reader_tidy(struct name_reader *r)
{
	name_cache_tidy(&r->cache);
	if (r->question.active)
		return;
	if (r->memory > WORKER_MEMORY || r->unused_windows++ >= WINDOWS_UNUSED)
		send_away(r);
}
