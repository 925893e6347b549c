#include "base/work_scope.h"

#include "base/alloc.h"

#define STEP ((size_t)256 << 10)

static _Thread_local struct work_scope *now;

void work_scope_end(struct work_scope *s)
{
	now = s->outer;
	if (s->terms.account && s->charged)
		memory_give_back(s->terms.account, s->terms.use, s->charged);
	s->charged = 0;
}

void work_scope_use(enum memory_use use)
{
	struct work_scope *s = now;

	if (!s || s->terms.use == use)
		return;
	if (s->terms.account && s->charged) {
		memory_take(s->terms.account, use, s->charged);
		memory_give_back(s->terms.account, s->terms.use, s->charged);
	}
	s->terms.use = use;
}

struct work_scope *work_scope_now(void)
{
	return now;
}

bool work_stopped(void)
{
	return now && now->terms.stop &&
	       atomic_load_explicit(now->terms.stop, memory_order_relaxed);
}

enum err work_scope_error(const struct work_scope *s, enum err error, struct fault *fault)
{
	if (error != ERR_NO_MEMORY || !s->error)
		return error;
	if (fault)
		*fault = s->fault;
	return s->error;
}

static bool refuse(struct work_scope *s, enum err error)
{
	if (!s->error)
		s->error = error;
	return false;
}

/* Another step, or more if needed. */
static bool charge_more(struct work_scope *s, size_t need)
{
	size_t step = need > STEP ? need : STEP;
	struct fault fault = {0};
	enum err error = ERR_OK;

	if (work_stopped())
		return refuse(s, ERR_CANCELLED);
	if (s->terms.account)
		error = memory_charge(s->terms.account, s->terms.use, step, &fault);
	if (error) {
		if (!s->error)
			s->fault = fault;
		return refuse(s, error);
	}
	s->charged += step;
	return true;
}

enum err work_scope_wait(struct work_scope *s, size_t n, int64_t deadline_ns, struct fault *fault)
{
	if (!s->terms.account || n <= s->charged)
		return ERR_OK;
	TRY(memory_charge_wait(s->terms.account, s->terms.use, n - s->charged, deadline_ns,
			       s->terms.stop, fault));
	s->charged = n;
	return ERR_OK;
}

void work_scope_allow(size_t n)
{
	if (now && __builtin_add_overflow(now->terms.ceiling, n, &now->terms.ceiling))
		now->terms.ceiling = SIZE_MAX;
}

void work_scope_ease(void)
{
	if (now)
		now->eased = true;
}

struct work_scope *work_scope_leave(void)
{
	struct work_scope *s = now;

	now = NULL;
	return s;
}

void work_scope_return(struct work_scope *s)
{
	now = s;
}

static bool may_take(size_t n)
{
	struct work_scope *s = now;

	if (!s || s->eased)
		return true;
	if (n > s->terms.ceiling || s->used > s->terms.ceiling - n) {
		if (!s->error)
			(void)fault_set(&s->fault, ERR_TOO_LARGE,
					"it needs more than its limit of %zu bytes of memory",
					s->terms.ceiling);
		return refuse(s, ERR_TOO_LARGE);
	}
	return s->used + n <= s->charged || charge_more(s, s->used + n - s->charged);
}

static void took(size_t n)
{
	struct work_scope *s = now;

	if (!s)
		return;
	s->used += n;
	if (s->used > s->peak)
		s->peak = s->used;
	if (s->used <= s->charged)
		return;
	/* The heap may return slightly more than requested; or the scope no longer refuses. */
	if (s->terms.account)
		memory_take(s->terms.account, s->terms.use, s->used - s->charged);
	s->charged = s->used;
}

/* Memory allocated before the scope, or by another thread, is not counted here: do not go below
 * zero. */
static void freed(size_t n)
{
	struct work_scope *s = now;

	if (!s)
		return;
	s->used -= n < s->used ? n : s->used;
	if (s->charged - s->used <= 4 * STEP || !s->terms.account)
		return;
	size_t back = s->charged - s->used - STEP;

	memory_give_back(s->terms.account, s->terms.use, back);
	s->charged -= back;
}

static const struct mem_counter counter = {may_take, took, freed};

void work_scope_begin(struct work_scope *s, const struct work_terms *terms)
{
	*s = (struct work_scope){.terms = *terms, .outer = now};
	if (!s->terms.ceiling)
		s->terms.ceiling = SIZE_MAX;
	mem_count_with(&counter);
	now = s;
}
