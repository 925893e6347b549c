module vestal.test/otlpgo

go 1.24.0

require (
	go.opentelemetry.io/proto/otlp/profiles/v1development v0.2.0
	google.golang.org/protobuf v1.36.12
)

require go.opentelemetry.io/proto/otlp v1.8.0 // indirect
