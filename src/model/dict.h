/*
 * The dictionary: every string, function, mapping, frame, stack, label set and link of the
 * profiles that share it, each stored once and known by a dense u32 id.
 *
 * - Id 0 of every table is the empty entry ("not set").
 * - Ids are assigned in order of first use, so the same input gives the same ids.
 * - A 64-bit hash of an entry's content (with the dictionary's seed) is its identity outside of this dictionary. Stacks are found by that hash alone.
 * - A stack is its frames, leaf first, as one interned sequence; trees are built from stacks on demand (tree.h; docs/decisions/0002-stacks-are-sequences.md says why).
 * - A table that would need more than 2^32 - 2 ids returns ERR_TABLE_FULL; ids never wrap.
 *
 * The dictionary owns its memory. Pointers and slices that it returns are valid until the next
 * insertion into the same table. Not thread safe.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

/* Strings of every dictionary, at fixed ids: OpenTelemetry's names of frame kinds. */
enum {
	STR_EMPTY,
	KIND_NATIVE,
	KIND_KERNEL,
	KIND_GO,
	KIND_JVM,
	KIND_CPYTHON,
	KIND_V8JS,
	KIND_RUBY,
	KIND_PHP,
	KIND_PERL,
	KIND_DOTNET,
	KIND_BEAM,
	KIND_LUAJIT,
	KIND_RUST,
	STR_FIXED_COUNT_
};

struct function {
	uint32_t name, system_name, file; /* strings */
	int64_t start_line;
};

enum mapping_flags {
	MAPPING_HAS_FUNCTIONS = 1 << 0,
	MAPPING_HAS_FILENAMES = 1 << 1,
	MAPPING_HAS_LINES = 1 << 2,
	MAPPING_HAS_INLINES = 1 << 3,
};

struct mapping {
	uint64_t start, limit, offset;
	uint32_t file;	      /* string */
	uint32_t build_id;    /* string: GNU build id in hex (pprof's build_id) */
	uint32_t go_build_id; /* string */
	uint32_t htl_hash;    /* string */
	uint32_t flags;
};

enum frame_flags {
	/* Inlined into the next frame towards the root: both are one location of the program. */
	FRAME_INLINED = 1 << 0,
	/* pprof's is_folded: the linker merged identical functions here. */
	FRAME_FOLDED = 1 << 1,
	/* The frame has a line entry even when function and line are 0. */
	FRAME_HAS_LINE = 1 << 2,
};

struct frame {
	uint64_t address; /* as the file gives it, in the mapping's address space */
	int64_t line;
	uint32_t function; /* 0: not symbolized */
	uint32_t mapping;
	uint32_t column;
	uint32_t kind; /* string: KIND_NATIVE …, 0 = not known */
	uint32_t flags;
};

enum label_type { LABEL_STRING, LABEL_INT, LABEL_BOOL, LABEL_DOUBLE, LABEL_BYTES, LABEL_JSON };

/* A key with a value; `value` is a string id for STRING, BYTES and JSON (arrays and maps as JSON
 * text), the number for INT and BOOL, the bits for DOUBLE. */
struct label {
	uint32_t key;
	uint32_t unit; /* string, 0 = none */
	enum label_type type;
	int64_t value;
};

struct link {
	uint8_t trace_id[16];
	uint8_t span_id[8];
};

/* Interned sequences of u32: stacks (frame ids, leaf first) and label sets (label ids). */
struct sequence {
	uint64_t hash;
	uint32_t at, n;
};

struct sequence_table {
	VEC(uint32_t) pool;
	VEC(struct sequence) entries;
	struct map index;
};

struct string_entry {
	uint64_t at;
	uint32_t n;
};

/* A table of structs with their content hashes. */
#define TABLE(type)                 \
	struct {                    \
		type *v;            \
		size_t n, cap;      \
		VEC(uint64_t) hash; \
		struct map index;   \
	}

#define STACK_MULTIPLIERS 4096

