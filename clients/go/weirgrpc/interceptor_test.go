package weirgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
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

// endings are ways in which a handler ends.
var endings = map[string]func(ctx context.Context) error{
	"returns":  func(context.Context) error { return nil },
	"fails":    func(context.Context) error { return status.Error(codes.Unavailable, "later") },
	"panics":   func(context.Context) error { panic("the handler of a test") },
	"is left":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	"deserted": func(ctx context.Context) error { <-ctx.Done(); return nil },
}

func TestPlacesAreFreeAgainHoweverACallEnds(t *testing.T) {
	limits := client(t, weir.Options{})
	server := served(t, limits, weirgrpc.Options{})
	calls := map[string]func(ctx context.Context) error{"unary": server.unary, "stream": server.stream}
	for kind, call := range calls {
		for how, end := range endings {
			t.Run(kind+" "+how, func(t *testing.T) {
				user := kind + "-" + how
				places := weir.CheckRequest{Namespace: "conformance", Attributes: map[string]string{"suite": "places", "user": user + "-" + run}}
				ctx, leave := context.WithCancel(caller("places", user))
				proceed := make(chan struct{})
				server.work = func(ctx context.Context) error {
					<-proceed
					return end(ctx)
				}
				ended := make(chan error, 1)
				go func() { ended <- call(ctx) }()
				if answer := <-server.answers; answer == nil || len(answer.Leases) != 1 {
					t.Errorf("the handler found %+v", answer)
				}
				if peek(t, limits, places).Allowed {
					t.Error("the place is free during the call")
				}
				expectRefusal(t, call(caller("places", user)), codes.ResourceExhausted, 0, time.Hour)
				close(proceed)
				if how == "is left" || how == "deserted" {
					leave()
				}
				<-ended
				for deadline := time.Now().Add(generous); !peek(t, limits, places).Allowed; {
					if time.Now().After(deadline) {
						t.Fatal("the place is never free again")
					}
				}
				leave()
			})
		}
	}
}

func TestRefundWhenSeesTheCodeOfTheHandler(t *testing.T) {
	limits, seen := client(t, weir.Options{}), []codes.Code{}
	server := served(t, limits, weirgrpc.Options{
		RefundWhen:    func(code codes.Code) bool { seen = append(seen, code); return code != codes.OK },
		OnRefundError: func(err error) { t.Error(err) },
	})
	for kind, call := range map[string]func(ctx context.Context) error{"unary": server.unary, "stream": server.stream} {
		user := "refund-" + kind
		window := weir.CheckRequest{Namespace: "conformance", Attributes: map[string]string{"suite": "window", "user": user + "-" + run}}
		seen = seen[:0]
		for _, how := range []string{"fails", "panics", "fails", "returns"} {
			server.work = endings[how]
			_ = call(caller("window", user))
		}
		// One of two is left, which the peek would take.
		if answer := peek(t, limits, window); !answer.Allowed || *answer.Remaining != 0 {
			t.Errorf("%s: %+v", kind, answer)
		}
		if expected := []codes.Code{codes.Unavailable, codes.Internal, codes.Unavailable, codes.OK}; !reflect.DeepEqual(seen, expected) {
			t.Errorf("%s: %v", kind, seen)
		}
	}
	// A client that goes away has no code.
	seen = seen[:0]
	ctx, leave := context.WithCancel(caller("window", "refund-left"))
	server.work = func(ctx context.Context) error { leave(); return endings["is left"](ctx) }
	if err := server.unary(ctx); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	server.stop()
	if len(seen) != 0 {
		t.Error(seen)
	}
}

func peek(t *testing.T, client *weir.Client, request weir.CheckRequest) *weir.Answer {
	t.Helper()
	answer, err := client.Peek(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	return answer
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

func TestOwnRefusalAndTheLeaseOfADenial(t *testing.T) {
	denial := `{"allowed":false,"denied_by":[],"retry_after_ms":7,"delay_ms":0,"limit":null,"remaining":null,"reset_after_ms":null,` +
		`"limits":[],"degraded":null,"rulebook_version":1,"leases":[{"id":"lease_x","rule_id":"rule_x","expires_at_ms":1}]}`
	released := make(chan struct{})
	denies := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		status, body := http.StatusTooManyRequests, denial
		if r.URL.Path == "/release" {
			status, body = http.StatusOK, `{"released":true,"degraded":null}`
			close(released)
		}
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
	})}
	server := served(t, client(t, weir.Options{HTTPClient: denies}), weirgrpc.Options{
		RefundWhen: func(code codes.Code) bool { t.Error(code); return true },
		OnRefused: func(_ context.Context, answer *weir.Answer) error {
			return status.Errorf(codes.FailedPrecondition, "again in %d ms", *answer.RetryAfterMS)
		},
	})
	if refused := status.Convert(server.check("window", "own")); refused.Code() != codes.FailedPrecondition || refused.Message() != "again in 7 ms" {
		t.Error(refused)
	}
	select {
	case <-released:
	case <-time.After(generous):
		t.Error("the lease is never released")
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

// testServer tells which answer its handlers found. They do `work`, if there is some.
type testServer struct {
	health.UnimplementedHealthServer
	client  health.HealthClient
	answers chan *weir.Answer
	work    func(ctx context.Context) error
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
		grpc.ChainUnaryInterceptor(recovering, weirgrpc.UnaryServerInterceptor(client, options)),
		grpc.ChainStreamInterceptor(recoveringStream, weirgrpc.StreamServerInterceptor(client, options)),
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

// recovering fails a call whose handler panics, as servers do.
func recovering(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (response any, err error) {
	defer recovered(&err)
	return handler(ctx, request)
}

func recoveringStream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer recovered(&err)
	return handler(server, stream)
}

func recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = status.Error(codes.Internal, fmt.Sprint(cause))
	}
}

// attributes are those that the caller sent as metadata.
func attributes(ctx context.Context, _ string) (map[string]string, error) {
	sent, _ := metadata.FromIncomingContext(ctx)
	return map[string]string{"suite": sent.Get("x-suite")[0], "user": sent.Get("x-user")[0] + "-" + run}, nil
}

func caller(suite, user string) context.Context {
	return metadata.AppendToOutgoingContext(context.Background(), "x-suite", suite, "x-user", user)
}

func (s *testServer) check(suite, user string) error { return s.unary(caller(suite, user)) }

func (s *testServer) unary(ctx context.Context) error {
	_, err := s.client.Check(ctx, &health.HealthCheckRequest{})
	return err
}

// stream returns the error of its end, or nil if the handler succeeded.
func (s *testServer) stream(ctx context.Context) error {
	stream, err := s.client.Watch(ctx, &health.HealthCheckRequest{})
	for err == nil {
		_, err = stream.Recv()
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func (s *testServer) Check(ctx context.Context, _ *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	return &health.HealthCheckResponse{}, s.handle(ctx)
}

func (s *testServer) Watch(_ *health.HealthCheckRequest, stream health.Health_WatchServer) error {
	if err := stream.Send(&health.HealthCheckResponse{}); err != nil {
		return err
	}
	return s.handle(stream.Context())
}

func (s *testServer) handle(ctx context.Context) error {
	work := s.work
	s.answers <- weir.AnswerOf(ctx)
	if work == nil {
		return nil
	}
	return work(ctx)
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
