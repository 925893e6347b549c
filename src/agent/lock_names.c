#include "agent/lock_names.h"

/* The call is at most so far from the leaf: wrappers of the C library and of the language. */
#define FRAMES_LOOKED_AT 12

/* Complete names, without leading underscores and without a version after @. */
static const char *const others[] = {
	/* C library */
	"pthread_cond_wait",
	"pthread_cond_timedwait",
	"pthread_cond_timedwait64",
	"pthread_cond_clockwait",
	"pthread_cond_clockwait64",
	"cnd_wait",
	"cnd_timedwait",
	"pthread_join",
	"pthread_timedjoin_np",
	"pthread_clockjoin_np",
	"pthread_clockjoin_ex",
	"pthread_timedjoin_np64",
	"pthread_clockjoin_np64",
	"thrd_join",
	"pthread_barrier_wait",
	"sem_wait",
	"sem_timedwait",
	"sem_clockwait",
	"sem_timedwait64",
	"sem_clockwait64",
	"new_sem_wait",
	"new_sem_wait_slow64",
	"new_sem_wait_slow64.constprop.0",
	/* Go: a thread without work, a goroutine's timer */
	"runtime.notesleep",
	"runtime.notetsleep",
	"runtime.notetsleepg",
	"runtime.notetsleep_internal",
	"runtime.stopm",
	"runtime.mPark",
};

/* Parts of names that are long and differ from version to version: Rust and C++. */
static const char *const other_parts[] = {
	"::condition_variable::wait",
	"::condition_variable_any::wait",
	"std::__atomic_semaphore",
	"::Condvar::wait",
	"::condvar::",
	"std::thread::park",
	"::thread_parking::",
	"::Parker::park",
	"std::thread::join",
	"::JoinInner<",
};

static bool has_part(struct str text, const char *part)
{
	size_t n = strlen(part);

	for (size_t i = 0; i + n <= text.n; i++)
		if (!memcmp(text.p + i, part, n))
			return true;
	return false;
}

static bool waits_for_other(struct str name)
{
	struct str plain = name;

	while (plain.n && *plain.p == '_')
		plain = str_skip(plain, 1);
	plain.n = str_find(plain, '@');
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (str_eq(plain, str_of(others[i])))
			return true;
	for (size_t i = 0; i < sizeof(other_parts) / sizeof(other_parts[0]); i++)
		if (has_part(name, other_parts[i]))
			return true;
	return false;
}

bool stack_waits_for_lock(const struct dict *d, const uint32_t *frames, size_t n)
{
	size_t looked_at = 0;

	for (size_t i = 0; i < n && looked_at < FRAMES_LOOKED_AT; i++) {
		if (d->frames.v[frames[i]].kind == KIND_KERNEL)
			continue;
		looked_at++;
		if (waits_for_other(frame_name(d, frames[i])))
			return false;
	}
	return true;
}
