// The official Go module for OTLP profiles as a judge: it decodes what Vestal writes and encodes
// what Vestal reads. The same source is built against several versions of the module
// (-modfile=proto1.8.mod …), because the numbers of the fields moved between them.
//
//	otlpgo make SHAPE FILE   encodes one of the shapes in shapes.go
//	otlpgo rows FILE         decodes and prints rows, resolved, as JSON lines
//	otlpgo dump FILE         decodes and prints the message as JSON
//	otlpgo json FILE JSON    decodes and writes protojson
//	otlpgo proto JSON FILE   the reverse
//	otlpgo bench FILE        decodes again and again and prints MB per second of CPU time
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "otlpgo:", err)
		os.Exit(1)
	}
}

// oldNames says whether this version of the module has the field names of 1.8.
func oldNames() bool {
	d := (&profiles.Profile{}).ProtoReflect().Descriptor()
	return d.Fields().ByName(protoreflect.Name("samples")) == nil
}

func encode(text string) []byte {
	if oldNames() {
		text = strings.ReplaceAll(text, `"samples":`, `"sample":`)
		text = strings.ReplaceAll(text, `"lines":`, `"line":`)
	}
	var data profiles.ProfilesData
	fail(protojson.Unmarshal([]byte(text), &data))
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(&data)
	fail(err)
	return bytes
}

func decode(path string) *profiles.ProfilesData {
	bytes, err := os.ReadFile(path)
	fail(err)
	var data profiles.ProfilesData
	fail(proto.Unmarshal(bytes, &data))
	return &data
}

// tree is a message as JSON would have it, with the names of 1.9 and later.
func tree(data *profiles.ProfilesData) map[string]any {
	text, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(data)
	fail(err)
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var all map[string]any
	fail(decoder.Decode(&all))
	return all
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func number(v any) int64 {
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		u, _ := strconv.ParseUint(fmt.Sprint(v), 10, 64)
		return int64(u)
	}
	return n
}

func field(m map[string]any, names ...string) any {
	for _, name := range names {
		if v, ok := m[name]; ok {
			return v
		}
	}
	return nil
}

type resolver struct{ dict map[string]any }

func (r resolver) at(table string, index any) map[string]any {
	return object(list(r.dict[table])[number(index)])
}

func (r resolver) text(index any) string {
	return list(r.dict["stringTable"])[number(index)].(string)
}

// plain is an AnyValue as people would write it.
func (r resolver) plain(v any) string {
	m := object(v)
	switch {
	case m["stringValue"] != nil:
		return m["stringValue"].(string)
	case m["stringValueStrindex"] != nil:
		return r.text(m["stringValueStrindex"])
	case m["bytesValue"] != nil:
		b, _ := base64.StdEncoding.DecodeString(m["bytesValue"].(string))
		return string(b)
	case m["arrayValue"] != nil:
		var parts []string
		for _, item := range list(object(m["arrayValue"])["values"]) {
			parts = append(parts, r.plain(item))
		}
		return strings.Join(parts, ",")
	}
	for _, v := range m {
		return fmt.Sprint(v)
	}
	return ""
}

func (r resolver) attributes(indices any) map[string]string {
	labels := map[string]string{}
	for _, index := range list(indices) {
		a := r.at("attributeTable", index)
		labels[r.text(a["keyStrindex"])] = r.plain(a["value"])
	}
	return labels
}

func (r resolver) frames(stack any) []any {
	frames := []any{}
	for _, index := range list(r.at("stackTable", stack)["locationIndices"]) {
		location := r.at("locationTable", index)
		kind := r.attributes(location["attributeIndices"])["profile.frame.type"]
		module := r.text(r.at("mappingTable", location["mappingIndex"])["filenameStrindex"])
		lines := list(field(location, "lines", "line"))
		for _, l := range lines {
			line := object(l)
			f := r.at("functionTable", line["functionIndex"])
			frames = append(frames,
				[]any{r.text(f["nameStrindex"]), number(line["line"]), kind, module})
		}
		if len(lines) == 0 {
			frames = append(frames, []any{"", 0, kind, module})
		}
	}
	return frames
}

func (r resolver) rows(profile map[string]any) {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	kind := object(profile["sampleType"])
	samples := list(field(profile, "samples", "sample"))
	fail(out.Encode(map[string]any{
		"type":     r.text(kind["typeStrindex"]) + "/" + r.text(kind["unitStrindex"]),
		"period":   number(profile["period"]),
		"time":     number(profile["timeUnixNano"]),
		"duration": number(profile["durationNano"]),
	}))
	for _, s := range samples {
		sample := object(s)
		values, times := list(sample["values"]), list(sample["timestampsUnixNano"])
		for i := 0; i < max(len(values), len(times)); i++ {
			value, at := int64(1), int64(0)
			if len(values) > 0 {
				value = number(values[i])
			}
			if len(times) > 0 {
				at = number(times[i])
			}
			fail(out.Encode([]any{value, r.attributes(sample["attributeIndices"]), at,
				r.frames(sample["stackIndex"])}))
		}
	}
}

func printRows(path string) {
	all := tree(decode(path))
	r := resolver{object(all["dictionary"])}
	for _, resource := range list(all["resourceProfiles"]) {
		for _, scope := range list(object(resource)["scopeProfiles"]) {
			for _, profile := range list(object(scope)["profiles"]) {
				r.rows(object(profile))
			}
		}
	}
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	fail(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func bench(path string) {
	bytes, err := os.ReadFile(path)
	fail(err)
	seconds := make([]float64, 7)
	for i := range seconds {
		begin := cpuSeconds()
		var data profiles.ProfilesData
		fail(proto.Unmarshal(bytes, &data))
		seconds[i] = cpuSeconds() - begin
	}
	slices.Sort(seconds)
	fmt.Printf("{\"mb_per_s\": %.1f}\n", float64(len(bytes))/1e6/seconds[len(seconds)/2])
}

func main() {
	args := os.Args[1:]
	switch {
	case len(args) == 3 && args[0] == "make" && shapes[args[1]] != "":
		fail(os.WriteFile(args[2], encode(shapes[args[1]]), 0o666))
	case len(args) == 2 && args[0] == "rows":
		printRows(args[1])
	case len(args) == 2 && args[0] == "dump":
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", " ")
		fail(out.Encode(tree(decode(args[1]))))
	case len(args) == 3 && args[0] == "json":
		text, err := protojson.Marshal(decode(args[1]))
		fail(err)
		fail(os.WriteFile(args[2], text, 0o666))
	case len(args) == 3 && args[0] == "proto":
		text, err := os.ReadFile(args[1])
		fail(err)
		fail(os.WriteFile(args[2], encode(string(text)), 0o666))
	case len(args) == 2 && args[0] == "bench":
		bench(args[1])
	default:
		fmt.Fprintln(os.Stderr, "usage: otlpgo make SHAPE FILE | rows FILE | dump FILE | json FILE JSON | proto JSON FILE | bench FILE N")
		os.Exit(2)
	}
}
