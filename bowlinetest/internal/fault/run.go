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

// Options of a run.
type Options struct {
	Plan    Plan
	History *History
	// Next reaches the server.
	Next http.RoundTripper
	// Lag is how long what is late is late.
	Lag time.Duration
	// Down is how long a process that has ended takes to start again.
	Down time.Duration
	// MostRequests ends a run that has more in a minute: a loop that never waits would keep virtual time from passing.
	MostRequests int
}

// Run is one run of all processes. It belongs to one bubble.
type Run struct {
	Options
	began time.Time
	// Failed is closed by the first Fail, Stopped when the user stops as the plan has it.
	Failed, Stopped chan struct{}
	// Ended is closed by the caller when the run is over.
	Ended chan struct{}

	mu        sync.Mutex
	counts    map[Point]int
	seen      []Seen
	hit       []bool               // by index of Plan
	generated map[string]string    // by resource and object
	made      map[string]string    // by name
	touched   map[string]types.UID // by resource and object: what has somebody else's change
	minute    time.Time            // when the minute that requests are counted in began
	requests  int                  // in it
	busiest   int                  // the most of any minute
	all       int                  // of all minutes
	users     int                  // the user's writes
	rows      []*Row
	problems  []string
	lastWrite time.Time
	processes []*Process
}

// NewRun makes a run that begins now.
func NewRun(o Options) *Run {
	return &Run{
		Options: o, began: time.Now(), Failed: make(chan struct{}), Stopped: make(chan struct{}), Ended: make(chan struct{}),
		counts: map[Point]int{}, hit: make([]bool, len(o.Plan.Faults)), generated: map[string]string{}, made: map[string]string{},
		touched: map[string]types.UID{},
	}
}

// Fail ends the run: a problem is found.
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

// Problems are what Fail was told.
func (r *Run) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.problems)
}

// Seen are the points that the run came by, in order.
func (r *Run) Seen() []Seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// Unreached are the faults of the plan that the run did not come by.
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

// Requests is how many the processes have made in the busiest minute.
func (r *Run) Requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busiest
}

// AllRequests is how many the processes have made so far.
func (r *Run) AllRequests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// LastWrite is when a process last changed anything; zero when none did.
func (r *Run) LastWrite() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastWrite
}

// request counts one, and ends a run that has too many.
func (r *Run) request(p *Process) {
	r.mu.Lock()
	p.asked = true
	if time.Since(r.minute) >= time.Minute {
		r.minute, r.requests = time.Now(), 0
	}
	r.requests++
	r.all++
	r.busiest = max(r.busiest, r.requests)
	over := r.MostRequests > 0 && r.requests == r.MostRequests
	r.mu.Unlock()
	if over {
		r.Fail("hot loop: %d requests in the minute until %s, and no end", r.MostRequests, time.Since(r.began))
	}
}

// userWrites counts a write of the user, and is false when the plan has it that there are no more.
func (r *Run) userWrites() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Plan.Stop > 0 && r.users == r.Plan.Stop {
		return false
	}
	r.users++
	return true
}

// Writes is how many the user has made.
func (r *Run) Writes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.users
}

// reach numbers a point, and says which fault the plan has there, if any.
func (r *Run) reach(p Point, kinds ...Kind) (Point, Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.N = 0
	r.counts[p]++
	p.N = r.counts[p]
	r.seen = append(r.seen, Seen{p, kinds, r.users})
	for i, f := range r.Plan.Faults {
		if f.Point == p && slices.Contains(kinds, f.Kind) {
			r.hit[i] = true
			return p, f.Kind
		}
	}
	return p, ""
}

// learn remembers that the server made a name up.
func (r *Run) learn(resource schema.GroupResource, namespace, name, prefix string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generated[resource.String()+" "+objectText(namespace, name)] = prefix + "*"
	r.made[name] = prefix + "*"
}

// Generated are the names that the server has made up, by what they were made from.
func (r *Run) Generated() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.made)
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// stable is what an object is called in every run.
func (r *Run) stable(resource schema.GroupResource, namespace, name string) string {
	r.mu.Lock()
	alias, ok := r.generated[resource.String()+" "+objectText(namespace, name)]
	r.mu.Unlock()
	if ok {
		name = alias
	}
	return objectText(namespace, r.withoutUIDs(name))
}

// withoutUIDs puts what is known of an object in the place of its uid.
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

// Row is a step of the trace.
type Row struct {
	At           time.Duration // since the run began
	Who          string
	What, Answer string
	// Fault is what went wrong at this step.
	Fault Kind
}

// Note adds a row.
func (r *Run) Note(who, what, answer string) *Row { return r.row(who, what, answer, "") }

func (r *Run) row(who, what, answer string, fault Kind) *Row {
	row := &Row{time.Since(r.began), who, what, answer, fault}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, row)
	return row
}

// answer completes a row.
func (r *Run) answer(row *Row, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row.Answer = strings.TrimSpace(row.Answer + " " + text)
}

// Rows are the trace so far.
func (r *Run) Rows() []Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := make([]Row, len(r.rows))
	for i, row := range r.rows {
		rows[i] = *row
	}
	return rows
}

// wrote notes that a process did.
func (r *Run) wrote() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastWrite = time.Now()
}
