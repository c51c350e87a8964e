package weir

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Degraded is the source of an answer that Redis did not decide; empty if Redis decided.
type Degraded string

const (
	// DegradedAllow and DegradedDeny are the choice of a rule.
	DegradedAllow Degraded = "allow"
	DegradedDeny  Degraded = "deny"
	// DegradedLocal is a decision by the gate's own counters.
	DegradedLocal Degraded = "local"
	// DegradedClient is the choice of OnError.
	DegradedClient Degraded = "client"
)

// Answer to a check.
type Answer struct {
	Allowed bool
	// DeniedBy are the names of the rules that denied the check.
	DeniedBy []string
	// RetryAfterMS is 0 when allowed; on denial the time after which the same check could pass; nil if it never can.
	RetryAfterMS *int64
	// DelayMS is the time to wait before acting (leaky buckets). Wait has waited for it.
	DelayMS int64
	// Limit, Remaining and ResetAfterMS are those of the limit that decides; nil when none does.
	Limit        *int64
	Remaining    *int64
	ResetAfterMS *int64
	Limits       []LimitAnswer
	// Over are the names of the rules in the mode "report" of which a limit is exceeded. They deny nothing: the caller can do less.
	Over []string
	// Leases of concurrency limits that the check took. Release each of them when the work is done.
	Leases []Lease
	// Charge names what the check charged, for Refund; empty if it charged no enforced limit.
	Charge   string
	Degraded Degraded
	// Charged is, in the answer to a record, the number of units that each matching limit took; nil otherwise.
	Charged *int64
	// Buffered is, in the answer to a record, whether the gate holds it, because Redis was away, and sends it when Redis returns.
	Buffered bool
	// Code is "tenant_rate" or "enforcement_off" when no rule decided; empty otherwise.
	Code string
	// RulebookVersion is the version of the rulebook that decided; 0 if Degraded is DegradedClient.
	RulebookVersion int64
	// RequestID is the gate's X-Request-Id, which names the request in the log of denials; empty if no gate answered. Of a cached denial, that
	// of the first one.
	RequestID string
	// Cached is whether this is a denial that the client repeated without asking the gate.
	Cached bool
	// Err is why no gate decided; nil unless Degraded is DegradedClient.
	Err *Error
}

// LimitAnswer is the decision of one limit of one matching rule.
type LimitAnswer struct {
	Rule, RuleID, Algorithm string
	// Mode is "enforce"; "shadow": listed without an effect on the answer; or "report": denies nothing, and Over names the rule when it is
	// exceeded.
	Mode         string
	Allowed      bool
	Limit        int64
	Remaining    *int64
	WindowMS     int64
	ResetAfterMS *int64
	RetryAfterMS *int64
	DelayMS      int64
	// Refunded is, in the answer to a refund, whether units were returned to this limit; nil otherwise.
	Refunded *bool
}

// gateAnswer is an answer as a gate sent it, and for how long a denial can be repeated.
type gateAnswer struct {
	answer     Answer
	cacheForMS int64
}

// readAnswer reads an answer. Anything that is not exactly an answer is an error, so it cannot admit.
func readAnswer(content []byte, requestID string) (*gateAnswer, error) {
	if !utf8.Valid(content) {
		return nil, invalid("the answer", "UTF-8")
	}
	body := fieldsOf(content, "the answer")
	gate := &gateAnswer{answer: Answer{
		Allowed:         body.flag("allowed"),
		DeniedBy:        body.texts("denied_by"),
		RetryAfterMS:    body.countOrNull("retry_after_ms"),
		DelayMS:         body.count("delay_ms"),
		Limit:           body.countOrNull("limit"),
		Remaining:       body.countOrNull("remaining"),
		ResetAfterMS:    body.countOrNull("reset_after_ms"),
		Degraded:        Degraded(body.oneOfOrNull("degraded", "allow", "deny", "local")),
		RulebookVersion: body.count("rulebook_version"),
		RequestID:       requestID,
	}}
	for _, item := range body.list("limits") {
		limit, err := readLimit(item)
		if err != nil {
			return nil, err
		}
		gate.answer.Limits = append(gate.answer.Limits, limit)
	}
	if body.has("leases") {
		for _, item := range body.list("leases") {
			lease, err := readLease(item)
			if err != nil {
				return nil, err
			}
			gate.answer.Leases = append(gate.answer.Leases, lease)
		}
	}
	// Older gates do not send it.
	if body.has("over") {
		gate.answer.Over = body.texts("over")
	}
	if body.has("code") {
		gate.answer.Code = body.text("code")
	}
	// Older gates do not send it.
	if body.has("charge") {
		gate.answer.Charge = body.text("charge")
	}
	if body.has("charged") {
		gate.answer.Charged = body.countOrNull("charged")
	}
	gate.answer.Buffered = body.buffered()
	// Older gates do not send it.
	if body.has("cache_for_ms") {
		gate.cacheForMS = body.count("cache_for_ms")
	}
	if body.fault != nil {
		return nil, body.fault
	}
	return gate, nil
}

// readBatch reads the number of entries of `results` as answers.
func readBatch(found reply, count int) ([]*Answer, error) {
	entries, err := batchEntries(found.content, count)
	if err != nil {
		return nil, err
	}
	answers := make([]*Answer, count)
	for at, entry := range entries {
		gate, err := readAnswer(entry, found.requestID)
		if err != nil {
			return nil, err
		}
		answers[at] = &gate.answer
	}
	return answers, nil
}

// batchEntries are this number of entries of `results`.
func batchEntries(content []byte, count int) ([][]byte, error) {
	body := fieldsOf(content, "the batch")
	var entries [][]byte
	for _, entry := range body.list("results") {
		entries = append(entries, entry)
	}
	if len(entries) != count {
		body.fail("results", strconv.Itoa(count)+" entries")
	}
	if body.fault != nil {
		return nil, body.fault
	}
	return entries, nil
}

func readLimit(content json.RawMessage) (LimitAnswer, error) {
	body := fieldsOf(content, "a limit")
	limit := LimitAnswer{
		Rule:         body.text("rule"),
		RuleID:       body.text("rule_id"),
		Algorithm:    body.text("algorithm"),
		Mode:         body.oneOf("mode", "enforce", "shadow", "report"),
		Allowed:      body.flag("allowed"),
		Limit:        body.count("limit"),
		Remaining:    body.countOrNull("remaining"),
		WindowMS:     body.count("window_ms"),
		ResetAfterMS: body.countOrNull("reset_after_ms"),
		RetryAfterMS: body.countOrNull("retry_after_ms"),
		DelayMS:      body.count("delay_ms"),
	}
	if body.has("refunded") {
		refunded := body.flag("refunded")
		limit.Refunded = &refunded
	}
	if body.fault != nil {
		return limit, body.fault
	}
	return limit, nil
}
