package fault

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Options are the options of a run.
type Options struct {
	Plan    Plan
	History *History
	// Next is the transport to the server.
	Next http.RoundTripper
	// Lag is how long delayed events and caches lag behind.
	Lag time.Duration
	// Down is the time between the end of a process and its restart.
	Down time.Duration
	// MostRequests fails a run that sends more requests in a minute: a loop without pauses would keep virtual
	// time from advancing.
	MostRequests int
}

// Run is one run of all processes. It is safe for concurrent use within its bubble.
type Run struct {
	Options
	began time.Time
	// Failed is closed by the first Fail. Stopped is closed when the plan stops the user.
	Failed, Stopped chan struct{}
	// The caller closes Ended when the run is over.
	Ended chan struct{}

	mu        sync.Mutex
	counts    map[Point]int
	points    []Seen
	hit       []bool            // by index in Plan.Faults
	generated map[string]string // aliases, by resource and object
	aliases   map[string]string // by name
	touched   map[string]meta   // of objects after another client's change, by resource and object
	minute    time.Time         // start of the current minute
	requests  int               // in the current minute
	busiest   int               // requests in the busiest minute
	all       int               // requests in the whole run
	users     int               // writes of the user
	rows      []*Row
	problems  []string
	lastWrite time.Time
	processes []*Process
}

// NewRun returns a run that starts now.
func NewRun(o Options) *Run {
	return &Run{
		Options: o, began: time.Now(), Failed: make(chan struct{}), Stopped: make(chan struct{}),
		Ended:  make(chan struct{}),
		counts: map[Point]int{}, hit: make([]bool, len(o.Plan.Faults)), generated: map[string]string{},
		aliases: map[string]string{},
		touched: map[string]meta{},
	}
}

// Fail records a problem. The first one ends the run: it closes Failed and stops all processes.
func (r *Run) Fail(format string, values ...any) {
	r.mu.Lock()
	first := len(r.problems) == 0
	r.problems = append(r.problems, fmt.Sprintf(format, values...))
	processes := r.processes
	r.mu.Unlock()
	if !first {
		return
	}
	close(r.Failed)
	for _, p := range processes {
		p.Stop()
	}
}

// Problems returns the problems that Fail recorded.
func (r *Run) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.problems)
}

// Seen returns the points that the run reached, in order.
func (r *Run) Seen() []Seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.points)
}

// Unreached returns the faults of the plan whose points the run did not reach.
func (r *Run) Unreached() (faults []Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, f := range r.Plan.Faults {
		if !r.hit[i] {
			faults = append(faults, f)
		}
	}
	return faults
}

// Requests returns the number of requests that the processes sent in the busiest minute.
func (r *Run) Requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busiest
}

// AllRequests returns the number of requests that the processes have sent so far.
func (r *Run) AllRequests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// LastWrite returns the time of the last change by a process, or the zero time.
func (r *Run) LastWrite() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastWrite
}

// request counts a request, and fails the run if there are too many.
func (r *Run) request(p *Process) {
	r.mu.Lock()
	p.active = true
	if time.Since(r.minute) >= time.Minute {
		r.minute, r.requests = time.Now(), 0
	}
	r.requests++
	r.all++
	r.busiest = max(r.busiest, r.requests)
	exceeded := r.MostRequests > 0 && r.requests == r.MostRequests
	r.mu.Unlock()
	if exceeded {
		r.Fail("hot loop: %d requests in the minute until %s", r.MostRequests, time.Since(r.began))
	}
}

// userWrites counts a write of the user. It returns false if the plan has stopped the user.
func (r *Run) userWrites() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Plan.Stop > 0 && r.users == r.Plan.Stop {
		return false
	}
	r.users++
	return true
}

// Writes returns the number of writes that the user has made.
func (r *Run) Writes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.users
}

// reach numbers a point, and returns the fault that the plan has there, or "".
func (r *Run) reach(p Point, kinds ...Kind) (Point, Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.N = 0
	r.counts[p]++
	p.N = r.counts[p]
	r.points = append(r.points, Seen{p, kinds, r.users})
	for i, f := range r.Plan.Faults {
		if f.Point == p && slices.Contains(kinds, f.Kind) {
			r.hit[i] = true
			return p, f.Kind
		}
	}
	return p, ""
}

// recordGenerated records a name that the server generated from a prefix.
func (r *Run) recordGenerated(resource schema.GroupResource, namespace, name, prefix string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generated[resource.String()+" "+objectText(namespace, name)] = prefix + "*"
	r.aliases[name] = prefix + "*"
}

// Generated maps the names that the server generated to their prefixes, followed by *.
func (r *Run) Generated() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.aliases)
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// stable returns a text for an object that is the same in every run.
func (r *Run) stable(resource schema.GroupResource, namespace, name string) string {
	r.mu.Lock()
	alias, ok := r.generated[resource.String()+" "+objectText(namespace, name)]
	r.mu.Unlock()
	if ok {
		name = alias
	}
	return objectText(namespace, r.withoutUIDs(name))
}

// withoutUIDs replaces UIDs by the resources and names of their objects.
func (r *Run) withoutUIDs(text string) string {
	if !uuid.MatchString(text) {
		return text
	}
	uids := r.History.UIDs()
	return uuid.ReplaceAllStringFunc(text, func(uid string) string {
		if key, ok := uids[types.UID(uid)]; ok {
			return "{" + key.GroupResource().Resource + " " + objectText(key.Namespace(), key.Name()) + "}"
		}
		return "{uid}"
	})
}

// Row is a row of the trace.
type Row struct {
	At           time.Duration // since the start of the run
	Who          string
	What, Answer string
	// Fault is the fault injected at this step, if any.
	Fault Kind
}

// Note adds a row to the trace.
func (r *Run) Note(who, what, answer string) *Row { return r.row(who, what, answer, "") }

func (r *Run) row(who, what, answer string, fault Kind) *Row {
	row := &Row{time.Since(r.began), who, what, answer, fault}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, row)
	return row
}

// answer appends to the Answer of a row.
func (r *Run) answer(row *Row, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row.Answer = strings.TrimSpace(row.Answer + " " + text)
}

// Rows returns a copy of the trace so far.
func (r *Run) Rows() []Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := make([]Row, len(r.rows))
	for i, row := range r.rows {
		rows[i] = *row
	}
	return rows
}

// recordWrite records the time of a write by a process.
func (r *Run) recordWrite() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastWrite = time.Now()
}
