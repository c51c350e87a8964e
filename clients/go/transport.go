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

// newHTTPClient uses no proxy of the environment, follows no redirect, and asks for no compression.
func newHTTPClient() *http.Client {
	transport := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: timeoutMax}).DialContext,
		MaxIdleConnsPerHost:    idleMax,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: headMax,
		DisableCompression:     true,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// send sends a request; once more if the connection failed, and it is repeatable.
func (c *Client) send(ctx context.Context, path string, body any, repeatable bool) (int, []byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	status, content, err := c.sendOnce(ctx, path, text)
	var failure *Error
	if repeatable && errors.As(err, &failure) && failure.Kind == Connection && ctx.Err() == nil {
		return c.sendOnce(ctx, path, text)
	}
	return status, content, err
}

func (c *Client) sendOnce(ctx context.Context, path string, text []byte) (int, []byte, error) {
	// The transport can send this body again, which it does only if nothing was sent yet.
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.options.URL+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.options.Key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, failureOf(ctx, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, bodyMax+1))
	if err != nil {
		return 0, nil, failureOf(ctx, err)
	}
	if len(content) > bodyMax {
		return 0, nil, &Error{Kind: Invalid, Message: "the gate's answer is too long", Status: response.StatusCode}
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusTooManyRequests {
		return 0, nil, problem(response.StatusCode, content)
	}
	return response.StatusCode, content, nil
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
