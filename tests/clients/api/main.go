// Pyroscope's API through its official Go module: everything is pushed and asked with the generated
// types, so that a wrong field number or name of the server's is seen.
//
//	api connect|json|grpc|grpcweb|grpc-go URL
//
// Prints a line for everything that was as expected, and ends with 1 when something was not.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	capabilitiesv1 "github.com/grafana/pyroscope/api/gen/proto/go/capabilities/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/capabilities/v1/capabilitiesv1connect"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	rpc "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	settingsv1 "github.com/grafana/pyroscope/api/gen/proto/go/settings/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/settings/v1/settingsv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	versionv1 "github.com/grafana/pyroscope/api/gen/proto/go/version/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/version/v1/versionv1connect"
	"google.golang.org/protobuf/proto"
)

const second = int64(1e9)

// Of both regions and times: heavy 30+5, light 10+55, twice; a count is 10 ms.
var whole = map[string]int64{"main": 2 * second, "work": 2 * second, "heavy": 7 * second / 10, "light": 13 * second / 10}

func stacks(service, more string) *querierv1.SelectMergeStacktracesRequest {
	return &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpu,
		LabelSelector: selector(service, more), Start: begin, End: end}
}

func merge(c *caller, request *querierv1.SelectMergeStacktracesRequest) *querierv1.SelectMergeStacktracesResponse {
	return call[querierv1.SelectMergeStacktracesRequest, querierv1.SelectMergeStacktracesResponse](
		c, rpc.QuerierServiceSelectMergeStacktracesProcedure, request)
}

func graph(c *caller, request *querierv1.SelectMergeStacktracesRequest) map[string]int64 {
	g := merge(c, request).GetFlamegraph()
	return ofGraph(g.GetNames(), g.GetLevels(), 4)
}

func names(c *caller, service string) {
	types := call[querierv1.ProfileTypesRequest, querierv1.ProfileTypesResponse](c,
		rpc.QuerierServiceProfileTypesProcedure, &querierv1.ProfileTypesRequest{Start: begin, End: end})
	at := slices.IndexFunc(types.ProfileTypes, func(t *typesv1.ProfileType) bool { return t.ID == cpu })
	check(at >= 0, "ProfileTypes: %v", types)
	t := types.ProfileTypes[at]
	check(t.Name == "process_cpu" && t.SampleType == "cpu" && t.SampleUnit == "nanoseconds" &&
		t.PeriodType == "cpu" && t.PeriodUnit == "nanoseconds", "ProfileTypes: %v", t)

	labels := call[typesv1.LabelNamesRequest, typesv1.LabelNamesResponse](c,
		rpc.QuerierServiceLabelNamesProcedure, &typesv1.LabelNamesRequest{
			Matchers: []string{selector(service, "")}, Start: begin, End: end})
	check(slices.Contains(labels.Names, "region") && slices.Contains(labels.Names, "service_name"),
		"LabelNames: %v", labels)

	values := call[typesv1.LabelValuesRequest, typesv1.LabelValuesResponse](c,
		rpc.QuerierServiceLabelValuesProcedure, &typesv1.LabelValuesRequest{Name: "region",
			Matchers: []string{selector(service, "")}, Start: begin, End: end})
	check(slices.Equal(values.Names, []string{"north", "south"}), "LabelValues: %v", values)

	sets := call[querierv1.SeriesRequest, querierv1.SeriesResponse](c, rpc.QuerierServiceSeriesProcedure,
		&querierv1.SeriesRequest{Matchers: []string{selector(service, "")},
			LabelNames: []string{"region", "__profile_type__"}, Start: begin, End: end})
	check(len(sets.LabelsSet) == 4, "Series: %v", sets)
	fmt.Println("names")
}

func graphs(c *caller, service string) {
	for _, region := range []string{"", `,region="north"`} {
		wanted := whole
		if region != "" {
			wanted = map[string]int64{"main": 8e8, "work": 8e8, "heavy": 6e8, "light": 2e8}
		}
		equal("flame graph", graph(c, stacks(service, region)), wanted)
		request := stacks(service, region)
		request.Format = querierv1.ProfileFormat_PROFILE_FORMAT_TREE
		equal("tree", ofTree(merge(c, request).Tree), wanted)
		request.Format = querierv1.ProfileFormat_PROFILE_FORMAT_DOT
		check(strings.Contains(merge(c, request).Dot, "heavy"), "dot")
		request.Format = querierv1.ProfileFormat_PROFILE_FORMAT_PPROF
		p := merge(c, request).GetPprof().GetProfile()
		equal("pprof", ofProfile(p), wanted)
		check(p.StringTable[p.SampleType[0].Type] == "cpu" && p.StringTable[p.PeriodType.Unit] == "nanoseconds",
			"pprof: %v", p)
	}
	g := merge(c, stacks(service, "")).Flamegraph
	check(g.Total == 2*second && g.MaxSelf == 13*second/10 && g.Names[0] == "total" && len(g.Levels) == 4,
		"flame graph: %v", g)
	few := stacks(service, "")
	few.MaxNodes = proto.Int64(3)
	found := graph(c, few)
	check(found["total"] == 2*second && found["other"] > 0, "at most 3 nodes: %v", found)
	fmt.Println("graphs")
}

