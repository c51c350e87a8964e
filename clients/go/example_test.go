package weir_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	weir "github.com/weir-ratelimit/weir-go"
	"github.com/weir-ratelimit/weir-go/weirtest"
)

// A gate in memory answers here. A program has the address of a gate and a key instead.
func Example() {
	gate := &weirtest.MemoryGate{}
	client, err := weir.New(weir.Options{
		URL:        "http://gate.test",
		Key:        "key",
		OnError:    weir.Deny, // or weir.Allow, or a weir.OnErrorFunc: there is no default
		HTTPClient: &http.Client{Transport: gate},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	login := weir.CheckRequest{Namespace: "api", Attributes: map[string]string{"user": "ada", "route": "/login"}}
	for range [2]int{} {
		answer, err := client.Check(context.Background(), login)
		if err != nil {
			log.Fatal(err)
		}
		if answer.Allowed {
			fmt.Println("allowed")
		} else {
			fmt.Println("denied by", answer.DeniedBy[0], "for", *answer.RetryAfterMS, "ms")
		}
		gate.Deny(weirtest.Denial{DeniedBy: "login-per-user", RetryAfter: 5 * time.Second})
	}
	// Output:
	// allowed
	// denied by login-per-user for 5000 ms
}

func ExampleClient_Middleware() {
	gate := &weirtest.MemoryGate{}
	gate.Deny(weirtest.Denial{Attributes: map[string]string{"route": "/reports/"}, RetryAfter: 5 * time.Second})
	client := gate.Client(weir.Options{})

	mux := http.NewServeMux()
	mux.HandleFunc("/reports/", func(w http.ResponseWriter, r *http.Request) {})
	limit := client.Middleware(weir.MiddlewareOptions{
		Namespace: "api",
		Attributes: func(r *http.Request) (map[string]string, error) {
			ip, err := weir.IP(r, weir.AddressOptions{})
			return map[string]string{"ip": ip, "route": weir.Route(mux, r)}, err
		},
	})
	server := httptest.NewServer(limit(mux)) // http.ListenAndServe(":8000", limit(mux)) in a program
	defer server.Close()

	response, err := http.Get(server.URL + "/reports/7")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, response.Header.Get("Retry-After"), err)
	fmt.Print(string(body))
	// Output:
	// 429 5 <nil>
	// {"code":"rate_limited","retry_after_ms":5000,"status":429,"title":"Too Many Requests","type":"about:blank"}
}
