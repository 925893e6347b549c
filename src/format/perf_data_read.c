/*
 * perf.data, through perf itself: its layout depends on the kernel and the version of perf, and
 * only perf on the same machine finds the symbols. The bytes go to `perf script` as a file in
 * memory, its text to the reader of perf script text.
 */
#include "base/process.h"
#include "format/formats_internal.h"

#define PERF_TIMEOUT_NS (600 * INT64_C(1000000000))
#define PERF_MIN_OUTPUT ((size_t)64 << 20)

static enum err run_perf(struct str bytes, struct reading *out, struct process_result *ret)
{
	static const char *const argv[] = {
		"perf", "script", "--force", "-i", "/dev/stdin", NULL,
	};
	struct process_options options = {
		.argv = argv,
		.input = bytes,
		.max_output = out->limits.max_bytes > PERF_MIN_OUTPUT ? out->limits.max_bytes
								      : PERF_MIN_OUTPUT,
		.timeout_ns = PERF_TIMEOUT_NS,
	};
	enum err e = process_run(&options, ret, &out->fault);

	if (e == ERR_NOT_FOUND)
		return fault_set(&out->fault, ERR_UNSUPPORTED,
				 "a perf.data file is read with the program perf, which is not "
				 "installed (Debian package linux-perf)");
	return e;
}

enum err perf_data_read(struct str bytes, struct reading *out)
{
	struct process_result result = {0};
	enum err e;

	if (out->no_programs)
		return fault_set(&out->fault, ERR_UNSUPPORTED,
				 "a perf.data file can be read only where it was made: send what "
				 "perf script prints, or use vestal push there");
	e = run_perf(bytes, out, &result);
	if (e)
		return e;
	e = process_check(&result, "perf", &out->fault);
	if (!e && !result.output.n)
		e = fault_set(&out->fault, ERR_CORRUPT, "perf finds no samples in this perf.data");
	if (!e)
		e = perf_script_read(buf_view(&result.output), out);
	process_result_release(&result);
	return e;
}

/* The magic of version 2 in either byte order, and the one of version 1; pipes have it too. */
int perf_data_sniff(struct str head)
{
	return str_starts(head, STR("PERFILE2")) || str_starts(head, STR("2ELIFREP")) ||
			       str_starts(head, STR("PERFFILE"))
		       ? 100
		       : 0;
}
