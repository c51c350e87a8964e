package weirtest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"testing"
	"time"

	weir "github.com/weir-ratelimit/weir-go"
	"github.com/weir-ratelimit/weir-go/weirtest"
)

// application stands for the program that is tested: it takes its client as an argument.
func application(client *weir.Client) http.Handler {
	limit := client.Middleware(weir.MiddlewareOptions{
		Namespace: "api",
		Attributes: func(r *http.Request) (map[string]string, error) {
			return map[string]string{"user": r.URL.Query().Get("user")}, nil
		},
	})
	return limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") }))
}

func get(handler http.Handler, path string) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, path, nil))
	return response
}

func ExampleMemoryGate() {
	gate := &weirtest.MemoryGate{}
	app := application(gate.Client(weir.Options{}))
	gate.Deny(weirtest.Denial{Attributes: map[string]string{"user": "eve"}, RetryAfter: 5 * time.Second})

	fmt.Println(get(app, "/?user=ada").Code)
	refused := get(app, "/?user=eve")
	fmt.Println(refused.Code, refused.Header().Get("Retry-After"))
	for _, request := range gate.Received() {
		fmt.Println(request.Path, request.Attributes["user"])
	}
	gate.Fail(weirtest.Connection) // how does the application behave without gates?
	fmt.Println(get(app, "/?user=ada").Code)
	// Output:
	// 200
	// 429 5
	// /check ada
	// /check eve
	// 503
}

func TestEveryCallGetsTheAnswerOfAGate(t *testing.T) {
	gate, ctx := &weirtest.MemoryGate{}, context.Background()
	client := gate.Client(weir.Options{})
	request := weir.CheckRequest{Namespace: "api", Attributes: map[string]string{"user": "ada"}, Cost: weir.Units(3)}
	expect(t, func() (any, error) {
		answer, err := client.Record(ctx, request)
		return *answer.Charged, err
	}, int64(3))
	expect(t, func() (any, error) {
		held, err := client.Reserve(ctx, weir.ReserveRequest{CheckRequest: request})
		if err != nil {
			return nil, err
		}
		committed, err := held.Commit(ctx, 2)
		return []int64{held.Reserved, committed.Charged}, err
	}, []int64{3, 2})
	expect(t, func() (any, error) { return allowed(client.Refund(ctx, request)) }, true)
	expect(t, func() (any, error) { return allowed(client.Exhaust(ctx, request, time.Second)) }, true)
	expect(t, func() (any, error) {
		renewed, err := client.Renew(ctx, "lease")
		return renewed.Held, err
	}, true)
	expect(t, func() (any, error) {
		released, err := client.Release(ctx, "lease")
		return released.Released, err
	}, true)
	if _, err := client.Deferred(ctx, "job"); err == nil {
		t.Error("the gate in memory has deferred jobs")
	}
	paths := []string{"/record", "/reserve", "/commit", "/refund", "/exhaust", "/renew", "/release", "/deferred/job"}
	received := gate.Received()
	for at, path := range paths {
		if received[at].Path != path {
			t.Errorf("%d: %s, not %s", at, received[at].Path, path)
		}
	}
	if received[0].Cost != 3 || received[0].Body["namespace"] != "api" {
		t.Errorf("%+v", received[0])
	}
}

func TestDenialsConcernTheirChecksUntilAllow(t *testing.T) {
	gate, ctx := &weirtest.MemoryGate{}, context.Background()
	client := gate.Client(weir.Options{OnError: weir.Allow})
	gate.Deny(weirtest.Denial{Namespace: "login", RetryAfter: -1, DeniedBy: "login-per-user"})
	login := weir.CheckRequest{Namespace: "login", Attributes: map[string]string{"user": "ada"}}
	answer, err := client.Check(ctx, login)
	if err != nil || answer.Allowed || answer.RetryAfterMS != nil || !reflect.DeepEqual(answer.DeniedBy, []string{"login-per-user"}) {
		t.Errorf("%+v, %v", answer, err)
	}
	expect(t, func() (any, error) {
		held, err := client.Reserve(ctx, weir.ReserveRequest{CheckRequest: login})
		return held.Answer.Allowed, err
	}, false)
	expect(t, func() (any, error) { return allowed(client.Check(ctx, weir.CheckRequest{Namespace: "api"})) }, true)
	gate.Fail(http.StatusServiceUnavailable)
	answer, err = client.Check(ctx, login)
	if err != nil || !answer.Allowed || answer.Err == nil || answer.Err.Status != http.StatusServiceUnavailable {
		t.Errorf("%+v, %v", answer, err)
	}
	gate.Allow()
	expect(t, func() (any, error) { return allowed(client.Check(ctx, login)) }, true)
}

func TestChecksAtOnceGetTheirOwnAnswers(t *testing.T) {
	gate := &weirtest.MemoryGate{}
	client := gate.Client(weir.Options{Timeout: time.Minute})
	gate.Deny(weirtest.Denial{Attributes: map[string]string{"n": "7"}})
	var all sync.WaitGroup
	for n := 0; n < 200; n++ {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			request := weir.CheckRequest{Namespace: "api", Attributes: map[string]string{"n": fmt.Sprint(n)}}
			expect(t, func() (any, error) { return allowed(client.Check(context.Background(), request)) }, n != 7)
		}(n)
	}
	all.Wait()
	if count := len(gate.Received()); count != 200 {
		t.Errorf("%d checks, not 200", count)
	}
}

func allowed(answer *weir.Answer, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return answer.Allowed, nil
}

func expect(t *testing.T, call func() (any, error), expected any) {
	t.Helper()
	if found, err := call(); err != nil || !reflect.DeepEqual(found, expected) {
		t.Errorf("%v, not %v: %v", found, expected, err)
	}
}
