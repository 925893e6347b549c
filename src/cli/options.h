/*
 * Options by table. One table per group of options yields parsing, --help, shell completion and
 * the manual page; a command is a list of groups, each of which writes into its own part of the
 * command's option struct.
 *
 *	struct top_options { bool cum; int64_t count; struct filter_options filter; };
 *
 *	static const struct option top_table[] = {
 *		{"cum", 0, OPT_FLAG, NULL, "sort by cumulative value", AT(struct top_options, cum)},
 *		{0}};
 *	static const struct option_group top_groups[] = {
 *		{"Options", top_table, 0},
 *		{"Filters", filter_table, AT(struct top_options, filter)},
 *		{0}};
 *
 * Texts point into argv. Errors are one-line messages in a `struct fault`.
 */
#pragma once

#include "base/quantity.h"
#include "base/str.h"
#include "base/vec.h"
#include "base/words.h"

#define AT(type, field) offsetof(type, field)

struct text_list {
	const char **v;
	size_t n, cap;
};

enum option_kind {
	OPT_FLAG,    /* bool: true */
	OPT_OFF,     /* bool: false */
	OPT_TEXT,    /* const char * */
	OPT_LIST,    /* struct text_list: may be given several times */
	OPT_NUMBER,  /* int64_t, not negative */
	OPT_REAL,    /* double, not negative; "0.5%" is 0.005 */
	OPT_SECONDS, /* double; "90", "90s", "1m30s", "500ms" */
	OPT_SIZE,    /* size_t: 4096, 64K, 512MiB, 2G */
	OPT_CHOICE,  /* const char *: one of `choices` */
};

struct option {
	const char *name; /* long, without the dashes */
	char letter;	  /* 0 = none */
	enum option_kind kind;
	const char *
		argument; /* name of the argument in --help; determines completion of FILE and FORMAT */
	const char *help;
	size_t at;
	const char *choices; /* space-separated, for OPT_CHOICE */
};

struct option_group {
	const char *title;
	const struct option *table; /* ends with a row without a name */
	size_t at;		    /* of the group's struct in the command's */
};

/* Fills `values` and `arguments` (all non-options in order, and a NULL) from argv[0 … argc-1]. */
enum err options_parse(const struct option_group *groups, void *values, int argc, char **argv,
		       struct text_list *arguments, struct fault *fault) MUST_CHECK;
void options_release(const struct option_group *groups, void *values);
bool option_takes_argument(const struct option *o);
