// Measures a check by the Go client beside the same request by net/http: latency ROUNDS CALLS. Prints the latencies in nanoseconds as a JSON
// object for each round.
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
	client, err := weir.New(weir.Options{URL: url, Key: key, OnError: weir.Deny, Timeout: 20 * time.Second, CacheSize: -1})
	if err != nil {
		log.Fatal(err)
	}
	request := weir.CheckRequest{Namespace: "conformance", Attributes: attributes}
	byClient := func() (bool, error) {
		answer, err := client.Check(context.Background(), request)
		return err == nil && answer.Allowed && answer.Degraded == "", err
	}
	// The first round warms up.
	for round := 0; round <= rounds; round++ {
		found := map[string][]int64{}
		for call := 0; call < calls; call++ {
			// In turn, and each as often first, so that what else the machine does meets both alike.
			if call%2 == 0 {
				found["bare"] = append(found["bare"], timed(bare))
			}
			found["client"] = append(found["client"], timed(byClient))
			if call%2 == 1 {
				found["bare"] = append(found["bare"], timed(bare))
			}
		}
		if round > 0 {
			if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
				log.Fatal(err)
			}
		}
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
	log.Fatal(fmt.Sprintf("usage: %s ROUNDS CALLS", os.Args[0]))
	return 0
}