func selections(c *caller, service string) {
	request := stacks(service, "")
	request.StackTraceSelector = &typesv1.StackTraceSelector{CallSite: []*typesv1.Location{
		{Name: "main"}, {Name: "work"}, {Name: "heavy"}}}
	found := graph(c, request)
	check(found["heavy"] == whole["heavy"] && found["light"] == 0, "call site: %v", found)

	// What profilecli asks for a profile for the Go compiler.
	request = stacks(service, "")
	request.Format = querierv1.ProfileFormat_PROFILE_FORMAT_PPROF
	request.StackTraceSelector = &typesv1.StackTraceSelector{GoPgo: &typesv1.GoPGO{KeepLocations: 2, AggregateCallees: true}}
	p := merge(c, request).GetPprof().GetProfile()
	equal("go_pgo", ofProfile(p), map[string]int64{"main": 0, "work": whole["work"], "heavy": whole["heavy"], "light": whole["light"]})
	check(len(p.Sample) == 2, "go_pgo: %v", p.Sample)

	request = stacks(service, "")
	request.SpanSelector = []string{northSpan}
	found = graph(c, request)
	check(found["total"] == 6e8 && found["heavy"] == 6e8, "span: %v", found)
	old := call[querierv1.SelectMergeSpanProfileRequest, querierv1.SelectMergeSpanProfileResponse](c,
		rpc.QuerierServiceSelectMergeSpanProfileProcedure, &querierv1.SelectMergeSpanProfileRequest{
			ProfileTypeID: cpu, LabelSelector: selector(service, ""), SpanSelector: []string{southSpan},
			Start: begin, End: end})
	found = ofGraph(old.GetFlamegraph().GetNames(), old.GetFlamegraph().GetLevels(), 4)
	check(found["heavy"] == 1e8, "span profile: %v", found)

	request = stacks(service, "")
	request.TraceIdSelector = []string{traceID}
	found = graph(c, request)
	check(found["total"] == 7e8, "trace: %v", found)
	fmt.Println("selections")
}

func bareProfile(c *caller, service string) {
	request := &querierv1.SelectMergeProfileRequest{ProfileTypeID: cpu,
		LabelSelector: selector(service, ""), Start: begin, End: end}
	ask := func() map[string]int64 {
		return ofProfile(call[querierv1.SelectMergeProfileRequest, googlev1.Profile](
			c, rpc.QuerierServiceSelectMergeProfileProcedure, request))
	}
	equal("SelectMergeProfile", ask(), whole)
	request.StackTraceSelector = &typesv1.StackTraceSelector{CallSite: []*typesv1.Location{
		{Name: "main"}, {Name: "work"}, {Name: "light"}}}
	found := ask()
	check(found["light"] == whole["light"] && found["heavy"] == 0, "call site of a profile: %v", found)
	request.StackTraceSelector = nil
	request.TraceIdSelector = []string{traceID}
	found = ask()
	check(found["heavy"] == whole["heavy"] && found["light"] == 0, "trace of a profile: %v", found)
	fmt.Println("profile")
}

func overTime(c *caller, service string) {
	request := &querierv1.SelectSeriesRequest{ProfileTypeID: cpu, LabelSelector: selector(service, ""),
		Start: begin, End: end, Step: 60, GroupBy: []string{"region"}}
	ask := func() *querierv1.SelectSeriesResponse {
		return call[querierv1.SelectSeriesRequest, querierv1.SelectSeriesResponse](
			c, rpc.QuerierServiceSelectSeriesProcedure, request)
	}
	wanted := map[string]float64{"north": 4e8, "south": 6e8}
	reply := ask()
	check(len(reply.Series) == 2, "SelectSeries: %v", reply)
	for _, s := range reply.Series {
		check(len(s.Labels) == 1 && s.Labels[0].Name == "region", "SelectSeries: %v", s)
		check(len(s.Points) == 2 && s.Points[0].Value == wanted[s.Labels[0].Value] &&
			s.Points[0].Timestamp >= begin && s.Points[1].Timestamp <= end, "SelectSeries: %v", s)
	}
	request.Limit = proto.Int64(1)
	reply = ask()
	check(len(reply.Series) == 1 && reply.Series[0].Labels[0].Value == "south", "limit: %v", reply)
	request.Limit, request.GroupBy = nil, nil
	request.StackTraceSelector = &typesv1.StackTraceSelector{CallSite: []*typesv1.Location{
		{Name: "main"}, {Name: "work"}, {Name: "heavy"}}}
	reply = ask()
	check(len(reply.Series) == 1 && reply.Series[0].Points[0].Value == 3.5e8, "call site: %v", reply)
	fmt.Println("series")
}

