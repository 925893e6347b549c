/*
 * Java Flight Recorder files, private to the reader (jfr_*.c).
 *
 * A file is a row of chunks, each complete in itself:
 *
 *	header    68 bytes, big endian: "FLR\0", version, size, where metadata and the last
 *	          checkpoint are, clock
 *	events    size, type id, fields; among them
 *	  type 0  the metadata: a tree of elements that describes every type of the chunk
 *	  type 1  a checkpoint: constant pools (key -> value), chained backwards
 *
 * Nothing but the header, the metadata's own shape and the checkpoint's first fields is fixed: all
 * other layouts come from the metadata. So a type is first compiled to a short program that skips a
 * value of it (jfr_layout.c), and an object is read by its fields' names (jfr_value.c).
 *
 * Way of the data: jfr_read.c walks the chunks; jfr_chunk.c reads the header, jfr_metadata.c the
 * types, jfr_layout.c compiles them, jfr_pools.c indexes the pools, jfr_wanted.c the events,
 * jfr_settings.c finds out how often samples were taken, jfr_events.c makes rows, and asks
 * jfr_stacks.c, jfr_names.c and jfr_labels.c for the dictionary's ids of what the events refer to.
 */
#pragma once

#include <endian.h>

#include "base/arena.h"
#include "base/hash.h"
#include "format/formats_internal.h"

#define JFR_HEADER_SIZE 68
#define JFR_NO_CLASS	UINT16_MAX
#define JFR_MAX_CLASSES 65000 /* a JDK has some 400 */

/* A place in a chunk. Reading past the end gives zeros and sets `failed`; callers look once. */
struct jfr_cursor {
	const uint8_t *base; /* first byte of the chunk */
	size_t at, end;	     /* offsets in the chunk */
	bool compressed;     /* integers are LEB128 */
	bool failed;
};

enum jfr_primitive {
	JFR_STRUCT,
	JFR_BOOLEAN,
	JFR_BYTE,
	JFR_CHAR,
	JFR_SHORT,
	JFR_INT,
	JFR_LONG,
	JFR_FLOAT,
	JFR_DOUBLE,
	JFR_STRING,
};

/* What a number counts, by the annotations Timespan and Timestamp. */
enum jfr_unit {
	JFR_UNIT_NONE,
	JFR_UNIT_TICKS,
	JFR_UNIT_NANOSECONDS,
	JFR_UNIT_MICROSECONDS,
	JFR_UNIT_MILLISECONDS,
	JFR_UNIT_SECONDS,
};

/* The types the reader knows how to resolve; everything else is only skipped. */
enum jfr_kind {
	JFR_KIND_NONE,
	JFR_KIND_STACK,
	JFR_KIND_FRAME,
	JFR_KIND_METHOD,
	JFR_KIND_CLASS,
	JFR_KIND_SYMBOL,
	JFR_KIND_THREAD,
	JFR_KIND_THREAD_STATE,
	JFR_KIND_FRAME_TYPE,
	JFR_KIND_STRING,
	JFR_KIND_COUNT_
};

/* One step of a program that skips a value. Every step takes at least one byte of input. */
struct jfr_op {
	enum { JFR_OP_VARINT, JFR_OP_FIXED, JFR_OP_STRING, JFR_OP_ARRAY } code;
	uint32_t n; /* FIXED: bytes; ARRAY: the following n steps are its element */
};

struct jfr_program {
	uint32_t at, n;
};

struct jfr_field {
	struct str name;
	uint64_t type_id;
	uint32_t class; /* index of the type */
	bool array;
	bool pooled; /* holds a key into the pool of its type */
	enum jfr_unit unit;
	struct str unit_text; /* of the annotation, until its type is known */
	uint64_t unit_type_id;
	struct jfr_program skip;
};

struct jfr_class {
	uint64_t id;
	struct str name;
	enum jfr_primitive primitive;
	enum jfr_kind kind;
	uint32_t field_at, field_n;
	enum { JFR_LAYOUT_NEW, JFR_LAYOUT_OPEN, JFR_LAYOUT_DONE, JFR_LAYOUT_BAD } layout;
	struct jfr_program skip;
};

/* How to read the wanted fields of one class: for each step skip some, then read one. */
struct jfr_plan_step {
	uint32_t field;
	int slot; /* -1: skip the field */
};

#define JFR_MAX_SLOTS 4 /* wanted of any pool's type */

struct jfr_plan {
	uint32_t class; /* JFR_NO_CLASS: the chunk has no such type */
	VEC(struct jfr_plan_step) steps;
	size_t wanted; /* steps up to the last one that reads */
};

