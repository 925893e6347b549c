// A busy program that profiles and traces itself and sends both by the official OTLP clients over
// gRPC: functions with a known share of the CPU time, samples linked to the span they ran under.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resources "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "otlp client:", err)
		os.Exit(1)
	}
}

func threadNs() int64 {
	const clockThreadCPU = 3
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

var sink uint64

//go:noinline
func burn(rounds int) {
	x := uint64(rounds) | 1
	for range rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink += x
}

//go:noinline
func heavy(rounds int) { burn(rounds); sink++ }

//go:noinline
func light(rounds int) { burn(rounds); sink += 2 }

// under runs f inside a span, whose ids are labels of the samples that are taken meanwhile.
func under(tracer trace.Tracer, name string, f func()) {
	ctx, span := tracer.Start(context.Background(), name)
	defer span.End()
	ids := span.SpanContext()
	labels := pprof.Labels("trace_id", ids.TraceID().String(), "span_id", ids.SpanID().String())
	pprof.Do(ctx, labels, func(context.Context) { f() })
}

// work takes slices of any length from none, so that they cannot keep step with the profiler's clock.
func work(tracer trace.Tracer, seconds float64) (heavyNs, lightNs int64) {
	runtime.LockOSThread()
	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); {
		begin := threadNs()
		under(tracer, "GET /heavy", func() { heavy(1 + rand.Intn(9_000_000)) })
		middle := threadNs()
		under(tracer, "GET /light", func() { light(1 + rand.Intn(3_000_000)) })
		heavyNs += middle - begin
		lightNs += threadNs() - middle
	}
	return
}

// dictionary collects the tables of a message; entry 0 of each is the empty one.
type dictionary struct {
	tables  *profiles.ProfilesDictionary
	strings map[string]int32
	links   map[string]int32
}

func newDictionary() *dictionary {
	return &dictionary{
		tables: &profiles.ProfilesDictionary{
			MappingTable:   []*profiles.Mapping{{}},
			LocationTable:  []*profiles.Location{{}},
			FunctionTable:  []*profiles.Function{{}},
			LinkTable:      []*profiles.Link{{}},
			StringTable:    []string{""},
			AttributeTable: []*profiles.KeyValueAndUnit{{}},
			StackTable:     []*profiles.Stack{{}},
		},
		strings: map[string]int32{"": 0},
		links:   map[string]int32{"": 0},
	}
}

func (d *dictionary) text(s string) int32 {
	if _, known := d.strings[s]; !known {
		d.strings[s] = int32(len(d.tables.StringTable))
		d.tables.StringTable = append(d.tables.StringTable, s)
	}
	return d.strings[s]
}

func (d *dictionary) link(labels map[string][]string) int32 {
	ids := strings.Join(append(labels["trace_id"], labels["span_id"]...), "")
	if _, known := d.links[ids]; !known {
		raw, err := hex.DecodeString(ids)
		check(err)
		d.links[ids] = int32(len(d.tables.LinkTable))
		d.tables.LinkTable = append(d.tables.LinkTable,
			&profiles.Link{TraceId: raw[:16], SpanId: raw[16:]})
	}
	return d.links[ids]
}

// locations puts the profile's locations in; the id of pprof's begins at 1 as the tables' entries do.
func (d *dictionary) locations(p *profile.Profile) {
	for _, f := range p.Function {
		d.tables.FunctionTable = append(d.tables.FunctionTable, &profiles.Function{
			NameStrindex: d.text(f.Name), SystemNameStrindex: d.text(f.SystemName),
			FilenameStrindex: d.text(f.Filename), StartLine: f.StartLine})
	}
	for _, l := range p.Location {
		location := &profiles.Location{Address: l.Address}
		for _, line := range l.Line {
			location.Lines = append(location.Lines,
				&profiles.Line{FunctionIndex: int32(line.Function.ID), Line: line.Line})
		}
		d.tables.LocationTable = append(d.tables.LocationTable, location)
	}
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{
		Value: &common.AnyValue_StringValue{StringValue: value}}}
}

// request says the profile's CPU time in OTLP.
func request(p *profile.Profile, service string) *collector.ExportProfilesServiceRequest {
	d := newDictionary()
	d.locations(p)
	out := &profiles.Profile{
		SampleType:   &profiles.ValueType{TypeStrindex: d.text("cpu"), UnitStrindex: d.text("nanoseconds")},
		PeriodType:   &profiles.ValueType{TypeStrindex: d.text("cpu"), UnitStrindex: d.text("nanoseconds")},
		Period:       p.Period,
		TimeUnixNano: uint64(p.TimeNanos),
		DurationNano: uint64(p.DurationNanos),
		ProfileId:    binaryID(),
	}
	for _, s := range p.Sample {
		stack := &profiles.Stack{}
		for _, l := range s.Location {
			stack.LocationIndices = append(stack.LocationIndices, int32(l.ID))
		}
		out.Samples = append(out.Samples, &profiles.Sample{
			StackIndex: int32(len(d.tables.StackTable)), LinkIndex: d.link(s.Label), Values: s.Value[1:2]})
		d.tables.StackTable = append(d.tables.StackTable, stack)
	}
	return &collector.ExportProfilesServiceRequest{
		ResourceProfiles: []*profiles.ResourceProfiles{{
			Resource: &resources.Resource{Attributes: []*common.KeyValue{
				text("service.name", service), text("region", "north")}},
			ScopeProfiles: []*profiles.ScopeProfiles{{
				Scope:    &common.InstrumentationScope{Name: "busy", Version: "1"},
				Profiles: []*profiles.Profile{out}}},
		}},
		Dictionary: d.tables,
	}
}

func binaryID() []byte {
	id := make([]byte, 16)
	for i := range id {
		id[i] = byte(rand.Intn(256))
	}
	return id
}

func main() {
	ctx := context.Background()
	address, service := os.Getenv("CLIENT_OTLP"), os.Getenv("CLIENT_SERVICE")
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(address),
		otlptracegrpc.WithInsecure(), otlptracegrpc.WithCompressor("gzip"))
	check(err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter,
		sdktrace.WithMaxQueueSize(1<<16)), sdktrace.WithResource(resource.NewSchemaless(
		attribute.String("service.name", service), attribute.String("region", "north"))))
	seconds, err := strconv.ParseFloat(os.Getenv("CLIENT_SECONDS"), 64)
	check(err)

	var raw bytes.Buffer
	check(pprof.StartCPUProfile(&raw))
	heavyNs, lightNs := work(provider.Tracer("busy"), seconds)
	pprof.StopCPUProfile()
	check(provider.Shutdown(ctx))

	parsed, err := profile.Parse(&raw)
	check(err)
	connection, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	reply, err := collector.NewProfilesServiceClient(connection).Export(ctx, request(parsed, service),
		grpc.UseCompressor(gzip.Name))
	check(err)
	if partial := reply.GetPartialSuccess(); partial.GetRejectedProfiles() != 0 || partial.GetErrorMessage() != "" {
		check(fmt.Errorf("refused in part: %v", partial))
	}
	fmt.Printf("{\"heavy\": %d, \"light\": %d}\n", heavyNs, lightNs)
}
