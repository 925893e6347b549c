#include "base/work_scope.h"

#include "base/alloc.h"
#include "base/clock.h"

#define STEP ((size_t)256 << 10)

/* Of programs that never begin one, such as those the library is loaded into, no thread-local
 * variable is touched: malloc may be called from anywhere. */
bool work_scopes_used;
static _Thread_local struct work_scope *now __attribute__((tls_model("initial-exec")));

void work_scope_begin(struct work_scope *s, const struct work_terms *terms)
{
	*s = (struct work_scope){.terms = *terms, .outer = now};
	if (!s->terms.ceiling)
		s->terms.ceiling = SIZE_MAX;
	__atomic_store_n(&work_scopes_used, true, __ATOMIC_RELAXED);
	now = s;
}

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

static enum err charge(struct work_scope *s, size_t n, struct fault *fault)
{
	const struct work_terms *t = &s->terms;

	if (!t->patience_ns)
		return memory_charge(t->account, t->use, n, fault);
	return memory_charge_wait(t->account, t->use, n, clock_monotonic_ns() + t->patience_ns,
				  t->stop, fault);
}

/* Another step, or less where that is all there is room for. */
static bool charge_more(struct work_scope *s, size_t need)
{
	size_t step = need > STEP ? need : STEP;
	struct fault fault = {0};
	enum err error = ERR_OK;

	if (work_stopped())
		return refuse(s, ERR_CANCELLED);
	if (s->terms.account)
		error = charge(s, step, &fault);
	if (error) {
		if (!s->error)
			s->fault = fault;
		return refuse(s, error);
	}
	s->charged += step;
	return true;
}

bool work_scope_may_take(size_t n)
{
	struct work_scope *s = now;

	if (!s)
		return true;
	if (n > s->terms.ceiling || s->used > s->terms.ceiling - n) {
		if (!s->error)
			(void)fault_set(&s->fault, ERR_TOO_LARGE,
					"it takes more than the %zu bytes of memory that it may",
					s->terms.ceiling);
		return refuse(s, ERR_TOO_LARGE);
	}
	return s->used + n <= s->charged || charge_more(s, s->used + n - s->charged);
}

void work_scope_took(size_t n)
{
	struct work_scope *s = now;

	if (!s)
		return;
	s->used += n;
	if (s->used > s->peak)
		s->peak = s->used;
}

/* What an earlier piece of work took, or another thread, is nobody's here: it cannot become less
 * than nothing. */
void work_scope_freed(size_t n)
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
