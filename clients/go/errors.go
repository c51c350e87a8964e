package weir

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Kind is why a call got no valid answer.
type Kind string

const (
	// Timeout: no complete answer arrived in time.
	Timeout Kind = "timeout"
	// Connection: it was refused, reset, or closed before the answer was complete.
	Connection Kind = "connection"
	// Status: 401, 403, 404, 5xx, or a redirect, which is never followed.
	Status Kind = "status"
	// Invalid: it is not the answer of a gate.
	Invalid Kind = "answer"
	// Overload: MaxWaiting checks wait already.
	Overload Kind = "overload"
	// Refused: the gate refused the request itself (400, 413, 415, 422). The program must send another one.
	Refused Kind = "refused"
)

// Error is a call of a gate that produced no decision.
type Error struct {
	Kind    Kind
	Message string
	// Status of the HTTP response; 0 if there was none.
	Status int
	// Code, RequestID and Fields are those of the gate's problem document.
	Code      string
	RequestID string
	Fields    []FieldProblem

	cause error
}

// FieldProblem is a field of a request, and why the gate refused it.
type FieldProblem struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

func (e *Error) Error() string { return "weir: " + e.Message }

// Unwrap returns the error of the network or of the HTTP library, if there was one.
func (e *Error) Unwrap() error { return e.cause }

// problem is the error of a problem document, or of any other text with this status.
func problem(status int, content []byte) *Error {
	failure := &Error{Kind: Status, Message: fmt.Sprintf("the gate answered %d", status), Status: status}
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		failure.Kind = Refused
	}
	var document struct {
		Detail    string         `json:"detail"`
		Code      string         `json:"code"`
		RequestID string         `json:"request_id"`
		Fields    []FieldProblem `json:"fields"`
	}
	// Something between the client and the gate can have answered.
	if json.Unmarshal(content, &document) != nil {
		return failure
	}
	failure.Code, failure.RequestID, failure.Fields = document.Code, document.RequestID, document.Fields
	if document.Detail != "" {
		failure.Message += "; " + document.Detail
	}
	for _, one := range document.Fields {
		failure.Message += "; " + one.Field + ": " + one.Reason
	}
	if document.RequestID != "" {
		failure.Message += "; request " + document.RequestID
	}
	return failure
}

func invalid(name, expected string) *Error {
	return &Error{Kind: Invalid, Message: "the gate's answer is not valid: " + name + " is not " + expected}
}

func notAnAnswer(status int) *Error {
	return &Error{Kind: Invalid, Message: fmt.Sprintf("the gate's answer does not fit its status %d", status), Status: status}
}
