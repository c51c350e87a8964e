package weir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMiddlewarePassesRefusesLeavesFailuresToOnErrorAndRefunds(t *testing.T) {
	asks := client(t, Options{CacheSize: -1})
	failed := func(err error) { t.Errorf("the middleware failed: %v", err) }
	limits := func(attributes func(*http.Request) map[string]string) MiddlewareOptions {
		return MiddlewareOptions{
			Namespace:     "conformance",
			Attributes:    func(r *http.Request) (map[string]string, error) { return attributes(r), nil },
			OnCheckError:  failed,
			OnRefundError: failed,
		}
	}
	none := func(*http.Request) map[string]string { return map[string]string{} }
	window := func(user string) map[string]string {
		return map[string]string{"suite": "window", "user": user + "-" + run}
	}
	mux := http.NewServeMux()
	var seen []string
	limited := limits(func(r *http.Request) map[string]string {
		ip, err := IP(r, AddressOptions{})
		seen = append(seen, fmt.Sprint(ip, " ", Route(mux, r), " ", err))
		return window("limited")
	})
	login := limits(func(*http.Request) map[string]string { return window("login") })
	login.RefundWhen = func(status int) bool { return status < 300 }
	paths := map[string]http.Handler{
		"/limited/": asks.Middleware(limited)(endpoint),
		"/login":    asks.Middleware(login)(endpoint),
		"/long":     asks.Middleware(limits(func(r *http.Request) map[string]string { return window(r.Header.Get("X-User") + "\u0085") }))(endpoint),
		"/skipped":  asks.Middleware(limits(func(*http.Request) map[string]string { return nil }))(endpoint),
		"/denied":   client(t, Options{URL: closedPort(t)}).Middleware(limits(none))(endpoint),
		"/allowed":  client(t, Options{URL: closedPort(t), OnError: Allow}).Middleware(limits(none))(endpoint),
	}
	for path, handler := range paths {
		mux.Handle(path, handler)
	}
	server := served(t, mux)

	first := server.get("/limited/7")
	expect(t, first.status == 200 && first.body == "fine", first)
	expect(t, first.header.Get("X-RateLimit-Remaining") == "1", first)
	expect(t, first.header.Get("RateLimit-Policy") == `"window";q=2;w=3600`, first)
	server.expectStatuses("/limited/8", 200)
	refused := server.get("/limited/9")
	retry, _ := strconv.Atoi(refused.header.Get("Retry-After"))
	expect(t, refused.status == 429 && refused.code() == "rate_limited" && retry > 3000, refused)
	expect(t, refused.header.Get("Content-Type") == "application/problem+json", refused)
	address := "127.0.0.1 /limited/ <nil>"
	expect(t, reflect.DeepEqual(seen, []string{address, address, address}), seen)

	unavailable := server.get("/denied")
	expect(t, unavailable.status == 503 && unavailable.code() == "rate_limit_unavailable", unavailable)
	expect(t, unavailable.header.Get("Retry-After") == "1", unavailable)
	server.expectStatuses("/allowed", 200, 200, 200)
	server.expectStatuses("/skipped", 200, 200, 200)
	server.expectStatuses("/long", 200, 200, 429)

	// Only the failures count: each success returns its unit, which a later peek shows.
	server.expectStatuses("/login?ok", 200)
	peek := CheckRequest{Namespace: "conformance", Attributes: window("login")}
	until(t, func() bool {
		answer, err := asks.Peek(context.Background(), peek)
		return err == nil && answer.Remaining != nil && *answer.Remaining == 1
	})
	server.expectStatuses("/login?wrong", 401, 401, 429)
	server.expectStatuses("/unknown", 404)
}

func TestMiddlewareRefundsAResponseThatPanicsOrStreams(t *testing.T) {
	asks := client(t, Options{CacheSize: -1})
	window := map[string]string{"suite": "window", "user": "panics-" + run}
	var statuses []int
	options := MiddlewareOptions{
		Namespace:  "conformance",
		Attributes: func(*http.Request) (map[string]string, error) { return window, nil },
		RefundWhen: func(status int) bool { statuses = append(statuses, status); return true },
	}
	handler := asks.Middleware(options)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		if r.URL.Path == "/panics" {
			panic(http.ErrAbortHandler)
		}
	}))
	server := served(t, handler)
	server.expectStatuses("/streams", 200)
	if response, err := http.Get(server.url + "/panics"); err == nil {
		// The connection ends when the handler has.
		_, _ = io.ReadAll(response.Body)
		response.Body.Close()
	}
	answer, err := asks.Peek(context.Background(), CheckRequest{Namespace: "conformance", Attributes: window})
	expect(t, err == nil && *answer.Remaining == 1, answer)
	expect(t, reflect.DeepEqual(statuses, []int{200, 500}), statuses)
}

func TestMistakeOfTheProgramIsReportedAndAnswers500(t *testing.T) {
	wrong := errors.New("no address")
	attributes := map[string]func(*http.Request) (map[string]string, error){
		"No Such": func(*http.Request) (map[string]string, error) { return map[string]string{}, nil },
		"api":     func(*http.Request) (map[string]string, error) { return nil, wrong },
	}
	for namespace, attributes := range attributes {
		var reported error
		options := MiddlewareOptions{Namespace: namespace, Attributes: attributes, OnCheckError: func(err error) { reported = err }}
		server := served(t, client(t, Options{OnError: Allow}).Middleware(options)(endpoint))
		server.expectStatuses("/", 500)
		expect(t, isKind(reported, Refused) || reported == wrong, reported)
	}
}

var endpoint = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.RawQuery, "wrong") {
		w.WriteHeader(http.StatusUnauthorized)
	}
	_, _ = io.WriteString(w, "fine")
})

type testServer struct {
	t   *testing.T
	url string
}

type response struct {
	status int
	header http.Header
	body   string
}

func served(t *testing.T, handler http.Handler) testServer {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return testServer{t, server.URL}
}

// get asks as an attacker would: with a forwarded address, and with a value that a gate refuses.
func (s testServer) get(path string) response {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("X-Forwarded-For", "1.1.1.1")
	request.Header.Set("X-User", "long"+strings.Repeat("x", 600))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{answer.StatusCode, answer.Header, string(body)}
}

// leave sends a request, and goes away when the handler has begun.
func (s testServer) leave(begun <-chan struct{}) {
	s.t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	go func() { <-begun; leave() }()
	if response, err := http.DefaultClient.Do(request); err == nil {
		s.t.Errorf("status %d", response.StatusCode)
		response.Body.Close()
	}
}

func (s testServer) expectStatuses(path string, expected ...int) {
	s.t.Helper()
	for nth, status := range expected {
		if got := s.get(path); got.status != status {
			s.t.Errorf("%s, request %d: %d, not %d", path, nth, got.status, status)
		}
	}
}

func (r response) code() string {
	var body struct {
		Code string `json:"code"`
	}
	if json.Unmarshal([]byte(r.body), &body) != nil {
		return ""
	}
	return body.Code
}

func expect(t *testing.T, holds bool, found any) {
	t.Helper()
	if !holds {
		t.Errorf("%+v", found)
	}
}

func until(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(generous); !condition(); {
		if time.Now().After(deadline) {
			t.Fatal("too late")
		}
	}
}
