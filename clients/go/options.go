package weir

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Choice is the decision about an action for which no gate decided. It is an OnError that always chooses the same.
type Choice string

const (
	// Allow permits the action.
	Allow Choice = "allow"
	// Deny refuses the action.
	Deny Choice = "deny"
)

// Choose returns the choice itself.
func (c Choice) Choose(*Error, CheckRequest) Choice { return c }

// OnError decides if no gate does: Allow, Deny or an OnErrorFunc. Everything but Allow denies.
type OnError interface {
	Choose(failure *Error, request CheckRequest) Choice
}

// OnErrorFunc chooses by the failure and the request.
type OnErrorFunc func(failure *Error, request CheckRequest) Choice

// Choose calls the function.
func (f OnErrorFunc) Choose(failure *Error, request CheckRequest) Choice { return f(failure, request) }

// Options of a client. URL, Key and OnError are needed.
type Options struct {
	// URL of a gate, or of the load balancer before the gates.
	URL string
	// Key is an API key with the scope `check`.
	Key string
	// OnError decides if no gate does. There is no default, because either choice hurts somebody.
	OnError OnError
	// Timeout of one call with its repeat, of a check with its waiting too; at most a minute; 100 ms if 0.
	Timeout time.Duration
	// Retry repeats a call once if its connection fails. Each check then carries an idempotency key, which costs Redis a key for a
	// minute and excludes the gate's shortcuts. Peeks are always repeated.
	Retry bool
	// CacheSize is the number of denials that are repeated without asking while the gate permits it; 10,000 if 0, none if negative.
	CacheSize int
	// OnDegraded is called for every decision that was left to OnError: count it, so that an open gate is noticed. It can be nil.
	OnDegraded func(*Error)
	// MaxInFlight is the number of calls of checks that are in flight at a time, at most 64; 4 if 0. A check that finds fewer is sent at
	// once. Otherwise it waits, and the next call carries all that wait.
	MaxInFlight int
	// MaxWaiting is the number of checks that wait, at most 1,000,000; 10,000 if 0, none if negative. OnError decides about one more.
	MaxWaiting int
	// HTTPClient sends the requests: for mTLS, proxies and instrumentation. Redirects are not followed. It can be nil.
	HTTPClient *http.Client
	// Traceparent returns the header of this name for a call, from the context of its first check; empty for none. It can be nil.
	Traceparent func(context.Context) string
	// RetrySpread is the longest time, at most a minute, for which Wait sleeps longer than a denial says, so that those who were denied
	// together do not return together; a second if 0, none if negative. It never exceeds the time that the denial says.
	RetrySpread time.Duration
	// Random returns a number from 0 to less than 1, for RetrySpread. It can be nil.
	Random func() float64

	// For tests.
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
}

const (
	timeoutDefault   = 100 * time.Millisecond
	timeoutMax       = time.Minute
	cacheSizeDefault = 10_000
	cacheSizeMax     = 1_000_000

	maxInFlightDefault = 4
	maxInFlightMax     = 64
	maxWaitingDefault  = 10_000
	maxWaitingMax      = 1_000_000
	retrySpreadDefault = time.Second
)

// checked returns the options with their defaults, or an error that names the wrong one.
func (o Options) checked() (Options, error) {
	if err := checkURL(o.URL); err != nil {
		return o, err
	}
	if o.Key == "" || strings.IndexFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return o, errors.New("weir: Key: an API key is needed")
	}
	if !isChoice(o.OnError) {
		return o, errors.New("weir: OnError: choose Allow, Deny or an OnErrorFunc")
	}
	if o.Timeout < 0 || o.Timeout > timeoutMax {
		return o, errors.New("weir: Timeout: at most a minute")
	}
	if o.CacheSize > cacheSizeMax {
		return o, errors.New("weir: CacheSize: at most 1,000,000")
	}
	if o.MaxInFlight < 0 || o.MaxInFlight > maxInFlightMax {
		return o, errors.New("weir: MaxInFlight: 1 to 64")
	}
	if o.MaxWaiting > maxWaitingMax {
		return o, errors.New("weir: MaxWaiting: at most 1,000,000")
	}
	if o.RetrySpread > timeoutMax {
		return o, errors.New("weir: RetrySpread: at most a minute")
	}
	o.URL = strings.TrimRight(o.URL, "/")
	return o.withDefaults(), nil
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = timeoutDefault
	}
	o.CacheSize = orDefault(o.CacheSize, cacheSizeDefault)
	o.MaxInFlight = orDefault(o.MaxInFlight, maxInFlightDefault)
	o.MaxWaiting = orDefault(o.MaxWaiting, maxWaitingDefault)
	o.RetrySpread = orDefault(o.RetrySpread, retrySpreadDefault)
	if o.OnDegraded == nil {
		o.OnDegraded = func(*Error) {}
	}
	if o.Traceparent == nil {
		o.Traceparent = func(context.Context) string { return "" }
	}
	if o.Random == nil {
		o.Random = random
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.sleep == nil {
		o.sleep = sleep
	}
	return o
}

// orDefault is the default instead of 0, and 0 instead of a negative number.
func orDefault[N int | time.Duration](given, byDefault N) N {
	switch {
	case given == 0:
		return byDefault
	case given < 0:
		return 0
	default:
		return given
	}
}

// random is from 0 to less than 1. Generators of the library begin alike in each program that Go 1.19 builds.
func random() float64 {
	var bits [8]byte
	if _, err := rand.Read(bits[:]); err != nil {
		return 0
	}
	return float64(binary.LittleEndian.Uint64(bits[:])>>11) / (1 << 53)
}

func isChoice(onError OnError) bool {
	switch chosen := onError.(type) {
	case nil:
		return false
	case Choice:
		return chosen == Allow || chosen == Deny
	case OnErrorFunc:
		return chosen != nil
	default:
		return true
	}
}

func checkURL(text string) error {
	address, err := url.Parse(text)
	if err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "" {
		return errors.New("weir: URL: an http or https address is needed")
	}
	if address.User != nil || address.RawQuery != "" || address.Fragment != "" {
		return errors.New("weir: URL: an address without user, query and fragment is needed")
	}
	return nil
}

// sleep waits, or returns the error of a context that ends before.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
