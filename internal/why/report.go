package why

import (
	"slices"
	"time"
)

// Report is what a journal knows of one object, or of all.
type Report struct {
	// Object is what was asked about; zero for everything.
	Object Object `json:"object,omitzero"`
	// Now is the journal's clock, which the times in it are compared with.
	Now time.Time `json:"now"`
	// Runs concern the object, led to one that does, or follow from one; oldest first, with After.
	Runs []Run `json:"runs"`
	// Loops are the hot loops that the object is in.
	Loops []Loop `json:"loops,omitempty"`
	// Failures are the last one of each controller, by its name. Only a report about everything has them.
	Failures []Failure `json:"failures,omitempty"`
}

// DefaultRuns is how many of an object's last runs a report begins with, unless more are asked for.
const DefaultRuns = 20

// Report tells of an object's last runs, and of what led to them and what they led to in other controllers. A zero object is
// all objects. limit bounds how many runs of the object itself are told of, the last ones; 0 means DefaultRuns.
func (j *Journal) Report(about Object, limit int) *Report {
	if limit <= 0 {
		limit = DefaultRuns
	}
	report := &Report{Object: about, Now: time.Now(), Failures: j.lastFailures(about)}
	var all []Run
	all, report.Loops = j.snapshot(about)
	slices.SortStableFunc(all, func(a, b Run) int { return a.Start.Compare(b.Start) })
	report.Runs = []Run{}
	for _, k := range related(all, about, limit) {
		report.Runs = append(report.Runs, all[k])
	}
	return report
}

// snapshot is all runs that have ended, and the hot loops about an object.
func (j *Journal) snapshot(about Object) (runs []Run, loops []Loop) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range []*shelf{&j.did, &j.quiet} {
		for at := s.entries.Front(); at != nil; at = at.Next() {
			runs = append(runs, at.Value.(*entry).run)
		}
	}
	for _, l := range j.loops {
		if about == (Object{}) || slices.Contains(l.Objects, about) || slices.Contains(l.Subjects, about) {
			loops = append(loops, *l)
		}
	}
	slices.SortFunc(loops, func(a, b Loop) int { return a.First.Compare(b.First) })
	return runs, loops
}

// related are the runs that concern an object, and all that they follow from and lead to; in their order. Each gets its After.
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

// reach chooses a run and all that can be reached from it by edges.
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

// concerns says whether a run is of an object, because of it, or wrote it.
func (r *Run) concerns(o Object) bool {
	if o == (Object{}) || r.Object == o {
		return true
	}
	return slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.Object == o }) ||
		slices.ContainsFunc(r.Writes, func(w Write) bool { return w.Object == o })
}

// link finds, for each run, those before it that led to it, in their order.
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

// deletedBy says whether a write may be the deletion that a cause tells of: one that waits for nothing, or that takes away the
// last finalizer. The answers to those have no revision, or that of the state before. Of several it is the last.
func (c *Cause) deletedBy(w *Write) bool {
	if c.Kind != Changed || c.Change != Deleted || w.UID != c.UID || w.UID == "" {
		return false
	}
	return w.Revision < c.Revision && (w.Verb == "delete" || w.Deleting)
}
