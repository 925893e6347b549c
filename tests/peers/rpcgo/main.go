// Calls of tests/e2e/rpc_echo.c by the official clients of gRPC and Connect.
//
//	rpcgo grpc|connect|grpcweb URL [CA [CERTIFICATE KEY]]
//
// Prints a line for everything that was as expected, and ends with 1 when something was not.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// raw passes bytes through where a codec is asked for.
type raw struct{}

func (raw) Name() string { return "proto" }

// Connect takes what this returns into its pool of buffers: a copy, or the message would change.
func (raw) Marshal(v any) ([]byte, error) { return bytes.Clone(*v.(*[]byte)), nil }
func (raw) Unmarshal(b []byte, v any) error {
	if message, ok := v.(proto.Message); ok { // the status of an error
		return proto.Unmarshal(b, message)
	}
	*v.(*[]byte) = append([]byte(nil), b...)
	return nil
}

// client is what both libraries are to these tests.
type client struct {
	call  func(ctx context.Context, method string, message []byte, compressed bool) ([]byte, error)
	code  func(error) string
	retry func(error) time.Duration
}

const service = "/test.Echo/"

func tlsConfig(args []string) *tls.Config {
	if len(args) == 0 {
		return nil
	}
	pem, err := os.ReadFile(args[0])
	check(err == nil, "CA: %v", err)
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(pem)
	if len(args) > 2 {
		pair, err := tls.LoadX509KeyPair(args[1], args[2])
		check(err == nil, "certificate: %v", err)
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

func grpcClient(url string, config *tls.Config) client {
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	address := url[strings.Index(url, "//")+2:]
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(128<<20),
			grpc.MaxCallSendMsgSize(128<<20)))
	check(err == nil, "connect: %v", err)
	return client{
		call: func(ctx context.Context, method string, message []byte, compressed bool) ([]byte, error) {
			var reply []byte
			var options []grpc.CallOption
			if compressed {
				options = append(options, grpc.UseCompressor(gzip.Name))
			}
			err := conn.Invoke(ctx, service+method, &message, &reply, options...)
			return reply, err
		},
		code: func(err error) string { return status.Code(err).String() },
		retry: func(err error) time.Duration {
			for _, detail := range status.Convert(err).Details() {
				if info, ok := detail.(*errdetails.RetryInfo); ok {
					return info.RetryDelay.AsDuration()
				}
			}
			return 0
		},
	}
}

func connectClient(url string, config *tls.Config, options ...connect.ClientOption) client {
	transport := &http.Transport{TLSClientConfig: config, Protocols: new(http.Protocols)}
	if config == nil {
		transport.Protocols.SetUnencryptedHTTP2(true)
	} else {
		transport.Protocols.SetHTTP2(true)
	}
	options = append(options, connect.WithCodec(raw{}))
	return client{
		call: func(ctx context.Context, method string, message []byte, compressed bool) ([]byte, error) {
			use := options
			if compressed {
				use = append(use[:len(use):len(use)], connect.WithSendGzip())
			}
			c := connect.NewClient[[]byte, []byte](&http.Client{Transport: transport}, url+service+method, use...)
			reply, err := c.CallUnary(ctx, connect.NewRequest(&message))
			if err != nil {
				return nil, err
			}
			return *reply.Msg, nil
		},
		code: func(err error) string { return codes.Code(connect.CodeOf(err)).String() },
		retry: func(err error) time.Duration {
			var e *connect.Error
			if errors.As(err, &e) {
				for _, detail := range e.Details() {
					if value, err := detail.Value(); err == nil {
						if info, ok := value.(*errdetails.RetryInfo); ok {
							return info.RetryDelay.AsDuration()
						}
					}
				}
			}
			return 0
		},
	}
}

func check(ok bool, format string, args ...any) {
	if !ok {
		fmt.Printf("not ok: "+format+"\n", args...)
		os.Exit(1)
	}
}

func noise(n int) []byte {
	message := make([]byte, n)
	rand.New(rand.NewSource(int64(n))).Read(message)
	return message
}

func echo(c client, n int, compressed bool) {
	message := noise(n)
	reply, err := c.call(context.Background(), "Echo", message, compressed)
	check(err == nil && bytes.Equal(reply, message), "echo of %d bytes, compressed %v: %v", n, compressed, err)
}

func fails(c client, method, message string, code codes.Code, text string, retry time.Duration) {
	_, err := c.call(context.Background(), method, []byte(message), false)
	check(err != nil && c.code(err) == code.String(), "%s: code %v", message, err)
	check(strings.Contains(err.Error(), text), "%s: text %v", message, err)
	check(c.retry(err) == retry, "%s: retry %v", message, c.retry(err))
}

func main() {
	var c client
	url, config := os.Args[2], tlsConfig(os.Args[3:])
	switch os.Args[1] {
	case "grpc":
		c = grpcClient(url, config)
	case "connect":
		c = connectClient(url, config)
	case "grpcweb":
		c = connectClient(url, config, connect.WithGRPCWeb())
	}
	for _, n := range []int{0, 1, 1000, 100000, 2 << 20} {
		echo(c, n, false)
		echo(c, n, true)
	}
	echo(c, 40<<20, false)
	fmt.Println("echo")
	reply, err := c.call(context.Background(), "Echo", bytes.Repeat([]byte("x"), 1<<20), true)
	check(err == nil && len(reply) == 1<<20, "compressible: %v", err)
	fmt.Println("gzip")
	fails(c, "Fail", "not_found no “x” 5%", codes.NotFound, "no “x” 5%", 0)
	fails(c, "Fail", "busy ", codes.ResourceExhausted, "too much at once", time.Second)
	fails(c, "Fail", "too_large ", codes.ResourceExhausted, "limit", 0)
	fails(c, "Fail", "unauthenticated who?", codes.Unauthenticated, "who?", 0)
	fails(c, "Other", "", codes.Unimplemented, "test.Echo/Other", 0)
	fmt.Println("errors")
	var group sync.WaitGroup
	for i := 0; i < 32; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for n := 0; n < 20; n++ {
				echo(c, 1000*i+n, n%2 == 0)
			}
		}()
	}
	group.Wait()
	fmt.Println("concurrent")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err = c.call(ctx, "Wait", nil, false)
	check(c.code(err) == "DeadlineExceeded" || c.code(err) == "Canceled", "deadline: %v", err)
	fmt.Println("deadline")
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = c.call(ctx, "Wait", nil, false)
	check(c.code(err) == "Canceled", "cancel: %v", err)
	fmt.Println("cancel")
}
