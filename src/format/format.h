/*
 * Bytes <-> model. Other folders include this header only; with it comes the protobuf cursor.
 *
 * Every format is one row of the table in format.c: a name, how to recognise it, how to read it,
 * how to write it. Readers take bytes that are already decompressed; format_read does that, with
 * ceilings. A reader appends profiles to `out->list`, over `out->dict`, and on failure says which
 * field of which message at which byte is wrong. It may leave half a profile behind: the caller
 * drops the whole list.
 *
 * Readers trust nothing: every index, length, depth and count is checked against `limits`.
 */
#pragma once

#include "base/buf.h"
#include "format/protobuf.h"
#include "model/model.h"

enum format_id {
	FORMAT_PPROF,
	FORMAT_OTLP,
	FORMAT_OTLP_JSON,
	FORMAT_FOLDED,
	FORMAT_SPEEDSCOPE,
	FORMAT_JFR,
	FORMAT_PERF_SCRIPT,
	FORMAT_PERF_DATA,
	FORMAT_CPUPROFILE,
	FORMAT_HEAPPROFILE,
	FORMAT_LEGACY_PPROF,
	FORMAT_HTML,
	FORMAT_SVG,
	FORMAT_PGO,
	FORMAT_AUTOFDO,
	FORMAT_COUNT_
};

/* Ceilings on what a file may make us do. 0 is not "no limit": use LIMITS_DEFAULT. */
struct limits {
	size_t max_bytes;     /* after decompression */
	uint32_t max_ratio;   /* decompressed : compressed, checked above 1 MiB */
	uint32_t max_depth;   /* frames of a stack */
	uint32_t max_nesting; /* of messages, JSON values */
	uint32_t max_string;  /* bytes of one string */
	uint64_t max_samples; /* rows */
	uint64_t max_entries; /* of any table of the file */
};

#define LIMITS_DEFAULT                          \
	((struct limits){                       \
		.max_bytes = (size_t)512 << 20, \
		.max_ratio = 2000,              \
		.max_depth = 16384,             \
		.max_nesting = 128,             \
		.max_string = 1 << 20,          \
		.max_samples = 100000000,       \
		.max_entries = 100000000,       \
	})

/* What a reader noticed but could live with; one line each, counted when it repeats. */
struct note {
	char text[160];
	const char *format; /* it was made from */
	uint64_t count;
};

struct notes {
	VEC(struct note) list;
};

/* Adds a note, or one more to the count of an equal one; a hundred different ones are kept. Never
 * fails: notes are a courtesy. */
void notes_add(struct notes *n, const char *format, ...) PRINTF_LIKE(2, 3);
void notes_release(struct notes *n);

/* Profiles that were left out because something in them is wrong, with the reason of the first. */
struct rejects {
	uint64_t n;
	struct fault reason;
};

/* For who waits: a reader tells now and then that `done` of `of` is read, of whatever it counts. */
struct read_ticks {
	void (*tick)(void *context, size_t done, size_t of); /* NULL = nobody waits */
	void *context;
};

/* Where a reader puts what it finds. The caller owns all of it. */
struct reading {
	struct dict *dict;
	struct profile_list *list;
	struct limits limits;
	/* The caller looks at what is shown first and nothing else: of a recording of several kinds
	 * of events a reader may leave out the other profiles. */
	bool first_type_only;
	/* The bytes are a stranger's: other programs (perf) are not run on them. */
	bool no_programs;
	struct notes notes;
	struct fault fault;	 /* the reason when a reader fails */
	const char *compression; /* "gzip", "zstd", or "none": filled by format_read */
	const char *variant;	 /* finer than the format: "OTLP 1.9", "legacy heap"; or NULL */
	size_t plain_bytes;	 /* size after decompression */
	/* JFR: what async-profiler sampled by ("itimer", "wall"; empty: it does not say), and
	 * whether an interval had to be assumed because the recording tells none. */
	char event[32];
	bool assumed_interval;
	struct read_ticks ticks;
	/* When set, OTLP leaves out profiles that are wrong in themselves (an index outside its
	 * table) instead of failing: one sender must not spoil what others put into a request. */
	struct rejects *rejects;
};

static inline void reading_tick(const struct reading *r, size_t done, size_t of)
{
	if (r->ticks.tick)
		r->ticks.tick(r->ticks.context, done, of);
}

