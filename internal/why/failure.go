package why

import (
	"slices"
	"strings"
	"time"
)

// Failure is the last time that a controller failed. It is kept beside the runs, which those of others push out.
type Failure struct {
	Controller string    `json:"controller"`
	Object     Object    `json:"object"`
	Start      time.Time `json:"start"`
	Err        string    `json:"error"`
	// Over is that the controller has looked at the object again since, and did not fail.
	Over bool `json:"over,omitempty"`
}

// maxFailures is of how many controllers the last failure is kept.
const maxFailures = 256

// fail notes whether a run that has ended failed, or got over a failure.
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

// forgetFailure makes room for another one: the oldest goes.
func (j *Journal) forgetFailure() {
	var oldest *Failure
	for _, f := range j.failures {
		if oldest == nil || f.Start.Before(oldest.Start) {
			oldest = f
		}
	}
	delete(j.failures, oldest.Controller)
}

// lastFailures are copies of those that a report has.
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
