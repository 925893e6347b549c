#include "server/querier_messages.h"
#include "server/wire_table.h"

static const char *const formats_by_number[] = {
	"PROFILE_FORMAT_UNSPECIFIED", "PROFILE_FORMAT_FLAMEGRAPH", "PROFILE_FORMAT_TREE",
	"PROFILE_FORMAT_DOT",	      "PROFILE_FORMAT_PPROF",	   NULL};
static const char *const aggregations[] = {"TIME_SERIES_AGGREGATION_TYPE_SUM",
					   "TIME_SERIES_AGGREGATION_TYPE_AVERAGE", NULL};
static const char *const exemplar_types[] = {"EXEMPLAR_TYPE_UNSPECIFIED", "EXEMPLAR_TYPE_NONE",
					     "EXEMPLAR_TYPE_INDIVIDUAL", "EXEMPLAR_TYPE_SPAN",
					     NULL};
static const char *const heatmap_types[] = {"HEATMAP_QUERY_TYPE_UNSPECIFIED",
					    "HEATMAP_QUERY_TYPE_INDIVIDUAL",
					    "HEATMAP_QUERY_TYPE_SPAN", NULL};
const struct message label_pair_table =
	TABLE_OF(label_message, "LabelPair", F(label_message, 1, "name", TEXT, name),
		 F(label_message, 2, "value", TEXT, value));
const struct message labels_table = TABLE_OF(
	labels_message, "Labels", RM(labels_message, 1, "labels", labels, label_pair_table));

const struct message range_request_table =
	TABLE_OF(range_request, "ProfileTypesRequest", F(range_request, 1, "start", INT, start),
		 F(range_request, 2, "end", INT, end));
static const struct message profile_type_table =
	TABLE_OF(profile_type_message, "ProfileType", F(profile_type_message, 1, "ID", TEXT, id),
		 F(profile_type_message, 2, "name", TEXT, name),
		 F(profile_type_message, 4, "sampleType", TEXT, sample_type),
		 F(profile_type_message, 5, "sampleUnit", TEXT, sample_unit),
		 F(profile_type_message, 6, "periodType", TEXT, period_type),
		 F(profile_type_message, 7, "periodUnit", TEXT, period_unit));
const struct message profile_types_reply_table =
	TABLE_OF(profile_types_reply, "ProfileTypesResponse",
		 RM(profile_types_reply, 1, "profileTypes", types, profile_type_table));

const struct message label_names_request_table =
	TABLE_OF(label_names_request, "LabelNamesRequest",
		 R(label_names_request, 1, "matchers", TEXT, matchers),
		 F(label_names_request, 2, "start", INT, start),
		 F(label_names_request, 3, "end", INT, end));
const struct message label_values_request_table =
	TABLE_OF(label_values_request, "LabelValuesRequest",
		 F(label_values_request, 1, "name", TEXT, name),
		 R(label_values_request, 2, "matchers", TEXT, matchers),
		 F(label_values_request, 3, "start", INT, start),
		 F(label_values_request, 4, "end", INT, end));
const struct message names_reply_table =
	TABLE_OF(names_reply, "LabelNamesResponse", R(names_reply, 1, "names", TEXT, names));
const struct message series_request_table =
	TABLE_OF(series_request, "SeriesRequest", R(series_request, 1, "matchers", TEXT, matchers),
		 R(series_request, 2, "labelNames", TEXT, label_names),
		 F(series_request, 3, "start", INT, start), F(series_request, 4, "end", INT, end));
const struct message series_reply_table = TABLE_OF(
	series_reply, "SeriesResponse", RM(series_reply, 2, "labelsSet", labels_set, labels_table));

static const struct message call_site_table =
	TABLE_OF(call_site, "Location", F(call_site, 1, "name", TEXT, name));
static const struct message go_pgo_table =
	TABLE_OF(go_pgo, "GoPGO", F(go_pgo, 1, "keepLocations", INT, keep_locations),
		 F(go_pgo, 2, "aggregateCallees", BOOL, aggregate_callees));
static const struct message stack_selector_table =
	TABLE_OF(stack_selector, "StackTraceSelector",
		 RM(stack_selector, 1, "callSite", call_site, call_site_table),
		 M(stack_selector, 2, "goPgo", go_pgo, go_pgo_table));

