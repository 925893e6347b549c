/*
 * operator new in all its forms, each in a function of its own, kept or deleted: newer MEGABYTES
 * Prints the bytes that each allocated, and of those the bytes that are still held at the end.
 */
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>

#define NOINLINE __attribute__((noinline, noclone))

struct alignas(64) Wide {
	char bytes[4096];
};

static long rounds;
static void *volatile kept;

NOINLINE void new_one()
{
	struct Plain {
		char bytes[2048];
	};
	for (long i = 0; i < rounds; i++) {
		auto *p = new Plain;
		kept = p;
		delete p;
	}
}

NOINLINE void new_array()
{
	for (long i = 0; i < rounds; i++) {
		auto *p = new char[2048];
		kept = p;
		delete[] p;
	}
}

NOINLINE void new_nothrow()
{
	for (long i = 0; i < rounds; i++) {
		auto *p = new (std::nothrow) char[2048];
		kept = p;
		delete[] p;
	}
}

NOINLINE void new_aligned()
{
	for (long i = 0; i < rounds / 2; i++) {
		auto *p = new Wide;
		kept = p;
		delete p;
	}
}

NOINLINE void new_aligned_nothrow()
{
	for (long i = 0; i < rounds / 2; i++) {
		auto *p = new (std::nothrow) Wide[1];
		kept = p;
		delete[] p;
	}
}

NOINLINE void new_plain_call()
{
	for (long i = 0; i < rounds; i++) {
		void *p = ::operator new(2048);
		kept = p;
		::operator delete(p, 2048ul);
	}
}

NOINLINE void new_kept()
{
	for (long i = 0; i < rounds; i++)
		kept = new char[2048];
}

int main(int argc, char **argv)
{
	long bytes = atol(argc > 1 ? argv[1] : "8") << 20;

	rounds = bytes / 2048;
	new_one();
	new_array();
	new_nothrow();
	new_aligned();
	new_aligned_nothrow();
	new_plain_call();
	new_kept();
	printf("{\"alloc\": {");
	for (const char *name : {"new_one", "new_array", "new_nothrow", "new_aligned",
				 "new_aligned_nothrow", "new_plain_call"})
		printf("\"%s\": %ld, ", name, bytes);
	printf("\"new_kept\": %ld}, \"heap\": {\"new_kept\": %ld}}\n", bytes, bytes);
	return 0;
}
