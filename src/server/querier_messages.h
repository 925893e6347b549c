/*
 * The messages of Pyroscope's querier.v1.QuerierService, and of the small services around it, as
 * structs and tables (wire.h). Field numbers and names are those of the published API.
 */
#pragma once

#include "server/wire.h"

struct label_message {
	struct str name, value;
};
struct labels_message {
	struct list labels; /* label_message */
};

struct range_request {
	int64_t start, end;
};
struct profile_type_message {
	struct str id, name, sample_type, sample_unit, period_type, period_unit;
};
struct profile_types_reply {
	struct list types; /* profile_type_message */
};
struct label_names_request {
	struct list matchers; /* text */
	int64_t start, end;
};
struct label_values_request {
	struct str name;
	struct list matchers;
	int64_t start, end;
};
struct names_reply {
	struct list names; /* text */
};
struct series_request {
	struct list matchers, label_names; /* text */
	int64_t start, end;
};
struct series_reply {
	struct list labels_set; /* labels_message */
};

struct call_site {
	struct str name;
};
struct go_pgo {
	int64_t keep_locations;
	bool aggregate_callees;
};
struct stack_selector {
	struct list call_site; /* call_site */
	struct go_pgo *go_pgo;
};

struct stacktraces_request {
	struct str type, selector;
	int64_t start, end, max_nodes, format;
	struct stack_selector *stacks;
	struct list profile_ids, trace_ids, span_ids; /* text */
};
struct level_message {
	struct list values; /* int */
};
struct flamegraph_message {
	struct list names;  /* text */
	struct list levels; /* level_message */
	int64_t total, max_self;
};
struct pprof_message {
	struct str profile; /* a google.v1.Profile, encoded like the reply */
};
struct stacktraces_reply {
	struct flamegraph_message *flamegraph;
	struct str tree; /* bytes */
	struct str dot;
	struct pprof_message *pprof;
};
struct span_request {
	struct str type, selector;
	struct list spans; /* text */
	int64_t start, end, max_nodes, format;
};
struct diff_request {
	struct stacktraces_request *left, *right;
};
struct diff_graph_message {
	struct list names, levels;
	int64_t total, max_self, left_ticks, right_ticks;
};
struct diff_reply {
	struct diff_graph_message *flamegraph;
};
struct select_series_request {
	struct str type, selector;
	int64_t start, end;
	struct list group_by; /* text */
	double step;
	int64_t aggregation;
	struct stack_selector *stacks;
	int64_t limit, exemplar_type;
};
struct exemplar_message {
	int64_t timestamp;
	struct str profile_id, span_id;
	int64_t value;
	struct list labels;
	struct str trace_id;
};
struct point_message {
	double value;
	int64_t timestamp;
	struct list exemplars;
};
struct points_message {
	struct list labels, points;
};
struct select_series_reply {
	struct list series; /* points_message */
};
struct heatmap_request {
	struct str type, selector;
	int64_t start, end;
	double step;
	struct list group_by;
	int64_t query_type, exemplar_type, limit;
};
struct heatmap_slot {
	int64_t timestamp;
	struct list y_min;  /* double */
	struct list counts; /* int */
	struct list exemplars;
};
struct heatmap_series {
	struct list labels, slots;
};
struct heatmap_reply {
	struct list series;
};
struct empty_message {
	char none;
};
struct stats_reply {
	bool data_ingested;
	int64_t oldest, newest;
};
struct analyze_request {
	int64_t start, end;
	struct str query;
};
struct query_scope {
	struct str component_type;
	int64_t component_count, block_count, series_count, profile_count, sample_count;
	int64_t index_bytes, profile_bytes, symbol_bytes;
};
struct query_impact {
	int64_t total_bytes, total_series;
	bool deduplication_needed;
};
struct analyze_reply {
	struct list scopes;
	struct query_impact *impact;
};

extern const struct message label_pair_table, labels_table, range_request_table,
	profile_types_reply_table, label_names_request_table, label_values_request_table,
	names_reply_table, series_request_table, series_reply_table, stacktraces_request_table,
	merge_profile_request_table, stacktraces_reply_table, span_request_table,
	diff_request_table, diff_reply_table, select_series_request_table,
	select_series_reply_table, heatmap_request_table, heatmap_reply_table, empty_table,
	stats_reply_table, analyze_request_table, analyze_reply_table;
