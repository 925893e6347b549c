/* Shared by the calls of the querier service. */
#pragma once

#include "server/querier_messages.h"
#include "server/inquiry.h"
#include "server/rpc_route.h"

/* Allocates n items of a repeated field. */
void *list_make(struct list *l, size_t n, size_t size, struct arena *scope);
enum err copy_str(struct arena *scope, struct str text, struct str *ret) MUST_CHECK;
enum err copy_labels(struct arena *scope, const struct label_pair *labels, size_t n,
		     struct list *ret) MUST_CHECK;
/* Times of a request in milliseconds; both 0 = everything. */
void inquiry_range(int64_t start_ms, int64_t end_ms, int64_t *ret_from, int64_t *ret_until);
/* For calls that return values: type, selector and times are required. */
enum err inquiry_select_values(struct inquiry *q, struct str type, struct str selector,
			       int64_t start_ms, int64_t end_ms) MUST_CHECK;
/* Limits the number of items of a list in a request. */
enum err check_list(const struct list *l, const char *name, size_t most,
		    struct fault *fault) MUST_CHECK;
#define MAX_GROUP_BY	 64
#define MAX_STACK_FRAMES 1024
#define MAX_LINKS	 10000

/* Flame graphs (querier_graph.c). */
extern const struct rpc_method method_merge_stacktraces, method_merge_spans, method_diff;
void handle_merge_profile(struct request *r);
/* Series (querier_series.c), heat maps (querier_heatmap.c). */
extern const struct rpc_method method_select_series, method_heatmap;
/* Maximum number of exemplars, the largest first. */
#define MAX_EXEMPLARS 10000
enum err check_step(double step, struct fault *fault) MUST_CHECK;
/* Metadata (querier.c). */
extern const struct rpc_method method_profile_types, method_label_names, method_label_values,
	method_series, method_stats, method_analyze;
