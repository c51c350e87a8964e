package weir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// The longest answer that is read: more than a batch of 100 checks with the most limits.
	bodyMax = 8 << 20
	// The longest head of an answer.
	headMax = 64 << 10
	// Connections that stay open for further calls. More are opened if more calls are made at once.
	idleMax = 64
	// Shorter than the time after which gates and load balancers close idle connections.
	idleTimeout = 5 * time.Second
)

// httpClient is the given client, or one that uses no proxy of the environment and asks for no compression. Neither follows a redirect.
func httpClient(given *http.Client) *http.Client {
	redirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if given != nil {
		own := *given
		own.CheckRedirect = redirect
		return &own
	}
	transport := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: timeoutMax}).DialContext,
		MaxIdleConnsPerHost:    idleMax,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: headMax,
		DisableCompression:     true,
	}
	return &http.Client{Transport: transport, CheckRedirect: redirect}
}

// call is how a request is sent.
type call struct {
	method, path string
	timeout      time.Duration
	// Once more if the connection failed.
	repeatable bool
}

// reply is the answer of a gate, or of something in its place.
type reply struct {
	status  int
	content []byte
	// Of the header X-Request-Id.
	requestID string
}

// post posts a request, and returns the answer if it has the status of a decision.
func (c *Client) post(ctx context.Context, path string, body any, repeatable bool) (reply, error) {
	return c.postWithin(ctx, c.options.Timeout, path, body, repeatable)
}

func (c *Client) postWithin(ctx context.Context, timeout time.Duration, path string, body any, repeatable bool) (reply, error) {
	found, err := c.send(ctx, call{http.MethodPost, path, timeout, repeatable}, body)
	if err == nil && found.status != http.StatusOK && found.status != http.StatusTooManyRequests {
		return reply{}, problem(found.status, found.content)
	}
	return found, err
}

// send sends a request, without a body if it is nil, and returns any answer. A body of bytes is JSON already.
func (c *Client) send(ctx context.Context, call call, body any) (reply, error) {
	text, encoded := body.([]byte)
	if body != nil && !encoded {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return reply{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, call.timeout)
	defer cancel()
	found, err := c.sendOnce(ctx, call, text)
	var failure *Error
	if call.repeatable && errors.As(err, &failure) && failure.Kind == Connection && ctx.Err() == nil {
		return c.sendOnce(ctx, call, text)
	}
	return found, err
}

func (c *Client) sendOnce(ctx context.Context, call call, text []byte) (reply, error) {
	// The transport can send this body again, which it does only if nothing was sent yet.
	request, err := http.NewRequestWithContext(ctx, call.method, c.options.URL+call.path, bytes.NewReader(text))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Authorization", "Bearer "+c.options.Key)
	request.Header.Set("Accept", "application/json")
	if traceparent := c.options.Traceparent(ctx); traceparent != "" {
		request.Header.Set("Traceparent", traceparent)
	}
	if text != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return reply{}, failureOf(ctx, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, bodyMax+1))
	if err != nil {
		return reply{}, failureOf(ctx, err)
	}
	if len(content) > bodyMax {
		return reply{}, &Error{Kind: Invalid, Message: "the gate's answer is too long", Status: response.StatusCode}
	}
	return reply{response.StatusCode, content, response.Header.Get("X-Request-Id")}, nil
}

// failureOf is the failure that an error of the HTTP library means.
func failureOf(ctx context.Context, err error) *Error {
	var slow net.Error
	if ctx.Err() != nil || (errors.As(err, &slow) && slow.Timeout()) {
		return &Error{Kind: Timeout, Message: "the gate did not answer in time", cause: err}
	}
	// The library has no types for these errors.
	for _, sign := range []string{"malformed", "response headers exceeded", "bad Content-Length", "transfer encoding"} {
		if strings.Contains(err.Error(), sign) {
			return &Error{Kind: Invalid, Message: "the gate's answer is not HTTP", cause: err}
		}
	}
	return &Error{Kind: Connection, Message: fmt.Sprintf("the connection to the gate failed: %v", err), cause: err}
}
