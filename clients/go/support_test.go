package weir

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// More than a busy machine needs.
const generous = 20 * time.Second

// New in each run, so that counters of earlier runs do not count.
var run = fmt.Sprintf("go-%d-%d", os.Getpid(), time.Now().UnixNano())

// subject of a limit that no test reaches.
var subject = CheckRequest{Namespace: "conformance", Attributes: map[string]string{"suite": "bucket", "user": "faults-" + run}}

// client asks the gate of this run, unless the options name another server.
func client(t *testing.T, options Options) *Client {
	t.Helper()
	if options.URL == "" {
		options.URL = gate(t)
	}
	if options.Key == "" {
		options.Key = needed(t, "WEIR_KEY")
	}
	if options.OnError == nil {
		options.OnError = Deny
	}
	if options.Timeout == 0 {
		options.Timeout = generous
	}
	made, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func gate(t *testing.T) string { return needed(t, "WEIR_GATE_URL") }

// stub is the address at which the stub answers as the case says.
func stub(t *testing.T, position int, run string) string {
	return fmt.Sprintf("%s/%d/%s", needed(t, "WEIR_STUB"), position, run)
}

// gateProcess is the process of the gate, which tests of a frozen gate stop and continue.
func gateProcess(t *testing.T) *os.Process {
	id, err := strconv.Atoi(needed(t, "WEIR_PID"))
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(id)
	if err != nil {
		t.Fatal(err)
	}
	return process
}

func closedPort(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

func needed(t *testing.T, name string) string {
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run `cargo xtask clients`", name)
	}
	return value
}

func signalTo(t *testing.T, process *os.Process, what syscall.Signal) {
	t.Helper()
	if err := process.Signal(what); err != nil {
		t.Error(err)
	}
	if what == syscall.SIGSTOP {
		until(t, func() bool { return isFrozen(process.Pid) })
	}
}

// isFrozen is whether each thread has met the signal: until then it can answer. True on systems that do not tell.
func isFrozen(process int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", process))
	for _, thread := range threads {
		if stat, err := os.ReadFile(thread); err == nil && !strings.Contains(string(stat), ") T ") {
			return false
		}
	}
	return true
}

// positionOf is the place of a case, by its name.
func positionOf(t *testing.T, name string) int {
	t.Helper()
	for at, row := range rows(t) {
		if row.Name == name {
			return at
		}
	}
	t.Fatalf("no case %q", name)
	return 0
}
