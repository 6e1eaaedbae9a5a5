package why

import (
	"slices"
	"strings"
	"time"
)

// Failure is the latest failure of a controller. It outlives the run, which newer runs of other controllers
// may push out.
type Failure struct {
	Controller string    `json:"controller"`
	Object     Object    `json:"object"`
	Start      time.Time `json:"start"`
	Err        string    `json:"error"`
	// Over reports that a later run for the same object succeeded.
	Over bool `json:"over,omitempty"`
}

// maxFailures is the number of controllers whose latest failure is retained.
const maxFailures = 256

// failures holds the latest failure of each controller, by name. The journal's lock guards it.
type failures map[string]*Failure

// record records that a completed run failed, or succeeded after a failure.
func (f failures) record(r *Run) {
	last := f[r.Controller]
	switch {
	case r.Err == "":
		if last != nil && last.Object == r.Object {
			last.Over = true
		}
		return
	case last == nil && len(f) >= maxFailures:
		f.evict()
	}
	f[r.Controller] = &Failure{Controller: r.Controller, Object: r.Object, Start: r.Start, Err: r.Err}
}

// evict removes the oldest failure.
func (f failures) evict() {
	var oldest *Failure
	for _, failure := range f {
		if oldest == nil || failure.Start.Before(oldest.Start) {
			oldest = failure
		}
	}
	delete(f, oldest.Controller)
}

// list returns the failures in the order of their controllers.
func (f failures) list() (all []Failure) {
	for _, failure := range f {
		all = append(all, *failure)
	}
	slices.SortFunc(all, func(a, b Failure) int { return strings.Compare(a.Controller, b.Controller) })
	return all
}
