package weir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// contract is one of the cases of the section `middleware`.
type contract struct {
	row
	Limits []struct {
		Attributes       map[string]string `json:"attributes"`
		Cost             int64             `json:"cost"`
		Headers          *bool             `json:"headers"`
		Skip             bool              `json:"skip"`
		RefundFromStatus int               `json:"refund_from_status"`
		OnRefused        *struct {
			Status  int               `json:"status"`
			Headers map[string]string `json:"headers"`
			Body    string            `json:"body"`
		} `json:"on_refused"`
	} `json:"limits"`
	Requests []struct {
		Handler handlerOf      `json:"handler"`
		Expect  map[string]any `json:"expect"`
		After   *step          `json:"after"`
	} `json:"requests"`
	Decisions      []map[string]any `json:"decisions"`
	RefundStatuses []int            `json:"refund_statuses"`
	Last           *struct {
		Path  string `json:"path"`
		Lease string `json:"lease"`
	} `json:"last"`
}

type handlerOf struct {
	Status        int               `json:"status"`
	Headers       map[string]string `json:"headers"`
	Fails         bool              `json:"fails"`
	Leaves        bool              `json:"leaves"`
	UntilRenewals int               `json:"until_renewals"`
}

func TestConcurrentCasesOfTheConformanceFile(t *testing.T) {
	file := conformance(t)
	for nth, row := range file.Concurrent.Cases {
		row, position := row, len(file.Cases)+nth
		t.Run(row.Name, func(t *testing.T) { row.runAtOnce(t, position) })
	}
}

func (row row) runAtOnce(t *testing.T, position int) {
	options := row.options(t, position)
	// Nothing arrives before all have begun.
	begun := make(chan struct{})
	options.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		select {
		case <-begun:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		return http.DefaultTransport.RoundTrip(r)
	})}
	weir := client(t, options)
	calls := row.Calls
	for len(calls) < row.Times {
		calls = append(calls, calls[0])
	}
	var group sync.WaitGroup
	var admitted atomic.Int64
	for nth, step := range calls {
		nth, step := nth, step
		group.Add(1)
		go func() {
			defer group.Done()
			if row.Times == 0 {
				step.take(t, weir, fmt.Sprintf("call %d", nth))
			} else if answers, err := step.call(weir); err == nil && answers[0].Allowed {
				admitted.Add(1)
			}
		}()
		if row.Times == 0 && !(options.MaxWaiting > 0 && nth > options.MaxWaiting) {
			until(t, func() bool { return weir.batcher.undecided() > nth })
		}
	}
	close(begun)
	group.Wait()
	if row.Times > 0 && int(admitted.Load()) != row.Admitted {
		t.Errorf("%d were admitted", admitted.Load())
	}
	if row.Paths != nil {
		var paths []string
		for _, request := range requestsAt(t, options.URL) {
			paths = append(paths, request.Path)
		}
		expect(t, reflect.DeepEqual(paths, row.Paths), paths)
	}
}

// undecided is the number of checks that wait or are in flight.
func (b *batcher) undecided() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.queue.Len() + b.inFlight
}

type arrived struct {
	Path string `json:"path"`
	Body struct {
		Lease string `json:"lease"`
	} `json:"body"`
	Traceparent string `json:"traceparent"`
}

