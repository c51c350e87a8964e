package weir

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// A gate waits up to two seconds for the first delivery of a job.
const deferTimeout = 5 * time.Second

// DeferRequest describes a job that a webhook receives when the limits permit it.
type DeferRequest struct {
	// CheckRequest has the cost, and the IdempotencyKey, which is needed: a repeat while a gate knows the job stores nothing and gets its
	// state. Its Peek is ignored.
	CheckRequest
	// Target is the id of the webhook.
	Target string
	// Payload is what the webhook receives in `data.payload`: any value that JSON can express, in at most 32,768 bytes.
	Payload any
	// NotAfter is the time for which the job can wait, from a second to 24 hours. The gate takes 24 hours if it is 0.
	NotAfter time.Duration
	// Timeout of the call, at most a minute; 5 seconds if it is 0, because a gate waits up to two for the first delivery.
	Timeout time.Duration
}

// Deferral is the result of Defer.
type Deferral struct {
	// Job is nil if nothing was stored, because the queue is full. Then repeat the call after RetryAfterMS of the answer.
	Job *DeferredJob
	// Answer is the decision that let the job pass at once, or the refusal of a full queue (Code is "queue_full"); nil if the job waits or was
	// known.
	Answer *Answer
}

// DeferredState is the state of a deferred job.
type DeferredState string

const (
	// DeferredWaiting: for the limits, for its receiver, or for the end of a delivery.
	DeferredWaiting   DeferredState = "waiting"
	DeferredDelivered DeferredState = "delivered"
	// DeferredFailed: a dead letter.
	DeferredFailed DeferredState = "failed"
)

// DeferredJob is a job that a gate has stored.
type DeferredJob struct {
	// ID by which Deferred and CancelDeferred find it. Its messages have it as `webhook-id`.
	ID    string
	State DeferredState
	// Position is the place among the waiting jobs of the same subjects, from 1; 0 if it does not wait.
	Position int64
	// ExpiresAtMS is the end of its wait, in milliseconds since 1970, by the clock of the gates; nil if Defer delivered it.
	ExpiresAtMS *int64
	// Charged is whether the limits admitted the job, which then is not charged again.
	Charged bool
	// Attempts is the number of failed deliveries.
	Attempts int64
	// Err is the reason of the last failure; empty if there was none.
	Err string
}

type deferBody struct {
	requestBody
	Target     string          `json:"target"`
	Payload    json.RawMessage `json:"payload"`
	NotAfterMS int64           `json:"not_after_ms,omitempty"`
}

// Defer has a job delivered to a webhook: at once if the limits permit it, otherwise as soon as they do. It fails if no gate confirms it;
// repeat the call then, with the same key.
func (c *Client) Defer(ctx context.Context, request DeferRequest) (*Deferral, error) {
	payload, err := json.Marshal(request.Payload)
	if err != nil {
		return nil, err
	}
	request.Peek = false
	body := deferBody{request.body(), request.Target, payload, request.NotAfter.Milliseconds()}
	timeout := request.Timeout
	if timeout == 0 {
		timeout = deferTimeout
	}
	if timeout < 0 || timeout > timeoutMax {
		return nil, errors.New("weir: Timeout: at most a minute")
	}
	// Repeatable: a gate stores the job of a key once.
	call := call{method: http.MethodPost, path: pathDefer, timeout: timeout, repeatable: true}
	found, err := c.send(ctx, call, body)
	if err != nil {
		return nil, err
	}
	if found.status == http.StatusAccepted {
		job, err := readDeferredJob(found.content)
		if err != nil {
			return nil, err
		}
		return &Deferral{Job: job}, nil
	}
	if found.status != http.StatusOK && found.status != http.StatusTooManyRequests {
		return nil, problem(found.status, found.content)
	}
	return readDeferral(found)
}

// Deferred returns the state of a deferred job; nil if no gate knows it (any longer). It fails if no gate answers.
func (c *Client) Deferred(ctx context.Context, id string) (*DeferredJob, error) {
	found, err := c.send(ctx, c.jobCall(http.MethodGet, id), nil)
	if err != nil {
		return nil, err
	}
	if found.status == http.StatusOK {
		return readDeferredJob(found.content)
	}
	return nil, unlessNotFound(problem(found.status, found.content))
}

// CancelDeferred removes a deferred job that waits, or a dead letter. It returns false if there is no such job, or it was delivered. It fails
// if no gate confirms it.
func (c *Client) CancelDeferred(ctx context.Context, id string) (bool, error) {
	found, err := c.send(ctx, c.jobCall(http.MethodDelete, id), nil)
	if err != nil {
		return false, err
	}
	if found.status == http.StatusNoContent {
		return true, nil
	}
	return false, unlessNotFound(problem(found.status, found.content))
}

// jobCall is a call about a job. A repeated removal would not tell what the first call did.
func (c *Client) jobCall(method, id string) call {
	return call{method, pathDeferred + url.PathEscape(id), c.options.Timeout, method == http.MethodGet}
}

func readDeferral(found reply) (*Deferral, error) {
	gate, err := readAnswer(found.content, found.requestID)
	if err != nil {
		return nil, err
	}
	answer := &gate.answer
	if answer.Allowed != (found.status == http.StatusOK) {
		return nil, notAnAnswer(found.status)
	}
	if !answer.Allowed {
		return &Deferral{Answer: answer}, nil
	}
	body := fieldsOf(found.content, "the answer")
	job := &DeferredJob{ID: body.text("deferred"), State: DeferredDelivered, Charged: true}
	if body.fault != nil {
		return nil, body.fault
	}
	return &Deferral{job, answer}, nil
}

func readDeferredJob(content []byte) (*DeferredJob, error) {
	body := fieldsOf(content, "the job")
	expires := body.count("expires_at_ms")
	job := &DeferredJob{
		ID:          body.text("deferred"),
		State:       DeferredState(body.oneOf("state", "waiting", "delivered", "failed")),
		Position:    body.count("position"),
		ExpiresAtMS: &expires,
		Charged:     body.flag("charged"),
		Attempts:    body.count("attempts"),
	}
	if !body.isNull("error") {
		job.Err = body.text("error")
	}
	if body.fault != nil {
		return nil, body.fault
	}
	return job, nil
}
