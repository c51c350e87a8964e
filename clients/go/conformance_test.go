package weir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// row is one of the cases of conformance.json.
type row struct {
	Name    string `json:"name"`
	Server  string `json:"server"`
	Options struct {
		Key           string `json:"key"`
		OnError       Choice `json:"on_error"`
		TimeoutMS     int64  `json:"timeout_ms"`
		Retry         bool   `json:"retry"`
		CacheSize     *int   `json:"cache_size"`
		MaxInFlight   int    `json:"max_in_flight"`
		MaxWaiting    int    `json:"max_waiting"`
		RetrySpreadMS *int64 `json:"retry_spread_ms"`
	} `json:"options"`
	Steps    []step  `json:"steps"`
	Requests *int    `json:"requests"`
	SameKey  bool    `json:"same_key"`
	Sleeps   []int64 `json:"sleeps"`
	Random   float64 `json:"random"`
	// Of the section `concurrent`.
	Calls    []step   `json:"calls"`
	Paths    []string `json:"paths"`
	Times    int      `json:"times"`
	Admitted int      `json:"allowed"`
}

type step struct {
	Call           string            `json:"call"`
	Namespace      string            `json:"namespace"`
	Attributes     map[string]string `json:"attributes"`
	Cost           *int64            `json:"cost"`
	Peek           bool              `json:"peek"`
	IdempotencyKey string            `json:"idempotency_key"`
	MaxMS          int64             `json:"max_ms"`
	TTLMS          int64             `json:"ttl_ms"`
	AtMost         bool              `json:"at_most"`
	ForMS          int64             `json:"for_ms"`
	Charge         string            `json:"charge"`
	Lease          string            `json:"lease"`
	Job            string            `json:"job"`
	Target         string            `json:"target"`
	Payload        any               `json:"payload"`
	NotAfterMS     int64             `json:"not_after_ms"`
	TimeoutMS      int64             `json:"timeout_ms"`
	Until          bool              `json:"until"`
	Checks         []step            `json:"checks"`
	Expect         map[string]any    `json:"expect"`
	Results        []map[string]any  `json:"results"`
	Error          *struct {
		Kind   Kind     `json:"kind"`
		Status int      `json:"status"`
		Fields []string `json:"fields"`
	} `json:"error"`
}

func TestRowsOfTheConformanceFile(t *testing.T) {
	for position, row := range rows(t) {
		row, position := row, position
		t.Run(row.Name, func(t *testing.T) { row.run(t, position) })
	}
}

func (row row) options(t *testing.T, position int) Options {
	options := Options{
		URL:         map[string]string{"gate": gate(t), "stub": stub(t, position, run), "closed": closedPort(t)}[row.Server],
		Key:         row.Options.Key,
		Timeout:     milliseconds(row.Options.TimeoutMS),
		Retry:       row.Options.Retry,
		MaxInFlight: row.Options.MaxInFlight,
		MaxWaiting:  row.Options.MaxWaiting,
		Random:      func() float64 { return row.Random },
	}
	if row.Options.OnError != "" {
		options.OnError = row.Options.OnError
	}
	if size := row.Options.CacheSize; size != nil {
		options.CacheSize = *size
		if *size == 0 {
			options.CacheSize = -1
		}
	}
	if ms := row.Options.RetrySpreadMS; ms != nil {
		options.RetrySpread = milliseconds(*ms)
		if *ms == 0 {
			options.RetrySpread = -1
		}
	}
	return options
}

func (row row) run(t *testing.T, position int) {
	options := row.options(t, position)
	var slept []int64
	if row.Server == "stub" {
		options.sleep = func(_ context.Context, pause time.Duration) error {
			slept = append(slept, pause.Milliseconds())
			return nil
		}
	}
	if !row.waits() {
		// A busy machine must not outlast a cached denial.
		start := time.Now()
		options.now = func() time.Time { return start }
	}
	weir := client(t, options)
	var open *Reservation
	lease, job, charge := "lease_x", "deferred_x", ""
	for nth, step := range row.Steps {
		where := fmt.Sprintf("step %d", nth)
		switch step.Call {
		case "reserve":
			open = step.reserve(t, weir, where)
		case "commit", "cancel":
			step.commit(t, open, where)
		case "renew", "release":
			step.settle(t, weir, lease, where)
		case "defer", "deferred", "cancel_deferred":
			job = step.queue(t, weir, job, where)
		default:
			if step.Charge == "$CHARGE" {
				step.Charge = charge
			}
			for _, answer := range step.take(t, weir, where) {
				if answer.Charge != "" {
					charge = answer.Charge
				}
				if len(answer.Leases) > 0 {
					lease = answer.Leases[0].ID
				}
			}
		}
	}
	if row.Sleeps != nil && !reflect.DeepEqual(slept, row.Sleeps) {
		t.Errorf("sleeps: %v", slept)
	}
	if row.Server == "stub" {
		row.compareRequests(t, options.URL+"/requests")
	}
}

func (row row) waits() bool {
	for _, step := range row.Steps {
		if step.Call == "wait" {
			return true
		}
	}
	return false
}

