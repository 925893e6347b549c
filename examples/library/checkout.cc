// The same in C++: c++ checkout.cc -o checkout $(pkg-config --cflags --libs vestal)
#include <cstdio>
#include <vestal.hpp>

static volatile double total;

static void calculate_totals(int items)
{
	for (int i = 1; i < items; i++)
		total = total + 1.0 / i;
}

int main()
try {
	vestal_options options = VESTAL_OPTIONS_DEFAULT;
	options.service_name = "checkout";
	vestalpp::profiler profiler(&options);
	const uint8_t trace_id[16] = {1}, span_id[8] = {2};

	for (int i = 0; i < 20; i++) {
		vestalpp::label endpoint("endpoint", i % 2 ? "/cart" : "/pay");
		vestalpp::span span(trace_id, span_id, "checkout.calculateTotals");
		calculate_totals(20000000);
	}
	return 0;
} catch (const std::exception &e) {
	std::fprintf(stderr, "%s\n", e.what());
	return 1;
}