func exemplars(c *caller, service string) {
	request := &querierv1.SelectSeriesRequest{ProfileTypeID: cpu,
		LabelSelector: selector(service, `,region="north"`), Start: begin, End: end, Step: 60,
		ExemplarType: typesv1.ExemplarType_EXEMPLAR_TYPE_SPAN}
	reply := call[querierv1.SelectSeriesRequest, querierv1.SelectSeriesResponse](
		c, rpc.QuerierServiceSelectSeriesProcedure, request)
	check(len(reply.Series) == 1 && len(reply.Series[0].Points) == 2, "exemplars: %v", reply)
	for _, point := range reply.Series[0].Points {
		check(len(point.Exemplars) == 1, "exemplars: %v", point)
		e := point.Exemplars[0]
		check(e.SpanId == northSpan && e.TraceId == traceID && e.Value == 3e8, "exemplar: %v", e)
		check(e.Timestamp == early.UnixMilli() || e.Timestamp == late.UnixMilli(), "exemplar: %v", e)
	}
	// One of a whole profile leads to that profile alone.
	request.ExemplarType = typesv1.ExemplarType_EXEMPLAR_TYPE_INDIVIDUAL
	reply = call[querierv1.SelectSeriesRequest, querierv1.SelectSeriesResponse](
		c, rpc.QuerierServiceSelectSeriesProcedure, request)
	one := reply.Series[0].Points[0].Exemplars[0]
	check(one.Value == 4e8 && one.SpanId == "" && one.ProfileId != "", "exemplar: %v", one)
	single := stacks(service, "")
	single.ProfileIdSelector = []string{one.ProfileId}
	equal("one profile", graph(c, single), map[string]int64{"heavy": 3e8, "light": 1e8})
	single.ProfileIdSelector = []string{ids["north"]} // of the client: not kept
	check(len(graph(c, single)) == 0, "a profile of an unknown id")

	heat := call[querierv1.SelectHeatmapRequest, querierv1.SelectHeatmapResponse](c,
		rpc.QuerierServiceSelectHeatmapProcedure, &querierv1.SelectHeatmapRequest{ProfileTypeID: cpu,
			LabelSelector: selector(service, ""), Start: begin, End: end, Step: 60,
			GroupBy:      []string{"region"},
			QueryType:    querierv1.HeatmapQueryType_HEATMAP_QUERY_TYPE_SPAN,
			ExemplarType: typesv1.ExemplarType_EXEMPLAR_TYPE_SPAN})
	check(len(heat.Series) == 2, "SelectHeatmap: %v", heat)
	for _, s := range heat.Series {
		counted, shown := int32(0), 0
		for _, slot := range s.Slots {
			check(len(slot.YMin) == len(slot.Counts), "SelectHeatmap: %v", slot)
			for _, n := range slot.Counts {
				counted += n
			}
			for _, e := range slot.Exemplars {
				check(e.SpanId == spans[s.Labels[0].Value], "SelectHeatmap: %v", e)
				shown++
			}
		}
		check(counted == 2 && shown == 2, "SelectHeatmap: %v", s)
	}
	fmt.Println("exemplars")
}

func differences(c *caller, service string) {
	left, right := stacks(service, `,region="north"`), stacks(service, `,region="south"`)
	reply := call[querierv1.DiffRequest, querierv1.DiffResponse](c, rpc.QuerierServiceDiffProcedure,
		&querierv1.DiffRequest{Left: left, Right: right})
	g := reply.Flamegraph
	check(g.LeftTicks == 8e8 && g.RightTicks == 12e8 && g.Total == 20e8, "Diff: %v", g)
	equal("Diff", ofGraph(g.Names, g.Levels, 7), map[string]int64{"heavy": 6e8, "light": 2e8})
	left.StackTraceSelector = &typesv1.StackTraceSelector{CallSite: []*typesv1.Location{
		{Name: "main"}, {Name: "work"}, {Name: "heavy"}}}
	reply = call[querierv1.DiffRequest, querierv1.DiffResponse](c, rpc.QuerierServiceDiffProcedure,
		&querierv1.DiffRequest{Left: left, Right: right})
	check(reply.Flamegraph.LeftTicks == 6e8, "Diff of a call site: %v", reply.Flamegraph)
	fmt.Println("diff")
}