func (step step) take(t *testing.T, weir *Client, where string) []*Answer {
	t.Helper()
	answers, err := step.call(weir)
	if step.Error != nil {
		step.compareError(t, err, where)
		return nil
	}
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	expected := step.Results
	if step.Call != "batch" {
		expected = []map[string]any{step.Expect}
	}
	if len(answers) != len(expected) {
		t.Fatalf("%s: %d answers", where, len(answers))
	}
	for at, wanted := range expected {
		compare(t, answers[at], wanted, where)
	}
	return answers
}

// settle renews or releases a lease.
func (step step) settle(t *testing.T, weir *Client, lease, where string) {
	t.Helper()
	if step.Lease != "" {
		lease = step.Lease
	}
	found := map[string]any{}
	var err error
	if step.Call == "renew" {
		var renewed *Renewed
		if renewed, err = weir.Renew(context.Background(), lease); err == nil {
			found["held"], found["degraded"] = renewed.Held, textOrNil(string(renewed.Degraded))
		}
	} else {
		var released *Released
		if released, err = weir.Release(context.Background(), lease); err == nil {
			found["released"], found["degraded"] = released.Released, textOrNil(string(released.Degraded))
		}
	}
	if step.Error != nil {
		step.compareError(t, err, where)
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	for name, value := range step.Expect {
		if found[name] != value {
			t.Errorf("%s: %s is %v, not %v", where, name, found[name], value)
		}
	}
}

// queue makes a call about a deferred job, and returns the id of the last one.
func (step step) queue(t *testing.T, weir *Client, job, where string) string {
	t.Helper()
	if step.Job != "" {
		job = step.Job
	}
	for deadline := time.Now().Add(generous); ; time.Sleep(5 * time.Millisecond) {
		found, err := step.ask(t, weir, &job)
		if step.Error != nil {
			step.compareError(t, err, where)
			return job
		}
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		fault := step.wrong(found)
		if fault == "" {
			return job
		}
		if !step.Until || time.Now().After(deadline) {
			t.Fatalf("%s: %s", where, fault)
		}
	}
}

func (step step) ask(t *testing.T, weir *Client, job *string) (map[string]any, error) {
	t.Helper()
	ctx, found := context.Background(), map[string]any{"state": nil}
	var state *DeferredJob
	var err error
	switch step.Call {
	case "cancel_deferred":
		found["removed"], err = weir.CancelDeferred(ctx, *job)
	case "deferred":
		state, err = weir.Deferred(ctx, *job)
	default:
		target := step.Target
		if target == "" {
			target = needed(t, "WEIR_WEBHOOK")
		}
		request := DeferRequest{step.request(), target, step.Payload, milliseconds(step.NotAfterMS), milliseconds(step.TimeoutMS)}
		var deferral *Deferral
		if deferral, err = weir.Defer(ctx, request); err == nil {
			state, found["answer"] = deferral.Job, nil
			if deferral.Answer != nil {
				found["answer"] = inJSON(deferral.Answer)
			}
		}
	}
	if state != nil {
		*job = state.ID
		found["state"], found["position"], found["charged"] = string(state.State), float64(state.Position), state.Charged
		found["attempts"], found["error"] = float64(state.Attempts), textOrNil(state.Err)
	}
	return found, err
}

// wrong is the first difference between what was found and what was expected.
func (step step) wrong(found map[string]any) string {
	for name, value := range step.Expect {
		wanted, isAnswer := value.(map[string]any)
		if !isAnswer && found[name] != value {
			return fmt.Sprintf("%s is %v, not %v", name, found[name], value)
		}
		answer, _ := found[name].(map[string]any)
		for field, value := range wanted {
			if got, known := answer[field]; !known || got != value {
				return fmt.Sprintf("%s of the answer is %v, not %v", field, got, value)
			}
		}
	}
	return ""
}

func (step step) reserve(t *testing.T, weir *Client, where string) *Reservation {
	t.Helper()
	request := ReserveRequest{step.request(), milliseconds(step.TTLMS), step.AtMost}
	reservation, err := weir.Reserve(context.Background(), request)
	if step.Error != nil {
		step.compareError(t, err, where)
		return nil
	}
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	if wanted, expected := step.Expect["reserved"]; expected && wanted != float64(reservation.Reserved) {
		t.Errorf("%s: %d reserved, not %v", where, reservation.Reserved, wanted)
	}
	delete(step.Expect, "reserved")
	compare(t, reservation.Answer, step.Expect, where)
	return reservation
}

func (step step) commit(t *testing.T, open *Reservation, where string) {
	t.Helper()
	var cost int64
	if step.Call == "commit" {
		cost = *step.Cost
	}
	committed, err := open.Commit(context.Background(), cost)
	if step.Error != nil {
		step.compareError(t, err, where)
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	found := map[string]any{
		"charged": float64(committed.Charged), "released": float64(committed.Released), "late": committed.Late,
		"degraded": textOrNil(string(committed.Degraded)), "buffered": committed.Buffered,
	}
	for name, value := range step.Expect {
		if found[name] != value {
			t.Errorf("%s: %s is %v, not %v", where, name, found[name], value)
		}
	}
}

func (step step) call(weir *Client) ([]*Answer, error) {
	ctx, request := context.Background(), step.request()
	one := func(answer *Answer, err error) ([]*Answer, error) { return []*Answer{answer}, err }
	switch step.Call {
	case "check":
		return one(weir.Check(ctx, request))
	case "peek":
		return one(weir.Peek(ctx, request))
	case "record":
		return one(weir.Record(ctx, request))
	case "refund":
		return one(weir.Refund(ctx, request))
	case "exhaust":
		return one(weir.Exhaust(ctx, request, milliseconds(step.ForMS)))
	case "wait":
		return one(weir.Wait(ctx, request, milliseconds(step.MaxMS)))
	case "batch":
		requests := make([]CheckRequest, len(step.Checks))
		for at, check := range step.Checks {
			requests[at] = check.request()
		}
		return weir.Batch(ctx, requests)
	}
	return nil, fmt.Errorf("no call %s", step.Call)
}

func (step step) request() CheckRequest {
	ofRun := func(text string) string { return strings.ReplaceAll(text, "$RUN", run) }
	attributes := map[string]string{}
	for name, value := range step.Attributes {
		attributes[name] = ofRun(value)
	}
	namespace := step.Namespace
	if namespace == "" {
		namespace = "conformance"
	}
	return CheckRequest{namespace, attributes, step.Cost, step.Peek, ofRun(step.IdempotencyKey), step.Charge}
}

func (step step) compareError(t *testing.T, err error, where string) {
	t.Helper()
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatalf("%s: no error of a gate but %v", where, err)
	}
	var names []string
	for _, one := range failure.Fields {
		names = append(names, one.Field)
	}
	wanted := step.Error
	if failure.Kind != wanted.Kind || (wanted.Status != 0 && failure.Status != wanted.Status) ||
		(wanted.Fields != nil && !reflect.DeepEqual(names, wanted.Fields)) {
		t.Fatalf("%s: %+v", where, failure)
	}
}

func compare(t *testing.T, answer *Answer, wanted map[string]any, where string) {
	t.Helper()
	found := inJSON(answer)
	for name, value := range wanted {
		bounds, _ := value.(map[string]any)
		switch {
		case name == "headers":
			for header, text := range bounds {
				if got := textOrNil(answer.Headers().Get(header)); got != text {
					t.Errorf("%s: %s is %v, not %v", where, header, got, text)
				}
			}
		case bounds != nil:
			number, _ := found[name].(float64)
			if number < bounds["min"].(float64) || number > bounds["max"].(float64) {
				t.Errorf("%s: %s is %v", where, name, found[name])
			}
		case !reflect.DeepEqual(found[name], value):
			t.Errorf("%s: %s is %v, not %v", where, name, found[name], value)
		}
	}
}

// inJSON are the fields of an answer by the names that the cases use, with the types of decoded JSON.
func inJSON(answer *Answer) map[string]any {
	fields := map[string]any{
		"allowed": answer.Allowed, "denied_by": append([]string{}, answer.DeniedBy...), "retry_after_ms": answer.RetryAfterMS,
		"delay_ms": answer.DelayMS, "limit": answer.Limit, "remaining": answer.Remaining, "reset_after_ms": answer.ResetAfterMS,
		"limits": len(answer.Limits), "leases": len(answer.Leases), "degraded": textOrNil(string(answer.Degraded)), "code": textOrNil(answer.Code),
		"over": append([]string{}, answer.Over...), "request_id": textOrNil(answer.RequestID),
		"cached": answer.Cached, "charged": answer.Charged, "buffered": answer.Buffered, "error": nil,
	}
	if answer.Err != nil {
		fields["error"] = answer.Err.Kind
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	var decoded map[string]any
	if err := json.Unmarshal(text, &decoded); err != nil {
		panic(err)
	}
	return decoded
}

func (row row) compareRequests(t *testing.T, url string) {
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var requests []struct {
		Body struct {
			Key string `json:"idempotency_key"`
		} `json:"body"`
	}
	if err := json.Unmarshal(content, &requests); err != nil {
		t.Fatal(err)
	}
	if row.Requests != nil && len(requests) != *row.Requests {
		t.Errorf("%d requests", len(requests))
	}
	for _, request := range requests {
		if key := request.Body.Key; row.SameKey && (len(key) < 16 || key != requests[0].Body.Key) {
			t.Errorf("key %q", key)
		}
	}
}

func rows(t *testing.T) []row { return conformance(t).Cases }

type file struct {
	Cases      []row `json:"cases"`
	Concurrent struct {
		Cases []row `json:"cases"`
	} `json:"concurrent"`
	Middleware struct {
		Cases []contract `json:"cases"`
	} `json:"middleware"`
}

func conformance(t *testing.T) file {
	content, err := os.ReadFile("../conformance.json")
	if err != nil {
		t.Fatal(err)
	}
	var file file
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}
