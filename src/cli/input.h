/*
 * Inputs: files, "-" for stdin, http(s) URLs, and selectors such as checkout{commit="abc123"} for
 * profiles stored by a server (stored.h). All inputs of a command are read into one dictionary.
 * Functions print errors and return an exit status.
 */
#pragma once

#include "cli/client.h"
#include "format/format.h"

struct input_options {
	const char *from; /* a format's name, NULL = by content */
	size_t max_bytes;
	double timeout; /* for URLs, seconds */
	bool insecure;	/* do not verify the certificate */
	bool sum_gauges;
	/* For selectors: the server and the time range. */
	struct client_options client;
	const char *time_range, *since, *until;
};
extern const struct option input_table[];
void input_defaults(struct input_options *o);

/* One input, with notes about it. Its profiles are in `inputs.list`. */
struct source {
	char *name; /* for messages: a path, "stdin", a URL without its password */
	char *title; /* for output that may be shared: without directories, or without the query of the URL */
	const struct format *format;
	const char *compression, *variant;
	size_t file_bytes, plain_bytes;
	bool stored;		   /* of a server */
	int64_t from_ns, until_ns; /* of a selector: the requested range */
	int64_t covered_ns;	   /* covered time in it, or AMOUNT_UNKNOWN */
	struct notes notes;
};

struct inputs {
	const struct common_options *common;
	const struct input_options *options;
	bool first_type_only; /* optional data, see format.h */
	const char *type;     /* requested type; NULL = the server's default */
	struct dict own;
	struct dict *dict; /* own, or of another `inputs` */
	struct profile_list list;
	VEC(struct source) sources;
};

void inputs_init(struct inputs *in, const struct common_options *common,
		 const struct input_options *options);
void inputs_release(struct inputs *in);
/* Reads into the dictionary of `other`, which must live longer. */
void inputs_share(struct inputs *in, const struct inputs *other);

/* The unparsed bytes of one input. */
int inputs_bytes(const struct inputs *in, const char *name, struct buf *ret);
/* Reads one more input and appends its profiles to the list. */
int inputs_read(struct inputs *in, const char *name);
/* The same for input `index` of several, which may have been read ahead. */
struct readahead;
int inputs_read_next(struct inputs *in, const char *name, struct readahead *ahead, size_t index);
/* Reads ahead from names[first] on, for the current dictionary. */
int inputs_start_ahead(struct inputs *in, const struct text_list *names, size_t first,
		       struct readahead *ahead);
/* Fails if standard input is given twice. */
int inputs_check_stdin(const struct text_list *names);
/* Reads all and keeps every profile. */
int inputs_read_all(struct inputs *in, const struct text_list *names);
/*
 * Reads all into one profile: the only one there is, or the merge of them. The result is the one
 * entry of the list.
 */
int inputs_read_merged(struct inputs *in, const struct text_list *names);
/* Merges the profiles that were read, if there are several. */
int inputs_merge(struct inputs *in);
/* Prints the time range of selectors to stderr. */
void inputs_say_windows(const struct inputs *in);
/* Prints the readers' notes to stderr. */
void inputs_say_notes(const struct inputs *in);
