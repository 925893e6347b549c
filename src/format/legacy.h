/*
 * The profile formats that were before profile.proto, as google/pprof reads them. What the readers
 * of the single formats share. Private to src/format.
 *
 * Mappings stand at the end of these files, so a reader first collects samples as plain addresses,
 * and legacy_finish turns them into rows when everything is known.
 */
#pragma once

#include "base/arena.h"
#include "format/text_util.h"

#define LEGACY_MAX_TYPES 4

struct legacy_sample {
	size_t at;  /* of its addresses, leaf first, in legacy.addresses */
	uint32_t n; /* how many of them */
	bool cut;
	bool has_bytes;
	int64_t bytes;	 /* size of a block, a label of heap samples */
	uint32_t labels; /* set of labels that stood with it */
	int64_t values[LEGACY_MAX_TYPES];
};

/* A name the file itself gives for an address; several for one address are inlined, leaf first. */
struct legacy_symbol {
	uint64_t address;
	struct str name, file;
	int64_t line;
	uint32_t next; /* index, UINT32_MAX = the last */
};

struct legacy {
	struct reading *out;
	struct text_lines lines;
	struct profile *profile;
	VEC(uint64_t) addresses;
	VEC(struct legacy_sample) samples;
	VEC(struct mapping) mappings;
	VEC(struct legacy_symbol) symbols;
	struct map symbol_index;
	uint32_t last_symbol; /* that the comments of the current sample added to, or UINT32_MAX */
	bool commented;	      /* comments named frames of the current sample */
	struct arena names;   /* of symbols that do not stand in the file */
	bool java;	      /* symbols are all there is: addresses mean nothing */
};

/* Each begins at the first line that is no comment, or at the first byte. */
enum err legacy_cpu(struct legacy *l) MUST_CHECK;
enum err legacy_heap(struct legacy *l) MUST_CHECK;
enum err legacy_count(struct legacy *l) MUST_CHECK;
enum err legacy_threads(struct legacy *l) MUST_CHECK;
enum err legacy_contention(struct legacy *l) MUST_CHECK;
enum err legacy_java(struct legacy *l) MUST_CHECK;
/* What follows the samples of a Java CPU profile. */
enum err legacy_java_locations(struct legacy *l) MUST_CHECK;
/* Whether the bytes begin with the words of a CPU profile. */
bool legacy_is_cpu(struct str bytes);
/* The line that says what a text profile is; comments before it are passed over. */
bool legacy_first_line(struct text_lines *lines, struct str *ret);

/* Samples: begin, push addresses, fill in what begin returned. */
enum err legacy_begin_sample(struct legacy *l, struct legacy_sample **ret) MUST_CHECK;
enum err legacy_push(struct legacy *l, uint64_t address) MUST_CHECK;
/* Every 0x… of the text, each minus `adjust` but the leaf when `keep_leaf`. */
enum err legacy_push_all(struct legacy *l, struct str text, uint64_t adjust,
			 bool keep_leaf) MUST_CHECK;
/* Removes the second address of a sample that has two. */
void legacy_drop_second(struct legacy *l, struct legacy_sample *s);
/* The leaf may come twice, from the signal's context and from unwinding: once is enough. */
void legacy_drop_doubled_leaves(struct legacy *l);
/* Count and size of what was sampled at `rate` → what there was, as far as can be told. */
void legacy_unsample(int64_t *count, int64_t *size, int64_t rate);
int64_t legacy_to_i64(double value);

/* Go writes the names of a sample's frames, and its labels, as comments below it. */
enum err legacy_comment(struct legacy *l, struct str line) MUST_CHECK;
/* After the comments of a sample: names for the frames that Go leaves out of them. */
enum err legacy_end_comments(struct legacy *l) MUST_CHECK;
enum err legacy_add_symbol(struct legacy *l, const struct legacy_symbol *symbol,
			   bool inlined) MUST_CHECK;
uint32_t legacy_find_symbol(const struct legacy *l, uint64_t address);

/* Reads the lines that are left as a memory map; `skip` passes over everything before one. */
enum err legacy_read_maps(struct legacy *l, bool skip) MUST_CHECK;
bool legacy_is_map_start(struct str line);
/* The mapping of each address, first come first served; a mapping may grow on the way. */
enum err legacy_place(struct legacy *l, const uint64_t *addresses, uint32_t *mapping,
		      size_t n) MUST_CHECK;

bool legacy_is_comment(struct str line);
/* Numbers and marks at the front of a slice; blanks before them are skipped. */
bool legacy_take_int(struct str *s, int64_t *ret);
bool legacy_take(struct str *s, const char *mark);
