package why

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/bowline-dev/bowline/internal/printable"
)

// Bounds of what is accepted from other processes.
const (
	maxBody     = 1 << 20 // bytes of one delivery
	maxDelivery = 512     // runs of one delivery
	maxName     = 512     // bytes of a name
	clockSkew   = time.Hour
)

// Delivery is the body of a POST: completed runs of a process.
type Delivery struct {
	Runs []Run `json:"runs"`
}

// Check validates a delivery, which may come from an untrusted client. The error names the run and the field.
func (d *Delivery) Check(now time.Time) error {
	if len(d.Runs) > maxDelivery {
		return fmt.Errorf("%d runs are too many for one request: send at most %d", len(d.Runs), maxDelivery)
	}
	for k := range d.Runs {
		if err := d.Runs[k].check(now); err != nil {
			return fmt.Errorf("runs[%d].%w", k, err)
		}
	}
	return nil
}

// checks records the first error.
type checks struct{ err error }

func (c *checks) that(ok bool, format string, arguments ...any) {
	if !ok && c.err == nil {
		c.err = fmt.Errorf(format, arguments...)
	}
}

// text checks a line of text, which may be printed on a terminal.
func (c *checks) text(field, text string, limit int) {
	c.that(len(text) <= limit, "%s: %d bytes are too long: at most %d", field, len(text), limit)
	c.that(utf8.ValidString(text), "%s: is not valid UTF-8", field)
	c.that(printable.Is(text), "%s: contains unprintable characters", field)
}

func (c *checks) name(field, name string) { c.text(field, name, maxName) }

func (c *checks) object(field string, o Object, required bool) {
	c.name(field+".group", o.Group)
	c.name(field+".resource", o.Resource)
	c.name(field+".namespace", o.Namespace)
	c.name(field+".name", o.Name)
	c.that(!required || o.Resource != "", "%s.resource: is missing", field)
}

func (r *Run) check(now time.Time) error {
	c := &checks{}
	c.name("id", r.ID)
	c.that(r.ID != "", "id: is missing")
	c.name("controller", r.Controller)
	c.that(r.Controller != "", "controller: is missing")
	c.object("object", r.Object, false)
	c.that(!r.Start.IsZero() && r.Start.Before(now.Add(clockSkew)), "start: is missing, or lies in the future")
	c.that(!r.First.IsZero() && !r.First.After(r.Start), "first: is missing, or after start")
	c.that(r.Duration >= 0, "nanoseconds: is negative")
	c.that(r.RequeueAfter >= 0, "requeueAfterNanoseconds: is negative")
	c.that(r.Times >= 1, "times: is not positive")
	c.that(r.MoreCauses >= 0, "moreCauses: is negative")
	c.that(r.MoreWrites >= 0, "moreWrites: is negative")
	c.text("error", r.Err, maxText+len("..."))
	c.that(len(r.Causes) <= MaxCauses, "causes: are more than %d", MaxCauses)
	c.that(len(r.Writes) <= maxWrites, "writes: are more than %d", maxWrites)
	c.that(len(r.Notes) <= maxNotes, "notes: are more than %d", maxNotes)
	c.that(len(r.Acts) <= maxNotes, "acts: are more than %d", maxNotes)
	if c.err == nil {
		r.checkParts(c)
	}
	return c.err
}

func (r *Run) checkParts(c *checks) {
	for k := range r.Causes {
		cause, field := &r.Causes[k], fmt.Sprintf("causes[%d]", k)
		c.that(cause.Kind != 0, "%s.kind: is missing", field)
		c.object(field+".object", cause.Object, cause.Kind == Changed)
		c.name(field+".uid", string(cause.UID))
		c.name(field+".run", cause.Run)
		c.name(field+".by", cause.By)
		c.text(field+".error", cause.Err, maxText+len("..."))
	}
	for k := range r.Writes {
		w, field := &r.Writes[k], fmt.Sprintf("writes[%d]", k)
		c.name(field+".verb", w.Verb)
		c.that(w.Verb != "", "%s.verb: is missing", field)
		c.object(field+".object", w.Object, true)
		c.name(field+".subresource", w.Subresource)
		c.name(field+".uid", string(w.UID))
		c.text(field+".error", w.Err, maxText+len("..."))
	}
	for k, text := range r.Notes {
		c.text(fmt.Sprintf("notes[%d]", k), text, maxText+len("..."))
	}
	for k, text := range r.Acts {
		c.text(fmt.Sprintf("acts[%d]", k), text, maxText+len("..."))
	}
}
