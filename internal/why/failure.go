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

// fail records that a completed run failed, or succeeded after a failure.
func (j *Journal) fail(r *Run) {
	last := j.failures[r.Controller]
	switch {
	case r.Err == "":
		if last != nil && last.Object == r.Object {
			last.Over = true
		}
		return
	case last == nil && len(j.failures) >= maxFailures:
		j.forgetFailure()
	}
	j.failures[r.Controller] = &Failure{Controller: r.Controller, Object: r.Object, Start: r.Start, Err: r.Err}
}

// forgetFailure removes the oldest failure.
func (j *Journal) forgetFailure() {
	var oldest *Failure
	for _, f := range j.failures {
		if oldest == nil || f.Start.Before(oldest.Start) {
			oldest = f
		}
	}
	delete(j.failures, oldest.Controller)
}

// lastFailures returns the failures for a report, which only a report about everything has.
func (j *Journal) lastFailures(about Object) (all []Failure) {
	if about != (Object{}) {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range j.failures {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b Failure) int { return strings.Compare(a.Controller, b.Controller) })
	return all
}
