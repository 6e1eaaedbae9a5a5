package why

import (
	"slices"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/printable"
)

// Bounds of one run.
const (
	// MaxCauses is the number of causes that a run lists; further ones are only counted.
	MaxCauses = 8
	maxNotes  = 16 // of notes, and of acts
	maxWrites = 32
	maxText   = 512 // bytes of a note or an error
)

// Run is one reconciliation of one object: its causes and its outcome. Consecutive runs for an object that
// did nothing and had the same outcome are merged into one Run, which counts them and describes the latest.
type Run struct {
	// ID is unique across processes.
	ID         string `json:"id"`
	Controller string `json:"controller"`
	// Object is the reconciled object. Its resource is empty if the controller has no source made by For.
	Object Object `json:"object"`
	// Start and Duration are those of the latest run, First is the start of the first, and Times their
	// number.
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"nanoseconds"`
	First    time.Time     `json:"first"`
	Times    int           `json:"times"`

	Causes     []Cause `json:"causes,omitempty"`
	MoreCauses int     `json:"moreCauses,omitempty"`
	// Notes and Acts are the texts that the reconciler recorded with Note and Did.
	Notes      []string `json:"notes,omitempty"`
	Acts       []string `json:"acts,omitempty"`
	Writes     []Write  `json:"writes,omitempty"`
	MoreWrites int      `json:"moreWrites,omitempty"`
	// Err is the error of the run; empty if it succeeded.
	Err string `json:"error,omitempty"`
	// RequeueAfter is the delay that the run requested.
	RequeueAfter time.Duration `json:"requeueAfterNanoseconds,omitempty"`

	// After lists the runs that caused this run: those with writes that triggered it, and the failed run
	// before a retry. Only a Report sets After, because it depends on the other runs.
	After []string `json:"after,omitempty"`
}

// Write is a write that a run made or attempted.
type Write struct {
	Verb        string          `json:"verb"`
	Object      Object          `json:"object"`
	Subresource string          `json:"subresource,omitempty"`
	UID         types.UID       `json:"uid,omitempty"`
	Revision    object.Revision `json:"revision,omitempty"`
	Deleting    bool            `json:"deleting,omitempty"` // the object has a deletion timestamp
	Status      int             `json:"status,omitempty"`
	Err         string          `json:"error,omitempty"`
	// Unchanged reports that the server returned the existing state: the write changed nothing.
	Unchanged bool `json:"unchanged,omitempty"`
}

// writeOf converts a write that a client observed.
func writeOf(w client.Write) Write {
	return Write{
		Verb:        w.Verb,
		Object:      ObjectOf(w.Resource.GroupResource(), w.Namespace, w.Name),
		Subresource: w.Subresource,
		UID:         w.UID,
		Revision:    w.Revision,
		Deleting:    w.Deleting,
		Status:      w.Status,
		Err:         tidy(w.Err),
	}
}

// changing reports whether a write succeeded and changed the object.
func (w *Write) changing() bool { return w.Err == "" && !w.Unchanged }

// end returns the end of the latest run.
func (r *Run) end() time.Time { return r.Start.Add(r.Duration) }

// quiet reports whether a run did nothing.
func (r *Run) quiet() bool {
	if len(r.Acts) > 0 {
		return false
	}
	for k := range r.Writes {
		if r.Writes[k].Err == "" {
			return false
		}
	}
	return true
}

// size estimates the memory of a run, in bytes.
func (r *Run) size() int {
	n := 512 + len(r.ID) + len(r.Controller) + len(r.Err) + 64
	for k := range r.Causes {
		n += 176 + r.Causes[k].Object.size() + len(r.Causes[k].By) + len(r.Causes[k].UID) + len(r.Causes[k].Err) +
			len(r.Causes[k].Run)
	}
	for k := range r.Writes {
		w := &r.Writes[k]
		n += 160 + w.Object.size() + len(w.UID) + len(w.Err) + len(w.Verb) + len(w.Subresource)
	}
	for _, text := range slices.Concat(r.Notes, r.Acts) {
		n += 16 + len(text)
	}
	return n + r.Object.size()
}

func (o *Object) size() int { return len(o.Group) + len(o.Resource) + len(o.Namespace) + len(o.Name) }

// tidy truncates a text and makes it safe to print on a terminal.
func tidy(text string) string {
	text = printable.Line(text)
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
