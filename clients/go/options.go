package weir

import (
	"context"
	"errors"
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
	// Timeout of one call with its repeat, at most a minute; 100 ms if 0.
	Timeout time.Duration
	// Retry repeats a call once if its connection fails. Each check then carries an idempotency key, which costs Redis a key for a
	// minute and excludes the gate's shortcuts. Peeks are always repeated.
	Retry bool
	// CacheSize is the number of denials that are repeated without asking while the gate permits it; 10,000 if 0, none if negative.
	CacheSize int
	// OnDegraded is called for every decision that was left to OnError: count it, so that an open gate is noticed. It can be nil.
	OnDegraded func(*Error)

	// For tests.
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
}

const (
	timeoutDefault   = 100 * time.Millisecond
	timeoutMax       = time.Minute
	cacheSizeDefault = 10_000
	cacheSizeMax     = 1_000_000
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
	if o.Timeout == 0 {
		o.Timeout = timeoutDefault
	}
	if o.CacheSize == 0 {
		o.CacheSize = cacheSizeDefault
	}
	if o.OnDegraded == nil {
		o.OnDegraded = func(*Error) {}
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.sleep == nil {
		o.sleep = sleep
	}
	o.URL = strings.TrimRight(o.URL, "/")
	return o, nil
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
