/*
 * Exemplars in time series: a single profile or span for each point, the one with the largest
 * value.
 */
#pragma once

#include "server/querier_messages.h"
#include "store/store.h"

/* As in requests. */
enum exemplar_type { EXEMPLARS_DEFAULT, EXEMPLARS_NONE, EXEMPLARS_OF_PROFILES, EXEMPLARS_OF_SPANS };

/* Pyroscope's clients identify profiles by UUIDs: the store's id and zeros. */
enum err profile_id_write(struct arena *scope, uint64_t id, struct str *ret) MUST_CHECK;
/* A UUID from another store becomes an id without profile; false if it is no UUID. */
bool profile_id_read(struct str text, uint64_t *ret);

/* The value of a label, empty if missing. */
struct str exemplar_label(const struct exemplar *e, struct str name);
/* Adds `from` to `list`, unless that has a larger one; without the group-by labels. */
enum err keep_largest(struct arena *scope, const struct exemplar *from, const struct str *group_by,
		      size_t group_count, struct list *list) MUST_CHECK;
