/*
 * The data of a command: its inputs, merged, without the frames that the profile says to drop,
 * after the user's filters, and the selected type.
 */
#pragma once

#include "cli/input.h"

struct view_options {
	const char *type;
	const char *focus, *ignore, *hide, *show, *show_from;
	struct text_list tags;
	bool keep_all; /* drop_frames is not applied */
	bool one_type; /* set by commands that show only the selected type */
};
extern const struct option view_table[];

struct view {
	struct inputs in;
	struct profile *profile; /* the profile; owned by the view */
	uint32_t type;		 /* its column */
	struct str type_name, unit;
	int64_t total; /* of the column before filters: the sum of absolute values, as in pprof */
	struct filter_result kept;
	bool filtered;
	struct profile dropped, narrowed;
};

/* Rates of the view's values: over the range of a selector, else over the duration of the
 * profile. */
struct amount view_amount(const struct view *v, int64_t total);

/* Compiled filters; all zero is valid. */
struct filter_set {
	struct filter filter;
	struct pattern *patterns[5 + 16];
	size_t n;
	bool any;
};
int filter_set_compile(struct filter_set *f, const struct view_options *o);
void filter_set_release(struct filter_set *f);

void view_init(struct view *v, const struct common_options *common,
	       const struct input_options *input);
void view_release(struct view *v);
/* Reads, merges, drops, filters and chooses the type. Returns an exit status. */
int view_load(struct view *v, const struct text_list *names, const struct view_options *o);
/* The steps after reading, for a profile that is already in memory. */
int view_narrow(struct view *v, struct profile *p, const struct view_options *o);
/* Looks up its texts again, after strings were added to the dictionary. */
void view_refresh(struct view *v);
/* Finds --type, or prints the available types. */
int view_choose_type(const struct profile *p, const char *name, uint32_t *ret);
