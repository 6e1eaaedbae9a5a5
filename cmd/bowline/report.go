package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/declare"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
)

// How often a report tells what is still awaited: to a person, who sees one line change, or to a log.
const (
	everyForPeople = time.Second
	everyForLogs   = 10 * time.Second
)

// report prints what up does: with marks and colours in a terminal, else in plain lines. One goroutine uses it at a time.
type report struct {
	*screen

	begun                   time.Time
	declared, became, wrong int
}

func newReport(to *screen) *report { return &report{screen: to} }

// every is how often StillWaiting is to be told.
func (r *report) every() time.Duration {
	if r.out.forPeople() {
		return everyForPeople
	}
	return everyForLogs
}

// serving says where the server is to be found, and kept where its objects are.
func (r *report) serving(url, kubeconfig, kept string, after time.Duration) {
	r.line(r.out.in(strong, "Bowline serves the Kubernetes API at "+url) + fmt.Sprintf(" (ready in %s)", rounded(after)))
	r.line(kept)
	r.line("")
	r.line("    export KUBECONFIG=" + quoted(kubeconfig))
	r.line("")
}

func (r *report) begin(objects int) { r.begun, r.declared = time.Now(), objects }

// end sums up what became of the declared objects.
func (r *report) end() {
	summary := fmt.Sprintf("%d of %d declared objects true after %s", r.became, r.declared, rounded(time.Since(r.begun)))
	if r.wrong > 0 {
		summary += fmt.Sprintf(", %d failed", r.wrong)
	}
	r.line(r.out.in(strong, summary))
}

func (r *report) stopping() { r.line("Stopped.") }

// failed prints a document that could not be read or applied. The error says where it stands.
func (r *report) failed(err error) {
	r.wrong++
	r.line(r.mark("✗", red, "failed:") + " " + err.Error())
}

// warning prints what the server has to say about a document that it takes.
func (r *report) warning(about manifest.Source, text string) {
	r.line(fmt.Sprintf("%s %s: %s", r.mark("!", yellow, "warning:"), about, text))
}

// BecameTrue implements declare.Reporter.
func (r *report) BecameTrue(a declare.Applied, t declare.Truth) {
	r.became++
	r.happened(a, "✓", green, t.What, "")
}

// NotYet implements declare.Reporter.
func (r *report) NotYet(a declare.Applied, t declare.Truth) {
	r.happened(a, "…", yellow, "not "+t.What+" yet", ": "+t.Why)
}

// Deleted implements declare.Reporter.
func (r *report) Deleted(a declare.Applied) {
	r.happened(a, "-", yellow, "deleted", "")
}

// happened prints what became of an object, in columns: what, after how long, which object, and where it is declared,
// which people are told only where it fits.
func (r *report) happened(a declare.Applied, sign, colour, what, more string) {
	text := fmt.Sprintf("%-13s %7s  %s%s", what, rounded(time.Since(r.begun)), a.Name(), more)
	source := "  " + a.Source.String()
	if !r.out.forPeople() {
		r.line(text + source)
		return
	}
	if 2+len(text)+len(source) > r.out.width() {
		source = ""
	}
	r.line(r.out.in(colour, sign) + " " + text + r.out.in(faint, source))
}

// StillWaiting implements declare.Reporter.
func (r *report) StillWaiting(waiting []declare.Applied) {
	names := make([]string, len(waiting))
	for i, a := range waiting {
		names[i] = a.Name()
	}
	const most = 3
	if extra := len(names) - most; extra > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", extra))
	}
	r.change(fmt.Sprintf("waiting for %s (%s)", strings.Join(names, ", "), time.Since(r.begun).Round(time.Second)))
}

// mark begins a line: with a coloured sign for people, else with a word.
func (r *report) mark(sign, colour, word string) string {
	if !r.out.forPeople() {
		return word
	}
	return r.out.in(colour, sign)
}

// rounded is a duration to three digits or so.
func rounded(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}

// quoted is a path as a shell takes it.
func quoted(path string) string {
	if strings.ContainsAny(path, " '\"$&|;<>()*?[]#~`\\!\t\n") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
