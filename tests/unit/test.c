#include "test.h"

#include <stdarg.h>

static struct test *first, **last = &first;
static bool failed;
static const char *skip_reason;

/* ASan reads this: sizes nobody has are refused, as libc does it, and are not a crash. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

void test_register(struct test *t)
{
	*last = t;
	last = &t->next;
}

void test_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	failed = true;
	printf("# %s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void test_skip(const char *why)
{
	skip_reason = why;
}

bool test_failed(void)
{
	return failed;
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;
	int n = 0, failures = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (struct test *t = first; t; t = t->next) {
		if (only && !strstr(t->name, only))
			continue;
		failed = false;
		skip_reason = NULL;
		t->run();
		alloc_fail_off();
		printf("%sok %d - %s%s%s\n", failed ? "not " : "", ++n, t->name,
		       skip_reason ? " # SKIP " : "", skip_reason ? skip_reason : "");
		failures += failed;
	}
	printf("1..%d\n", n);
	return failures ? 1 : 0;
}
