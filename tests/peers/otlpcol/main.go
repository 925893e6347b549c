// The OpenTelemetry Collector's own codec for profiles as a judge: it reads a file and writes it
// again, and says how many samples it saw.
//
//	otlpcol IN OUT		files named .json are OTLP JSON
package main

import (
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "otlpcol:", err)
		os.Exit(1)
	}
}

func main() {
	var reader pprofile.Unmarshaler = &pprofile.ProtoUnmarshaler{}
	var writer pprofile.Marshaler = &pprofile.ProtoMarshaler{}
	if strings.HasSuffix(os.Args[1], ".json") {
		reader = &pprofile.JSONUnmarshaler{}
	}
	if strings.HasSuffix(os.Args[2], ".json") {
		writer = &pprofile.JSONMarshaler{}
	}
	in, err := os.ReadFile(os.Args[1])
	fail(err)
	profiles, err := reader.UnmarshalProfiles(in)
	fail(err)
	out, err := writer.MarshalProfiles(profiles)
	fail(err)
	fail(os.WriteFile(os.Args[2], out, 0o666))
	fmt.Println(profiles.SampleCount())
}
