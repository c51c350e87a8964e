// Package weirgrpc limits the calls of a gRPC server.
package weirgrpc

import (
	"context"
	"time"

	weir "github.com/weir-ratelimit/weir-go"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Options state how the interceptors limit calls. Namespace and Attributes are needed.
type Options struct {
	Namespace string
	// Attributes returns the names and values by which rules test and count; a nil map passes the call unlimited. The method is the full one,
	// such as /package.Service/Method; the context has the metadata and the peer. Values that a gate would refuse, because they are longer
	// than 512 bytes or contain control characters, are replaced by their SHA-256.
	Attributes func(ctx context.Context, method string) (map[string]string, error)
	// Cost returns the number of units of a call. If Cost is nil, it is 1.
	Cost func(ctx context.Context, method string) int64
	// OnRefused returns the error of a refused call. If it is nil, it is RESOURCE_EXHAUSTED, or UNAVAILABLE if OnError denied.
	OnRefused func(context.Context, *weir.Answer) error
	// OnDecision is called with each answer and the time that it took: for metrics. It can be nil.
	OnDecision func(*weir.Answer, time.Duration)
	// RefundWhen returns whether a call that ends with this code returns the units: codes.Unavailable for those that failed by no fault of the
	// caller. A handler that panics has codes.Internal. It is not asked if the client went away before. It can be nil.
	RefundWhen func(codes.Code) bool
	// OnRefundError is called if the units could not be returned. It can be nil.
	OnRefundError func(error)
	// OnLeaseError is called if a lease could not be renewed or released. It can be nil.
	OnLeaseError func(error)
	// OnCheckError is called if Attributes fails or the gate refuses the check itself; the call fails with INTERNAL. It can be nil.
	OnCheckError func(error)
}

// UnaryServerInterceptor limits unary calls. A denial is RESOURCE_EXHAUSTED, and UNAVAILABLE if OnError denied; a RetryInfo says when the call
// could pass. The delay of a leaky bucket is waited for. Leases of concurrency limits are renewed during the call, and released when it has
// ended or its client has gone away. The handler finds the answer by weir.AnswerOf. It panics if Namespace or Attributes is missing.
func UnaryServerInterceptor(client *weir.Client, options Options) grpc.UnaryServerInterceptor {
	options = options.withDefaults()
	return func(ctx context.Context, request any, call *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		admitted, err := options.admit(ctx, client, call.FullMethod)
		code := codes.Internal
		defer func() { admitted.end(code) }()
		if err != nil {
			return nil, err
		}
		response, err := handler(admitted.ctx, request)
		code = status.Code(err)
		return response, err
	}
}

// StreamServerInterceptor limits streams, each as one call: its messages are not counted. See UnaryServerInterceptor.
func StreamServerInterceptor(client *weir.Client, options Options) grpc.StreamServerInterceptor {
	options = options.withDefaults()
	return func(server any, stream grpc.ServerStream, call *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		admitted, err := options.admit(stream.Context(), client, call.FullMethod)
		code := codes.Internal
		defer func() { admitted.end(code) }()
		if err != nil {
			return err
		}
		err = handler(server, limitedStream{stream, admitted.ctx})
		code = status.Code(err)
		return err
	}
}

// limitedStream has the answer in its context.
type limitedStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context of the call.
func (s limitedStream) Context() context.Context { return s.ctx }

func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		panic("weirgrpc: Options.Namespace: the name of a namespace is needed")
	}
	if o.Attributes == nil {
		panic("weirgrpc: Options.Attributes: a function of the call is needed")
	}
	if o.OnRefused == nil {
		o.OnRefused = refusal
	}
	if o.OnDecision == nil {
		o.OnDecision = func(*weir.Answer, time.Duration) {}
	}
	if o.OnRefundError == nil {
		o.OnRefundError = func(error) {}
	}
	if o.OnLeaseError == nil {
		o.OnLeaseError = func(error) {}
	}
	if o.OnCheckError == nil {
		o.OnCheckError = func(error) {}
	}
	return o
}

// admission is a call until its end.
type admission struct {
	ctx context.Context
	// end is to be called with the code of the call.
	end func(codes.Code)
}

// admit returns an admitted call, or the status of another one.
func (o Options) admit(ctx context.Context, client *weir.Client, method string) (admission, error) {
	unlimited := admission{ctx, func(codes.Code) {}}
	attributes, err := o.Attributes(ctx, method)
	if err == nil && attributes == nil {
		return unlimited, nil
	}
	if err != nil {
		return unlimited, o.checkFailed(ctx, err)
	}
	request := weir.CheckRequest{Namespace: o.Namespace, Attributes: weir.SafeAttributes(attributes)}
	if o.Cost != nil {
		request.Cost = weir.Units(o.Cost(ctx, method))
	}
	begun := time.Now()
	answer, err := client.Check(ctx, request)
	if err != nil {
		return unlimited, o.checkFailed(ctx, err)
	}
	o.OnDecision(answer, time.Since(begun))
	// A denial can have leases of rules in shadow mode.
	release := client.Hold(ctx, answer, o.OnLeaseError)
	end := func(code codes.Code) {
		release()
		// The code of a call whose client went away is not known, and a degraded answer charged nothing.
		if !answer.Allowed || o.RefundWhen == nil || ctx.Err() != nil || answer.Degraded != "" || !o.RefundWhen(code) {
			return
		}
		request.Charge = answer.Charge
		if _, err := client.Refund(context.Background(), request); err != nil {
			o.OnRefundError(err)
		}
	}
	admitted := admission{weir.WithAnswer(ctx, answer), end}
	if !answer.Allowed {
		return admitted, o.OnRefused(ctx, answer)
	}
	return admitted, delay(ctx, answer)
}

// checkFailed is the status of a call whose client has gone away, or about which no check could be made.
func (o Options) checkFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	o.OnCheckError(err)
	return status.Error(codes.Internal, "the rate limit could not be checked")
}

func refusal(_ context.Context, answer *weir.Answer) error {
	refused := status.New(codes.ResourceExhausted, "rate limited")
	if answer.Degraded == weir.DegradedClient {
		// The call is not at fault.
		refused = status.New(codes.Unavailable, "the rate limit is unavailable")
	}
	if answer.RetryAfterMS == nil {
		return refused.Err()
	}
	retry := &errdetails.RetryInfo{RetryDelay: durationpb.New(milliseconds(*answer.RetryAfterMS))}
	if detailed, err := refused.WithDetails(retry); err == nil {
		refused = detailed
	}
	return refused.Err()
}

// delay waits for what a leaky bucket says, or returns the status of a call whose client has gone away.
func delay(ctx context.Context, answer *weir.Answer) error {
	timer := time.NewTimer(milliseconds(answer.DelayMS))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
