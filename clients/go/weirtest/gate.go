// Package weirtest is a gate in memory, for tests of programs that use the client.
package weirtest

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	weir "github.com/weir-ratelimit/weir-go"
)

// Connection lets the calls of a MemoryGate fail as if no connection was possible.
const Connection = 0

// MemoryGate admits all checks but those that it is to deny, and records what it received. The client that asks it is the real one, so OnError,
// headers and middleware behave as they do with a gate. It has no rules and no deferred jobs. The zero value is ready for use, by any number
// of goroutines.
type MemoryGate struct {
	mutex    sync.Mutex
	denials  []Denial
	failing  bool
	status   int
	received []Received
}

// Denial names the checks that a MemoryGate denies: those with this namespace, if it is not empty, and these attributes.
type Denial struct {
	Namespace  string
	Attributes map[string]string
	// RetryAfter is the time after which the check could pass; a minute if 0, never if negative.
	RetryAfter time.Duration
	// DeniedBy is the name of the rule; `test` if empty.
	DeniedBy string
}

// Received is a request as the client sent it.
type Received struct {
	// Path is the operation, such as /check.
	Path       string
	Namespace  string
	Attributes map[string]string
	// Cost is 1 if the request has none.
	Cost int64
	// Body has all fields.
	Body map[string]any
}

// Client returns a client of this gate. The options need no URL, Key and OnError, which is Deny. It panics if an option is wrong.
func (g *MemoryGate) Client(options weir.Options) *weir.Client {
	options.HTTPClient = &http.Client{Transport: g}
	if options.URL == "" {
		options.URL = "http://gate.test"
	}
	if options.Key == "" {
		options.Key = "test"
	}
	if options.OnError == nil {
		options.OnError = weir.Deny
	}
	client, err := weir.New(options)
	if err != nil {
		panic(err)
	}
	return client
}

// Deny denies such checks and reservations from now on.
func (g *MemoryGate) Deny(denial Denial) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.denials = append(g.denials, denial)
}

// Allow admits all checks from now on.
func (g *MemoryGate) Allow() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.denials, g.failing = nil, false
}

// Fail lets all calls fail from now on, with this status or as a Connection.
func (g *MemoryGate) Fail(status int) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.failing, g.status = true, status
}

// Received returns the requests in the order of their arrival; the checks of a batch one by one. Those that failed are not among them.
func (g *MemoryGate) Received() []Received {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return append([]Received(nil), g.received...)
}

// RoundTrip answers a request of a client: the gate is the transport of its http.Client.
func (g *MemoryGate) RoundTrip(request *http.Request) (*http.Response, error) {
	var content []byte
	if request.Body != nil {
		defer request.Body.Close()
		var err error
		if content, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.failing && g.status == Connection {
		return nil, errors.New("the gate is away")
	}
	if g.failing {
		return reply(request, g.status, fields{"code": "test"})
	}
	status, body, err := g.answer(request.URL.Path, content)
	if err != nil {
		return nil, err
	}
	return reply(request, status, body)
}