struct dict {
	uint64_t seed;
	size_t max_ids;	 /* ceiling of every table: 2^32 - 2, less in tests */
	VEC(char) bytes; /* of all strings, each followed by a NUL */
	TABLE(struct string_entry) strings;
	TABLE(struct function) functions;
	TABLE(struct mapping) mappings;
	TABLE(struct frame) frames;
	TABLE(struct label) labels;
	TABLE(struct link) links;
	struct sequence_table stacks;
	struct sequence_table label_sets;
	/* Like the seed, never changed after dict_init, so that any thread may compute content
	 * hashes. */
	uint64_t *multipliers; /* STACK_MULTIPLIERS secret odd numbers, one per stack position */
	uint64_t no_function, no_mapping; /* hashes of the empty entries */
	/*
	 * Limits of dict_stack; 0 = none. Deeper stacks are truncated to the root side, and
	 * counted. New stacks beyond the limit are replaced by the empty one, and counted. So no
	 * reader can make the dictionary larger than that.
	 */
	uint32_t max_depth, max_stacks;
	uint64_t cut_stacks, refused_stacks;
};

enum err dict_init(struct dict *d, uint64_t seed) MUST_CHECK;
void dict_release(struct dict *d);

/* Interning: the id of an equal entry, or of the new one. */
enum err dict_string(struct dict *d, struct str s, uint32_t *ret) MUST_CHECK;
enum err dict_function(struct dict *d, const struct function *f, uint32_t *ret) MUST_CHECK;
enum err dict_mapping(struct dict *d, const struct mapping *m, uint32_t *ret) MUST_CHECK;
enum err dict_frame(struct dict *d, const struct frame *f, uint32_t *ret) MUST_CHECK;
enum err dict_label(struct dict *d, const struct label *l, uint32_t *ret) MUST_CHECK;
/* All-zero ids are link 0. */
enum err dict_link(struct dict *d, const struct link *l, uint32_t *ret) MUST_CHECK;
/* Frames leaf first. The empty stack is stack 0. */
enum err dict_stack(struct dict *d, const uint32_t *frames, uint32_t n, uint32_t *ret) MUST_CHECK;
/* Sorted by key before interning; values of one key keep their order. May reorder `labels`. */
enum err dict_label_set(struct dict *d, uint32_t *labels, uint32_t n, uint32_t *ret) MUST_CHECK;

/* Expected numbers of entries; each is an upper estimate. */
struct dict_sizes {
	size_t strings, functions, frames;
	size_t stacks, stack_frames; /* and the frames in all of them */
};
/* Reserves room for them. */
enum err dict_expect(struct dict *d, const struct dict_sizes *coming) MUST_CHECK;

/* Whether nothing was interned after dict_init(). */
bool dict_is_empty(const struct dict *d);
/*
 * Copies all strings, functions, mappings, frames and stacks of a dictionary to an empty one with
 * the same seed, under the same ids, without labels and links. After an error the target can only
 * be released.
 */
enum err dict_copy_code(struct dict *dst, const struct dict *src) MUST_CHECK;

/* Shorthands: text in, id out. */
enum err dict_text(struct dict *d, const char *text, uint32_t *ret) MUST_CHECK;
enum err dict_label_text(struct dict *d, struct str key, struct str value,
			 uint32_t *ret) MUST_CHECK;
/* A frame with only a name (as in folded stacks). */
enum err dict_named_frame(struct dict *d, struct str name, uint32_t *ret) MUST_CHECK;

/* A function at an address, from a symbol table. Unknown strings are "". */
struct code_name {
	const char *function; /* for display */
	const char *linkage;  /* as in the symbol table */
	const char *file;
	uint32_t line, column;
	uint32_t start_line; /* of the function */
	bool inlined;	     /* inlined into the following frame */
};

/* The frame `f` with this symbol; without one (NULL, or no function) only the address. */
enum err dict_code_frame(struct dict *d, struct frame f, const struct code_name *name,
			 uint32_t *ret) MUST_CHECK;
/* An executable file, mapped as in `m`; the build id is text. */
enum err dict_module(struct dict *d, struct str file, const char *build_id, struct mapping m,
		     uint32_t *ret) MUST_CHECK;

