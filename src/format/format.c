/*
 * The table of formats, and the way in and out through it.
 */
#include "format/format.h"

#include <strings.h>

#include "format/formats_internal.h"

const struct format formats[FORMAT_COUNT_] = {
	[FORMAT_PPROF] = {.id = FORMAT_PPROF,
			  .name = "pprof",
			  .title = "pprof (profile.proto)",
			  .suffixes = "pb.gz pprof pb pb.zst prof",
			  .binary = true,
			  .merged = true,
			  .sniff = pprof_sniff,
			  .read = pprof_read,
			  .prepare = pprof_prepare,
			  .read_prepared = pprof_read_prepared,
			  .release_prepared = pprof_release_prepared,
			  .write = pprof_write},
	[FORMAT_OTLP] = {.id = FORMAT_OTLP,
			 .name = "otlp",
			 .title = "OTLP profiles, protobuf",
			 .suffixes = "otlp otlp.gz otlp.zst",
			 .binary = true,
			 .sniff = otlp_sniff,
			 .read = otlp_read,
			 .write = otlp_write},
	[FORMAT_OTLP_JSON] = {.id = FORMAT_OTLP_JSON,
			      .name = "otlp-json",
			      .title = "OTLP profiles, JSON",
			      .suffixes = "otlp.json otlp.json.gz json",
			      .sniff = otlp_json_sniff,
			      .read = otlp_json_read,
			      .write = otlp_json_write},
	[FORMAT_FOLDED] = {.id = FORMAT_FOLDED,
			   .name = "folded",
			   .title = "folded stacks",
			   .suffixes = "folded collapsed txt",
			   .merged = true,
			   .sniff = folded_sniff,
			   .read = folded_read,
			   .write = folded_write},
	[FORMAT_SPEEDSCOPE] = {.id = FORMAT_SPEEDSCOPE,
			       .name = "speedscope",
			       .title = "speedscope JSON",
			       .suffixes = "speedscope.json",
			       .merged = true,
			       .sniff = speedscope_sniff,
			       .read = speedscope_read,
			       .write = speedscope_write},
	[FORMAT_JFR] = {.id = FORMAT_JFR,
			.name = "jfr",
			.title = "Java Flight Recorder",
			.suffixes = "jfr",
			.binary = true,
			.sniff = jfr_sniff,
			.read = jfr_read},
	[FORMAT_PERF_SCRIPT] = {.id = FORMAT_PERF_SCRIPT,
				.name = "perf-script",
				.title = "perf script text",
				.suffixes = "perf perf.txt",
				.sniff = perf_script_sniff,
				.read = perf_script_read},
	[FORMAT_PERF_DATA] = {.id = FORMAT_PERF_DATA,
			      .name = "perf-data",
			      .title = "perf.data",
			      .suffixes = "perf.data data",
			      .binary = true,
			      .sniff = perf_data_sniff,
			      .read = perf_data_read},
	[FORMAT_CPUPROFILE] = {.id = FORMAT_CPUPROFILE,
			       .name = "cpuprofile",
			       .title = "V8 CPU profile, Firefox Profiler",
			       .suffixes = "cpuprofile",
			       .sniff = cpuprofile_sniff,
			       .read = cpuprofile_read},
	[FORMAT_HEAPPROFILE] = {.id = FORMAT_HEAPPROFILE,
				.name = "heapprofile",
				.title = "V8 sampling heap profile",
				.suffixes = "heapprofile",
				.sniff = heapprofile_sniff,
				.read = heapprofile_read},
	[FORMAT_LEGACY_PPROF] = {.id = FORMAT_LEGACY_PPROF,
				 .name = "legacy-pprof",
				 .title = "legacy pprof",
				 .suffixes = "heap hprof",
				 .binary = true,
				 .sniff = legacy_sniff,
				 .read = legacy_read},
	[FORMAT_HTML] = {.id = FORMAT_HTML,
			 .name = "html",
			 .title = "flame graph, one HTML file",
			 .suffixes = "html htm",
			 .merged = true,
			 .write = html_write},
	[FORMAT_SVG] = {.id = FORMAT_SVG,
			.name = "svg",
			.title = "flame graph, SVG",
			.suffixes = "svg",
			.merged = true,
			.write = svg_write},
	[FORMAT_PGO] = {.id = FORMAT_PGO,
			.name = "pgo",
			.title = "Go PGO profile",
			.suffixes = "pgo",
			.binary = true,
			.merged = true,
			.write = pgo_write},
	[FORMAT_AUTOFDO] = {.id = FORMAT_AUTOFDO,
			    .name = "autofdo",
			    .title = "AutoFDO text profile",
			    .suffixes = "afdo autofdo",
			    .merged = true,
			    .write = autofdo_write},
};

const struct format *format_by_name(struct str name)
{
	for (unsigned i = 0; i < FORMAT_COUNT_; i++)
		if (str_eq(str_of(formats[i].name), name))
			return &formats[i];
	return NULL;
}

