/*
 * Exemplars in answers over time: which single profile or span stands for a point. Only the largest
 * one of a point is shown.
 */
#pragma once

#include "server/querier_messages.h"
#include "store/store.h"

/* As requests say it. */
enum exemplar_type { EXEMPLARS_DEFAULT, EXEMPLARS_NONE, EXEMPLARS_OF_PROFILES, EXEMPLARS_OF_SPANS };

/* Pyroscope's clients know profiles by UUIDs: the store's id and zeros. */
enum err profile_id_write(struct arena *scope, uint64_t id, struct str *ret) MUST_CHECK;
/* An id that is not of this store is one that no profile has; false when it is no UUID at all. */
bool profile_id_read(struct str text, uint64_t *ret);

/* The value of a label, empty when it is not there. */
struct str exemplar_label(const struct exemplar *e, struct str name);
/* Puts `from` into `list`, unless a larger one is there; without the labels that the answer is
 * grouped by. */
enum err keep_largest(struct arena *scope, const struct exemplar *from, const struct str *group_by,
		      size_t group_count, struct list *list) MUST_CHECK;
