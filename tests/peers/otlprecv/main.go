// A receiver of OTLP profiles over gRPC, made of the official modules: what an agent's requests are
// to somebody else. It answers as it is told and prints a line of JSON per request.
//
//	otlprecv ANSWER...	ok, retry (UNAVAILABLE with RetryInfo), full (RESOURCE_EXHAUSTED),
//				bad (INVALID_ARGUMENT), partial; the last one goes on for ever
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

type receiver struct {
	collector.UnimplementedProfilesServiceServer
	lock    sync.Mutex
	answers []string
}

type line struct {
	Answer   string
	Profiles int
	Samples  int
	Strings  int
	Digest   string
	Token    []string
}

func (r *receiver) Export(ctx context.Context, in *collector.ExportProfilesServiceRequest) (*collector.ExportProfilesServiceResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	head, _ := metadata.FromIncomingContext(ctx)
	out := line{Answer: r.answers[0], Token: head.Get("authorization"),
		Strings: len(in.GetDictionary().GetStringTable())}
	for _, resource := range in.GetResourceProfiles() {
		for _, scope := range resource.GetScopeProfiles() {
			for _, profile := range scope.GetProfiles() {
				out.Profiles++
				out.Samples += len(profile.GetSamples())
			}
		}
	}
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(in)
	if err != nil {
		return nil, err
	}
	out.Digest = fmt.Sprintf("%x", sha256.Sum256(bytes))
	text, _ := json.Marshal(out)
	fmt.Println(string(text))
	if len(r.answers) > 1 {
		r.answers = r.answers[1:]
	}
	reply := &collector.ExportProfilesServiceResponse{}
	switch out.Answer {
	case "retry":
		s, err := status.New(codes.Unavailable, "busy for a moment").WithDetails(
			&errdetails.RetryInfo{RetryDelay: durationpb.New(300 * time.Millisecond)})
		if err != nil {
			return nil, err
		}
		return nil, s.Err()
	case "full":
		return nil, status.Error(codes.ResourceExhausted, "too large for me")
	case "bad":
		return nil, status.Error(codes.InvalidArgument, "not good\nenough: 100%")
	case "partial":
		reply.PartialSuccess = &collector.ExportProfilesPartialSuccess{
			RejectedProfiles: 1, ErrorMessage: "one is too old"}
	}
	return reply, nil
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	server := grpc.NewServer()
	collector.RegisterProfilesServiceServer(server, &receiver{answers: os.Args[1:]})
	if err := server.Serve(listener); err != nil {
		os.Exit(1)
	}
}