func small(c *caller, service string) {
	stats := call[typesv1.GetProfileStatsRequest, typesv1.GetProfileStatsResponse](c,
		rpc.QuerierServiceGetProfileStatsProcedure, &typesv1.GetProfileStatsRequest{})
	check(stats.DataIngested && stats.OldestProfileTime <= early.UnixMilli() &&
		stats.NewestProfileTime >= late.UnixMilli(), "GetProfileStats: %v", stats)
	cost := call[querierv1.AnalyzeQueryRequest, querierv1.AnalyzeQueryResponse](c,
		rpc.QuerierServiceAnalyzeQueryProcedure, &querierv1.AnalyzeQueryRequest{
			Query: cpu + selector(service, ""), Start: begin, End: end})
	check(len(cost.QueryScopes) > 0 && cost.QueryImpact.TotalQueriedSeries == 2, "AnalyzeQuery: %v", cost)

	setting := &settingsv1.Setting{Name: "colour of " + service, Value: "blue"}
	set := call[settingsv1.SetSettingsRequest, settingsv1.SetSettingsResponse](c,
		settingsv1connect.SettingsServiceSetProcedure, &settingsv1.SetSettingsRequest{Setting: setting})
	check(set.Setting.GetName() == setting.Name && set.Setting.Value == "blue" && set.Setting.ModifiedAt > 0,
		"Set: %v", set)
	has := func() bool {
		all := call[settingsv1.GetSettingsRequest, settingsv1.GetSettingsResponse](c,
			settingsv1connect.SettingsServiceGetProcedure, &settingsv1.GetSettingsRequest{})
		return slices.ContainsFunc(all.Settings, func(s *settingsv1.Setting) bool {
			return s.Name == setting.Name && s.Value == "blue" && s.ModifiedAt >= now.UnixMilli()
		})
	}
	check(has(), "a setting that was set is not there")
	call[settingsv1.DeleteSettingsRequest, settingsv1.DeleteSettingsResponse](c,
		settingsv1connect.SettingsServiceDeleteProcedure, &settingsv1.DeleteSettingsRequest{Name: setting.Name})
	check(!has(), "a setting that was deleted is there")

	version := call[versionv1.VersionRequest, versionv1.VersionResponse](c,
		versionv1connect.VersionVersionProcedure, &versionv1.VersionRequest{})
	check(version.QuerierAPI > 0, "Version: %v", version)
	flags := call[capabilitiesv1.GetFeatureFlagsRequest, capabilitiesv1.GetFeatureFlagsResponse](c,
		capabilitiesv1connect.FeatureFlagsServiceGetFeatureFlagsProcedure, &capabilitiesv1.GetFeatureFlagsRequest{})
	check(len(flags.FeatureFlags) > 0 && flags.FeatureFlags[0].Name != "", "GetFeatureFlags: %v", flags)
	fmt.Println("small")
}

func refusals(c *caller, service string) {
	const invalidArgument = 3
	wrong := func(change func(*querierv1.SelectMergeStacktracesRequest)) {
		request := stacks(service, "")
		change(request)
		code := refused[querierv1.SelectMergeStacktracesRequest, querierv1.SelectMergeStacktracesResponse](
			c, rpc.QuerierServiceSelectMergeStacktracesProcedure, request)
		check(code == invalidArgument, "code %d for %v", code, request)
	}
	wrong(func(r *querierv1.SelectMergeStacktracesRequest) { r.Start, r.End = end, begin })
	wrong(func(r *querierv1.SelectMergeStacktracesRequest) { r.LabelSelector = "{region=" })
	wrong(func(r *querierv1.SelectMergeStacktracesRequest) { r.SpanSelector = []string{"7"} })
	wrong(func(r *querierv1.SelectMergeStacktracesRequest) { r.ProfileIdSelector = []string{"7"} })
	wrong(func(r *querierv1.SelectMergeStacktracesRequest) {
		r.SpanSelector, r.TraceIdSelector = []string{northSpan}, []string{traceID}
	})
	code := refused[querierv1.SelectSeriesRequest, querierv1.SelectSeriesResponse](c,
		rpc.QuerierServiceSelectSeriesProcedure, &querierv1.SelectSeriesRequest{ProfileTypeID: cpu,
			LabelSelector: "{}", Start: begin, End: end})
	check(code == invalidArgument, "code %d without a step", code)
	// What is not there is an empty answer and no error.
	none := merge(c, stacks(service+".none", ""))
	check(len(none.GetFlamegraph().GetNames()) == 0, "a graph of nothing: %v", none)
	fmt.Println("refusals")
}

func main() {
	check(len(os.Args) == 3, "usage: api PROTOCOL URL")
	c, service := newCaller(os.Args[1], os.Args[2]), "api."+os.Args[1]
	push(c, service)
	fmt.Println("push")
	names(c, service)
	graphs(c, service)
	selections(c, service)
	bareProfile(c, service)
	overTime(c, service)
	exemplars(c, service)
	differences(c, service)
	small(c, service)
	refusals(c, service)
}
