package terminal

import "time"

// progressInterval is the minimum time between two updates of the status line.
const progressInterval = 100 * time.Millisecond

// Progress shows the progress of a long operation in the status line. It prints nothing if the output is not
// a terminal.
type Progress struct {
	to          *Screen
	what        string
	Done, total int
	shown       time.Time
}

// NewProgress returns a Progress for an operation on the given number of objects.
func NewProgress(to *Screen, what string, of int) *Progress {
	return &Progress{to: to, what: what, total: of, shown: time.Now()}
}

// Step counts one processed object.
func (p *Progress) Step() {
	p.Done++
	if p.Done%256 != 0 || !p.to.Out.IsTerminal() || time.Since(p.shown) < progressInterval {
		return
	}
	p.shown = time.Now()
	percent := 100
	if p.total > 0 {
		percent = 100 * p.Done / p.total
	}
	p.to.SetStatus(Sprintf("%s: %d of %d objects (%d %%)", p.what, p.Done, p.total, percent))
}