func requestsAt(t *testing.T, url string) []arrived {
	t.Helper()
	response, err := http.Get(url + "/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var requests []arrived
	if err := json.NewDecoder(response.Body).Decode(&requests); err != nil {
		t.Fatal(err)
	}
	return requests
}

func TestMiddlewareCasesOfTheConformanceFile(t *testing.T) {
	file := conformance(t)
	for nth, contract := range file.Middleware.Cases {
		contract, position := contract, len(file.Cases)+len(file.Concurrent.Cases)+nth
		t.Run(contract.Name, func(t *testing.T) { contract.run(t, position) })
	}
}

func (c contract) run(t *testing.T, position int) {
	options := c.row.options(t, position)
	options.CacheSize = -1
	weir := client(t, options)
	var handler handlerOf
	var answer *Answer
	handled := false
	var decisions []*Answer
	statuses := []int{}
	// Of the handler of a request whose client goes away.
	begun, ended := make(chan struct{}), make(chan struct{})
	var app http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handled, answer = true, AnswerOf(r.Context())
		if handler.Leaves {
			close(begun)
			<-r.Context().Done()
			return
		}
		handler.serve(t, w, options.URL)
	})
	for at := len(c.Limits) - 1; at >= 0; at-- {
		limit := c.limit(t, at, func(answer *Answer) { decisions = append(decisions, answer) })
		if from := c.Limits[at].RefundFromStatus; from > 0 {
			limit.RefundWhen = func(status int) bool { statuses = append(statuses, status); return status >= from }
		}
		app = weir.Middleware(limit)(app)
	}
	server := served(t, recovering(app, func() {
		if handler.Leaves {
			close(ended)
		}
	}))
	for nth, request := range c.Requests {
		where := fmt.Sprintf("request %d", nth)
		handler, answer, handled = request.Handler, nil, false
		if handler.Leaves {
			server.leave(begun)
			<-ended
		} else {
			compareResponse(t, server.get("/"), request.Expect, where)
		}
		if wanted, expected := request.Expect["handled"]; expected && wanted != handled {
			t.Errorf("%s: handled: %v", where, handled)
		}
		switch wanted := request.Expect["answer"].(type) {
		case map[string]any:
			compare(t, answer, wanted, where)
		default:
			_, expected := request.Expect["answer"]
			expect(t, !expected || answer == nil, answer)
		}
		if after := request.After; after != nil {
			until(t, func() bool {
				answers, err := after.call(weir)
				return err == nil && fitsAnswer(answers[0], after.Expect)
			})
		}
	}
	if c.Decisions != nil {
		expect(t, len(decisions) == len(c.Decisions), decisions)
		for at, wanted := range c.Decisions {
			compare(t, decisions[at], wanted, "decision")
		}
	}
	if c.RefundStatuses != nil {
		expect(t, reflect.DeepEqual(statuses, c.RefundStatuses), statuses)
	}
	if last := c.Last; last != nil {
		until(t, func() bool {
			requests := requestsAt(t, options.URL)
			found := requests[len(requests)-1]
			return found.Path == last.Path && found.Body.Lease == last.Lease
		})
	}
}

func (c contract) limit(t *testing.T, at int, decided func(*Answer)) MiddlewareOptions {
	limit := c.Limits[at]
	attributes := step{Attributes: limit.Attributes}.request().Attributes
	options := MiddlewareOptions{
		Namespace:     "conformance",
		Attributes:    func(*http.Request) (map[string]string, error) { return attributes, nil },
		Skip:          func(*http.Request) bool { return limit.Skip },
		NoHeaders:     limit.Headers != nil && !*limit.Headers,
		OnDecision:    func(answer *Answer, _ time.Duration) { decided(answer) },
		OnCheckError:  func(err error) { t.Error(err) },
		OnRefundError: func(err error) { t.Error(err) },
	}
	if limit.Cost > 0 {
		options.Cost = func(*http.Request) int64 { return limit.Cost }
	}
	if own := limit.OnRefused; own != nil {
		options.OnRefused = func(w http.ResponseWriter, _ *http.Request, _ *Answer) {
			for name, value := range own.Headers {
				w.Header().Set(name, value)
			}
			w.WriteHeader(own.Status)
			_, _ = io.WriteString(w, own.Body)
		}
	}
	return options
}

func (h handlerOf) serve(t *testing.T, w http.ResponseWriter, url string) {
	if h.UntilRenewals > 0 {
		until(t, func() bool { return renewals(t, url) >= h.UntilRenewals })
	}
	if h.Fails {
		panic(errors.New("the handler fails"))
	}
	for name, value := range h.Headers {
		w.Header().Set(name, value)
	}
	if h.Status > 0 {
		w.WriteHeader(h.Status)
	}
}

