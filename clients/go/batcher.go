package weir

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// A gate reads 64 KiB; this leaves room for what is around the checks.
const batchLengthMax = 64<<10 - 16

// batcher sends checks: at once while fewer than MaxInFlight calls are in flight. Otherwise they wait in order, and the next call carries all
// that wait, as a batch.
type batcher struct {
	client *Client
	mutex  sync.Mutex
	queue  *list.List
	// Calls with checks that are undecided, and all calls: an abandoned one continues, so that a late answer does not cost its connection.
	inFlight, live int
}

// pending is a check that waits or is in flight. The mutex of the batcher guards all but body, repeatable, ctx and deadline.
type pending struct {
	ctx        context.Context
	body       []byte
	repeatable bool
	deadline   time.Time
	outcome    chan outcome
	done       bool
	// Whether a batch with this check was refused because of it.
	alone bool
	// The place in the queue; nil if it does not wait.
	place *list.Element
	call  *batchCall
}

type outcome struct {
	gate   *gateAnswer
	sentAt time.Time
	err    error
}

// batchCall is a call of checks.
type batchCall struct {
	checks    []*pending
	undecided int
}

// ask returns the decision of a check, and the time before it was sent.
func (b *batcher) ask(ctx context.Context, body []byte, repeatable bool) (*gateAnswer, time.Time, error) {
	if err := ctx.Err(); err != nil {
		return nil, time.Time{}, err
	}
	options := b.client.options
	limited, cancel := context.WithTimeout(ctx, options.Timeout)
	defer cancel()
	check := &pending{ctx: ctx, body: body, repeatable: repeatable, outcome: make(chan outcome, 1)}
	check.deadline = time.Now().Add(options.Timeout)
	if !b.enqueue(check) {
		message := fmt.Sprintf("%d checks wait already", options.MaxWaiting)
		return nil, time.Time{}, &Error{Kind: Overload, Message: message}
	}
	select {
	case found := <-check.outcome:
		return found.gate, found.sentAt, found.err
	case <-limited.Done():
	}
	b.settle(check, outcome{err: &Error{Kind: Timeout, Message: "the gate did not answer in time", cause: limited.Err()}})
	// Empty unless an answer arrived at the same time.
	found := <-check.outcome
	if found.gate == nil && ctx.Err() != nil {
		return nil, time.Time{}, ctx.Err()
	}
	return found.gate, found.sentAt, found.err
}

func (b *batcher) enqueue(check *pending) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if !b.canSend() && b.queue.Len() >= b.client.options.MaxWaiting {
		return false
	}
	check.place = b.queue.PushBack(check)
	b.sendNext()
	return true
}

// settle decides a check, unless it was decided before: then it returns false.
func (b *batcher) settle(check *pending, found outcome) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if check.done {
		return false
	}
	check.done = true
	check.outcome <- found
	if check.place != nil {
		b.queue.Remove(check.place)
		check.place = nil
	}
	if check.call != nil {
		b.leave(check)
		b.sendNext()
	}
	return true
}

// leave takes a check off its call. A call without checks is in flight no longer.
func (b *batcher) leave(check *pending) {
	if check.call.undecided--; check.call.undecided == 0 {
		b.inFlight--
	}
	check.call = nil
}

func (b *batcher) canSend() bool {
	most := b.client.options.MaxInFlight
	return b.inFlight < most && b.live < 2*most
}

func (b *batcher) sendNext() {
	for b.canSend() && b.queue.Len() > 0 {
		checks := b.take()
		call := &batchCall{checks: checks, undecided: len(checks)}
		for _, check := range checks {
			check.call = call
		}
		b.inFlight++
		b.live++
		go b.send(call)
	}
}

// take removes the oldest checks that wait, as many as one call can carry.
func (b *batcher) take() []*pending {
	var taken []*pending
	length := 0
	for place := b.queue.Front(); place != nil; place = b.queue.Front() {
		check := place.Value.(*pending)
		length += len(check.body) + 1
		// The checks of a refused batch are sent again, so those that can be repeated travel apart.
		fits := len(taken) < batchMax && length <= batchLengthMax && !check.alone
		if len(taken) > 0 && (!fits || check.repeatable != taken[0].repeatable) {
			break
		}
		b.queue.Remove(place)
		check.place = nil
		taken = append(taken, check)
		if check.alone {
			break
		}
	}
	return taken
}

func (b *batcher) send(call *batchCall) {
	defer b.end()
	checks, options := call.checks, b.client.options
	first, sentAt := checks[0], options.now()
	path, body := pathCheck, first.body
	latest := first.deadline
	if len(checks) > 1 {
		bodies := make([][]byte, len(checks))
		for at, check := range checks {
			bodies[at] = check.body
			if check.deadline.After(latest) {
				latest = check.deadline
			}
		}
		path, body = pathBatch, bytes.Join([][]byte{[]byte(`{"checks":[`), bytes.Join(bodies, []byte(",")), []byte("]}")}, nil)
	}
	// No check is in time any longer by then.
	longest := time.Until(latest) + options.Timeout
	// The check that ends its context ends neither the call nor the checks beside it.
	found, err := b.client.postWithin(detached{first.ctx}, longest, path, body, first.repeatable)
	var failure *Error
	if len(checks) > 1 && errors.As(err, &failure) && failure.Kind == Refused {
		b.sendAgain(checks, failure)
		return
	}
	outcomes := outcomesOf(found, err, len(checks))
	for at, check := range checks {
		outcomes[at].sentAt = sentAt
		if !b.settle(check, outcomes[at]) && outcomes[at].gate != nil {
			b.client.releaseAll(outcomes[at].gate.answer.Leases)
		}
	}
}

func (b *batcher) end() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.live--
	b.sendNext()
}

// outcomesOf are those of each check. An entry that is no answer fails its own check alone.
func outcomesOf(found reply, err error, count int) []outcome {
	outcomes := make([]outcome, count)
	var entries [][]byte
	switch {
	case err != nil:
	case count == 1:
		entries = [][]byte{found.content}
	case found.status != http.StatusOK:
		err = notAnAnswer(found.status)
	default:
		entries, err = batchEntries(found.content, count)
	}
	for at := range outcomes {
		if err != nil {
			outcomes[at].err = err
			continue
		}
		gate, fault := readAnswer(entries[at], found.requestID)
		if fault == nil && count == 1 && !fits(pathCheck, found.status, &gate.answer) {
			gate, fault = nil, notAnAnswer(found.status)
		}
		outcomes[at] = outcome{gate: gate, err: fault}
	}
	return outcomes
}

var checkOfField = regexp.MustCompile(`^checks\[(\d+)\]`)

// sendAgain puts the checks of a refused batch back, the wrong ones alone.
func (b *batcher) sendAgain(checks []*pending, refusal *Error) {
	wrong := map[int]bool{}
	for _, one := range refusal.Fields {
		if named := checkOfField.FindStringSubmatch(one.Field); named != nil {
			if at, err := strconv.Atoi(named[1]); err == nil && at < len(checks) {
				wrong[at] = true
			}
		}
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for at := len(checks) - 1; at >= 0; at-- {
		check := checks[at]
		if check.done {
			continue
		}
		b.leave(check)
		check.alone = len(wrong) == 0 || wrong[at]
		check.place = b.queue.PushFront(check)
	}
}

// releaseAll ends leases of a check that was given up: nobody else can. One that is not released ends by itself.
func (c *Client) releaseAll(leases []Lease) {
	for _, lease := range leases {
		_, _ = c.Release(context.Background(), lease.ID)
	}
}

// detached has the values of a context, but does not end with it.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
