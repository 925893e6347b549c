// A span of OpenTelemetry on this program's samples. The API's headers are enough:
//	c++ -std=c++17 traced.cc -o traced $(pkg-config --cflags --libs vestal)
#include <cstdio>

#include <opentelemetry/trace/default_span.h>
#include <opentelemetry/trace/scope.h>

#include "vestal_opentelemetry.h"

static volatile double total;

__attribute__((noinline)) static void calculate_totals(int items)
{
	for (int i = 1; i < items; i++)
		total = total + 1.0 / i;
}

int main()
{
	namespace trace = opentelemetry::trace;
	vestal *v;

	vestal_opentelemetry::follow_contexts();
	if (vestal_start(nullptr, &v)) {
		std::fprintf(stderr, "%s\n", vestal_last_error());
		return 1;
	}
	const uint8_t trace_id[16] = {0xab, 1}, span_id[8] = {0xcd, 2};
	trace::SpanContext context(trace::TraceId(trace_id), trace::SpanId(span_id),
				   trace::TraceFlags(1), true);
	opentelemetry::nostd::shared_ptr<trace::Span> span(new trace::DefaultSpan(context));
	{
		trace::Scope current(span);
		calculate_totals(100000000);
	}
	calculate_totals(100000000);
	vestal_stop(v);
	return 0;
}
