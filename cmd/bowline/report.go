package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/declare"
)

// How often a report tells what is still awaited: to a person, who sees one line change, or to a log.
const (
	everyForPeople = time.Second
	everyForLogs   = 10 * time.Second
)

// report prints what up does: with marks, colours and a changing last line in a terminal, else in plain lines. One
// goroutine uses it at a time.
type report struct {
	out      io.Writer
	terminal bool
	showing  bool // a changing last line is on the terminal

	begun                   time.Time
	declared, became, wrong int
}

func newReport(out io.Writer) *report { return &report{out: out, terminal: isTerminal(out)} }

// every is how often StillWaiting is to be told.
func (r *report) every() time.Duration {
	if r.terminal {
		return everyForPeople
	}
	return everyForLogs
}

func (r *report) serving(url, kubeconfig string, after time.Duration) {
	r.line("%s", r.bold("Bowline serves the Kubernetes API at "+url)+fmt.Sprintf(" (ready in %s)", rounded(after)))
	r.line("The store is memory: what is declared is lost when bowline stops.")
	r.line("")
	r.line("    export KUBECONFIG=%s", quoted(kubeconfig))
	r.line("")
}

func (r *report) begin(objects int) { r.begun, r.declared = time.Now(), objects }

// end sums up what became of the declared objects.
func (r *report) end() {
	summary := fmt.Sprintf("%d of %d declared objects true after %s", r.became, r.declared, rounded(time.Since(r.begun)))
	if r.wrong > 0 {
		summary += fmt.Sprintf(", %d failed", r.wrong)
	}
	r.line("%s", r.bold(summary))
}

func (r *report) stopping() { r.line("Stopped.") }

// failed prints a document that could not be read or applied. The error says where it stands.
func (r *report) failed(err error) {
	r.wrong++
	r.line("%s%s", r.mark("✗ ", red, "failed: "), err)
}

func (r *report) warning(text string) { r.line("%s%s", r.mark("! ", yellow, "warning: "), text) }

// BecameTrue implements declare.Reporter.
func (r *report) BecameTrue(a declare.Applied, t declare.Truth) {
	r.became++
	r.line("%s%s  %s after %s  (%s)", r.mark("✓ ", green, ""), a.Name(), t.What, rounded(time.Since(r.begun)), a.Source)
}

// NotYet implements declare.Reporter.
func (r *report) NotYet(a declare.Applied, t declare.Truth) {
	r.line("%s%s  not %s yet: %s  (%s)", r.mark("… ", yellow, ""), a.Name(), t.What, t.Why, a.Source)
}

// Deleted implements declare.Reporter.
func (r *report) Deleted(a declare.Applied) {
	r.line("%s%s  deleted before it was true  (%s)", r.mark("- ", yellow, ""), a.Name(), a.Source)
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
	text := fmt.Sprintf("waiting for %s (%s)", strings.Join(names, ", "), time.Since(r.begun).Round(time.Second))
	if !r.terminal {
		r.line("%s", text)
		return
	}
	fmt.Fprintf(r.out, "%s%s", clearLine, text)
	r.showing = true
}

// What terminals understand.
const (
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	yellow    = "\x1b[33m"
	strong    = "\x1b[1m"
	normal    = "\x1b[0m"
	clearLine = "\r\x1b[2K"
)

// line prints one line, in the place of a changing one where that is shown.
func (r *report) line(format string, args ...any) {
	if r.showing {
		fmt.Fprint(r.out, clearLine)
		r.showing = false
	}
	fmt.Fprintf(r.out, format+"\n", args...)
}

// mark begins a line: with a coloured sign in a terminal, else with a word, which may be empty.
func (r *report) mark(sign, colour, word string) string {
	if !r.terminal {
		return word
	}
	return colour + sign + normal
}

func (r *report) bold(text string) string {
	if !r.terminal {
		return text
	}
	return strong + text + normal
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
