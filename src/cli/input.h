/*
 * Inputs: files, "-" for stdin, http(s) URLs, and selectors such as checkout{commit="abc123"},
 * which stand for what a server has stored (stored.h). All of one command are read into one
 * dictionary. Functions return an exit status and have said why when it is not EXIT_OK.
 */
#pragma once

#include "cli/client.h"
#include "format/format.h"

struct input_options {
	const char *from; /* a format's name, NULL = by content */
	size_t max_bytes;
	double timeout; /* for URLs, seconds */
	bool insecure;	/* https without a look at the certificate */
	bool sum_gauges;
	/* Of selectors: the server, and which time. */
	struct client_options client;
	const char *time_range, *since, *until;
};
extern const struct option input_table[];
void input_defaults(struct input_options *o);

/* One input and what was noticed while reading it. Its profiles are in `inputs.list`. */
struct source {
	char *name;  /* for people: a path, "stdin", a URL without its password */
	char *title; /* for strangers: without directories, or without the query of the URL */
	const struct format *format;
	const char *compression, *variant;
	size_t file_bytes, plain_bytes;
	bool stored;		   /* of a server */
	int64_t from_ns, until_ns; /* of what is stored: which range was asked for */
	int64_t covered_ns;	   /* how much of it was observed; AMOUNT_UNKNOWN */
	struct notes notes;
};

struct inputs {
	const struct common_options *common;
	const struct input_options *options;
	bool first_type_only; /* of what readers bring, see format.h */
	const char *type;     /* asked of a server; NULL = what it takes for the usual one */
	struct dict own;
	struct dict *dict; /* own, or another's */
	struct profile_list list;
	VEC(struct source) sources;
};

void inputs_init(struct inputs *in, const struct common_options *common,
		 const struct input_options *options);
void inputs_release(struct inputs *in);
/* Reads into the dictionary of `other`, which lives longer. */
void inputs_share(struct inputs *in, const struct inputs *other);

/* The bytes of one input as they are, for whoever does not want to look inside. */
int inputs_bytes(const struct inputs *in, const char *name, struct buf *ret);
/* Reads one more; its profiles come at the end of the list. */
int inputs_read(struct inputs *in, const char *name);
/* The same, from what was read ahead when there is such a thing: input `index` of several. */
struct readahead;
int inputs_read_next(struct inputs *in, const char *name, struct readahead *ahead, size_t index);
/* Reads ahead, from names[first], for the dictionary there is. */
int inputs_start_ahead(struct inputs *in, const struct text_list *names, size_t first,
		       struct readahead *ahead);
/* Complains when standard input is named twice. */
int inputs_check_stdin(const struct text_list *names);
/* Reads all and keeps every profile. */
int inputs_read_all(struct inputs *in, const struct text_list *names);
/*
 * Reads all into one profile: the only one there is, or the merge of them. The result is the one
 * entry of the list.
 */
int inputs_read_merged(struct inputs *in, const struct text_list *names);
/* Merges what was read already, when it is more than one profile. */
int inputs_merge(struct inputs *in);
/* Which time selectors meant, on stderr. */
void inputs_say_windows(const struct inputs *in);
/* The readers' notes, on stderr. */
void inputs_say_notes(const struct inputs *in);
