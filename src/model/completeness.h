/*
 * What arrived of what was measured, as data of its own: who samples sends beside its profiles a
 * small one of the types COMPLETENESS_COUNT and COMPLETENESS_TIME. Its stacks are two frames:
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
 * The root is the measure: the sample type of the values ("cpu", "off_cpu", "delay"). A sample's
 * time is what it stands for. So completeness is stored, merged, cut to ranges and grouped as any
 * profile is. docs/completeness.md explains it for readers of answers.
 */
#pragma once

#include "model/broken_stacks.h"
#include "model/profile.h"

#define COMPLETENESS_NAME     "completeness"
#define COMPLETENESS_COUNT    "completeness_samples"
#define COMPLETENESS_TIME     "completeness_time"
/* What a server calls them: the name of the profile comes from its period. */
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

/* Causes are text of the sender's; more of them than this are added up as "other causes". */
#define COMPLETENESS_CAUSES 24
#define COMPLETENESS_CAUSE  40

struct completeness_cause {
	enum completeness_kind kind;
	char text[COMPLETENESS_CAUSE];
	struct tally_part part;
};

/* Of one measure. */
struct completeness {
	bool reported; /* somebody said something; else nothing below means anything */
	struct tally_part parts[PART_KINDS]; /* causes added up */
	struct completeness_cause causes[COMPLETENESS_CAUSES];
	uint32_t cause_count;
};

/* Whether a type's id is one of completeness: not shown among the types of a service. */
bool type_is_completeness(struct str id);
/* The measure that values of a sample type belong to: "cpu" for "samples". */
struct str completeness_measure(struct str sample_type);

/* Makes an empty profile one of completeness. */
enum err completeness_begin(struct profile *p) MUST_CHECK;
bool profile_is_completeness(const struct profile *p);
/* Adds a row; `cause` is NULL for kinds that have none. */
enum err completeness_put(struct profile *p, struct str measure, enum completeness_kind kind,
			  const char *cause, struct tally_part part) MUST_CHECK;
/*
 * For each resource in a list a profile of what its profiles hold: kept, truncated, unnamed. All
 * share the dictionary.
 */
enum err completeness_of_profiles(const struct profile_list *list, struct dict *d,
				  struct profile_list *ret) MUST_CHECK;
/* An empty one for the resource and the time of a profile in the list, or of another list over the
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

/* Adds what a profile of completeness says of a measure; `column` of count and time, or -1. */
void completeness_read(const struct profile *p, int count_column, int time_column,
		       struct str measure, struct completeness *c);
/* The same of one row. */
void completeness_read_row(const struct profile *p, size_t row, int count_column, int time_column,
			   struct str measure, struct completeness *c);
void completeness_add(struct completeness *to, const struct completeness *from);
/* One cause more: also for who has no profile. */
void completeness_note(struct completeness *c, enum completeness_kind kind, struct str cause,
		       struct tally_part part);

/* Kept, without what a server rejected; never negative. */
struct tally_part completeness_kept(const struct completeness *c);
/* Of what was measured, 0 to 1: by time where the measure has one, else by number. */
double completeness_kept_share(const struct completeness *c);
/* Of the time that was looked at, 0 to 1. */
double completeness_off_share(const struct completeness *c);
double completeness_lowered_share(const struct completeness *c);

struct jsonout;
struct buf;
/* As the value of a key; `q` is what the answer's own stacks show, or NULL. */
void completeness_json(struct jsonout *o, const struct completeness *c,
		       const struct stack_quality *q);
/* One line, without an end of line: "99.2% of samples kept; 0.8% lost: ring full". Nothing where
 * there is nothing to say: all is there, or nobody reports. */
void completeness_sentence(const struct completeness *c, struct buf *out);
/* The same as a line, behind what it is about; no line where there is nothing to say. */
void completeness_line(const struct completeness *c, const char *about, struct buf *out);
/* As one line of text that goes into files, and back; false when it is not such a line. */
void completeness_comment(const struct completeness *c, struct str measure, struct buf *out);
/* What a file says of one of its columns in its comments; of several files all together. */
void completeness_of_file(const struct profile *p, uint32_t type, struct completeness *ret);
bool completeness_of_comment(struct str comment, struct str measure, struct completeness *c);
