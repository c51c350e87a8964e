// Package ratelimitservice calls Envoy's rate limit service of a gate as Go programs do: by grpc-go and the messages that Envoy publishes. It is
// no part of the client.
package ratelimitservice

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	descriptors "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// More than a busy machine needs.
const generous = 60 * time.Second

// New in each run, so that counters of earlier runs do not count.
var run = fmt.Sprintf("rls-%d-%d", os.Getpid(), time.Now().UnixNano())

// These rules are those of conformance.json: "window" passes two per hour, "bucket" holds ten.
const domain = "conformance"

func TestLimitIsCountedDownAndDenies(t *testing.T) {
	for remaining := uint32(1); ; remaining-- {
		answer := called(t, 0, descriptor("window", "counted"))
		found := answer.GetStatuses()[0]
		limit := found.GetCurrentLimit()
		if answer.GetOverallCode() != ratelimit.RateLimitResponse_OK || found.GetLimitRemaining() != remaining {
			t.Fatalf("%d left: %v", remaining, answer)
		}
		if limit.GetRequestsPerUnit() != 2 || limit.GetUnit() != ratelimit.RateLimitResponse_RateLimit_HOUR || limit.GetName() != "window" {
			t.Fatalf("the limit is %v", limit)
		}
		if remaining == 0 {
			break
		}
	}
	denied := called(t, 0, descriptor("window", "counted"))
	found := denied.GetStatuses()[0]
	reset := found.GetDurationUntilReset().AsDuration()
	if denied.GetOverallCode() != ratelimit.RateLimitResponse_OVER_LIMIT || found.GetCode() != ratelimit.RateLimitResponse_OVER_LIMIT || reset <= 0 || reset > time.Hour {
		t.Errorf("%v", denied)
	}
	headers := map[string]string{}
	for _, header := range denied.GetResponseHeadersToAdd() {
		headers[header.GetKey()] = header.GetValue()
	}
	if headers["ratelimit-policy"] != `"window";q=2;w=3600` || headers["retry-after"] == "" {
		t.Errorf("the headers are %v", headers)
	}
}

func TestDescriptorsAreChargedTogetherOrNotAtAll(t *testing.T) {
	called(t, 2, descriptor("window", "together"))
	denied := called(t, 3, descriptor("bucket", "together"), descriptor("window", "together"))
	codes := []ratelimit.RateLimitResponse_Code{denied.GetOverallCode(), denied.GetStatuses()[0].GetCode(), denied.GetStatuses()[1].GetCode()}
	wanted := []ratelimit.RateLimitResponse_Code{ratelimit.RateLimitResponse_OVER_LIMIT, ratelimit.RateLimitResponse_OK, ratelimit.RateLimitResponse_OVER_LIMIT}
	for at := range wanted {
		if codes[at] != wanted[at] {
			t.Fatalf("%v", denied)
		}
	}
	if left := called(t, 4, descriptor("bucket", "together")).GetStatuses()[0].GetLimitRemaining(); left != 6 {
		t.Errorf("%d are left of 10 after 4 hits: those of the denied call were charged", left)
	}
	// A descriptor with an addend of 0 only looks.
	look := descriptor("bucket", "together")
	look.HitsAddend = wrapperspb.UInt64(0)
	if left := called(t, 5, look).GetStatuses()[0].GetLimitRemaining(); left != 6 {
		t.Errorf("%d are left of 10 after a look", left)
	}
}

func TestWrongKeyIsRefused(t *testing.T) {
	client := ratelimit.NewRateLimitServiceClient(connected(t))
	_, err := client.ShouldRateLimit(withKey(t, "weir_unknown"), &ratelimit.RateLimitRequest{Domain: domain})
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("%v", err)
	}
}

func called(t *testing.T, hits uint32, entries ...*descriptors.RateLimitDescriptor) *ratelimit.RateLimitResponse {
	t.Helper()
	client := ratelimit.NewRateLimitServiceClient(connected(t))
	request := &ratelimit.RateLimitRequest{Domain: domain, Descriptors: entries, HitsAddend: hits}
	answer, err := client.ShouldRateLimit(withKey(t, os.Getenv("WEIR_KEY")), request)
	if err != nil || len(answer.GetStatuses()) != len(entries) {
		t.Fatalf("%v, %v", answer, err)
	}
	return answer
}

func descriptor(suite, user string) *descriptors.RateLimitDescriptor {
	return &descriptors.RateLimitDescriptor{Entries: []*descriptors.RateLimitDescriptor_Entry{
		{Key: "suite", Value: suite},
		{Key: "user", Value: user + "-" + run},
	}}
}

func connected(t *testing.T) *grpc.ClientConn {
	t.Helper()
	target := os.Getenv("WEIR_RLS_TARGET")
	if target == "" {
		t.Fatal("WEIR_RLS_TARGET is set by cargo xtask clients")
	}
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	untilServing(t, connection)
	return connection
}

// untilServing waits for the rulebook of a gate that is starting.
func untilServing(t *testing.T, connection *grpc.ClientConn) {
	t.Helper()
	request := &health.HealthCheckRequest{Service: ratelimit.RateLimitService_ServiceDesc.ServiceName}
	states, err := health.NewHealthClient(connection).Watch(withKey(t, os.Getenv("WEIR_KEY")), request, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	for {
		state, err := states.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if state.GetStatus() == health.HealthCheckResponse_SERVING {
			return
		}
	}
}

func withKey(t *testing.T, key string) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), generous)
	t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
}
