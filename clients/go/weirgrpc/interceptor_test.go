package weirgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	weir "github.com/weir-ratelimit/weir-go"
	"github.com/weir-ratelimit/weir-go/weirgrpc"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// More than a busy machine needs.
const generous = 60 * time.Second

// New in each run, so that counters of earlier runs do not count.
var run = fmt.Sprintf("grpc-%d-%d", os.Getpid(), time.Now().UnixNano())

func TestDenialIsResourceExhaustedWithTheTimeToRetry(t *testing.T) {
	server := served(t, client(t, weir.Options{}), weirgrpc.Options{})
	for remaining := int64(1); remaining >= 0; remaining-- {
		if err := server.check("window", "unary"); err != nil {
			t.Fatal(err)
		}
		if answer := <-server.answers; answer == nil || *answer.Remaining != remaining {
			t.Errorf("the handler found %+v", answer)
		}
	}
	expectRefusal(t, server.check("window", "unary"), codes.ResourceExhausted, time.Minute, time.Hour)
	// A rule that denies always has no such time.
	refused := status.Convert(server.check("barred", "unary"))
	if refused.Code() != codes.ResourceExhausted || len(refused.Details()) != 0 {
		t.Errorf("%v, %v", refused, refused.Details())
	}
	// A value that a gate refuses does not fail the call.
	if err := server.check("window", strings.Repeat("x", 600)); err != nil {
		t.Error(err)
	}
}

func TestOnErrorDecidesWithoutAGate(t *testing.T) {
	var decided []bool
	options := weirgrpc.Options{OnDecision: func(answer *weir.Answer, _ time.Duration) { decided = append(decided, answer.Allowed) }}
	denies := served(t, client(t, weir.Options{URL: "http://" + closedPort(t), OnError: weir.Deny}), options)
	expectRefusal(t, denies.check("window", "away"), codes.Unavailable, time.Second, time.Second)
	admits := served(t, client(t, weir.Options{URL: "http://" + closedPort(t), OnError: weir.Allow}), options)
	if err := admits.check("window", "away"); err != nil {
		t.Error(err)
	}
	if fmt.Sprint(decided) != "[false true]" {
		t.Error(decided)
	}
}

