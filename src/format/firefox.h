/*
 * Firefox Profiler JSON (Firefox, samply and other exporters): read through the row of
 * .cpuprofile. Everything is columns, which refer to each other by index:
 *
 *	samples.stack -> stackTable {frame, prefix} -> frameTable {func, line, column, address}
 *	-> funcTable {name, fileName, resource} -> stringArray; resource -> lib -> libs
 *
 * Tables belong to a thread ("threads") or, in newer versions, to all ("shared"). Since then a
 * stack may give its parent as a distance (prefixOffset), and a function its file through
 * "sources". Gecko's own shape, before the profiler web page has processed it, has rows instead:
 * {"schema": {"stack": 0, …}, "data": [[…], …]}, names and places in one string per frame, and
 * further processes under "processes".
 *
 * Private to firefox_*.c but for firefox_read.
 */
#pragma once

#include "format/json.h"
#include "format/stack_nodes.h"

enum err firefox_read(struct str bytes, struct reading *out);

/* One column; what is null or no number is NaN. */
struct fox_column {
	const char *name;
	VEC(double) values;
	uint32_t position; /* in rows with a schema, UINT32_MAX = not there */
};

#define FOX_COLUMNS 7

struct fox_table {
	struct fox_column columns[FOX_COLUMNS];
	unsigned column_count;
	size_t rows;
};

/* `names` end with NULL. */
void fox_table_init(struct fox_table *t, const char *const *names);
void fox_table_release(struct fox_table *t);
/* Reads the columns of the table at the cursor. */
void fox_table_read(struct fox_table *t, struct json *j, struct reading *out);
/* A cell, NaN when there is none. */
double fox_cell(const struct fox_table *t, unsigned column, size_t row);
/* A cell as an index into something of `count` entries: UINT32_MAX when it is null (or -1),
 * failure of the walk when it is outside. */
uint32_t fox_index(struct json *j, const struct fox_table *t, unsigned column, size_t row,
		   size_t count, const char *what);

/* Where the tables of a thread, or of all threads, begin. */
struct fox_marks {
	struct json_mark strings, stacks, frames, funcs, resources, sources;
};

/* Notes the tables among the keys of an object; false when the key is none of them. */
bool fox_marks_take(struct fox_marks *m, struct json *j, struct str key);

/* Strings and source files, which threads may share even when they have tables of their own. */
struct fox_names {
	VEC(uint32_t) strings; /* ids */
	VEC(uint32_t) sources; /* ids of the files' names */
};

void fox_names_release(struct fox_names *n);
enum err fox_names_build(struct fox_names *n, struct json *j, const struct fox_marks *marks,
			 struct reading *out) MUST_CHECK;

/* Tables turned into the dictionary's terms. */
struct fox_tables {
	struct fox_names own;
	const struct fox_names *names; /* `own`, or those of all threads */
	VEC(uint32_t) frames;	       /* ids */
	struct stack_nodes stacks;     /* stack i is node i + 1 */
	VEC(uint32_t) interned;	       /* by stack: its id in the dictionary + 1, or 0 */
};

void fox_tables_release(struct fox_tables *t);
/* Needs `names` unless the marks have strings. `mappings` are the ids of the libraries. */
enum err fox_tables_build(struct fox_tables *t, struct json *j, const struct fox_marks *marks,
			  const uint32_t *mappings, size_t mapping_count,
			  struct reading *out) MUST_CHECK;
/* The dictionary's id of a stack of the table. */
enum err fox_stack(struct fox_tables *t, uint32_t stack, struct reading *out,
		   uint32_t *ret) MUST_CHECK;

/* The file while it is read. */
enum fox_cpu_unit { FOX_CPU_NONE, FOX_CPU_NS, FOX_CPU_US };

struct fox {
	struct json j;
	struct reading *out;
	double start, interval; /* ms */
	enum fox_cpu_unit cpu;
	struct json_mark libs, threads, processes, meta;
	struct fox_marks shared;
	struct fox_names names; /* of "shared" */
	struct fox_tables all;	/* of "shared", when the stacks are there too */
	VEC(uint32_t) mappings;
	struct profile *time, *bytes; /* where samples go, by what their weights mean */
};

struct fox_thread {
	struct fox_marks marks;
	struct json_mark samples;
	uint32_t name, process; /* strings */
	struct str tid, pid;	/* as written */
	size_t offset;
};

/* Reads a thread's samples, whose stacks are in `tables`. */
enum err fox_samples(struct fox *f, const struct fox_thread *t,
		     struct fox_tables *tables) MUST_CHECK;
/* The profile for samples that count or time, made when there is none yet. */
enum err fox_time_profile(struct fox *f) MUST_CHECK;
