package up

import (
	"fmt"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/declare"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/manifest"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
)

// Intervals of the status line that lists the objects not ready yet: on a terminal, where it overwrites one
// line, and in a log.
const (
	terminalInterval = time.Second
	logInterval      = 10 * time.Second
)

// report prints the progress of bowline up: with symbols and colors on a terminal, in plain lines otherwise.
// It is not safe for concurrent use.
type report struct {
	*terminal.Screen

	start                     time.Time
	declared, ready, failures int
}

func newReport(to *terminal.Screen) *report { return &report{Screen: to} }

// statusInterval returns the interval at which StillWaiting should be called.
func (r *report) statusInterval() time.Duration {
	if r.Out.IsTerminal() {
		return terminalInterval
	}
	return logInterval
}

// serving prints the URL of the server, a description of the storage, and how to set KUBECONFIG.
func (r *report) serving(url, kubeconfig, stored string, after time.Duration) {
	r.Println(r.Out.Color(terminal.Bold, terminal.Sprintf("Bowline serves the Kubernetes API at %s", url)) +
		terminal.Sprintf(" (ready in %s)", terminal.RoundDuration(after)))
	r.Println(terminal.Sprintf("%s", stored))
	r.Println("")
	r.Println("    export KUBECONFIG=" + terminal.ShellQuote(kubeconfig))
	r.Println("")
}

func (r *report) begin(objects int) { r.start, r.declared = time.Now(), objects }

// end prints a summary of the declared objects.
func (r *report) end() {
	summary := terminal.Sprintf("%d of %d declared objects ready after %s", r.ready, r.declared,
		terminal.RoundDuration(time.Since(r.start)))
	if r.failures > 0 {
		summary += terminal.Sprintf(", %d failed", r.failures)
	}
	r.Println(r.Out.Color(terminal.Bold, summary))
}

func (r *report) stopping() { r.Println("Stopped.") }

// failed prints the error of a document that could not be read or applied. The error contains the file and
// line.
func (r *report) failed(err error) {
	r.failures++
	r.Println(r.mark("✗", terminal.Red, "failed:") + " " + terminal.Paragraph(err))
}

// warning prints a warning that the server returned for an accepted document.
func (r *report) warning(about manifest.Source, text string) {
	r.Println(terminal.Sprintf("%s %s: %s", r.mark("!", terminal.Yellow, "warning:"), about, text))
}

// Ready implements declare.Reporter.
func (r *report) Ready(a declare.Applied, t declare.Readiness) {
	r.ready++
	r.printObject(a, "✓", terminal.Green, t.State, "")
}

// NotReady implements declare.Reporter.
func (r *report) NotReady(a declare.Applied, t declare.Readiness) {
	r.printObject(a, "…", terminal.Yellow, "not "+t.State+" yet", ": "+t.Reason)
}

// Deleted implements declare.Reporter.
func (r *report) Deleted(a declare.Applied) {
	r.printObject(a, "-", terminal.Yellow, "deleted", "")
}

// printObject prints one line about an object: its state, the elapsed time, its name, and the source of its
// declaration. On a terminal the source is omitted if the line would be too wide.
func (r *report) printObject(a declare.Applied, sign terminal.Text, colour, what, more string) {
	text := terminal.Sprintf("%-13s %7s  %s%s", what, terminal.RoundDuration(time.Since(r.start)), a.Name(), more)
	source := terminal.Sprintf("  %s", a.Source)
	if !r.Out.IsTerminal() {
		r.Println(text + source)
		return
	}
	if 2+len(text)+len(source) > r.Out.Width() {
		source = ""
	}
	r.Println(r.Out.Color(colour, sign) + " " + text + r.Out.Color(terminal.Faint, source))
}

// StillWaiting implements declare.Reporter.
func (r *report) StillWaiting(waiting []declare.Applied) {
	names := make([]string, len(waiting))
	for i, a := range waiting {
		names[i] = a.Name()
	}
	const maxNames = 3
	if extra := len(names) - maxNames; extra > 0 {
		names = append(names[:maxNames], fmt.Sprintf("and %d more", extra))
	}
	r.SetStatus(terminal.Sprintf("waiting for %s (%s)", strings.Join(names, ", "), time.Since(r.start).Round(time.Second)))
}

// mark returns the prefix of a line: a colored sign on a terminal, a word otherwise.
func (r *report) mark(sign terminal.Text, colour string, word terminal.Text) terminal.Text {
	if !r.Out.IsTerminal() {
		return word
	}
	return r.Out.Color(colour, sign)
}
