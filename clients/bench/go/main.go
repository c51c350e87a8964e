// Measures a check by the Go client beside the same request by net/http: latency ROUNDS CALLS [concurrent]. Prints the latencies in nanoseconds
// as a JSON object for each round; with `concurrent`, those of bursts.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	weir "github.com/weir-ratelimit/weir-go"
)

var (
	url, key   = os.Getenv("WEIR_GATE_URL"), os.Getenv("WEIR_KEY")
	attributes = map[string]string{"suite": "latency", "user": "go"}
)

func main() {
	rounds, calls := argument(1), argument(2)
	if len(os.Args) > 3 && os.Args[3] == "concurrent" {
		measureBursts(rounds)
		return
	}
	check := checkWith(weir.Options{Timeout: 20 * time.Second})
	// The first round warms up.
	for round := 0; round <= rounds; round++ {
		found := map[string][]int64{}
		for call := 0; call < calls; call++ {
			// In turn, and each as often first, so that what else the machine does meets both alike.
			if call%2 == 0 {
				found["bare"] = append(found["bare"], timed(bare))
			}
			found["client"] = append(found["client"], timed(check))
			if call%2 == 1 {
				found["bare"] = append(found["bare"], timed(bare))
			}
		}
		if round > 0 {
			print(found)
		}
	}
}

// checkWith makes a client, and returns its check: whether a gate decided.
func checkWith(options weir.Options) func() (bool, error) {
	options.URL, options.Key, options.OnError, options.CacheSize = url, key, weir.Deny, -1
	client, err := weir.New(options)
	if err != nil {
		log.Fatal(err)
	}
	request := weir.CheckRequest{Namespace: "conformance", Attributes: attributes}
	return func() (bool, error) {
		answer, err := client.Check(context.Background(), request)
		return err == nil && answer.Allowed && answer.Degraded == "", err
	}
}

// measureBursts makes calls at once. The client has the deadline that it has by default.
func measureBursts(rounds int) {
	check := checkWith(weir.Options{})
	for _, size := range []int{1, 64, 300, 1_000} {
		bareNS, clientNS, late := []int64{}, []int64{}, []int{}
		for round := 0; round <= rounds; round++ {
			bareTook, _ := burst(bare, size)
			clientTook, undecided := burst(check, size)
			if round > 0 {
				bareNS, clientNS, late = append(bareNS, bareTook), append(clientNS, clientTook), append(late, undecided)
			}
		}
		print(map[string]any{"at_once": size, "bare": bareNS, "client": clientNS, "late": late})
	}
}

// burst returns the time of this number of calls at once, and how many of them no gate decided in time.
func burst(call func() (bool, error), size int) (ns int64, late int) {
	decisions := make(chan bool, size)
	begun := time.Now()
	for nth := 0; nth < size; nth++ {
		go func() {
			decided, err := call()
			if err != nil {
				log.Fatal(err)
			}
			decisions <- decided
		}()
	}
	for nth := 0; nth < size; nth++ {
		if !<-decisions {
			late++
		}
	}
	return time.Since(begun).Nanoseconds(), late
}

func print(found any) {
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}

func bare() (bool, error) {
	text, err := json.Marshal(map[string]any{"namespace": "conformance", "attributes": attributes})
	if err != nil {
		return false, err
	}
	request, err := http.NewRequest(http.MethodPost, url+"/check", bytes.NewReader(text))
	if err != nil {
		return false, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	var answer struct {
		Allowed  bool
		Degraded *string
	}
	err = json.NewDecoder(response.Body).Decode(&answer)
	return answer.Allowed && answer.Degraded == nil, err
}

func timed(call func() (bool, error)) int64 {
	begun := time.Now()
	decided, err := call()
	taken := time.Since(begun)
	if err != nil || !decided {
		log.Fatalf("not a decision: %v", err)
	}
	return taken.Nanoseconds()
}

func argument(at int) int {
	if at < len(os.Args) {
		if number, err := strconv.Atoi(os.Args[at]); err == nil {
			return number
		}
	}
	log.Fatal(fmt.Sprintf("usage: %s ROUNDS CALLS [concurrent]", os.Args[0]))
	return 0
}