enum jfr_value_kind {
	JFR_ABSENT,
	JFR_NUMBER,
	JFR_TEXT,   /* a string in place: `number` is its offset in the chunk */
	JFR_REF,    /* `number` is a key into the pool of `class` */
	JFR_OBJECT, /* `number` is an offset in the chunk */
	JFR_ARRAY,  /* `number` is the offset of the first element, `count` their number */
};

struct jfr_value {
	uint64_t number;
	uint32_t count;
	uint16_t class;
	uint8_t kind; /* enum jfr_value_kind */
	uint8_t unit; /* enum jfr_unit */
};

struct jfr_pool_entry {
	uint64_t key;
	uint64_t at;   /* offset of the value in the chunk */
	uint32_t memo; /* what it became in the dictionary, or JFR_NO_MEMO */
};

#define JFR_NO_MEMO UINT32_MAX

struct jfr_pool {
	VEC(struct jfr_pool_entry) entries;
	struct map index;
};

struct jfr_header {
	uint16_t major, minor;
	uint64_t size, pool_offset, metadata_offset;
	uint64_t start_ns, duration_ns, start_ticks, ticks_per_second;
	bool compressed;
	uint8_t state; /* 0: finished */
};

/* The profiles a recording may hold: one for each kind of event that is sampled differently. */
enum jfr_family {
	JFR_FAMILY_CPU_TIME,
	JFR_FAMILY_EXECUTION,
	JFR_FAMILY_COUNTER, /* execution samples triggered by a hardware event */
	JFR_FAMILY_WALL,
	JFR_FAMILY_NATIVE,
	JFR_FAMILY_ALLOC_SAMPLE,
	JFR_FAMILY_ALLOC_TLAB,
	JFR_FAMILY_ALLOC_OUTSIDE,
	JFR_FAMILY_LIVE,
	JFR_FAMILY_MALLOC,
	JFR_FAMILY_LOCK,
	JFR_FAMILY_BLOCK,
	JFR_FAMILY_EXCEPTIONS,
	JFR_FAMILY_METHOD_TRACE,
	JFR_FAMILY_COUNT_
};

/* What the value of an event is. */
enum jfr_measure {
	JFR_MEASURE_INTERVAL,
	JFR_MEASURE_WALL,
	JFR_MEASURE_PERIOD,
	JFR_MEASURE_AMOUNT,
	JFR_MEASURE_DURATION,
	JFR_MEASURE_COUNT,
	JFR_MEASURE_LOST,
	JFR_MEASURE_SETTING
};

struct jfr_rule {
	const char *event;
	enum jfr_family family;
	enum jfr_measure measure;
	const char *amount; /* the field that holds it */
};

#define JFR_RULE_COUNT	 17
#define JFR_RULE_SETTING (JFR_RULE_COUNT - 1)
extern const struct jfr_rule jfr_rules[JFR_RULE_COUNT];

/* The slots of the events, and of jdk.ActiveSetting. */
enum {
	JFR_EVENT_START,
	JFR_EVENT_DURATION,
	JFR_EVENT_THREAD,
	JFR_EVENT_STACK,
	JFR_EVENT_STATE,
	JFR_EVENT_CLASS,
	JFR_EVENT_AMOUNT,
	JFR_EVENT_CONTEXT,
	JFR_EVENT_SPAN_ID,
	JFR_EVENT_SPAN_NAME,
	JFR_EVENT_TRACE_HIGH,
	JFR_EVENT_TRACE_LOW,
	JFR_EVENT_SLOTS_
};
enum { JFR_SETTING_EVENT, JFR_SETTING_NAME, JFR_SETTING_VALUE, JFR_SETTING_SLOTS_ };

struct jfr_chunk {
	struct jfr_header header;
	const uint8_t *base;
	uint64_t file_offset; /* of base, for messages */
	size_t size;	      /* bytes there are */
	bool complete;	      /* false: cut off or still being written */
	struct arena arena;   /* strings of the metadata that had to be converted */
	VEC(struct jfr_class) classes;
	VEC(struct jfr_field) fields;
	VEC(struct jfr_op) ops;
	struct map class_index;
	struct jfr_plan plans[JFR_KIND_COUNT_];
	struct jfr_pool pools[JFR_KIND_COUNT_];
	VEC(uint64_t) checkpoints; /* offsets, newest first */
	struct jfr_plan event_plans[JFR_RULE_COUNT];
	VEC(uint64_t) settings; /* offsets of jdk.ActiveSetting */
	VEC(uint64_t) events;	/* of the wanted: offset << 8 | rule */
	uint64_t walked;	/* where the events end */
	uint32_t families;	/* a bit for each the chunk has events of */
	uint64_t seed;
};

