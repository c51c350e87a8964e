package weir

import (
	"context"
	"net/http"
	"time"
)

// ReserveRequest describes work whose cost is known only afterwards.
type ReserveRequest struct {
	// CheckRequest has the estimated cost. Its Peek is ignored.
	CheckRequest
	// TTL is the time after which the units return if no commit arrives, from a second to ten minutes. The gate takes a minute if it is 0.
	TTL time.Duration
	// AtMost accepts fewer units than the cost, at least one.
	AtMost bool
}

// Reservation holds units until Commit or Cancel, or until ExpiresAtMS.
type Reservation struct {
	// Answer to the reserve. Begin the work only if it is allowed.
	Answer *Answer
	// Reserved are the units that are held; 0 if the reserve was denied or Degraded is DegradedClient.
	Reserved int64
	// ExpiresAtMS is in milliseconds since 1970, by the clock of the gates; nil if nothing is held.
	ExpiresAtMS *int64

	client  *Client
	request CheckRequest
	text    string
}

// Committed is what became of a reservation.
type Committed struct {
	// Charged is the number of units that each matching limit took.
	Charged int64
	// Released are the reserved units that were not used.
	Released int64
	// Late is whether the reservation was no longer open, so that the cost was recorded.
	Late bool
	// Degraded is why nothing was held, or nothing was charged; empty usually.
	Degraded Degraded
	// Buffered is whether the gate holds the commit, because Redis was away, and sends it when Redis returns.
	Buffered bool
}

type reserveBody struct {
	requestBody
	TTLMS  int64 `json:"ttl_ms,omitempty"`
	AtMost bool  `json:"at_most,omitempty"`
}

type commitBody struct {
	Namespace   string            `json:"namespace"`
	Attributes  map[string]string `json:"attributes"`
	Reservation string            `json:"reservation"`
	Cost        int64             `json:"cost"`
}

// Reserve decides as a check, and holds the units until Commit or Cancel of the reservation. If no gate decides, OnError does; nothing is held
// then, and a commit records its cost.
func (c *Client) Reserve(ctx context.Context, request ReserveRequest) (*Reservation, error) {
	request.Peek = false
	reservation, err := c.reserve(ctx, request)
	if err == nil {
		return reservation, nil
	}
	answer, err := c.degraded(ctx, err, request.CheckRequest)
	if err != nil {
		return nil, err
	}
	return &Reservation{Answer: answer, client: c, request: request.CheckRequest}, nil
}

func (c *Client) reserve(ctx context.Context, request ReserveRequest) (*Reservation, error) {
	body := reserveBody{c.withRetryKey(request.CheckRequest).body(), request.TTL.Milliseconds(), request.AtMost}
	found, err := c.post(ctx, pathReserve, body, c.options.Retry)
	if err != nil {
		return nil, err
	}
	gate, err := readAnswer(found.content, found.requestID)
	if err != nil {
		return nil, err
	}
	fields := fieldsOf(found.content, "the reservation")
	reservation := &Reservation{
		Answer:      &gate.answer,
		Reserved:    fields.count("reserved"),
		ExpiresAtMS: fields.countOrNull("expires_at_ms"),
		client:      c,
		request:     request.CheckRequest,
	}
	if !fields.isNull("reservation") {
		reservation.text = fields.text("reservation")
	}
	if fields.fault != nil {
		return nil, fields.fault
	}
	wanted := http.StatusTooManyRequests
	if gate.answer.Allowed {
		wanted = http.StatusOK
	}
	if found.status != wanted || gate.answer.Allowed != (reservation.text != "") {
		return nil, notAnAnswer(found.status)
	}
	return reservation, nil
}

// Commit charges the units that were used, fewer or more than reserved, and releases the reservation. A further commit or cancel changes nothing
// and gets the first answer. If the reservation is no longer open, the cost is recorded. It fails if no gate confirms it.
func (r *Reservation) Commit(ctx context.Context, cost int64) (*Committed, error) {
	if r.text == "" {
		return r.record(ctx, cost)
	}
	c, known := r.client, r.request.body()
	// Any cached denial may have ended.
	defer c.cache.clear()
	body := commitBody{known.Namespace, known.Attributes, r.text, cost}
	// Repeatable: a gate commits a reservation once.
	found, err := c.post(ctx, pathCommit, body, true)
	if err != nil {
		return nil, err
	}
	if found.status != http.StatusOK {
		return nil, notAnAnswer(found.status)
	}
	fields := fieldsOf(found.content, "the commit")
	committed := &Committed{
		Charged:  fields.count("charged"),
		Released: fields.count("released"),
		Late:     fields.flag("late"),
		Degraded: Degraded(fields.oneOfOrNull("degraded", "allow", "deny", "local")),
		Buffered: fields.buffered(),
	}
	if fields.fault != nil {
		return nil, fields.fault
	}
	return committed, nil
}

// Cancel releases the units: a commit of 0. It succeeds also if the reservation is no longer open.
func (r *Reservation) Cancel(ctx context.Context) (*Committed, error) { return r.Commit(ctx, 0) }

// record records the cost of work for which nothing is held.
func (r *Reservation) record(ctx context.Context, cost int64) (*Committed, error) {
	if cost == 0 {
		return &Committed{}, nil
	}
	request := r.request
	request.Cost, request.IdempotencyKey = Units(cost), ""
	answer, err := r.client.Record(ctx, request)
	if err != nil {
		return nil, err
	}
	committed := &Committed{Late: true, Degraded: answer.Degraded, Buffered: answer.Buffered}
	if answer.Charged != nil {
		committed.Charged = *answer.Charged
	}
	return committed, nil
}
