// Package attacks sends hostile requests to servers, each to a process of its own, and measures their cost.
//
// Each row of the table has a server: this test binary, executed again as bowline up, over TLS and with a limit on its
// data segment. The rows run one after the other, unless -slack is more than 1. A row fails if
//
//   - the requests cost more than a second of the server's CPU, including what goes on after the answer;
//   - its memory grows by more than 256 MiB and the size of the requests;
//   - the answer is not the expected one, or comes late, or is large although it is an error;
//   - the server ends, recovers from a panic, or does not answer /livez and a read promptly afterwards;
//   - the server does not stop within seconds of SIGTERM.
//
// The rows of some areas share a server: their requests are cheap and leave nothing behind. TestPrograms runs other
// programs, on hostile files and arguments, with the same limits. TestOtherClients measures what a client beside the
// attacks notices.
//
// The files of this package have one area each, or a few. To run one row:
//
//	BOWLINE_ATTACKS=1 go test ./cmd/bowline/attacks -run 'TestAttacks/bodies/a_million_values' -v
package attacks

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Limits of a row that states no others.
const (
	maxCPU        = time.Second
	maxMemory     = 256 // MiB
	maxAnswerTime = 30 * time.Second
	maxLivez      = 2 * time.Second // of one probe, after the requests
	maxErrorBytes = 1 << 20         // of an answer that is an error
)

// limitExceeded are the status codes of a request that exceeds a limit.
var limitExceeded = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

// slack multiplies the limits of time, for machines that other programs use at the same time. If it is more than 1,
// several areas run at once.
var slack = flag.Int("slack", 1, "multiply the limits of CPU and answer times by this `number`; if it is more than 1, run several areas at once")

// profiles is a folder for CPU profiles of the rows that run.
var profiles = flag.String("profiles", "", "write a CPU profile of each row's server to this `folder`")

// row is an attack.
type row struct {
	name string

	flags   []string             // of bowline up
	setup   []request            // sent before the measurement; each must succeed
	prepare func(*server)        // called after setup
	send    []request            // the attack; the last answer counts
	run     func(*server) answer // the attack, if it is not only requests

	codes []int  // of the answer; limitExceeded if there are none
	text  string // a part of the answer

	cpu    time.Duration // maxCPU if it is zero
	memory int           // MiB; maxMemory if it is zero
	within time.Duration // how soon the answer must come; maxAnswerTime if it is zero
	livez  time.Duration // limit for /livez during the attack; not probed if it is zero

	on *server // that the rows of the area share; nil for a server of its own
}

// area is a group of rows.
type area struct {
	name string
	rows func() []row
}

// areas is the table. Its rows are functions because their bodies are large.
func areas() []area {
	return []area{
		{"bodies", bodies},
		{"YAML", yamlBodies},
		{"media types", mediaTypes},
		{"JSON patches", jsonPatches},
		{"merge patches", mergePatches},
		{"strategic patches", strategicPatches},
		{"applies", applies},
		{"protobuf", protobuf},
		{"validation errors", validationErrors},
		{"quantities", quantities},
		{"definitions", customDefinitions},
		{"custom resources", customResources},
		{"CEL", celRules},
		{"columns", columns},
		{"webhooks", webhooks},
		{"conversions", conversions},
		{"admission", admission},
		{"clocks", clocks},
		{"endpoints", endpoints},
		{"journal", journal},
		{"YAML output", yamlOutput},
		{"kinds", kinds},
	}
}

// alone is a variable in the environment that runs the tests of this package.
const alone = "BOWLINE_ATTACKS"

// TestMain runs no test unless asked to: they measure time, and the tests of other packages would run beside them.
func TestMain(m *testing.M) {
	runServer() // does not return in a server's process
	flag.Parse()
	if os.Getenv(alone) == "" {
		fmt.Printf("the attacks run alone: set %s=1\n", alone)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestAttacks runs the table, and prints it with -v.
func TestAttacks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the cost of a process is measured on Linux only")
	}
	var all report
	t.Cleanup(func() { all.log(t) }) // after the parallel tests
	for _, a := range slices.Concat(areas(), protocolAreas()) {
		t.Run(a.name, func(t *testing.T) {
			if *slack > 1 {
				t.Parallel()
			}
			all.run(t, a, nil)
		})
	}
	for _, a := range lightAreas() {
		t.Run(a.name, func(t *testing.T) {
			s := startServer(t, "--data", t.TempDir())
			all.run(t, a, s)
			if problem := s.stop(); problem != "" {
				t.Error(problem)
			}
		})
	}
}

