package weirtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

type fields = map[string]any

func (g *MemoryGate) answer(path string, content []byte) (int, fields, error) {
	if path != "/check/batch" {
		return g.answerOne(path, content)
	}
	var batch struct{ Checks []json.RawMessage }
	if err := json.Unmarshal(content, &batch); err != nil {
		return 0, nil, err
	}
	results := make([]fields, len(batch.Checks))
	for at, check := range batch.Checks {
		var err error
		if _, results[at], err = g.answerOne("/check", check); err != nil {
			return 0, nil, err
		}
	}
	return http.StatusOK, fields{"results": results}, nil
}

func (g *MemoryGate) answerOne(path string, content []byte) (int, fields, error) {
	request := Received{Path: path, Cost: 1}
	for _, into := range []any{&request, &request.Body} {
		// A call about a deferred job has no body.
		if err := json.Unmarshal(content, into); err != nil && len(content) > 0 {
			return 0, nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	g.received = append(g.received, request)
	switch path {
	case "/renew":
		return http.StatusOK, fields{"expires_at_ms": expiry(), "degraded": nil}, nil
	case "/release":
		return http.StatusOK, fields{"released": true, "degraded": nil}, nil
	case "/commit":
		return http.StatusOK, fields{"charged": request.Cost, "released": 0, "late": false, "degraded": nil}, nil
	case "/check", "/reserve":
		denial := g.denialOf(request)
		answer := decided(denial)
		if path == "/reserve" {
			reserve(answer, request, len(g.received))
		}
		if denial != nil {
			return http.StatusTooManyRequests, answer, nil
		}
		return http.StatusOK, answer, nil
	case "/record", "/refund", "/exhaust":
		answer := decided(nil)
		if path == "/record" {
			answer["charged"] = request.Cost
		}
		return http.StatusOK, answer, nil
	default:
		return http.StatusNotImplemented, fields{"code": "test"}, nil
	}
}

func (g *MemoryGate) denialOf(request Received) *Denial {
	for at := range g.denials {
		if g.denials[at].concerns(request) {
			return &g.denials[at]
		}
	}
	return nil
}

func (d Denial) concerns(request Received) bool {
	for name, value := range d.Attributes {
		if found, has := request.Attributes[name]; !has || found != value {
			return false
		}
	}
	return d.Namespace == "" || d.Namespace == request.Namespace
}

// decided is the answer to a check.
func decided(denial *Denial) fields {
	answer := fields{
		"allowed": denial == nil, "denied_by": []string{}, "retry_after_ms": 0, "delay_ms": 0, "limit": nil, "remaining": nil,
		"reset_after_ms": nil, "limits": []any{}, "degraded": nil, "rulebook_version": 1,
	}
	if denial == nil {
		return answer
	}
	answer["denied_by"] = []string{"test"}
	if denial.DeniedBy != "" {
		answer["denied_by"] = []string{denial.DeniedBy}
	}
	switch {
	case denial.RetryAfter < 0:
		answer["retry_after_ms"] = nil
	case denial.RetryAfter == 0:
		answer["retry_after_ms"] = time.Minute.Milliseconds()
	default:
		answer["retry_after_ms"] = denial.RetryAfter.Milliseconds()
	}
	return answer
}

// reserve adds what is held to an answer.
func reserve(answer fields, request Received, number int) {
	answer["reservation"], answer["reserved"], answer["expires_at_ms"] = nil, 0, nil
	if answer["allowed"] == true {
		answer["reservation"], answer["reserved"], answer["expires_at_ms"] = fmt.Sprint("resv_", number), request.Cost, expiry()
	}
}

func expiry() int64 { return time.Now().Add(time.Minute).UnixMilli() }

func reply(request *http.Request, status int, body fields) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(text)),
		ContentLength: int64(len(text)),
		Request:       request,
	}, nil
}