/* What the settings of a chunk say about its samples. */
struct jfr_settings {
	int64_t execution_ns, native_ns, wall_ns; /* between samples; 0 = not said */
	/* Amounts between samples that are taken by amount (jfr_events.c); 0 or 1 = all are
	 * taken. */
	int64_t alloc_step, malloc_step, lock_step;
	bool malloc_step_told; /* false for async-profiler 4.0 and 4.1, which do not write it */
	bool async_profiler;
	unsigned major;	  /* its version, 0 = not said */
	bool wall_only;	  /* async-profiler 1 to 3 with event=wall: samples are of wall time */
	bool wall_beside; /* wall= of it: samples with a state are of wall time (jfr_events.c) */
	char counter[64]; /* async-profiler counted this hardware event instead of time */
	int64_t counter_interval; /* and took a sample at each so many of them */
};

/* A method in the dictionary; native code (async-profiler) has its library as a mapping. */
struct jfr_method {
	uint32_t function, mapping;
	bool native;
};

/*
 * Frames met lately, by their bytes in the file: most frames of a stack are those of the stack
 * before. `frame` 0 is an empty place.
 */
struct jfr_known_frame {
	uint64_t bytes[2];
	uint32_t frame;
};

#define JFR_KNOWN_FRAMES 16384 /* a power of two */

struct jfr_reader {
	struct reading *out;
	struct jfr_chunk *chunk;
	struct jfr_settings settings; /* of this chunk */
	struct jfr_settings told[2];  /* in earlier chunks, by the JDK and by async-profiler */
	bool malloc_untold;	      /* a chunk has malloc events and no interval */
	struct profile families[JFR_FAMILY_COUNT_];
	uint32_t present;     /* a bit for each family there were events of so far */
	enum jfr_family only; /* the one to read, JFR_FAMILY_COUNT_: all */
	VEC(uint32_t) frames;
	struct jfr_known_frame *known;	/* JFR_KNOWN_FRAMES of them, of this chunk */
	VEC(struct jfr_method) methods; /* of this chunk; the pool's memos are indices */
	VEC(uint32_t) thread_labels;	/* two ids a thread: name, id; 0 = none */
	struct buf text, scratch;
	uint64_t name_bytes, name_budget; /* of names put together, so that none can explode */
	uint64_t rows;
	uint64_t cut_stacks, missing_stacks, lost_samples;
	uint32_t cut_depth;
	bool assumed_interval;
	int64_t first_ns, last_ns;
	uint64_t chunks, unfinished;
};

/* jfr_value.c */
uint64_t jfr_long_varint(struct jfr_cursor *c);
static inline uint64_t jfr_varint(struct jfr_cursor *c)
{
	if (c->at < c->end && c->base[c->at] < 0x80)
		return c->base[c->at++];
	return jfr_long_varint(c);
}
/* The bit of each byte that says that the integer goes on in the next one. */
#define JFR_CONTINUES UINT64_C(0x8080808080808080)
/* Eight bytes, which must be there, from `ahead` of the cursor on; the first one is lowest. */
static inline uint64_t jfr_word(const struct jfr_cursor *c, size_t ahead)
{
	uint64_t word;

	memcpy(&word, c->base + c->at + ahead, sizeof(word));
	return le64toh(word);
}
/* How many bytes of a word end an integer, given their bits of JFR_CONTINUES. */
static inline unsigned jfr_count_ends(uint64_t ends)
{
	return (unsigned)((ends >> 7) * UINT64_C(0x0101010101010101) >> 56);
}
uint64_t jfr_integer(struct jfr_cursor *c, enum jfr_primitive p);
static inline uint64_t jfr_long(struct jfr_cursor *c)
{
	return jfr_integer(c, JFR_LONG);
}
static inline uint64_t jfr_int(struct jfr_cursor *c)
{
	return jfr_integer(c, JFR_INT);
}
const uint8_t *jfr_take(struct jfr_cursor *c, uint64_t n);
void jfr_skip_string(struct jfr_cursor *c);
void jfr_skip(const struct jfr_chunk *k, struct jfr_cursor *c, struct jfr_program p);
struct jfr_cursor jfr_at(const struct jfr_chunk *k, uint64_t at);
/* Reads the fields of a plan into `slots`, which the caller has cleared, and goes behind the
 * object; or no further than the last field wanted. */
void jfr_read_fields(const struct jfr_chunk *k, struct jfr_cursor *c, const struct jfr_plan *plan,
		     struct jfr_value *slots);
void jfr_peek_fields(const struct jfr_chunk *k, struct jfr_cursor *c, const struct jfr_plan *plan,
		     struct jfr_value *slots);
/* The string at the cursor as UTF-8: in place when it can be, else in `scratch`. Longer than
 * `limit` is ERR_TOO_LARGE. A key into the string pool is followed once. */