func TestPlaceOfACallIsReleasedAtItsEnd(t *testing.T) {
	server := served(t, client(t, weir.Options{}), weirgrpc.Options{})
	for nth := 0; nth < 3; nth++ {
		server.block = make(chan struct{})
		ended := make(chan error, 1)
		// The place of the call before is released beside its answer.
		go func() { ended <- server.checkUntilAdmitted("places", "unary") }()
		<-server.answers
		expectRefusal(t, server.check("places", "unary"), codes.ResourceExhausted, 0, time.Hour)
		close(server.block)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

func TestPlaceOfAStreamIsReleasedWhenItsClientGoesAway(t *testing.T) {
	server := served(t, client(t, weir.Options{}), weirgrpc.Options{})
	ctx, cancel := context.WithCancel(caller("places", "stream"))
	stream, err := server.client.Watch(ctx, &health.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	if answer := <-server.answers; answer == nil || len(answer.Leases) != 1 {
		t.Errorf("the handler found %+v", answer)
	}
	second, err := server.client.Watch(caller("places", "stream"), &health.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = second.Recv()
	expectRefusal(t, err, codes.ResourceExhausted, 0, time.Hour)
	cancel()
	if err := server.checkUntilAdmitted("places", "stream"); err != nil {
		t.Error(err)
	}
}

func TestMistakeOfTheProgramIsReportedAndInternal(t *testing.T) {
	wrong := errors.New("no user")
	for namespace, failure := range map[string]error{"No Such": nil, "conformance": wrong} {
		var reported error
		server := served(t, client(t, weir.Options{OnError: weir.Allow}), weirgrpc.Options{
			Namespace:    namespace,
			Attributes:   func(context.Context, string) (map[string]string, error) { return map[string]string{}, failure },
			OnCheckError: func(err error) { reported = err },
		})
		if code := status.Code(server.check("", "")); code != codes.Internal {
			t.Error(code)
		}
		var refused *weir.Error
		if reported != wrong && !(errors.As(reported, &refused) && refused.Kind == weir.Refused) {
			t.Error(reported)
		}
	}
}

func TestCallWithoutAttributesIsUnlimited(t *testing.T) {
	server := served(t, client(t, weir.Options{URL: "http://" + closedPort(t)}), weirgrpc.Options{
		Attributes: func(_ context.Context, method string) (map[string]string, error) {
			if method != health.Health_Check_FullMethodName {
				return nil, errors.New(method)
			}
			return nil, nil
		},
	})
	if err := server.check("", ""); err != nil || <-server.answers != nil {
		t.Error(err)
	}
}

func TestDelayIsWaitedForWithinTheCall(t *testing.T) {
	hour := `{"allowed":true,"denied_by":[],"retry_after_ms":0,"delay_ms":3600000,"limit":null,"remaining":null,"reset_after_ms":null,` +
		`"limits":[],"degraded":null,"rulebook_version":1}`
	delays := &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(hour))}, nil
	})}
	cancels := make(chan context.CancelFunc, 1)
	server := served(t, client(t, weir.Options{HTTPClient: delays}), weirgrpc.Options{
		OnDecision: func(*weir.Answer, time.Duration) { (<-cancels)() },
	})
	ctx, cancel := context.WithCancel(caller("window", "delayed"))
	cancels <- cancel
	if _, err := server.client.Check(ctx, &health.HealthCheckRequest{}); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	server.stop()
	if len(server.answers) != 0 {
		t.Error("the handler was called before the delay had passed")
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// testServer tells which answer its handlers found. They work until `block` is closed, if there is one.
type testServer struct {
	health.UnimplementedHealthServer
	client  health.HealthClient
	answers chan *weir.Answer
	block   chan struct{}
	stop    func()
}

func served(t *testing.T, client *weir.Client, options weirgrpc.Options) *testServer {
	t.Helper()
	if options.Namespace == "" {
		options.Namespace = "conformance"
	}
	if options.Attributes == nil {
		options.Attributes = attributes
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(
		grpc.WaitForHandlers(true),
		grpc.UnaryInterceptor(weirgrpc.UnaryServerInterceptor(client, options)),
		grpc.StreamInterceptor(weirgrpc.StreamServerInterceptor(client, options)),
	)
	made := &testServer{answers: make(chan *weir.Answer, 100), stop: server.Stop}
	health.RegisterHealthServer(server, made)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	made.client = health.NewHealthClient(connection)
	return made
}

// attributes are those that the caller sent as metadata.
func attributes(ctx context.Context, _ string) (map[string]string, error) {
	sent, _ := metadata.FromIncomingContext(ctx)
	return map[string]string{"suite": sent.Get("x-suite")[0], "user": sent.Get("x-user")[0] + "-" + run}, nil
}

func caller(suite, user string) context.Context {
	return metadata.AppendToOutgoingContext(context.Background(), "x-suite", suite, "x-user", user)
}

func (s *testServer) check(suite, user string) error {
	_, err := s.client.Check(caller(suite, user), &health.HealthCheckRequest{})
	return err
}

func (s *testServer) checkUntilAdmitted(suite, user string) error {
	for deadline := time.Now().Add(generous); ; {
		err := s.check(suite, user)
		if status.Code(err) != codes.ResourceExhausted || time.Now().After(deadline) {
			return err
		}
	}
}

func (s *testServer) Check(ctx context.Context, _ *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	s.answers <- weir.AnswerOf(ctx)
	if s.block != nil {
		select {
		case <-s.block:
		case <-ctx.Done():
		}
	}
	return &health.HealthCheckResponse{}, nil
}

// Watch lasts as long as its client.
func (s *testServer) Watch(_ *health.HealthCheckRequest, stream health.Health_WatchServer) error {
	s.answers <- weir.AnswerOf(stream.Context())
	if err := stream.Send(&health.HealthCheckResponse{}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func expectRefusal(t *testing.T, err error, code codes.Code, least, most time.Duration) {
	t.Helper()
	refused := status.Convert(err)
	if refused.Code() != code || len(refused.Details()) != 1 {
		t.Fatalf("%v, %v", refused, refused.Details())
	}
	info, is := refused.Details()[0].(*errdetails.RetryInfo)
	if !is || info.RetryDelay.AsDuration() < least || info.RetryDelay.AsDuration() > most {
		t.Errorf("%v", refused.Details())
	}
}

func client(t *testing.T, options weir.Options) *weir.Client {
	t.Helper()
	if options.URL == "" {
		options.URL = needed(t, "WEIR_GATE_URL")
	}
	if options.OnError == nil {
		options.OnError = weir.Deny
	}
	options.Key, options.Timeout, options.CacheSize = needed(t, "WEIR_KEY"), generous, -1
	made, err := weir.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func needed(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run `cargo xtask clients`", name)
	}
	return value
}

func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
