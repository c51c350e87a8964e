package weir

import (
	"bufio"
	"context"
	"net"
	"net/http"
)

// statusRecorder notes the status of a response, and whether its client was there when it began. It can flush and hijack if the writer below can.
type statusRecorder struct {
	http.ResponseWriter
	ctx       context.Context
	status    int // 0 until the response begins
	abandoned bool
}

func (s *statusRecorder) begin(status int) {
	if s.status == 0 {
		s.status, s.abandoned = status, s.ctx.Err() != nil
	}
}

// isAbandoned is whether the client went away before the response began.
func (s *statusRecorder) isAbandoned() bool {
	return s.abandoned || (s.status == 0 && s.ctx.Err() != nil)
}

func (s *statusRecorder) statusOrOK() int {
	if s.status == 0 {
		return http.StatusOK
	}
	return s.status
}

func (s *statusRecorder) WriteHeader(status int) {
	// Further responses follow one below 200.
	if status >= http.StatusOK {
		s.begin(status)
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusRecorder) Write(content []byte) (int, error) {
	s.begin(http.StatusOK)
	return s.ResponseWriter.Write(content)
}

// Flush sends what is buffered.
func (s *statusRecorder) Flush() {
	s.begin(http.StatusOK)
	if flusher, can := s.ResponseWriter.(http.Flusher); can {
		flusher.Flush()
	}
}

// Hijack hands the connection over to the handler.
func (s *statusRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if hijacker, can := s.ResponseWriter.(http.Hijacker); can {
		return hijacker.Hijack()
	}
	return nil, nil, http.ErrNotSupported
}

// Unwrap is for http.ResponseController.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }
