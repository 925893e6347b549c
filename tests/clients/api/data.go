package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"
)

// What is pushed: two regions, each with a profile ten and five minutes ago.
const (
	cpu       = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
	samples   = "process_cpu:samples:count:cpu:nanoseconds"
	northSpan = "00f067aa0ba902b7"
	southSpan = "53995c3f42cd8ad8"
	traceID   = "4bf92f3577b34da6a3ce929d0e0e4736"
)

var (
	now   = time.Now().Truncate(time.Second)
	early = now.Add(-10 * time.Minute).Truncate(time.Minute)
	late  = now.Add(-5 * time.Minute).Truncate(time.Minute)
	begin = now.Add(-time.Hour).UnixMilli()
	end   = now.UnixMilli()
	ids   = map[string]string{"north": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "south": "734fd599-6865-419e-9475-932762d8f469"}
	spans = map[string]string{"north": northSpan, "south": southSpan}
)

// profileOf has the stacks main;work;heavy and main;work;light, with a count and 10 ms of CPU time
// per count; those of heavy ran under a span.
func profileOf(at time.Time, heavy, light int64, span string) []byte {
	texts := []string{""}
	text := func(s string) int64 {
		for i, known := range texts {
			if known == s {
				return int64(i)
			}
		}
		texts = append(texts, s)
		return int64(len(texts) - 1)
	}
	p := &googlev1.Profile{
		SampleType: []*googlev1.ValueType{
			{Type: text("samples"), Unit: text("count")}, {Type: text("cpu"), Unit: text("nanoseconds")}},
		PeriodType:    &googlev1.ValueType{Type: text("cpu"), Unit: text("nanoseconds")},
		Period:        10_000_000,
		TimeNanos:     at.UnixNano(),
		DurationNanos: int64(10 * time.Second),
		Mapping:       []*googlev1.Mapping{{Id: 1, Filename: text("/usr/bin/app"), HasFunctions: true}},
	}
	for i, name := range []string{"main", "work", "heavy", "light"} {
		id := uint64(i + 1)
		p.Function = append(p.Function, &googlev1.Function{Id: id, Name: text(name), Filename: text("app.c")})
		p.Location = append(p.Location, &googlev1.Location{Id: id, MappingId: 1,
			Line: []*googlev1.Line{{FunctionId: id, Line: int64(10 * id)}}})
	}
	p.Sample = []*googlev1.Sample{
		{LocationId: []uint64{3, 2, 1}, Value: []int64{heavy, heavy * 1e7}, Label: []*googlev1.Label{
			{Key: text("span_id"), Str: text(span)}, {Key: text("trace_id"), Str: text(traceID)}}},
		{LocationId: []uint64{4, 2, 1}, Value: []int64{light, light * 1e7}}}
	p.StringTable = texts
	raw, err := proto.Marshal(p)
	check(err == nil, "%v", err)
	return raw
}

func pair(name, value string) *typesv1.LabelPair {
	return &typesv1.LabelPair{Name: name, Value: value}
}

func series(service, region string, heavy, light int64) *pushv1.RawProfileSeries {
	return &pushv1.RawProfileSeries{
		Labels: []*typesv1.LabelPair{
			pair("__name__", "process_cpu"), pair("service_name", service), pair("region", region)},
		Samples: []*pushv1.RawSample{
			{RawProfile: profileOf(early, heavy, light, spans[region]), ID: ids[region]},
			{RawProfile: profileOf(late, heavy, light, spans[region])}},
	}
}

func push(c *caller, service string) {
	call[pushv1.PushRequest, pushv1.PushResponse](c, pushv1connect.PusherServicePushProcedure,
		&pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{
			series(service, "north", 30, 10), series(service, "south", 5, 55)}})
}

// totals of functions, with what they call, by the format they came in.

func ofGraph(names []string, levels []*querierv1.Level, cell int) map[string]int64 {
	found := map[string]int64{}
	for _, level := range levels {
		for i := 0; i+cell <= len(level.Values); i += cell {
			found[names[level.Values[i+cell-1]]] += level.Values[i+1]
		}
	}
	return found
}

func ofTree(raw []byte) map[string]int64 {
	found, reader := map[string]int64{}, bytes.NewReader(raw)
	number := func() int64 {
		n, err := binary.ReadUvarint(reader)
		check(err == nil, "the tree ends early")
		return int64(n)
	}
	var node func() int64
	node = func() int64 {
		name := make([]byte, number())
		reader.Read(name)
		total := number()
		for children := number(); children > 0; children-- {
			total += node()
		}
		found[string(name)] += total
		return total
	}
	node()
	check(reader.Len() == 0, "%d bytes behind the tree", reader.Len())
	return found
}

func ofProfile(p *googlev1.Profile) map[string]int64 {
	found, names := map[string]int64{}, map[uint64]string{}
	functions := map[uint64]string{}
	for _, f := range p.Function {
		functions[f.Id] = p.StringTable[f.Name]
	}
	for _, l := range p.Location {
		names[l.Id] = functions[l.Line[0].FunctionId]
	}
	for _, s := range p.Sample {
		for _, id := range s.LocationId {
			found[names[id]] += s.Value[0]
		}
	}
	return found
}

func equal(what string, found, wanted map[string]int64) {
	for name, value := range wanted {
		check(found[name] == value, "%s: %s has %d, not %d: %v", what, name, found[name], value, found)
	}
}

func selector(service, more string) string {
	return fmt.Sprintf(`{service_name="%s"%s}`, service, more)
}
