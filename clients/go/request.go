package weir

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

const (
	pathCheck  = "/check"
	pathBatch  = "/check/batch"
	pathRecord = "/record"
	pathRefund = "/refund"

	pathReserve = "/reserve"
	pathCommit  = "/commit"
	pathRenew   = "/renew"
	pathRelease = "/release"
	pathExhaust = "/exhaust"

	pathDefer    = "/defer"
	pathDeferred = "/deferred/"
)

// CheckRequest describes an action.
type CheckRequest struct {
	// Namespace is the group of rules.
	Namespace string
	// Attributes are the names and values by which rules test and count.
	Attributes map[string]string
	// Cost is the number of units (see Units). The gate takes 1 if it is nil.
	Cost *int64
	// Peek answers without taking anything.
	Peek bool
	// IdempotencyKey makes a repeat within 60 s get the first answer and take nothing, if it is not empty.
	IdempotencyKey string
	// Charge is, of a refund, the Charge of the answer to the check: units return only to the window, bucket or entry that was charged.
	Charge string
}

// Units is a cost: CheckRequest{Cost: weir.Units(3)}.
func Units(count int64) *int64 { return &count }

type requestBody struct {
	Namespace      string            `json:"namespace"`
	Attributes     map[string]string `json:"attributes"`
	Cost           *int64            `json:"cost,omitempty"`
	Mode           string            `json:"mode,omitempty"`
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
	Charge         string            `json:"charge,omitempty"`
}

func (r CheckRequest) body() requestBody {
	body := requestBody{r.Namespace, r.Attributes, r.Cost, "", r.IdempotencyKey, r.Charge}
	if body.Attributes == nil {
		body.Attributes = map[string]string{}
	}
	if r.Peek {
		body.Mode = "peek"
	}
	return body
}

// cacheKey is equal for requests that every rulebook decides alike. A smaller cost can pass, so the cost belongs to it.
func (r CheckRequest) cacheKey() (string, bool) {
	if r.Peek || r.IdempotencyKey != "" {
		return "", false
	}
	if r.Cost == nil {
		r.Cost = Units(1)
	}
	// Maps are written in the order of their keys.
	key, err := json.Marshal(r.body())
	return string(key), err == nil
}

// withRetryKey adds an idempotency key, if the request can be sent twice and would take or return units.
func (c *Client) withRetryKey(request CheckRequest) CheckRequest {
	if c.options.Retry && !request.Peek && request.IdempotencyKey == "" {
		request.IdempotencyKey = newKey()
	}
	return request
}

func newKey() string {
	key := make([]byte, 16)
	if _, err := rand.Read(key); err != nil {
		panic(fmt.Sprintf("weir: the system has no random numbers: %v", err))
	}
	return hex.EncodeToString(key)
}
