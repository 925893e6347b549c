/*
 * A service that profiles itself:
 *	cc checkout.c -o checkout $(pkg-config --cflags --libs vestal)
 *	vestal server & ./checkout; vestal query checkout
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vestal.h>

static volatile double total;

static void calculate_totals(int items)
{
	for (int i = 1; i < items; i++)
		total += 1.0 / i;
}

static void handle(const char *traceparent, const char *endpoint)
{
	uint8_t trace_id[16], span_id[8];
	int traced = vestal_traceparent_parse(traceparent, trace_id, span_id) == 0;

	vestal_label_set("endpoint", endpoint);
	if (traced)
		vestal_span_enter(trace_id, span_id, "checkout.calculateTotals");
	calculate_totals(20000000);
	if (traced)
		vestal_span_exit(0);
	vestal_label_set("endpoint", NULL);
}

int main(void)
{
	struct vestal_options options = VESTAL_OPTIONS_DEFAULT;
	struct vestal *v;

	options.service_name = "checkout";
	if (vestal_start(&options, &v)) {
		fprintf(stderr, "%s\n", vestal_last_error());
		return 1;
	}
	for (int i = 0; i < 20; i++)
		handle("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		       i % 2 ? "/cart" : "/pay");
	vestal_stop(v);
	return 0;
}