const struct message stacktraces_request_table =
	TABLE_OF(stacktraces_request, "SelectMergeStacktracesRequest",
		 F(stacktraces_request, 1, "profileTypeID", TEXT, type),
		 F(stacktraces_request, 2, "labelSelector", TEXT, selector),
		 F(stacktraces_request, 3, "start", INT, start),
		 F(stacktraces_request, 4, "end", INT, end),
		 F(stacktraces_request, 5, "maxNodes", INT, max_nodes),
		 E(stacktraces_request, 6, "format", format, formats_by_number),
		 M(stacktraces_request, 7, "stackTraceSelector", stacks, stack_selector_table),
		 R(stacktraces_request, 8, "profileIdSelector", TEXT, profile_ids),
		 R(stacktraces_request, 10, "traceIdSelector", TEXT, trace_ids),
		 R(stacktraces_request, 11, "spanSelector", TEXT, span_ids));
const struct message merge_profile_request_table =
	TABLE_OF(stacktraces_request, "SelectMergeProfileRequest",
		 F(stacktraces_request, 1, "profileTypeID", TEXT, type),
		 F(stacktraces_request, 2, "labelSelector", TEXT, selector),
		 F(stacktraces_request, 3, "start", INT, start),
		 F(stacktraces_request, 4, "end", INT, end),
		 F(stacktraces_request, 5, "maxNodes", INT, max_nodes),
		 M(stacktraces_request, 6, "stackTraceSelector", stacks, stack_selector_table),
		 R(stacktraces_request, 7, "profileIdSelector", TEXT, profile_ids),
		 R(stacktraces_request, 8, "traceIdSelector", TEXT, trace_ids));
static const struct message level_table =
	TABLE_OF(level_message, "Level", R(level_message, 1, "values", INT, values));
static const struct message flamegraph_table =
	TABLE_OF(flamegraph_message, "FlameGraph", R(flamegraph_message, 1, "names", TEXT, names),
		 RM(flamegraph_message, 2, "levels", levels, level_table),
		 F(flamegraph_message, 3, "total", INT, total),
		 F(flamegraph_message, 4, "maxSelf", INT, max_self));
static const struct message pprof_table =
	TABLE_OF(pprof_message, "PprofProfile", F(pprof_message, 1, "profile", READY, profile));
const struct message stacktraces_reply_table =
	TABLE_OF(stacktraces_reply, "SelectMergeStacktracesResponse",
		 M(stacktraces_reply, 1, "flamegraph", flamegraph, flamegraph_table),
		 F(stacktraces_reply, 2, "tree", BYTES, tree),
		 F(stacktraces_reply, 3, "dot", TEXT, dot),
		 M(stacktraces_reply, 5, "pprof", pprof, pprof_table));
const struct message span_request_table =
	TABLE_OF(span_request, "SelectMergeSpanProfileRequest",
		 F(span_request, 1, "profileTypeID", TEXT, type),
		 F(span_request, 2, "labelSelector", TEXT, selector),
		 R(span_request, 3, "spanSelector", TEXT, spans),
		 F(span_request, 4, "start", INT, start), F(span_request, 5, "end", INT, end),
		 F(span_request, 6, "maxNodes", INT, max_nodes),
		 E(span_request, 7, "format", format, formats_by_number));
const struct message diff_request_table =
	TABLE_OF(diff_request, "DiffRequest",
		 M(diff_request, 1, "left", left, stacktraces_request_table),
		 M(diff_request, 2, "right", right, stacktraces_request_table));
static const struct message diff_graph_table =
	TABLE_OF(diff_graph_message, "FlameGraphDiff",
		 R(diff_graph_message, 1, "names", TEXT, names),
		 RM(diff_graph_message, 2, "levels", levels, level_table),
		 F(diff_graph_message, 3, "total", INT, total),
		 F(diff_graph_message, 4, "maxSelf", INT, max_self),
		 F(diff_graph_message, 5, "leftTicks", INT, left_ticks),
		 F(diff_graph_message, 6, "rightTicks", INT, right_ticks));
const struct message diff_reply_table = TABLE_OF(
	diff_reply, "DiffResponse", M(diff_reply, 1, "flamegraph", flamegraph, diff_graph_table));

const struct message select_series_request_table =
	TABLE_OF(select_series_request, "SelectSeriesRequest",
		 F(select_series_request, 1, "profileTypeID", TEXT, type),
		 F(select_series_request, 2, "labelSelector", TEXT, selector),
		 F(select_series_request, 3, "start", INT, start),
		 F(select_series_request, 4, "end", INT, end),
		 R(select_series_request, 5, "groupBy", TEXT, group_by),
		 F(select_series_request, 6, "step", DOUBLE, step),
		 E(select_series_request, 7, "aggregation", aggregation, aggregations),
		 M(select_series_request, 8, "stackTraceSelector", stacks, stack_selector_table),
		 F(select_series_request, 9, "limit", INT, limit),
		 E(select_series_request, 10, "exemplarType", exemplar_type, exemplar_types));
