/*
 * Completeness: how much of the measured data arrived. Senders add a small profile with the types
 * COMPLETENESS_COUNT and COMPLETENESS_TIME to their profiles. Its stacks have two frames:
 *
 *	cpu;kept			the samples in the profiles beside it
 *	cpu;lost: ring full		samples that nobody has, and why
 *	cpu;rejected			of those kept, rejected by the server, and so lost
 *	cpu;truncated  cpu;unnamed	of those kept: callers are missing; a frame has no name
 *	cpu;no names: symbol reader ended	of those without a name, where it is known why
 *	off_cpu;off: cpu budget		time in which nothing was measured, and why
 *	cpu;lowered: cpu budget		time in which less was sampled than asked for, and why
 *	off_cpu;threshold		milliseconds, and the threshold multiplied by them
 *	all;watched			time that was looked at: says that somebody reports at all
 *
 * The root is the measure: the sample type of the values ("cpu", "off_cpu", "delay"). The time of a
 * sample is the time it represents. So completeness is stored, merged, cut to ranges and grouped
 * like any profile. docs/completeness.md describes it for users.
 */
#pragma once

#include "model/broken_stacks.h"
#include "model/profile.h"

#define COMPLETENESS_NAME     "completeness"
#define COMPLETENESS_COUNT    "completeness_samples"
#define COMPLETENESS_TIME     "completeness_time"
/* Their type ids in a server: the name of the profile comes from its period. */
#define COMPLETENESS_COUNT_ID "completeness:completeness_samples:count:completeness:count"
#define COMPLETENESS_TIME_ID  "completeness:completeness_time:nanoseconds:completeness:count"
#define COMPLETENESS_ALL      "all"

enum completeness_kind {
	PART_KEPT,
	PART_LOST,
	PART_TRUNCATED,
	PART_UNNAMED,
	PART_OFF,
	PART_LOWERED,
	PART_THRESHOLD,
	PART_WATCHED,
	PART_NAMELESS,
	PART_REJECTED,
	PART_KINDS
};

struct tally_part {
	int64_t count, time_ns;
};

/* Causes are free text of the sender; further ones are summed as "other causes". */
#define COMPLETENESS_CAUSES 24
#define COMPLETENESS_CAUSE  40

struct completeness_cause {
	enum completeness_kind kind;
	char text[COMPLETENESS_CAUSE];
	struct tally_part part;
};

/* Of one measure. */
struct completeness {
	bool reported; /* a sender reported completeness; otherwise the fields below are invalid */
	struct tally_part parts[PART_KINDS]; /* sum over all causes */
	struct completeness_cause causes[COMPLETENESS_CAUSES];
	uint32_t cause_count;
};

/* Whether a type id is one of completeness, which lists of types do not show. */
bool type_is_completeness(struct str id);
/* The measure of a sample type: "cpu" for "samples". */
struct str completeness_measure(struct str sample_type);

/* Sets the types of an empty profile to those of completeness. */
enum err completeness_begin(struct profile *p) MUST_CHECK;
bool profile_is_completeness(const struct profile *p);
/* Adds a row; `cause` is NULL for kinds without causes. */
enum err completeness_put(struct profile *p, struct str measure, enum completeness_kind kind,
			  const char *cause, struct tally_part part) MUST_CHECK;
/*
 * Adds for each resource in a list a profile of what its profiles contain: kept, truncated,
 * unnamed. All share the dictionary.
 */
enum err completeness_of_profiles(const struct profile_list *list, struct dict *d,
				  struct profile_list *ret) MUST_CHECK;
/* Adds an empty one for the resource and time of a profile in the list, or in another list over the
 * same dictionary. */
enum err completeness_beside(struct profile_list *list, const struct profile *of,
			     struct profile **ret) MUST_CHECK;
/*
 * How many of the profiles of a request a server rejected. It does not report which ones, so each
 * resource is assumed to have lost the same share of what it kept, in whole units. `kept` and
 * `lost` are running sums: the remainder of a division is carried to the next row, so that rows add
 * up to the share of their sum.
 */
struct rejected_part {
	uint64_t rejected, of;
	struct tally_part kept, lost;
};

/*
 * Turns the profile, in place, into that of lost data: everything kept becomes lost for this cause.
 * If only some profiles were rejected, a server has the rest and the original profile: the result
 * then contains only what is to be added, "lost" and "rejected".
 */
enum err completeness_lose(struct profile *p, const char *cause,
			   struct rejected_part *part) MUST_CHECK;

/* Adds the rows of a completeness profile for a measure; `column` of count and time, or -1. */
void completeness_read(const struct profile *p, int count_column, int time_column,
		       struct str measure, struct completeness *c);
/* The same of one row. */
void completeness_read_row(const struct profile *p, size_t row, int count_column, int time_column,
			   struct str measure, struct completeness *c);
void completeness_add(struct completeness *to, const struct completeness *from);
/* Adds a cause without a profile. */
void completeness_note(struct completeness *c, enum completeness_kind kind, struct str cause,
		       struct tally_part part);

/* Kept samples minus those that a server rejected; never negative. */
struct tally_part completeness_kept(const struct completeness *c);
/* Share of what was measured, 0 to 1: by time if the measure has one, else by count. */
double completeness_kept_share(const struct completeness *c);
/* Share of the observed time, 0 to 1. */
double completeness_off_share(const struct completeness *c);
double completeness_lowered_share(const struct completeness *c);

struct jsonout;
struct buf;
/* Writes it as the value of a key; `q` is the quality of the response's own stacks, or NULL. */
void completeness_json(struct jsonout *o, const struct completeness *c,
		       const struct stack_quality *q);
/* One line, without an end of line: "99.2% of samples kept; 0.8% lost: ring full". Empty if
 * everything arrived, or if no sender reports completeness. */
void completeness_sentence(const struct completeness *c, struct buf *out);
/* The same as a line with a prefix; no line if it is empty. */
void completeness_line(const struct completeness *c, const char *about, struct buf *out);
/* As one line of text for files, and back; false if it is not such a line. */
void completeness_comment(const struct completeness *c, struct str measure, struct buf *out);
/* The completeness of a column, from the comments of one or more files. */
void completeness_of_file(const struct profile *p, uint32_t type, struct completeness *ret);
bool completeness_of_comment(struct str comment, struct str measure, struct completeness *c);
