package why

import (
	"slices"
	"time"
)

// Report is what a journal knows about one object, or about all.
type Report struct {
	// Object is the object of the report; zero for everything.
	Object Object `json:"object,omitzero"`
	// Now is the journal's clock, for comparison with the times in the report.
	Now time.Time `json:"now"`
	// Runs lists the runs that concern the object, caused one that does, or were caused by one; oldest first,
	// with After.
	Runs []Run `json:"runs"`
	// Loops lists the hot loops that involve the object.
	Loops []Loop `json:"loops,omitempty"`
	// Failures lists the latest failure of each controller, by name. Only a report about everything has them.
	Failures []Failure `json:"failures,omitempty"`
}

// DefaultRuns is the default limit of a report.
const DefaultRuns = 20

// Report returns the latest runs of an object, the runs that caused them, and the runs that they caused in
// other controllers. A zero object means all objects. limit bounds the runs of the object itself; 0 means
// DefaultRuns.
func (j *Journal) Report(about Object, limit int) *Report {
	if limit <= 0 {
		limit = DefaultRuns
	}
	report := &Report{Object: about, Now: time.Now()}
	all := j.snapshot(report)
	slices.SortStableFunc(all, func(a, b Run) int { return a.Start.Compare(b.Start) })
	report.Runs = []Run{}
	for _, k := range related(all, about, limit) {
		report.Runs = append(report.Runs, all[k])
	}
	return report
}

// snapshot returns all completed runs, and sets the loops and failures of a report.
func (j *Journal) snapshot(report *Report) (runs []Run) {
	j.mu.Lock()
	defer j.mu.Unlock()
	report.Loops = j.loops.involving(report.Object)
	if report.Object == (Object{}) {
		report.Failures = j.failures.list()
	}
	for _, s := range []*shelf{&j.did, &j.quiet} {
		for at := s.entries.Front(); at != nil; at = at.Next() {
			runs = append(runs, at.Value.(*entry).run)
		}
	}
	return runs
}

// related returns the indexes of the runs that concern an object, their causes and their consequences, in
// order, and sets After.
func related(runs []Run, about Object, limit int) []int {
	before := link(runs)
	after := make([][]int, len(runs))
	for k := range runs {
		for _, b := range before[k] {
			after[b] = append(after[b], k)
		}
	}
	chosen := make([]bool, len(runs))
	for k := len(runs) - 1; k >= 0 && limit > 0; k-- {
		if runs[k].concerns(about) {
			if !chosen[k] {
				limit--
			}
			reach(k, before, chosen)
			reach(k, after, chosen)
		}
	}
	var result []int
	for k := range runs {
		if !chosen[k] {
			continue
		}
		result = append(result, k)
		for _, b := range before[k] {
			runs[k].After = append(runs[k].After, runs[b].ID)
		}
	}
	return result
}

// reach marks a run and all runs that can be reached from it.
func reach(from int, edges [][]int, chosen []bool) {
	seen := map[int]bool{from: true}
	for todo := []int{from}; len(todo) > 0; {
		k := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		chosen[k] = true
		for _, next := range edges[k] {
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
}

// concerns reports whether a run reconciled an object, was caused by it, or wrote it.
func (r *Run) concerns(o Object) bool {
	if o == (Object{}) || r.Object == o {
		return true
	}
	return slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.Object == o }) ||
		slices.ContainsFunc(r.Writes, func(w Write) bool { return w.Object == o })
}

// link returns, for each run, the earlier runs that caused it, in order.
func link(runs []Run) [][]int {
	type made struct {
		write *Write
		by    int
	}
	ids := make(map[string]int, len(runs))
	writes := map[Object][]made{}
	for k := range runs {
		ids[runs[k].ID] = k
		for n := range runs[k].Writes {
			if w := &runs[k].Writes[n]; w.changing() {
				writes[w.Object] = append(writes[w.Object], made{w, k})
			}
		}
	}
	before := make([][]int, len(runs))
	for k := range runs {
		for n := range runs[k].Causes {
			c := &runs[k].Causes[n]
			ended := -1
			for _, m := range writes[c.Object] {
				switch {
				case m.by == k:
				case c.madeBy(m.write.Revision, m.write.UID):
					before[k] = append(before[k], m.by)
				case c.deletedBy(m.write):
					ended = m.by
				}
			}
			if failed, known := ids[c.Run]; known {
				before[k] = append(before[k], failed)
			}
			before[k] = append(before[k], ended)
		}
		slices.Sort(before[k])
		before[k] = slices.DeleteFunc(slices.Compact(before[k]), func(b int) bool { return b < 0 || b == k })
	}
	return before
}

// deletedBy reports whether a write may be the deletion in a cause: a delete without finalizers, or the
// removal of the last finalizer. The responses to these have no revision, or an earlier one. If there are
// several, it is the last.
func (c *Cause) deletedBy(w *Write) bool {
	if c.Kind != Changed || c.Change != Deleted || w.UID != c.UID || w.UID == "" {
		return false
	}
	return w.Revision < c.Revision && (w.Verb == "delete" || w.Deleting)
}
