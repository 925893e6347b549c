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
/* The selected profiles as one, in q->profile, as the filters and the cells of the request leave
 * them. */
enum err api_merge(struct inquiry *q) MUST_CHECK;
/* "schema", and what was asked: type, unit, from, until. */
void api_head(const struct inquiry *q, struct jsonout *o, const char *schema);
/* What the answer was read from, as "read": {…}. */
void api_cost(const struct inquiry *q, struct jsonout *o);
void api_labels(struct jsonout *o, const struct label_pair *labels, size_t n);

/* api_query.c, api_vft.c, api_view.c, api_labels.c, api_admin.c */
void api_top(struct request *r);
void api_tree(struct request *r);
void api_tree_vft(struct request *r);
void api_view(struct request *r);
void api_series(struct request *r);
void api_heatmap(struct request *r);
void api_diff(struct request *r);
void api_export(struct request *r);
void api_services(struct request *r);
void api_types(struct request *r);
void api_label_names(struct request *r);
void api_label_values(struct request *r);
void api_spans(struct request *r);
void api_status(struct request *r);
void api_buildinfo(struct request *r);
void api_delete(struct request *r);
void api_backup(struct request *r);
void api_upload(struct request *r);
