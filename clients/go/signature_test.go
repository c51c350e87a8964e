package weir

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMessageOfADeferredJobIsRecognisedAndNothingElseIs(t *testing.T) {
	secret := needed(t, "WEIR_WEBHOOK_SECRET")
	request := DeferRequest{
		CheckRequest: CheckRequest{Namespace: "conformance", IdempotencyKey: "signed-" + run},
		Target:       needed(t, "WEIR_WEBHOOK"),
		Payload:      map[string]string{"to": "Zoë"},
	}
	deferral, err := client(t, Options{}).Defer(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	header, body := message(t, deferral.Job.ID)
	if !strings.Contains(string(body), deferral.Job.ID) || !strings.Contains(string(body), "Zoë") {
		t.Fatalf("%s", body)
	}
	seconds, err := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	sent := time.Unix(seconds, 0)
	if fromWeir, err := IsFromWeir(secret, header, body); err != nil || !fromWeir {
		t.Fatalf("%v, %v", fromWeir, err)
	}
	given := header.Get("webhook-signature")
	cases := []struct {
		name, value string
		after       time.Duration
		expected    bool
	}{
		{"webhook-id", deferral.Job.ID, SignatureTolerance, true},
		{"webhook-signature", "v1,AAAA " + given, 0, true},
		{"webhook-id", deferral.Job.ID, SignatureTolerance + time.Second, false},
		{"webhook-id", deferral.Job.ID, -SignatureTolerance - time.Second, false},
		{"webhook-id", "deferred_x", 0, false},
		{"webhook-timestamp", strconv.FormatInt(seconds+1, 10), 0, false},
		{"webhook-timestamp", header.Get("webhook-timestamp") + ".0", 0, false},
		{"webhook-timestamp", "", 0, false},
		{"webhook-signature", "", 0, false},
		{"webhook-signature", "v1,", 0, false},
		{"webhook-signature", "v1,%%%", 0, false},
		{"webhook-signature", strings.Replace(given, "v1,", "v2,", 1), 0, false},
		{"webhook-signature", strings.Repeat("v1,AAAA ", 8) + given, 0, false},
	}
	for _, one := range cases {
		changed := header.Clone()
		changed.Set(one.name, one.value)
		if fromWeir, err := isFromWeirAt(sent.Add(one.after), secret, changed, body); err != nil || fromWeir != one.expected {
			t.Errorf("%+v: %v, %v", one, fromWeir, err)
		}
	}
	other := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	if fromWeir, err := isFromWeirAt(sent, other, header, body); err != nil || fromWeir {
		t.Errorf("another secret: %v, %v", fromWeir, err)
	}
	if fromWeir, err := isFromWeirAt(sent, secret, header, append(body, ' ')); err != nil || fromWeir {
		t.Errorf("another body: %v, %v", fromWeir, err)
	}
	for _, wrong := range []string{"", "whsec_", "whsec_%"} {
		if _, err := IsFromWeir(wrong, header, body); err == nil {
			t.Errorf("%q is a secret", wrong)
		}
	}
}

func TestSignatureIsThatOfStandardWebhooks(t *testing.T) {
	header := http.Header{}
	header.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	header.Set("webhook-timestamp", "1614265330")
	header.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	secret, at := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", time.Unix(1614265330, 0)
	if fromWeir, err := isFromWeirAt(at, secret, header, []byte(`{"test": 2432232314}`)); err != nil || !fromWeir {
		t.Errorf("%v, %v", fromWeir, err)
	}
}

// message is that of a job, which the stub received.
func message(t *testing.T, job string) (http.Header, []byte) {
	for deadline := time.Now().Add(generous); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		response, err := http.Get(needed(t, "WEIR_STUB") + "/webhook/" + job)
		if err != nil {
			t.Fatal(err)
		}
		var found *struct {
			Headers map[string]string `json:"headers"`
			Body    string            `json:"body"`
		}
		err = json.NewDecoder(response.Body).Decode(&found)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if found == nil {
			continue
		}
		header := http.Header{}
		for name, value := range found.Headers {
			header.Set(name, value)
		}
		return header, []byte(found.Body)
	}
	t.Fatal("the job never arrived")
	return nil, nil
}
