// The OpenTelemetry Collector's own codec for profiles as a judge: it reads a file and writes it
// again, and says how many samples it saw.
//
//	otlpcol IN OUT
package main

import (
	"fmt"
	"os"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "otlpcol:", err)
		os.Exit(1)
	}
}

func main() {
	in, err := os.ReadFile(os.Args[1])
	fail(err)
	profiles, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(in)
	fail(err)
	out, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
	fail(err)
	fail(os.WriteFile(os.Args[2], out, 0o666))
	fmt.Println(profiles.SampleCount())
}
