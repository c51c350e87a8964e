package weir

import (
	"bufio"
	"net"
	"net/http"
)

// statusRecorder notes the status of a response. It can flush and hijack if the writer below can.
type statusRecorder struct {
	http.ResponseWriter
	status  int
	written bool
}

func (s *statusRecorder) WriteHeader(status int) {
	// Further responses follow one below 200.
	if !s.written && status >= http.StatusOK {
		s.status, s.written = status, true
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusRecorder) Write(content []byte) (int, error) {
	s.written = true
	return s.ResponseWriter.Write(content)
}

// Flush sends what is buffered.
func (s *statusRecorder) Flush() {
	s.written = true
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