static const struct message exemplar_table =
	TABLE_OF(exemplar_message, "Exemplar", F(exemplar_message, 1, "timestamp", INT, timestamp),
		 F(exemplar_message, 2, "profileId", TEXT, profile_id),
		 F(exemplar_message, 3, "spanId", TEXT, span_id),
		 F(exemplar_message, 4, "value", INT, value),
		 RM(exemplar_message, 5, "labels", labels, label_pair_table),
		 F(exemplar_message, 6, "traceId", TEXT, trace_id));
static const struct message point_table =
	TABLE_OF(point_message, "Point", F(point_message, 1, "value", DOUBLE, value),
		 F(point_message, 2, "timestamp", INT, timestamp),
		 RM(point_message, 4, "exemplars", exemplars, exemplar_table));
static const struct message points_table =
	TABLE_OF(points_message, "Series",
		 RM(points_message, 1, "labels", labels, label_pair_table),
		 RM(points_message, 2, "points", points, point_table));
const struct message select_series_reply_table =
	TABLE_OF(select_series_reply, "SelectSeriesResponse",
		 RM(select_series_reply, 1, "series", series, points_table));

const struct message heatmap_request_table =
	TABLE_OF(heatmap_request, "SelectHeatmapRequest",
		 F(heatmap_request, 1, "profileTypeID", TEXT, type),
		 F(heatmap_request, 2, "labelSelector", TEXT, selector),
		 F(heatmap_request, 3, "start", INT, start), F(heatmap_request, 4, "end", INT, end),
		 F(heatmap_request, 5, "step", DOUBLE, step),
		 R(heatmap_request, 6, "groupBy", TEXT, group_by),
		 E(heatmap_request, 7, "queryType", query_type, heatmap_types),
		 E(heatmap_request, 8, "exemplarType", exemplar_type, exemplar_types),
		 F(heatmap_request, 9, "limit", INT, limit));
static const struct message heatmap_slot_table =
	TABLE_OF(heatmap_slot, "HeatmapSlot", F(heatmap_slot, 1, "timestamp", INT, timestamp),
		 R(heatmap_slot, 2, "yMin", DOUBLE, y_min),
		 R(heatmap_slot, 3, "counts", INT32, counts),
		 RM(heatmap_slot, 4, "exemplars", exemplars, exemplar_table));
static const struct message heatmap_series_table =
	TABLE_OF(heatmap_series, "HeatmapSeries",
		 RM(heatmap_series, 1, "labels", labels, label_pair_table),
		 RM(heatmap_series, 2, "slots", slots, heatmap_slot_table));
const struct message heatmap_reply_table =
	TABLE_OF(heatmap_reply, "SelectHeatmapResponse",
		 RM(heatmap_reply, 1, "series", series, heatmap_series_table));

const struct message empty_table = {"Empty", (const struct field[]){{0}},
				    sizeof(struct empty_message)};
const struct message stats_reply_table =
	TABLE_OF(stats_reply, "GetProfileStatsResponse",
		 F(stats_reply, 1, "dataIngested", BOOL, data_ingested),
		 F(stats_reply, 2, "oldestProfileTime", INT, oldest),
		 F(stats_reply, 3, "newestProfileTime", INT, newest));
const struct message analyze_request_table =
	TABLE_OF(analyze_request, "AnalyzeQueryRequest", F(analyze_request, 2, "start", INT, start),
		 F(analyze_request, 3, "end", INT, end),
		 F(analyze_request, 4, "query", TEXT, query));
static const struct message query_scope_table =
	TABLE_OF(query_scope, "QueryScope",
		 F(query_scope, 1, "componentType", TEXT, component_type),
		 F(query_scope, 2, "componentCount", INT, component_count),
		 F(query_scope, 3, "blockCount", INT, block_count),
		 F(query_scope, 4, "seriesCount", INT, series_count),
		 F(query_scope, 5, "profileCount", INT, profile_count),
		 F(query_scope, 6, "sampleCount", INT, sample_count),
		 F(query_scope, 7, "indexBytes", INT, index_bytes),
		 F(query_scope, 8, "profileBytes", INT, profile_bytes),
		 F(query_scope, 9, "symbolBytes", INT, symbol_bytes));
static const struct message query_impact_table =
	TABLE_OF(query_impact, "QueryImpact",
		 F(query_impact, 2, "totalBytesInTimeRange", INT, total_bytes),
		 F(query_impact, 3, "totalQueriedSeries", INT, total_series),
		 F(query_impact, 4, "deduplicationNeeded", BOOL, deduplication_needed));
const struct message analyze_reply_table =
	TABLE_OF(analyze_reply, "AnalyzeQueryResponse",
		 RM(analyze_reply, 1, "queryScopes", scopes, query_scope_table),
		 M(analyze_reply, 2, "queryImpact", impact, query_impact_table));
