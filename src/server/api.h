/*
 * /api/v1: Vestal's own API (docs/api.md). A handler parses its parameters, asks, writes JSON;
 * api_answer is what they share.
 */
#pragma once

#include "base/jsonout.h"
#include "server/parameters.h"
#include "server/inquiry.h"

/* Runs `answer` with a question ready to be selected and replies with the JSON it wrote, or with
 * its fault. */
void api_answer(struct request *r, enum err (*answer)(struct inquiry *q, struct jsonout *o));
/* query, type, from, until of the request. */
enum err api_select(struct inquiry *q) MUST_CHECK;
/* A side of a comparison: the parameters of its own, or from and until of both. */
enum err api_select_side(struct inquiry *q, const char *query, const char *from, const char *until,
			 struct str type) MUST_CHECK;
/* The selected profiles as one, in q->profile, as the filters and the cells of the request leave
 * them. */
enum err api_merge(struct inquiry *q) MUST_CHECK;
/* "schema", and what was asked: type, unit, from, until. */
void api_head(const struct inquiry *q, struct jsonout *o, const char *schema);
/* What the answer was read from, as "read": {…}. */
void api_cost(const struct inquiry *q, struct jsonout *o);
/* Values of points from the `first` on, null where nothing was measured; and as "covered" the time
 * in nanoseconds that each covers. */
void api_points(struct jsonout *o, const char *key, const struct series_points *s, size_t first);
void api_covered(struct jsonout *o, const struct series_points *s, size_t first);
/* A width of points near this one: whole seconds. */
int64_t api_step(int64_t ns);
/* What a token may do, as "rights": ["read", …]. */
void api_put_rights(struct jsonout *o, unsigned rights);
/* How disk and clock are: "disk_state", "retention_suspended" and more. */
void api_put_state(struct request *r, struct jsonout *o);
/* What was deleted of a tenant, and why, as "deleted": {"age": {…}, …}. */
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
