/*
 * Private to src/store: lists of names, values, types and label sets under construction, from
 * partitions (answer_labels.c) or the engine's index (answer_index.c).
 */
#pragma once

#include "store/answer.h"

#define TYPE_LABELS 6

enum listing_kind { LIST_NAMES, LIST_VALUES, LIST_PARTS, LIST_TYPES, LIST_SETS };

struct listing {
	const struct source *source;
	const struct selection *selection;
	struct ask *ask;
	enum listing_kind kind;
	struct arena arena; /* of the answer */
	VEC(struct str) texts;
	struct map index;
	struct map text_index; /* of texts, while `index` is of sets */
	size_t limit;	       /* LIST_VALUES: at most so many, the first ones; 0 = all */
	bool sorted;	       /* texts are sorted, by listing_add_sorted */
	struct str name; /* label of the values; LIST_PARTS: a label that is part of the type */
	const struct str *names;
	size_t name_count;
	VEC(struct label_group) sets;
	/* Called for a matching series; with the lock held. */
	enum err (*series)(struct listing *l, const struct partition *p, uint32_t series);
	/* Called for row labels; or NULL. */
	enum err (*label)(struct listing *l, const struct dict *d, const struct label *label);
	const struct choice *choice;
};

void listing_release(struct listing *l);
/* Distinct entries. */
enum err listing_add_text(struct listing *l, struct str text) MUST_CHECK;
/* Texts in order, once each; not to be mixed with listing_add_text. */
enum err listing_add_sorted(struct listing *l, const struct str *texts, size_t n) MUST_CHECK;
enum err listing_add_set(struct listing *l, const struct label_group *set) MUST_CHECK;
/* Requested labels that are parts of a type, sorted by name; at most TYPE_LABELS. */
size_t listing_type_parts(const struct listing *l, struct str id, struct label_pair *labels);

/* Bit per service of an index. */
struct service_bits {
	uint64_t *matching; /* it has a series that may match */
	uint64_t *open;	    /* a matcher depends on its row labels */
};
/* The services with a series that may match and is in the range of the selection. */
enum err index_services(const struct series_index *x, const struct selection *selection,
			struct ask *ask, struct arena *arena, struct service_bits *ret) MUST_CHECK;
/* Adds the entries of a day's index; `context` is the listing. */
enum err listing_index(void *context, struct series_index *x, const uint64_t *services) MUST_CHECK;