// run runs the rows of an area. Each row starts a server of its own, unless on is the server of the area.
func (p *report) run(t *testing.T, a area, on *server) {
	rows := a.rows()
	unique(t, rows)
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			r.on = on
			got := r.attack(t)
			t.Log(got.String())
			p.add(a.name, r.name, got)
			for _, problem := range got.problems {
				t.Error(problem)
			}
		})
	}
}

func unique(t *testing.T, rows []row) {
	names := map[string]bool{}
	for _, r := range rows {
		if names[r.name] {
			t.Errorf("two rows are named %q", r.name)
		}
		names[r.name] = true
	}
}

// machine is locked for writing by rows that must run alone.
var machine sync.RWMutex

// attack runs the row. Other programs on the machine can only add to its CPU time, so a row that needs up to three
// times too much is measured again, twice at most, and the last measurement counts.
func (r row) attack(t *testing.T) outcome {
	if r.livez > 0 || r.within > 0 || r.run != nil { // measures how soon something happens, not only what it costs
		machine.Lock()
		defer machine.Unlock()
	} else {
		machine.RLock()
		defer machine.RUnlock()
	}
	var got outcome
	for range 3 {
		got = r.once(t)
		if got.cpu <= r.maxCPU() || got.cpu > 3*r.maxCPU() {
			return got
		}
		t.Logf("measured %v of CPU time", got.cpu.Round(time.Millisecond))
	}
	return got
}

// once starts a server, runs the row, and stops the server.
func (r row) once(t *testing.T) outcome {
	if r.on != nil {
		return r.shared(t)
	}
	s := startServer(t, r.flags...)
	defer s.kill()
	for _, q := range r.setup {
		if a := s.send(q); a.code < 200 || a.code > 299 {
			t.Fatalf("setup: %s %s: %s", q.method, q.path, a)
		}
	}
	if r.prepare != nil {
		r.prepare(s)
	}
	var got outcome
	profiled := func() {}
	if *profiles != "" {
		profiled = s.profile(t.Name())
	}
	r.measureOn(s, &got)
	profiled()
	if problem := s.stop(); problem != "" {
		got.fail("%s", problem)
	}
	return got
}

// measureOn sends the attack to a server, and adds its costs and what is wrong to an outcome.
func (r row) measureOn(s *server, got *outcome) {
	m := s.measure(r.livez > 0)
	if r.run != nil {
		got.answer = r.run(s)
	}
	for _, q := range r.send {
		got.answer = s.send(q)
		got.sent += len(q.body)
	}
	m.end(got)
	r.judge(got)
}

// judge adds the reasons for which the outcome is not the expected one.
func (r row) judge(o *outcome) {
	codes := r.codes
	if codes == nil {
		codes = limitExceeded
	}
	if !slices.Contains(codes, o.answer.code) || !strings.Contains(o.answer.text(), r.text) {
		o.fail("answer %s, want %v with %q", o.answer, codes, r.text)
	}
	if most := r.maxCPU(); o.cpu > most {
		o.fail("it took %v of CPU time, want at most %v", o.cpu.Round(time.Millisecond), most)
	}
	memory := int64(maxMemory)
	if r.memory > 0 {
		memory = int64(r.memory)
	}
	if most := memory<<20 + int64(o.sent); o.memory > most {
		o.fail("memory grew by %d MiB, want at most %d", o.memory>>20, most>>20)
	}
	within := maxAnswerTime
	if r.within > 0 {
		within = r.within
	}
	if within *= time.Duration(*slack); o.answer.took > within {
		o.fail("the answer came after %v, want %v", o.answer.took, within)
	}
	if o.answer.code >= 400 && len(o.answer.body) > maxErrorBytes {
		o.fail("the error has %d bytes, want at most %d", len(o.answer.body), maxErrorBytes)
	}
	if most := r.livez * time.Duration(*slack); most > 0 && o.slowest > most {
		o.fail("/livez took %v during the attack, want at most %v", o.slowest, most)
	}
}

func (r row) maxCPU() time.Duration {
	most := maxCPU
	if r.cpu > 0 {
		most = r.cpu
	}
	return most * time.Duration(*slack)
}

// outcome is the measured cost of an attack, and its answer.
type outcome struct {
	answer   answer
	sent     int // bytes of bodies
	cpu      time.Duration
	memory   int64         // bytes: the peak above the value before the attack
	slowest  time.Duration // of the probes of /livez during the attack
	problems []string
}

func (o *outcome) fail(format string, values ...any) {
	o.problems = append(o.problems, fmt.Sprintf(format, values...))
}

func (o *outcome) String() string {
	return fmt.Sprintf("cpu %4d ms, peak %3d MiB: %s", o.cpu.Milliseconds(), o.memory>>20, o.answer)
}