/* Reading. */
/* The id of this string, or MAP_NONE; interns nothing. */
uint32_t dict_find_string(const struct dict *d, struct str text);
struct str dict_str(const struct dict *d, uint32_t string);
struct str frame_name(const struct dict *d, uint32_t frame); /* "" if not symbolized */
struct str frame_file(const struct dict *d, uint32_t frame);
const uint32_t *stack_frames(const struct dict *d, uint32_t stack, uint32_t *ret_n);
/* How many of these frames, from the first towards the root, are one location of the program:
 * inlined ones and the function they were inlined into. */
uint32_t stack_location_length(const struct dict *d, const uint32_t *frames, uint32_t n);
const uint32_t *label_set_items(const struct dict *d, uint32_t set, uint32_t *ret_n);
/* The first label with a key in a label set, or NULL. */
const struct label *label_find(const struct dict *d, uint32_t set, struct str key);
struct buf;
/* A label's value as text, without its unit. */
void label_value(const struct dict *d, const struct label *l, struct buf *out);
/* The address of a frame: relative to its module, if that has a name. */
uint64_t frame_offset(const struct dict *d, uint32_t frame);
/* The name of a frame in a table: its function, module+offset, or the bare address. */
void frame_label(const struct dict *d, uint32_t frame, struct buf *out);

/* Its identity: equal content and seed give equal hashes in any dictionary. */
uint64_t stack_hash(const struct dict *d, uint32_t stack);

/*
 * The hashes by parts, for decoders that look up a stack by content before they intern anything
 * (pprof_samples.c): strings first, then upwards.
 */
uint64_t content_string(const struct dict *d, struct str s);
/* Interns a string whose content_string() is already known. */
enum err dict_hashed_string(struct dict *d, struct str s, uint64_t hash, uint32_t *ret) MUST_CHECK;
/* The same for a function and its content_function(). */
enum err dict_hashed_function(struct dict *d, const struct function *f, uint64_t hash,
			      uint32_t *ret) MUST_CHECK;

static inline uint64_t content_function(uint64_t name, uint64_t system_name, uint64_t file,
					int64_t start_line)
{
	return hash_mix(hash_mix(name, system_name), hash_mix(file, (uint64_t)start_line ^ name));
}

uint64_t content_mapping(const struct mapping *m, uint64_t file, uint64_t build_id, uint64_t go_id,
			 uint64_t htl);

static inline uint64_t content_frame(const struct frame *f, uint64_t function, uint64_t mapping,
				     uint64_t kind)
{
	uint64_t where = hash_mix(f->address ^ mapping, function ^ (uint64_t)f->line);

	/* Not combined with the line: a file chooses both, and could make them cancel out. */
	return hash_mix(where ^ kind ^ f->column, function ^ (uint64_t)f->flags << 56);
}

static inline uint64_t content_multiplier(const struct dict *d, uint32_t position)
{
	if (position < STACK_MULTIPLIERS)
		return d->multipliers[position];
	return hash_mix(d->seed, position) | 1;
}

static inline uint64_t content_stack(uint64_t sum, uint32_t depth)
{
	uint64_t h = sum ^ (depth * 0x9e3779b97f4a7c15u);

	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	return h ^ (h >> 29);
}
/* The frame, the stack with this content hash, or MAP_NONE. */
uint32_t dict_find_frame(const struct dict *d, uint64_t hash);
uint32_t dict_find_stack(const struct dict *d, uint64_t hash);
/* Adds a frame that dict_find_frame() did not find; `hash` must be its content_frame(). */
enum err dict_add_frame(struct dict *d, uint64_t hash, const struct frame *f,
			uint32_t *ret) MUST_CHECK;
/* Adds a stack that dict_find_stack() did not find; `hash` must be the one of these frames. */
enum err dict_add_stack(struct dict *d, uint64_t hash, const uint32_t *frames, uint32_t n,
			uint32_t *ret) MUST_CHECK;
