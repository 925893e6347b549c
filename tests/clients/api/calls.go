package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func check(good bool, format string, args ...any) {
	if !good {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
		os.Exit(1)
	}
}

// caller speaks one protocol to the server.
type caller struct {
	url     string
	http    *http.Client
	options []connect.ClientOption
	grpc    *grpc.ClientConn // or nil
}

func newCaller(protocol, url string) *caller {
	c := &caller{url: url, http: &http.Client{}}
	plainHTTP2 := &http.Transport{Protocols: &http.Protocols{}}
	plainHTTP2.Protocols.SetUnencryptedHTTP2(true)
	switch protocol {
	case "connect":
		c.options = []connect.ClientOption{connect.WithSendGzip()}
	case "json":
		c.options = []connect.ClientOption{connect.WithProtoJSON()}
	case "grpc":
		c.http.Transport = plainHTTP2
		c.options = []connect.ClientOption{connect.WithGRPC()}
	case "grpcweb":
		c.options = []connect.ClientOption{connect.WithGRPCWeb()}
	case "grpc-go":
		var err error
		c.grpc, err = grpc.NewClient("passthrough:///"+strings.TrimPrefix(url, "http://"),
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		check(err == nil, "%v", err)
	default:
		check(false, "no protocol %s", protocol)
	}
	return c
}

// try calls a procedure; the reply is of the official type, decoded by the official library.
func try[Request, Reply any](c *caller, procedure string, request *Request) (*Reply, error) {
	reply := new(Reply)
	if c.grpc != nil {
		return reply, c.grpc.Invoke(context.Background(), procedure, request, reply)
	}
	client := connect.NewClient[Request, Reply](c.http, c.url+procedure, c.options...)
	answer, err := client.CallUnary(context.Background(), connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

func call[Request, Reply any](c *caller, procedure string, request *Request) *Reply {
	reply, err := try[Request, Reply](c, procedure, request)
	check(err == nil, "%s: %v", procedure, err)
	if message, ok := any(reply).(proto.Message); ok {
		unknown := len(message.ProtoReflect().GetUnknown())
		check(unknown == 0, "%s: %d bytes of fields that the official type has not", procedure, unknown)
	}
	return reply
}

// refused is the code of an error, by its number, which both libraries share.
func refused[Request, Reply any](c *caller, procedure string, request *Request) int {
	_, err := try[Request, Reply](c, procedure, request)
	if c.grpc != nil {
		return int(status.Code(err))
	}
	return int(connect.CodeOf(err))
}
