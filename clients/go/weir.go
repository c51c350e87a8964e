// Package weir is the Go client of Weir, rate limiting as a service. It uses the standard library alone.
//
// A Client asks gates. Its calls are Check, Peek, Record, Refund, Reserve, Renew, Release, Exhaust, Defer, Deferred, CancelDeferred, Batch
// and Wait; Middleware limits the requests of an http.Handler, and IsFromWeir recognises the messages of Weir. New needs the address of a gate, a
// key, and what to do if no gate decides: OnError has no default.
//
// The package weirtest is a gate in memory, for tests. The module weirgrpc has interceptors for gRPC.
package weir

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Client of Weir's gates, for any number of goroutines. It holds no limits: every decision is a gate's, or that of OnError.
type Client struct {
	options Options
	http    *http.Client
	cache   *denialCache
	batcher *batcher
}

const (
	batchMax = 100
	// When to try again after a denial by OnError; a gate without Redis answers the same.
	retryAfterMS = 1000
)

// New returns a client, or an error that names the option that is missing or wrong.
func New(options Options) (*Client, error) {
	checked, err := options.checked()
	if err != nil {
		return nil, err
	}
	made := &Client{options: checked, http: httpClient(checked.HTTPClient), cache: newDenialCache(checked.CacheSize)}
	made.batcher = &batcher{client: made, queue: list.New()}
	return made, nil
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Check asks whether an action is allowed, and takes its cost if it is. A denial is an answer, not an error.
//
// If no gate decides, OnError does and the answer's Degraded is DegradedClient. The error is an *Error of the kind Refused if the request
// itself is wrong, or that of a context that has ended. Checks that begin during others travel together.
func (c *Client) Check(ctx context.Context, request CheckRequest) (*Answer, error) {
	key, cacheable := request.cacheKey()
	generation := c.cache.generation()
	if cacheable {
		if answer := c.cache.get(key, c.options.now()); answer != nil {
			return answer, nil
		}
	}
	sent := c.withRetryKey(request)
	body, err := json.Marshal(sent.body())
	if err != nil {
		return nil, err
	}
	gate, sentAt, err := c.batcher.ask(ctx, body, sent.Peek || sent.IdempotencyKey != "")
	if err != nil {
		return c.degraded(ctx, err, request)
	}
	if cacheable {
		c.cache.insert(key, gate, sentAt, generation)
	}
	return &gate.answer, nil
}

// Peek is a check that takes nothing.
func (c *Client) Peek(ctx context.Context, request CheckRequest) (*Answer, error) {
	request.Peek = true
	return c.Check(ctx, request)
}

// Record takes units that were used already, even if fewer are left. It fails if no gate confirms it. Charged of the answer is the number
// of units that each matching limit took. It is 0 while Redis is away, and Buffered says whether the gate charges them later.
func (c *Client) Record(ctx context.Context, request CheckRequest) (*Answer, error) {
	return c.report(ctx, pathRecord, request)
}

// Refund returns units to every matching limit. It fails if no gate confirms it. With the Charge of the answer to the check, units return
// only where they were taken: not to a window that began later.
func (c *Client) Refund(ctx context.Context, request CheckRequest) (*Answer, error) {
	// Any cached denial may have ended, because rules count by some of the attributes only.
	defer c.cache.clear()
	return c.report(ctx, pathRefund, request)
}

// Batch decides up to 100 independent checks in order, in one request. If no gate decides, OnError answers each.
func (c *Client) Batch(ctx context.Context, requests []CheckRequest) ([]*Answer, error) {
	if len(requests) > batchMax {
		return nil, fmt.Errorf("weir: requests: at most %d", batchMax)
	}
	if len(requests) == 0 {
		return nil, nil
	}
	answers, err := c.decideBatch(ctx, requests)
	if err == nil {
		return answers, nil
	}
	answers = make([]*Answer, len(requests))
	for at, request := range requests {
		answer, err := c.degraded(ctx, err, request)
		if err != nil {
			return nil, err
		}
		answers[at] = answer
	}
	return answers, nil
}

// Wait checks until the action is allowed, and waits as the answers say, after a denial up to RetrySpread longer. It returns the denial if the action cannot be allowed before
// longest. The delay of a leaky bucket is waited for in full, because its units are already taken.
func (c *Client) Wait(ctx context.Context, request CheckRequest, longest time.Duration) (*Answer, error) {
	until := c.options.now().Add(longest)
	for {
		answer, err := c.Check(ctx, request)
		if err != nil {
			return nil, err
		}
		pause := milliseconds(answer.DelayMS)
		if !answer.Allowed {
			if answer.RetryAfterMS == nil {
				return answer, nil
			}
			pause = milliseconds(*answer.RetryAfterMS)
			left := until.Sub(c.options.now().Add(pause))
			if left < 0 {
				return answer, nil
			}
			pause += c.spread(pause, left)
		}
		if pause > 0 {
			if err := c.options.sleep(ctx, pause); err != nil {
				return nil, err
			}
		}
		if answer.Allowed {
			return answer, nil
		}
	}
}

// spread is a random time after a promise, so that those who were denied together do not return together.
func (c *Client) spread(promise, most time.Duration) time.Duration {
	spread := c.options.RetrySpread
	if promise < spread {
		spread = promise
	}
	spread = time.Duration(c.options.Random() * float64(spread)).Truncate(time.Millisecond)
	if spread > most {
		return most.Truncate(time.Millisecond)
	}
	return spread
}

// report sends units that were used or are returned: no decision is asked for, so OnError makes none.
func (c *Client) report(ctx context.Context, path string, request CheckRequest) (*Answer, error) {
	request.Peek = false
	gate, err := c.decide(ctx, path, request)
	if err != nil {
		return nil, err
	}
	return &gate.answer, nil
}

func (c *Client) decide(ctx context.Context, path string, request CheckRequest) (*gateAnswer, error) {
	body := c.withRetryKey(request).body()
	found, err := c.post(ctx, path, body, c.options.Retry)
	if err != nil {
		return nil, err
	}
	gate, err := readAnswer(found.content, found.requestID)
	if err != nil {
		return nil, err
	}
	if !fits(path, found.status, &gate.answer) {
		return nil, notAnAnswer(found.status)
	}
	return gate, nil
}

// fits is whether the answer can have this status.
func fits(path string, status int, answer *Answer) bool {
	switch {
	case status == http.StatusTooManyRequests:
		return !answer.Allowed
	case path == pathRecord:
		// A record names the units that it took.
		return answer.Charged != nil
	default:
		// A report is no admission, so it is 200 either way.
		return answer.Allowed || path == pathRefund
	}
}

func (c *Client) decideBatch(ctx context.Context, requests []CheckRequest) ([]*Answer, error) {
	bodies := make([]requestBody, len(requests))
	for at, request := range requests {
		bodies[at] = c.withRetryKey(request).body()
	}
	found, err := c.post(ctx, pathBatch, map[string]any{"checks": bodies}, c.options.Retry)
	if err != nil {
		return nil, err
	}
	if found.status != http.StatusOK {
		return nil, notAnAnswer(found.status)
	}
	return readBatch(found, len(requests))
}

// degraded is the answer of OnError. It returns the error of a wrong request, and that of a context that has ended: then no gate failed.
func (c *Client) degraded(ctx context.Context, err error, request CheckRequest) (*Answer, error) {
	var failure *Error
	if !errors.As(err, &failure) || failure.Kind == Refused {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.options.OnDegraded(failure)
	allowed := c.options.OnError.Choose(failure, request) == Allow
	retry := int64(retryAfterMS)
	if allowed {
		retry = 0
	}
	return &Answer{Allowed: allowed, RetryAfterMS: &retry, Degraded: DegradedClient, Err: failure}, nil
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