func renewals(t *testing.T, url string) int {
	count := 0
	for _, request := range requestsAt(t, url) {
		if request.Path == "/renew" {
			count++
		}
	}
	return count
}

// recovering answers 500 if a handler panics, as frameworks do, and reports that it has ended.
func recovering(next http.Handler, ended func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer ended()
		defer func() {
			if recover() != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func compareResponse(t *testing.T, found response, wanted map[string]any, where string) {
	t.Helper()
	for name, value := range wanted {
		switch name {
		case "status":
			expect(t, float64(found.status) == value, where+": "+strconv.Itoa(found.status))
		case "body":
			expect(t, found.body == value, where+": "+found.body)
		case "code":
			expect(t, found.code() == value, where+": "+found.body)
		case "headers":
			for header, value := range value.(map[string]any) {
				if got := found.header.Get(header); !headerFits(got, value) {
					t.Errorf("%s: %s is %q, not %v", where, header, got, value)
				}
			}
		}
	}
}

func headerFits(got string, wanted any) bool {
	switch wanted := wanted.(type) {
	case nil:
		return got == ""
	case string:
		return strings.Split(got, "; charset")[0] == wanted
	case []any:
		items := strings.Split(got, ", ")
		if len(items) != len(wanted) {
			return false
		}
		for at, begin := range wanted {
			if !strings.HasPrefix(items[at], begin.(string)) {
				return false
			}
		}
		return true
	case map[string]any:
		number, err := strconv.ParseFloat(got, 64)
		return err == nil && number >= wanted["min"].(float64) && number <= wanted["max"].(float64)
	}
	return false
}

func fitsAnswer(answer *Answer, wanted map[string]any) bool {
	found := inJSON(answer)
	for name, value := range wanted {
		if found[name] != value {
			return false
		}
	}
	return true
}

func TestCancelledCheckLeavesItsNeighboursAndNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	weir := client(t, Options{MaxInFlight: 1})
	process := gateProcess(t)
	signalTo(t, process, syscall.SIGSTOP)
	defer signalTo(t, process, syscall.SIGCONT)
	outcomes := make(chan error, 3)
	check := func(ctx context.Context) {
		answer, err := weir.Check(ctx, subject)
		if err == nil && answer.Degraded != "" {
			err = answer.Err
		}
		outcomes <- err
	}
	ended, end := context.WithCancel(context.Background())
	go check(context.Background())
	until(t, func() bool { return weir.batcher.undecided() == 1 })
	go check(ended)
	until(t, func() bool { return weir.batcher.undecided() == 2 })
	go check(context.Background())
	until(t, func() bool { return weir.batcher.undecided() == 3 })
	end()
	if err := <-outcomes; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	signalTo(t, process, syscall.SIGCONT)
	for range [2]int{} {
		if err := <-outcomes; err != nil {
			t.Errorf("a neighbour: %v", err)
		}
	}
	weir.Close()
	until(t, func() bool { return runtime.NumGoroutine() <= before })
}

func TestOwnHTTPClientSendsTheTraceOfTheContext(t *testing.T) {
	type trace struct{}
	var sent atomic.Int64
	own := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		sent.Add(1)
		return http.DefaultTransport.RoundTrip(r)
	})}
	url := stub(t, positionOf(t, "a wait sleeps as the answers say"), run+"-trace")
	weir := client(t, Options{URL: url, HTTPClient: own, Traceparent: func(ctx context.Context) string {
		text, _ := ctx.Value(trace{}).(string)
		return text
	}})
	ctx := context.WithValue(context.Background(), trace{}, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if _, err := weir.Check(ctx, CheckRequest{Namespace: "a"}); err != nil {
		t.Fatal(err)
	}
	requests := requestsAt(t, url)
	expect(t, sent.Load() == 1 && requests[0].Traceparent == ctx.Value(trace{}), requests)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
