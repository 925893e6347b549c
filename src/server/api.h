/*
 * /api/v1: Vestal's own API (docs/api.md). A handler parses its parameters, queries the store and
 * writes JSON; api_answer is the common part.
 */
#pragma once

#include "base/jsonout.h"
#include "server/parameters.h"
#include "server/inquiry.h"

/* Runs `answer` with an initialized inquiry, and replies with the JSON it wrote, or with its
 * fault. */
void api_answer(struct request *r, enum err (*answer)(struct inquiry *q, struct jsonout *o));
/* Selects by the parameters query, type, from, until. */
enum err api_select(struct inquiry *q) MUST_CHECK;
/* Selects a side of a comparison: by its own time parameters, or from and until of both. */
enum err api_select_side(struct inquiry *q, const char *query, const char *from, const char *until,
			 struct str type) MUST_CHECK;
/* Merges the selected profiles into q->profile, after filters and cells of the request. */
enum err api_merge(struct inquiry *q) MUST_CHECK;
/* Writes "schema", and type, unit, from, until of the query. */
void api_head(const struct inquiry *q, struct jsonout *o, const char *schema);
/* Writes the statistics "read": {…}. */
void api_cost(const struct inquiry *q, struct jsonout *o);
/* Writes the values of points from `first` on, null if not measured, and "covered", the covered
 * time of each in nanoseconds. */
void api_points(struct jsonout *o, const char *key, const struct series_points *s, size_t first);
void api_covered(struct jsonout *o, const struct series_points *s, size_t first);
/* Rounds a step to whole seconds. */
int64_t api_step(int64_t ns);
/* Writes the rights of a token: "rights": ["read", …]. */
void api_put_rights(struct jsonout *o, unsigned rights);
/* Writes the state of disk and clock: "disk_state", "retention_suspended" and more. */
void api_put_state(struct request *r, struct jsonout *o);
/* Writes deletions of a tenant by reason: "deleted": {"age": {…}, …}. */
void api_put_deleted(const struct store_stats *s, struct jsonout *o);
void api_labels(struct jsonout *o, const struct label_pair *labels, size_t n);

/* api_*.c */
void api_top(struct request *r);
void api_tree(struct request *r);
void api_tree_vft(struct request *r);
void api_view(struct request *r);
void api_overview(struct request *r);
void api_changes(struct request *r);
void api_function(struct request *r);
void api_source(struct request *r);
void api_agents(struct request *r);
void api_tokens(struct request *r);
void api_series(struct request *r);
void api_heatmap(struct request *r);
void api_diff(struct request *r);
void api_rate_change(struct request *r);
void api_export(struct request *r);
void api_services(struct request *r);
void api_types(struct request *r);
void api_label_names(struct request *r);
void api_label_values(struct request *r);
void api_spans(struct request *r);
void api_status(struct request *r);
void api_buildinfo(struct request *r);
void api_retention(struct request *r);
void api_retention_confirm(struct request *r);
void api_delete(struct request *r);
void api_backup(struct request *r);
void api_backup_file(struct request *r);
void api_backup_end(struct request *r);
void api_upload(struct request *r);
void api_symbols_upload(struct request *r);
void api_symbols_list(struct request *r);
void api_symbols_delete(struct request *r);
