#include "agent/name_reader.h"

#include <stdlib.h>
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
#define REFUSED_MAX    4096u
#define AWAITED_MAX    256u

void name_reader_init(struct name_reader *r, struct debug_source *debug)
{
	*r = (struct name_reader){.worker = -1, .debug = debug};
	name_cache_init(&r->cache, CACHE_CEILING);
}

static void send_away(struct name_reader *r)
{
	worker_close(r->worker);
	r->worker = -1;
	r->memory = 0;
	worker_set_memory(0);
}

void name_reader_release(struct name_reader *r)
{
	send_away(r);
	name_cache_release(&r->cache);
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
	worker_set_memory(head.memory);
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
	TRY(worker_open(WORKER_NAMES, &r->worker));
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
	r->unused_windows = count ? 0 : r->unused_windows + 1;
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

void name_reader_tidy(struct name_reader *r)
{
	name_cache_tidy(&r->cache);
	if (r->memory > WORKER_MEMORY || r->unused_windows >= WINDOWS_UNUSED)
		send_away(r);
}
