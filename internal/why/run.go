package why

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// Bounds of one run.
const (
	// MaxCauses is how many causes of one run are kept; the others are counted.
	MaxCauses = 8
	maxNotes  = 16 // and as many acts
	maxWrites = 32
	maxText   = 512 // bytes of a note or an error
)

// Run is one time that a controller looked at one object: why, and what came of it. Runs of one object that did nothing and
// ended alike, one after the other, are one Run that counts them and tells of the last.
type Run struct {
	// ID is the run's alone, also among those of other processes.
	ID         string `json:"id"`
	Controller string `json:"controller"`
	// Object is what was reconciled. Its resource is empty for a controller that is not for one.
	Object Object `json:"object"`
	// Start and Duration are those of the last time, First is when it was run first, and Times how often.
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"nanoseconds"`
	First    time.Time     `json:"first"`
	Times    int           `json:"times"`

	Causes     []Cause `json:"causes,omitempty"`
	MoreCauses int     `json:"moreCauses,omitempty"`
	// Notes are what the reconciler says that it compared, Acts what it did beside its Writes.
	Notes      []string `json:"notes,omitempty"`
	Acts       []string `json:"acts,omitempty"`
	Writes     []Write  `json:"writes,omitempty"`
	MoreWrites int      `json:"moreWrites,omitempty"`
	// Err is why it failed; empty if it did not.
	Err string `json:"error,omitempty"`
	// RequeueAfter is what it asked for.
	RequeueAfter time.Duration `json:"requeueAfterNanoseconds,omitempty"`

	// After are the runs that led to it: those whose writes were its causes, and the one that it retries. They follow from the
	// other runs that a journal has; a Report says them.
	After []string `json:"after,omitempty"`
}

// Write is what a run wrote, or tried to.
type Write struct {
	Verb        string          `json:"verb"`
	Object      Object          `json:"object"`
	Subresource string          `json:"subresource,omitempty"`
	UID         types.UID       `json:"uid,omitempty"`
	Revision    object.Revision `json:"revision,omitempty"`
	Deleting    bool            `json:"deleting,omitempty"` // the object waits for its finalizers, or went with the last
	Status      int             `json:"status,omitempty"`
	Err         string          `json:"error,omitempty"`
	// Unchanged is that the server answered the state that was there before: the write was for nothing.
	Unchanged bool `json:"unchanged,omitempty"`
}

// writeOf is a write as a client saw it answered.
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

// changing says that a write succeeded and made another state.
func (w *Write) changing() bool { return w.Err == "" && !w.Unchanged }

// end is when the run, or the last of them, ended.
func (r *Run) end() time.Time { return r.Start.Add(r.Duration) }

// quiet says that a run did nothing.
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

// size is about how many bytes a run holds.
func (r *Run) size() int {
	n := 512 + len(r.ID) + len(r.Controller) + len(r.Err) + 64
	for k := range r.Causes {
		n += 176 + r.Causes[k].Object.size() + len(r.Causes[k].By) + len(r.Causes[k].UID) + len(r.Causes[k].Err) + len(r.Causes[k].Run)
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

// tidy is a text as it is kept: not too long, and safe to print on a terminal.
func tidy(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) { // nor what turns the direction of the text around
			return ' '
		}
		return r // what is no valid UTF-8 becomes U+FFFD
	}, text)
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
