/*
 * Tables -> model, between otlp_build*.c. Entries of the file's dictionary are interned when the
 * first sample needs them and remembered by their index, so that an orphan costs nothing and a
 * shared entry is checked once.
 */
#pragma once

#include "format/otlp_fields.h"
#include "format/otlp_tables.h"

#define NOT_YET UINT32_MAX

/* The most attributes one list may have. */
#define OTLP_MAX_LABELS 4096

struct otlp_set_memo {
	struct otlp_range indices;
	uint32_t set;
};

/* A location as frames of ours: first their hashes, later their ids. */
struct otlp_place {
	uint32_t at; /* where they are in `frames` when they are several */
	uint32_t n;  /* 0 before the first use */
};

struct otlp_builder {
	const struct otlp_tables *t;
	struct reading *out;
	struct dict *d;
	struct arena arena; /* of the arrays below */

	/* By index in the file's tables: the id in the dictionary, or NOT_YET. */
	uint32_t *strings, *functions, *mappings, *links, *stacks;
	struct otlp_place *locations;
	/* By location: the hash of its frame when it is one and known, else 0; one more, always 0.
	 */
	uint64_t *location_hashes;
	/* By location, those of one frame: the frame, or NOT_YET; so, too, for all others. */
	uint32_t *location_frames;
	struct otlp_range *attributes; /* in `labels`; at is NOT_YET before the first use */
	VEC(uint32_t) frames; /* of locations with several; NOT_YET before they are stored */
	VEC(uint64_t) frame_hashes;
	uint64_t *string_hashes, *function_hashes; /* 0 = not yet */
	const struct otlp_attribute *kind_attribute;
	uint32_t kind; /* what that attribute says */
	VEC(uint32_t) labels;
	VEC(uint32_t) scratch, stack_scratch;

	/* Label sets by their list of attribute indices. */
	uint32_t *single_sets; /* by attribute, for lists of one; or NOT_YET */
	VEC(struct otlp_set_memo) sets;
	struct map set_index;

	/* What references may still multiply: a small file must not become a large model. */
	uint64_t frame_budget, text_budget;
	uint64_t rows;
	size_t payload_bytes;
};

/* otlp_build_dict.c. `kind` and `at` say whose field it is, for the message. */
enum err otlp_bad_index(const struct otlp_builder *b, const char *field, int64_t index,
			const char *table, size_t size, enum otlp_kind kind, size_t at);
/* Where entry `at` is: " (byte 12)", or nothing when that is not known. */
const char *otlp_place(const struct otlp_builder *b, enum otlp_kind kind, size_t at,
		       char place[96]);
enum err otlp_spend_text(struct otlp_builder *b, size_t n) MUST_CHECK;
enum err otlp_text(struct otlp_builder *b, struct str text, uint32_t *ret) MUST_CHECK;
enum err otlp_string(struct otlp_builder *b, int32_t index, const char *field, enum otlp_kind kind,
		     size_t at, uint32_t *ret) MUST_CHECK;
enum err otlp_link(struct otlp_builder *b, int32_t index, size_t sample, uint32_t *ret) MUST_CHECK;
enum err otlp_mapping(struct otlp_builder *b, int32_t index, size_t location,
		      uint32_t *ret) MUST_CHECK;
enum err otlp_function(struct otlp_builder *b, int32_t index, size_t location,
		       uint32_t *ret) MUST_CHECK;
void otlp_note_zero_entries(struct otlp_builder *b);

/* otlp_build_locations.c: b->locations[index] with hashes, then with frames of the dictionary. */
enum err otlp_location(struct otlp_builder *b, size_t index) MUST_CHECK;
enum err otlp_store_location(struct otlp_builder *b, size_t index) MUST_CHECK;

/* otlp_build_stacks.c: first all stacks of the samples, then one by one. */
enum err otlp_prepare_stacks(struct otlp_builder *b, struct otlp_range samples) MUST_CHECK;
enum err otlp_stack(const struct otlp_builder *b, int32_t index, size_t sample,
		    uint32_t *ret) MUST_CHECK;

/* otlp_build_labels.c */
enum err otlp_attribute_at(const struct otlp_builder *b, struct otlp_range list, uint32_t i,
			   const char *field, enum otlp_kind kind, size_t at,
			   const struct otlp_attribute **ret, struct str *ret_key) MUST_CHECK;
enum err otlp_sample_labels(struct otlp_builder *b, const struct otlp_sample *s, size_t at,
			    uint32_t *ret) MUST_CHECK;
enum err otlp_pair_labels(struct otlp_builder *b, const struct otlp_pair *pairs, uint32_t n,
			  uint32_t *ret) MUST_CHECK;
/* One label from a value; arrays and lists become JSON text. */
enum err otlp_label(struct otlp_builder *b, uint32_t key, uint32_t unit,
		    const struct otlp_any *value, uint32_t *ret) MUST_CHECK;
/* A set of up to OTLP_MAX_LABELS labels in any order. May reorder them. */
enum err otlp_label_set(struct otlp_builder *b, uint32_t *labels, size_t n,
			uint32_t *ret) MUST_CHECK;

/* otlp_build_profile.c: what the profile says of itself, apart from its rows. */
enum err otlp_profile_header(struct otlp_builder *b, const struct otlp_profile *src, size_t at,
			     const struct otlp_scope *scope, struct profile *dst) MUST_CHECK;
/* The profile's own content when it only carries another format's bytes. */
enum err otlp_payload(struct otlp_builder *b, const struct otlp_profile *src, uint32_t resource,
		      bool *ret_taken) MUST_CHECK;

/* otlp_build_rows.c */
/* The Profiles that become one: their place in the file and their column. Those of one group, which
 * have the same rows, follow each other; a group ends before ends[i]. */
struct otlp_columns {
	uint32_t n, groups;
	uint32_t members[PROFILE_MAX_TYPES], column[PROFILE_MAX_TYPES];
	uint32_t ends[PROFILE_MAX_TYPES];
	int counts; /* the column that CPU time is derived from, as one more; -1 = it is not */
};
enum err otlp_build_rows(struct otlp_builder *b, const struct otlp_scope *scope,
			 struct otlp_columns *g, uint32_t resource) MUST_CHECK;