struct writing {
	const struct profile_list *list; /* over one dictionary */
	int type;			 /* column for formats that hold one, -1 = the default */
	const char *title;		 /* for HTML and SVG */
	int compress;			 /* -1 the format's habit, 0 no, 1 gzip, 2 zstd */
	struct notes notes;		 /* what the format could not hold */
	struct fault fault;
	/* HTML only: when set, the page shows the difference from this profile. */
	const struct profile *baseline;
	const char *baseline_title;
	double min_share; /* HTML, SVG: boxes below this share are pruned */
	/* For vft_encode alone. */
	uint32_t max_nodes;	     /* nothing but this many is pruned; 0 = its own ceiling */
	uint32_t max_rows;	     /* of the table of a VFT; 0 = its own ceiling */
	const struct diff *verdicts; /* on the functions of a diff, over the same dictionary */
	int64_t started_ns;	     /* monotonic, for how long it took; 0 = that is not said */
	struct str answer;	     /* JSON about the answer, for its description; or empty */
};

struct format {
	enum format_id id;
	const char *name;     /* as after --from and --to */
	const char *title;    /* for people */
	const char *suffixes; /* space-separated, the first is the usual one */
	bool binary;	      /* never written to a terminal */
	bool merged;	      /* holds one profile: a list is merged before writing */
	/* Whether the bytes look like this format: 0 no, up to 100 certain. */
	int (*sniff)(struct str head);
	enum err (*read)(struct str bytes, struct reading *out);
	/*
	 * Reading in two steps, for formats that can (else NULL). The first needs of the dictionary
	 * only what never changes, so that another thread may do it; NULL when that is not
	 * possible, whatever the reason. The second goes on from there.
	 */
	void *(*prepare)(struct str bytes, const struct dict *d, const struct limits *limits);
	enum err (*read_prepared)(void *prepared, struct reading *out);
	void (*release_prepared)(void *prepared);
	enum err (*write)(struct writing *in, struct buf *out);
};

extern const struct format formats[FORMAT_COUNT_];

const struct format *format_by_name(struct str name);
const struct format *format_by_path(struct str path); /* by suffix; NULL when none fits */
const struct format *format_sniff(struct str bytes);  /* NULL when nothing fits */

/* Decompresses when needed, recognises the format unless one is given, and reads. */
enum err format_read(struct str bytes, const struct format *format, struct reading *out,
		     const struct format **ret_format) MUST_CHECK;

/* A file whose reading has begun. All zero is one of which nothing could be prepared. */
struct prepared {
	const struct format *format;
	void *state;
	size_t plain_bytes;
};

/* Begins to read plain bytes, which must stay until the end. Does nothing where that is not
 * possible, or something is wrong: format_read then does all of it, and says what. */
void format_prepare(struct str plain, const struct format *format, const struct dict *d,
		    const struct limits *limits, struct prepared *ret);
/* As format_read. */
enum err format_read_prepared(struct prepared *p, struct reading *out,
			      const struct format **ret_format) MUST_CHECK;
void prepared_release(struct prepared *p);

enum err format_write(const struct format *format, struct writing *in, struct buf *out) MUST_CHECK;
/* Two writers by themselves, for programs that must stay small: the table brings all others along.
 * pprof holds the first profile of the list. */
enum err pprof_write(struct writing *in, struct buf *out) MUST_CHECK;
enum err otlp_write(struct writing *in, struct buf *out) MUST_CHECK;
/* The tree a flame graph is drawn from, with the exact function table: docs/formats/vft.md. Of the
 * list the first profile is taken. */
enum err vft_encode(struct writing *in, struct buf *out) MUST_CHECK;
/* Which library, package or program a frame belongs to, for colours and grouping. */
struct str frame_module(const struct dict *d, uint32_t frame);

/* gzip (several members) or zstd (several frames) by magic; `ret` owns the plain bytes when
 * `*ret_name` is not "none", else it is empty and the input is plain. */
enum err decompress(struct str bytes, const struct limits *limits, struct buf *ret,
		    const char **ret_name, struct fault *fault) MUST_CHECK;
enum err compress_gzip(struct str plain, int level, struct buf *out) MUST_CHECK;
enum err compress_zstd(struct str plain, int level, struct buf *out) MUST_CHECK;

/* What those need who speak the same languages without profiles in them (requests, answers). */
#include "format/json.h"
#include "format/protobuf.h"

/* What only servers read. */
#include "format/otlp_traces.h"
#include "format/pyroscope.h"
