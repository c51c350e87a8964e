package weir

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestFrozenGateLeavesTheDecisionToOnErrorAndIsUsedAgainWhenItContinues(t *testing.T) {
	patient := client(t, Options{})
	expectDecision(t, patient)
	process := gateProcess(t)
	signalTo(t, process, syscall.SIGSTOP)
	defer expectDecision(t, patient)
	defer signalTo(t, process, syscall.SIGCONT)
	var degraded atomic.Int64
	for _, choice := range []Choice{Deny, Allow} {
		count := func(failure *Error) {
			if failure.Kind == Timeout {
				degraded.Add(1)
			}
		}
		weir := client(t, Options{OnError: choice, Timeout: 100 * time.Millisecond, OnDegraded: count})
		atOnce(20, func() {
			answer, err := weir.Check(context.Background(), subject)
			if err != nil || answer.Allowed != (choice == Allow) || answer.Degraded != DegradedClient || answer.Err.Kind != Timeout {
				t.Errorf("%+v, %v", answer, err)
			}
		})
		if _, err := weir.Refund(context.Background(), subject); !isKind(err, Timeout) {
			t.Errorf("a refund: %v", err)
		}
	}
	if degraded.Load() != 40 {
		t.Errorf("OnDegraded was called %d times", degraded.Load())
	}
}

func expectDecision(t *testing.T, weir *Client) {
	answer, err := weir.Peek(context.Background(), subject)
	if err != nil || answer.Degraded != "" {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestContextThatEndsIsNoFailureOfAGate(t *testing.T) {
	weir := client(t, Options{OnError: Allow, OnDegraded: func(failure *Error) { t.Errorf("degraded: %v", failure) }})
	ended, end := context.WithCancel(context.Background())
	end()
	if answer, err := weir.Check(ended, subject); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", answer, err)
	}
	if _, err := weir.Wait(ended, subject, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestOnErrorCanBeAFunctionOfTheErrorAndTheRequest(t *testing.T) {
	choose := OnErrorFunc(func(failure *Error, request CheckRequest) Choice {
		if failure.Kind == Connection && *request.Cost == 2 {
			return Allow
		}
		return "yes"
	})
	weir := client(t, Options{URL: closedPort(t), OnError: choose})
	for cost, allowed := range map[int64]bool{1: false, 2: true} {
		answer, err := weir.Check(context.Background(), CheckRequest{Namespace: "a", Cost: Units(cost)})
		if err != nil || answer.Allowed != allowed {
			t.Errorf("cost %d: %+v, %v", cost, answer, err)
		}
	}
}

func TestGoroutinesShareAClient(t *testing.T) {
	weir := client(t, Options{})
	request := CheckRequest{Namespace: "conformance", Attributes: map[string]string{"suite": "window", "user": "routines-" + run}}
	var allowed atomic.Int64
	atOnce(12, func() {
		if answer, err := weir.Check(context.Background(), request); err == nil && answer.Allowed {
			allowed.Add(1)
		}
	})
	if allowed.Load() != 2 {
		t.Errorf("%d were allowed", allowed.Load())
	}
}

func Test10000CallsLeaveNoSocketOpen(t *testing.T) {
	before := sockets(t)
	for _, url := range []string{gate(t), closedPort(t)} {
		weir := client(t, Options{URL: url})
		atOnce(8, func() {
			for call := 0; call < 625; call++ {
				if _, err := weir.Peek(context.Background(), subject); err != nil {
					t.Error(err)
				}
			}
		})
		// A call that opens a connection can get one that was returned meanwhile: then both stay open for a while.
		if open := sockets(t) - before; open > 16 {
			t.Errorf("%d sockets of %s are open", open, url)
		}
		weir.Close()
	}
	for deadline := time.Now().Add(generous); sockets(t) > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d sockets are open", sockets(t)-before)
		}
	}
}

// sockets is the number of open ones of this process.
func sockets(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("reads /proc")
	}
	count := 0
	for _, entry := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(target, "socket:") {
			count++
		}
	}
	return count
}

func atOnce(count int, action func()) {
	var group sync.WaitGroup
	for nth := 0; nth < count; nth++ {
		group.Add(1)
		go func() {
			defer group.Done()
			action()
		}()
	}
	group.Wait()
}

func isKind(err error, kind Kind) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Kind == kind
}
