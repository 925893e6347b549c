#include "agent/lock_names.h"

#include "test.h"

static bool for_lock(const char *const *names, size_t n)
{
	uint32_t frames[32];
	struct dict d;
	bool answer = false;

	if (dict_init(&d, 0) != ERR_OK)
		return false;
	for (size_t i = 0; i < n; i++)
		if (dict_named_frame(&d, str_of(names[i]), &frames[i]) != ERR_OK)
			return false;
	answer = stack_waits_for_lock(&d, frames, n);
	dict_release(&d);
	return answer;
}

#define FOR_LOCK(...)                                \
	for_lock((const char *const[]){__VA_ARGS__}, \
		 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

TEST(waits_for_locks_are_known_by_what_they_are_not)
{
	CHECK(FOR_LOCK("__lll_lock_wait", "pthread_mutex_lock@@GLIBC_2.2.5", "main"));
	CHECK(FOR_LOCK("__futex_abstimed_wait64", "pthread_rwlock_rdlock", "main"));
	CHECK(FOR_LOCK("std::sys::sync::mutex::futex::Mutex::lock_contended", "main"));
	CHECK(!FOR_LOCK("__futex_abstimed_wait_common", "pthread_cond_wait@@GLIBC_2.3.2", "main"));
	CHECK(!FOR_LOCK("__futex_abstimed_wait_common", "___pthread_cond_timedwait64", "main"));
	CHECK(!FOR_LOCK("__futex_abstimed_wait_common", "__pthread_clockjoin_ex", "main"));
	CHECK(!FOR_LOCK("__new_sem_wait_slow64.constprop.0", "main"));
	CHECK(!FOR_LOCK("runtime.futex.abi0", "runtime.futexsleep", "runtime.notesleep"));
	CHECK(!FOR_LOCK("syscall", "std::sys::sync::condvar::futex::Condvar::wait", "main"));
}

TEST(a_caller_far_away_says_nothing)
{
	CHECK(FOR_LOCK("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
		       "pthread_cond_wait"));
	CHECK(FOR_LOCK("my_pthread_cond_wait", "main"));
	CHECK(stack_waits_for_lock(NULL, NULL, 0));
}