const struct format *format_by_path(struct str path)
{
	const struct format *best = NULL;
	size_t best_length = 0;

	for (unsigned i = 0; i < FORMAT_COUNT_; i++) {
		struct str rest = str_of(formats[i].suffixes), suffix;

		/* The longest suffix decides: x.otlp.json is OTLP, x.speedscope.json is not. */
		while (str_split(&rest, ' ', &suffix)) {
			if (suffix.n <= best_length || path.n <= suffix.n + 1 ||
			    !str_ends(path, suffix) || path.p[path.n - suffix.n - 1] != '.')
				continue;
			best = &formats[i];
			best_length = suffix.n;
		}
	}
	return best;
}

const struct format *format_sniff(struct str bytes)
{
	const struct format *best = NULL;
	int best_score = 0;

	for (unsigned i = 0; i < FORMAT_COUNT_; i++) {
		int score = formats[i].sniff ? formats[i].sniff(bytes) : 0;

		if (score > best_score) {
			best_score = score;
			best = &formats[i];
		}
	}
	return best;
}

/* Files that come by mistake where a profile was meant, by their beginning. */
static const struct {
	const char *begin, *advice;
} mistakes[] = {
	{"<!doctype html", "this is a page for browsers, not a profile: check the address"},
	{"<html", "this is a page for browsers, not a profile: check the address"},
	{"goroutine ", "this is a text dump of goroutines: leave out debug=2"},
	{"go 1.", "this is a Go execution trace, not a profile: see go tool trace"},
	{"java profile 1.", "this is a dump of a Java heap, not a profile: record with JFR"},
	{"\177elf", "this is a program, not a profile"},
	{"[{\"args\"", "this is a Chrome trace, which is not read: py-spy writes speedscope too"},
	{"{\"traceevents\"", "this is a Chrome trace, which is not read"},
};

static bool begins_with(struct str s, struct str lower_case)
{
	return s.n >= lower_case.n && strncasecmp(s.p, lower_case.p, lower_case.n) == 0;
}

static enum err unknown_format(struct reading *out, struct str plain)
{
	struct str text = str_trim(plain);

	if (!plain.n)
		return fault_set(&out->fault, ERR_UNKNOWN_FORMAT, "the input is empty");
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
		if (begins_with(text, str_of(mistakes[i].begin)))
			return fault_set(&out->fault, ERR_UNKNOWN_FORMAT, "%s", mistakes[i].advice);
	return fault_set(&out->fault, ERR_UNKNOWN_FORMAT,
			 "the format is not recognised by its content (set it with --from)");
}

enum err format_read(struct str bytes, const struct format *format, struct reading *out,
		     const struct format **ret_format)
{
	CLEANUP(buf_release) struct buf unpacked = BUF_INIT(0);
	struct str plain = bytes;
	enum err e;

	out->fault = (struct fault){0};
	e = decompress(bytes, &out->limits, &unpacked, &out->compression, &out->fault);
	if (!e && strcmp(out->compression, "none") != 0)
		plain = buf_view(&unpacked);
	if (!e && plain.n > out->limits.max_bytes)
		e = fault_set(&out->fault, ERR_TOO_LARGE,
			      "the input is larger than %zu MiB (raise --max-bytes)",
			      out->limits.max_bytes >> 20);
	out->plain_bytes = plain.n;
	if (!e && !format)
		format = format_sniff(plain);
	if (!e && !format)
		e = unknown_format(out, plain);
	if (!e && !format->read)
		e = fault_set(&out->fault, ERR_UNSUPPORTED, "%s files can be written but not read",
			      format->name);
	if (!e)
		e = format->read(plain, out);
	if (e) {
		if (!out->fault.text[0])
			(void)fault_set(&out->fault, e, "%s", err_text(e));
		return e;
	}
	if (ret_format)
		*ret_format = format;
	return ERR_OK;
}

void format_prepare(struct str plain, const struct format *format, const struct dict *d,
		    const struct limits *limits, struct prepared *ret)
{
	*ret = (struct prepared){0};
	if (plain.n > limits->max_bytes || is_packed(plain))
		return;
	if (!format)
		format = format_sniff(plain);
	if (!format || !format->prepare)
		return;
	*ret = (struct prepared){format, format->prepare(plain, d, limits), plain.n};
}

enum err format_read_prepared(struct prepared *p, struct reading *out,
			      const struct format **ret_format)
{
	enum err e;

	out->fault = (struct fault){0};
	out->compression = "none";
	out->plain_bytes = p->plain_bytes;
	e = p->format->read_prepared(p->state, out);
	if (e)
		return out->fault.text[0] ? e : fault_set(&out->fault, e, "%s", err_text(e));
	if (ret_format)
		*ret_format = p->format;
	return ERR_OK;
}

void prepared_release(struct prepared *p)
{
	if (p->state)
		p->format->release_prepared(p->state);
	*p = (struct prepared){0};
}

enum err format_write(const struct format *format, struct writing *in, struct buf *out)
{
	enum err e;

	if (!format->write)
		return fault_set(&in->fault, ERR_UNSUPPORTED,
				 "%s files can be read but not written", format->name);
	e = format->write(in, out);
	if (!e)
		e = buf_error(out);
	if (e && !in->fault.text[0])
		(void)fault_set(&in->fault, e, "%s", err_text(e));
	return e;
}
