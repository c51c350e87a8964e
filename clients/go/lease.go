package weir

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Lease is a place in a concurrency limit, in the answer to a check that passed.
type Lease struct {
	// ID by which the lease is renewed and released.
	ID string
	// RuleID of the limit.
	RuleID string
	// ExpiresAtMS is the time at which the lease ends by itself, in milliseconds since 1970, by the clock of the gates.
	ExpiresAtMS int64
}

// Renewed is the effect of a renewal.
type Renewed struct {
	// Held is whether the lease is held; false if it had ended, so that someone else can have the place.
	Held bool
	// ExpiresAtMS is the time at which it ends by itself; nil if it was not renewed.
	ExpiresAtMS *int64
	// Degraded is why nothing was renewed although it is held; empty usually.
	Degraded Degraded
}

// Released is the effect of a release.
type Released struct {
	// Released is whether the place is free; false if the lease had ended before.
	Released bool
	// Degraded is why nothing was released; empty usually.
	Degraded Degraded
}

// Renew lets a lease begin anew. It fails if no gate confirms it.
func (c *Client) Renew(ctx context.Context, lease string) (*Renewed, error) {
	body, err := c.settle(ctx, pathRenew, lease)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return &Renewed{}, nil
	}
	renewed := &Renewed{
		Held:        true,
		ExpiresAtMS: body.countOrNull("expires_at_ms"),
		Degraded:    Degraded(body.oneOfOrNull("degraded", "allow", "deny", "local")),
	}
	if body.fault != nil {
		return nil, body.fault
	}
	return renewed, nil
}

// Release ends a lease, so that another check can take its place. It fails if no gate confirms it.
func (c *Client) Release(ctx context.Context, lease string) (*Released, error) {
	body, err := c.settle(ctx, pathRelease, lease)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return &Released{}, nil
	}
	released := &Released{
		Released: body.flag("released"),
		Degraded: Degraded(body.oneOfOrNull("degraded", "allow", "deny", "local")),
	}
	if body.fault != nil {
		return nil, body.fault
	}
	return released, nil
}

// Exhaust lets all limits that match count as exhausted for this time, because the service behind them said so. The key needs the scope
// `exhaust`. It fails if no gate confirms it.
func (c *Client) Exhaust(ctx context.Context, request CheckRequest, limited time.Duration) (*Answer, error) {
	known := request.body()
	body := struct {
		Namespace  string            `json:"namespace"`
		Attributes map[string]string `json:"attributes"`
		ForMS      int64             `json:"for_ms"`
	}{known.Namespace, known.Attributes, limited.Milliseconds()}
	// Repeatable: a second time is no longer than the first one.
	found, err := c.post(ctx, pathExhaust, body, true)
	if err != nil {
		return nil, err
	}
	if found.status != http.StatusOK {
		return nil, notAnAnswer(found.status)
	}
	gate, err := readAnswer(found.content, found.requestID)
	if err != nil {
		return nil, err
	}
	return &gate.answer, nil
}

// settle returns the answer to a renewal or release; nil if the lease had ended.
func (c *Client) settle(ctx context.Context, path, lease string) (*fields, error) {
	// Repeatable: a gate gives a repeat the first answer.
	found, err := c.send(ctx, call{http.MethodPost, path, c.options.Timeout, true}, map[string]string{"lease": lease})
	if err != nil {
		return nil, err
	}
	if found.status != http.StatusOK {
		return nil, unlessNotFound(problem(found.status, found.content))
	}
	return fieldsOf(found.content, "the lease"), nil
}

// unlessNotFound is nil if a gate, and not something before it, answered that there is no such lease or job; otherwise the error.
func unlessNotFound(err error) error {
	var failure *Error
	if errors.As(err, &failure) && failure.Status == http.StatusNotFound && failure.Code == "not_found" {
		return nil
	}
	return err
}

// Hold renews the leases of an answer at a third of their time, until the function that it returns is called or the context ends. Then it
// releases them. It does so beside the caller, whose response waits for neither; failed is called with the errors of both. Middleware does
// this by itself; Hold is for work that is limited in another way. Call what it returns once.
func (c *Client) Hold(ctx context.Context, answer *Answer, failed func(error)) (release func()) {
	if len(answer.Leases) == 0 {
		return func() {}
	}
	ended := make(chan struct{})
	for _, lease := range answer.Leases {
		go c.holdOne(ctx, lease.ID, answer.timeOf(lease)/3, ended, failed)
	}
	return func() { close(ended) }
}

func (c *Client) holdOne(ctx context.Context, lease string, every time.Duration, ended <-chan struct{}, failed func(error)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	report := func(err error) {
		if err != nil {
			failed(err)
		}
	}
	for held := true; held; {
		select {
		case <-ticker.C:
			renewed, err := c.Renew(context.Background(), lease)
			report(err)
			held = err != nil || renewed.Held
		case <-ended:
			held = false
		case <-ctx.Done():
			held = false
		}
	}
	_, err := c.Release(context.Background(), lease)
	report(err)
}

// timeOf is the time after which a lease ends by itself.
func (a *Answer) timeOf(lease Lease) time.Duration {
	for _, limit := range a.Limits {
		if limit.RuleID == lease.RuleID && limit.Algorithm == "concurrency" && limit.WindowMS >= 3 {
			return milliseconds(limit.WindowMS)
		}
	}
	return time.Minute
}

func readLease(content []byte) (Lease, error) {
	body := fieldsOf(content, "a lease")
	lease := Lease{ID: body.text("id"), RuleID: body.text("rule_id"), ExpiresAtMS: body.count("expires_at_ms")}
	if body.fault != nil {
		return lease, body.fault
	}
	return lease, nil
}
