// Templates, lambdas and exceptions: names with parameters, stacks through the unwinder of C++.
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "truth.h"

static volatile uint64_t sink;

namespace shop {

template <typename T> struct basket {
	std::vector<T> items;

	NOINLINE uint64_t total(int rounds)
	{
		uint64_t sum = 0;

		for (const T &item : items)
			sum += churn(item, rounds);
		return sum + sink;
	}
};

NOINLINE uint64_t fail(int depth)
{
	if (depth)
		return fail(depth - 1) + sink;
	throw std::runtime_error("as planned");
}

NOINLINE uint64_t survive(int depth)
{
	try {
		return fail(depth);
	} catch (const std::exception &e) {
		return std::string(e.what()).size();
	}
}

} // namespace shop

int main()
{
	shop::basket<unsigned long> basket{{1, 2, 3, 4, 5}};
	std::function<uint64_t(int)> call = [&](int n) { return basket.total(n); };
	int64_t end = cpu_ns() + 2000000000;

	while (cpu_ns() < end) {
		sink += call(20000);
		for (int i = 0; i < 50; i++)
			sink += shop::survive(10);
	}
	return 0;
}