enum err jfr_string(struct jfr_chunk *k, struct jfr_cursor *c, size_t limit, struct buf *scratch,
		    struct str *ret) MUST_CHECK;

/* jfr_layout.c */
enum err jfr_compile(struct jfr_chunk *k, struct fault *fault) MUST_CHECK;
enum err jfr_plan_make(struct jfr_chunk *k, uint32_t class, const char *const *names,
		       struct jfr_plan *plan) MUST_CHECK;
uint32_t jfr_class_by_id(const struct jfr_chunk *k, uint64_t id);

/* jfr_chunk.c */
enum err jfr_chunk_open(struct jfr_chunk *k, struct str bytes, uint64_t file_offset,
			struct fault *fault) MUST_CHECK;
void jfr_chunk_release(struct jfr_chunk *k);
/* Steps to the next whole event: false at the end. `ret` begins behind size and type. */
bool jfr_next_event(const struct jfr_chunk *k, uint64_t *at, struct jfr_cursor *ret,
		    uint64_t *ret_type);
int64_t jfr_time_ns(const struct jfr_chunk *k, const struct jfr_value *v);
int64_t jfr_span_ns(const struct jfr_chunk *k, const struct jfr_value *v);

/* jfr_metadata.c */
enum err jfr_metadata_read(struct jfr_chunk *k, const struct limits *limits,
			   struct fault *fault) MUST_CHECK;

/* jfr_pools.c */
enum err jfr_pools_read(struct jfr_chunk *k, struct fault *fault) MUST_CHECK;
/* The entry a value refers to when it is of that kind, or NULL. */
struct jfr_pool_entry *jfr_pool_find(struct jfr_chunk *k, enum jfr_kind kind, uint64_t key);
/* Reads the object a value names or is: false when there is none of that kind. */
bool jfr_object(struct jfr_chunk *k, const struct jfr_value *v, enum jfr_kind kind,
		struct jfr_value *slots, struct jfr_pool_entry **ret_entry);

/* The slots of the kinds, in the order of the names in jfr_pools.c. */
enum { JFR_STACK_TRUNCATED, JFR_STACK_FRAMES };
enum { JFR_FRAME_METHOD, JFR_FRAME_LINE, JFR_FRAME_TYPE };
enum { JFR_METHOD_CLASS, JFR_METHOD_NAME, JFR_METHOD_DESCRIPTOR };
enum { JFR_CLASS_NAME };
enum { JFR_SYMBOL_STRING };
enum { JFR_THREAD_OS_NAME, JFR_THREAD_OS_ID, JFR_THREAD_JAVA_NAME, JFR_THREAD_JAVA_ID };
enum { JFR_NAME_NAME, JFR_NAME_DESCRIPTION };

/* jfr_stacks.c */
enum err jfr_stack_id(struct jfr_reader *r, const struct jfr_value *v, uint32_t *ret) MUST_CHECK;

/* jfr_names.c */
enum err jfr_method_of(struct jfr_reader *r, const struct jfr_value *v,
		       struct jfr_method *ret) MUST_CHECK;
/* Appends the name of a class as Java programmers write it: "java.lang.String[]". */
enum err jfr_class_name(struct jfr_reader *r, const struct jfr_value *v,
			struct buf *out) MUST_CHECK;
/* A symbol's or a string's text: in the file or in `r->scratch`, until the next call. */
enum err jfr_text(struct jfr_reader *r, const struct jfr_value *v, struct str *ret) MUST_CHECK;

/* jfr_labels.c: the label's id, 0 when there is nothing to say. */
enum err jfr_thread_labels(struct jfr_reader *r, const struct jfr_value *v, uint32_t *ret_name,
			   uint32_t *ret_id) MUST_CHECK;
enum err jfr_state_label(struct jfr_reader *r, const struct jfr_value *v, uint32_t *ret) MUST_CHECK;
/* What a label of jfr_state_label says of the thread. */
enum jfr_state { JFR_STATE_UNKNOWN, JFR_STATE_RUNNING, JFR_STATE_BLOCKED };
enum jfr_state jfr_state_of(const struct jfr_reader *r, uint32_t label);
enum err jfr_class_label(struct jfr_reader *r, const struct jfr_value *v, uint32_t *ret) MUST_CHECK;

/* jfr_wanted.c: fills `settings`, `events` and what belongs to them. */
enum err jfr_events_find(struct jfr_chunk *k) MUST_CHECK;

/* jfr_settings.c */
enum err jfr_settings_read(struct jfr_reader *r) MUST_CHECK;

/* jfr_events.c */
enum err jfr_events_read(struct jfr_reader *r) MUST_CHECK;
/* Moves the families that have rows to the reading's list. */
enum err jfr_families_finish(struct jfr_reader *r) MUST_CHECK;
