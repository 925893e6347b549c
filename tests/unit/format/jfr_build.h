/*
 * Writes small recordings by hand, valid or not, for test_jfr.c: a table of types becomes metadata,
 * and events and pools are put together field by field.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"

struct t_field {
	const char *name;
	int type;
	bool pooled, array;
	const char *unit; /* of an annotation jdk.jfr.Timespan */
};

struct t_class {
	int id;
	const char *name;
	struct t_field fields[6];
};

/* The ids of the types of `jfr_test_types`. */
enum {
	T_BOOLEAN = 10,
	T_BYTE,
	T_CHAR,
	T_SHORT,
	T_INT,
	T_LONG,
	T_FLOAT,
	T_DOUBLE,
	T_STRING,
	T_CLASS,
	T_SYMBOL,
	T_METHOD,
	T_FRAME,
	T_STACK,
	T_THREAD,
	T_STATE,
	T_FRAME_TYPE,
	T_TIMESPAN,
	T_EXECUTION,
	T_MONITOR,
	T_SETTING,
	T_ODD,
	T_ODD_PART,
	T_RECORDING,
	T_MALLOC,
	T_COUNT_
};

extern const struct t_class jfr_test_types[T_COUNT_ - T_BOOLEAN];

struct jfr_build {
	struct buf out;
	bool plain;	/* integers are not compressed */
	size_t chunk;	/* where the chunk begins */
	size_t event;	/* where the open event begins */
	size_t pool_at; /* offsets in the chunk, for its header */
	size_t metadata_at;
};

void jfr_build_release(struct jfr_build *b);
void put_be(struct jfr_build *b, uint64_t v, unsigned n);
void put_byte(struct jfr_build *b, uint8_t v);
void put_int(struct jfr_build *b, int64_t v);
void put_long(struct jfr_build *b, uint64_t v);
void put_string(struct jfr_build *b, const char *s);

void chunk_begin(struct jfr_build *b);
/* Fills in the header. */
void chunk_end(struct jfr_build *b);
void event_begin(struct jfr_build *b, uint64_t type);
void event_end(struct jfr_build *b);
void put_metadata(struct jfr_build *b, const struct t_class *types, size_t n);
void checkpoint_begin(struct jfr_build *b, int64_t delta, int pools);
void pool_begin(struct jfr_build *b, int type, int entries);

/* A method per pool entry: keys 1 … 3, "a/B.one", "a/B.two", "[Ljava/lang/String;.three". */
void put_test_pools(struct jfr_build *b);
void put_setting(struct jfr_build *b, int type, const char *name, const char *value);
/* Keys of the pool of states. */
enum { JFR_RUNNABLE = 1, JFR_SLEEPING, JFR_DEFAULT };
void put_sample_of(struct jfr_build *b, uint64_t thread, uint64_t stack, uint64_t state);
void put_wait(struct jfr_build *b, uint64_t milliseconds);
void put_malloc(struct jfr_build *b, uint64_t size);
void put_sample(struct jfr_build *b, uint64_t ticks, uint64_t thread, uint64_t stack);
