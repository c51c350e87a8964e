package weir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MiddlewareOptions states how Middleware limits requests. Namespace and Attributes are needed.
type MiddlewareOptions struct {
	Namespace string
	// Attributes returns the names and values by which rules test and count; a nil map passes the request unlimited. Values that a gate
	// would refuse, because they are longer than 512 bytes or contain control characters, are replaced by their SHA-256.
	Attributes func(*http.Request) (map[string]string, error)
	// Cost returns the number of units of a request. If Cost is nil, it is 1.
	Cost func(*http.Request) int64
	// Skip returns whether a request passes without a check. It can be nil.
	Skip func(*http.Request) bool
	// OnRefused writes the response to a refused request, whose headers of the limits are set already. If it is nil, the response is a
	// problem document with the status 429, or 503 if OnError denied.
	OnRefused func(http.ResponseWriter, *http.Request, *Answer)
	// NoHeaders leaves RateLimit, RateLimit-Policy and X-RateLimit-* out. A refusal has Retry-After either way.
	NoHeaders bool
	// OnDecision is called with each answer and the time that it took: for metrics. It can be nil.
	OnDecision func(*Answer, time.Duration)
	// RefundWhen returns whether a response with this status returns the units: status < 300 counts failed sign-ins only. Units
	// whose window is over by then do not return. It is not asked if the client goes away before the response begins. It can be nil.
	RefundWhen func(status int) bool
	// OnRefundError is called if the units could not be returned, or a lease could not be renewed or released. It can be nil.
	OnRefundError func(error)
	// OnCheckError is called if Attributes fails or the gate refuses the check itself; the response is 500. It can be nil.
	OnCheckError func(error)
}

// Middleware limits the requests of a handler, for net/http and the routers that use its types. A denial is 429, and 503 if OnError
// denied. The delay of a leaky bucket is waited for. Leases of concurrency limits are renewed while the handler works, and released when it
// has ended or its client has gone away. It panics if Namespace or Attributes is missing.
func (c *Client) Middleware(options MiddlewareOptions) func(http.Handler) http.Handler {
	if options.Namespace == "" {
		panic("weir: MiddlewareOptions.Namespace: the name of a namespace is needed")
	}
	if options.Attributes == nil {
		panic("weir: MiddlewareOptions.Attributes: a function of the request is needed")
	}
	if options.Skip == nil {
		options.Skip = func(*http.Request) bool { return false }
	}
	if options.OnRefused == nil {
		options.OnRefused = refuse
	}
	if options.OnDecision == nil {
		options.OnDecision = func(*Answer, time.Duration) {}
	}
	if options.OnRefundError == nil {
		options.OnRefundError = func(error) {}
	}
	if options.OnCheckError == nil {
		options.OnCheckError = func(error) {}
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.limit(options, next, w, r) })
	}
}

func (c *Client) limit(options MiddlewareOptions, next http.Handler, w http.ResponseWriter, r *http.Request) {
	if options.Skip(r) {
		next.ServeHTTP(w, r)
		return
	}
	attributes, err := options.Attributes(r)
	if err == nil && attributes == nil {
		next.ServeHTTP(w, r)
		return
	}
	request := CheckRequest{Namespace: options.Namespace, Attributes: SafeAttributes(attributes)}
	if options.Cost != nil {
		request.Cost = Units(options.Cost(r))
	}
	var answer *Answer
	if err == nil {
		begun := time.Now()
		if answer, err = c.Check(r.Context(), request); err == nil {
			options.OnDecision(answer, time.Since(begun))
			defer c.Hold(r.Context(), answer, options.OnRefundError)()
		}
	}
	if err == nil && answer.Allowed && answer.DelayMS > 0 {
		err = c.options.sleep(r.Context(), milliseconds(answer.DelayMS))
	}
	if err != nil {
		options.OnCheckError(err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	r = r.WithContext(withAnswer(r.Context(), answer, !options.NoHeaders))
	setHeaders(w.Header(), r, answer, !options.NoHeaders)
	switch {
	case !answer.Allowed:
		w.Header().Set("Cache-Control", "no-store")
		options.OnRefused(w, r, answer)
	case options.RefundWhen == nil || answer.Degraded != "":
		// A degraded answer charged nothing.
		next.ServeHTTP(w, r)
	default:
		request.Charge = answer.Charge
		c.serveWithRefund(options, request, next, w, r)
	}
}

func (c *Client) serveWithRefund(
	options MiddlewareOptions, request CheckRequest, next http.Handler, w http.ResponseWriter, r *http.Request,
) {
	recorder := &statusRecorder{ResponseWriter: w, ctx: r.Context()}
	// The status of a handler that panics.
	status := http.StatusInternalServerError
	defer func() {
		if recorder.isAbandoned() || !options.RefundWhen(status) {
			return
		}
		// The context of the request ends when its client goes away.
		if _, err := c.Refund(context.Background(), request); err != nil {
			options.OnRefundError(err)
		}
	}()
	next.ServeHTTP(recorder, r)
	status = recorder.statusOrOK()
}

func refuse(w http.ResponseWriter, _ *http.Request, answer *Answer) {
	status, code := http.StatusTooManyRequests, "rate_limited"
	if answer.Degraded == DegradedClient {
		// The request is not at fault.
		status, code = http.StatusServiceUnavailable, "rate_limit_unavailable"
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	// An error of the connection is the server's to notice.
	_ = json.NewEncoder(w).Encode(map[string]any{
		"type": "about:blank", "title": http.StatusText(status), "status": status, "code": code, "retry_after_ms": answer.RetryAfterMS,
	})
}

// SafeAttributes are the attributes with values that every gate accepts, so that no client can cause an error by what it sends: those
// that are longer than 512 bytes, contain control characters or are not UTF-8 become their SHA-256.
func SafeAttributes(attributes map[string]string) map[string]string {
	safe := make(map[string]string, len(attributes))
	for name, value := range attributes {
		if len(value) > 512 || !utf8.ValidString(value) || strings.IndexFunc(value, unicode.IsControl) >= 0 {
			digest := sha256.Sum256([]byte(value))
			value = "sha256:" + hex.EncodeToString(digest[:])
		}
		safe[name] = value
	}
	return safe
}
