/*
 * C++ exceptions without end while samples are taken, in two threads:
 *	thrower SECONDS [FRAMES [LEAST]]
 * goes on until each thread has caught so many. Prints how many were caught; each goes through ten
 * frames with destructors, or as many as are asked for.
 */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <time.h>

static double now()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

struct guard {
	long &count;
	~guard() { count++; }
};

__attribute__((noinline)) static void throw_below(int depth, long &count)
{
	guard g{count};
	if (!depth)
		throw std::runtime_error("deep");
	throw_below(depth - 1, count);
}

static int frames = 10;
static long least;

static void work(double end, long *ret)
{
	while (*ret < least || now() < end) {
		long unwound = 0;
		try {
			throw_below(frames - 1, unwound);
		} catch (const std::runtime_error &) {
			if (unwound != frames)
				abort();
			++*ret;
		}
	}
}

int main(int argc, char **argv)
{
	double end = now() + atof(argc > 1 ? argv[1] : "1");
	long counts[2] = {0, 0};
	if (argc > 2)
		frames = atoi(argv[2]);
	if (argc > 3)
		least = atol(argv[3]);
	std::thread other(work, end, &counts[0]);
	work(end, &counts[1]);
	other.join();
	printf("%ld\n", counts[0] + counts[1]);
	return 0;
}
