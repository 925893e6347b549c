/*
 * Reads a YAML file into validated options. Other folders include only this header.
 *
 * A program lists its settings in tables. Any other key in the file is an error that names the key,
 * its line and the nearest known key:
 *
 *	struct settings { const char *listen; int64_t retention_ns; struct config_items jobs; };
 *
 *	static const struct config_option options[] = {
 *		CONFIG_ROW("listen", TEXT, struct settings, listen),
 *		CONFIG_ROW("storage.retention", DURATION, struct settings, retention_ns),
 *		CONFIG_ROW("jobs", ITEMS, struct settings, jobs, .items = &job_table),
 *		{0}};
 *
 * A dot in a path is a level of the file. A field whose key is missing keeps its value: set
 * defaults before. `${NAME}` and `${NAME:-default}` in values are environment variables, `$$` is a
 * dollar sign. They are replaced after parsing, so that a variable never changes more than the
 * value that contains it.
 *
 * A file is at most 1 MiB, 16 levels deep, one document; anchors, aliases and tags are refused, so
 * that a small file cannot expand to a large one. Faults read "vestal.yaml line 7: …".
 */
#pragma once

#include "base/str.h"

struct config;

struct config_list {
	const char **v;
	size_t n;
};

struct config_pair {
	const char *name, *value;
};

struct config_map {
	struct config_pair *v; /* in the file's order, no name twice */
	size_t n;
};

/* An array of structs of the table's size. */
struct config_items {
	void *v;
	size_t n;
};

enum config_kind {
	CONFIG_TEXT,	 /* const char * */
	CONFIG_LIST,	 /* struct config_list */
	CONFIG_BOOL,	 /* bool: true, false, yes, no, on, off */
	CONFIG_INT,	 /* int64_t */
	CONFIG_SIZE,	 /* size_t: 4096, 512KB, 64MiB (all are powers of two) */
	CONFIG_DURATION, /* int64_t of nanoseconds: 10s, 1h30m, 14d */
	CONFIG_PERCENT,	 /* double: 90% and 0.9 are 0.9; from 0 to 1 */
	CONFIG_CHOICE,	 /* const char *: one of `choices` */
	CONFIG_MAP,	 /* struct config_map: any key, values are text */
	CONFIG_ITEMS,	 /* struct config_items: a list of structs described by `items` */
};

struct config_table;

struct config_option {
	const char *path; /* "cpu.sample_rate" */
	enum config_kind kind;
	size_t at;
	bool required;
	int64_t min, max;    /* of INT and DURATION; both 0 = not negative */
	const char *choices; /* separated by blanks */
	const struct config_table *items;
};

/* A row: CONFIG_ROW("retention", DURATION, struct settings, retention_ns, .required = true) */
#define CONFIG_ROW(path_, kind_, type_, field_, ...)                                    \
	{                                                                               \
		.path = (path_), .kind = CONFIG_##kind_, .at = offsetof(type_, field_), \
		##__VA_ARGS__                                                           \
	}

struct config_table {
	const struct config_option *options; /* at most 64, ends with a row without a path */
	size_t size;			     /* of the struct they are stored in */
	/* Initial value of an item; NULL = all zero. */
	void (*defaults)(void *item);
	size_t line_at; /* of a size_t for the line number of the item; 0 = none */
};

/* Reads a file. `name` is for faults. */
enum err config_open(const char *path, struct config **ret, struct fault *fault) MUST_CHECK;
enum err config_parse(struct str yaml, const char *name, struct config **ret,
		      struct fault *fault) MUST_CHECK;
/* Fills `values`, which then points into the config, so the config must live longer. */
enum err config_read(struct config *c, const struct config_table *table, void *values,
		     struct fault *fault) MUST_CHECK;
/* The line of a key, such as "redact.pattern"; 0 if the file does not have it. */
size_t config_line(const struct config *c, const char *path);
void config_free(struct config *c);
