// Package terminal prints lines, a status line, progress, and a log. It uses colors and overwrites the status
// line only if the output is a terminal.
package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Escape sequences of terminals.
const (
	Red       = "\x1b[31m"
	Green     = "\x1b[32m"
	Yellow    = "\x1b[33m"
	Bold      = "\x1b[1m"
	Faint     = "\x1b[2m"
	Reset     = "\x1b[0m"
	ClearLine = "\r\x1b[2K"
)

// Screen prints lines and a status line to the standard output, and a log to the standard error. If both are
// the same terminal, the log does not interfere with the status line. Its methods are safe for concurrent
// use.
type Screen struct {
	Out, Err Terminal

	mu     sync.Mutex
	status Text // the current status line; empty if there is none
	ended  bool // EndStatus was called
}

// Terminal is a writer that may be a terminal. Width returns the number of columns; it is nil if the writer
// is not a terminal or must not be treated as one.
type Terminal struct {
	io.Writer
	Width func() int
}

// NewScreen returns a Screen that prints to out and logs to err.
func NewScreen(out, err io.Writer) *Screen {
	return &Screen{Out: New(out), Err: New(err)}
}

// New returns a Terminal for a writer. It does not treat the writer as a terminal if NO_COLOR is set or TERM
// is dumb.
func New(to io.Writer) Terminal {
	file, ok := to.(interface{ Fd() uintptr })
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	if !ok || plain || !term.IsTerminal(int(file.Fd())) {
		return Terminal{Writer: to}
	}
	return Terminal{Writer: to, Width: func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}}
}

// OfWidth returns a Terminal that treats the writer as a terminal with width columns.
func OfWidth(to io.Writer, width int) Terminal {
	return Terminal{Writer: to, Width: func() int { return width }}
}

// ScreenOfWidth returns a Screen whose output and log go to one terminal with width columns. Tests use it.
func ScreenOfWidth(to io.Writer, width int) *Screen {
	both := OfWidth(to, width)
	return &Screen{Out: both, Err: both}
}

// IsTerminal reports whether the writer is a terminal.
func (t Terminal) IsTerminal() bool { return t.Width != nil }

// Color returns the text in a color if the writer is a terminal, and unchanged otherwise.
func (t Terminal) Color(colour string, text Text) Text {
	if !t.IsTerminal() || colour == "" || text == "" {
		return text
	}
	return Text(colour) + text + Reset
}

// Println prints a permanent line.
func (s *Screen) Println(text Text) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearStatus()
	fmt.Fprintln(s.Out, text)
}

// SetStatus replaces the status line. On a terminal, it truncates the text to the width, because a wrapped
// line cannot be erased. Otherwise it prints a permanent line.
func (s *Screen) SetStatus(text Text) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.Out.IsTerminal():
		fmt.Fprintln(s.Out, text)
	case !s.ended:
		s.drawStatus(truncate(text, s.Out.Width()-1))
	}
}

// EndStatus removes the status line. Later calls of SetStatus have no effect on a terminal.
func (s *Screen) EndStatus() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearStatus()
	s.ended = true
}

// Write implements io.Writer for the log. The data must consist of whole lines.
func (s *Screen) Write(log []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := s.status
	if s.Err.IsTerminal() {
		s.clearStatus()
		defer s.drawStatus(shown)
	}
	return s.Err.Write(log)
}

// drawStatus draws the status line. The caller holds the lock.
func (s *Screen) drawStatus(text Text) {
	if text != "" {
		fmt.Fprint(s.Out, ClearLine, text)
	}
	s.status = text
}

// clearStatus erases the status line. The caller holds the lock.
func (s *Screen) clearStatus() {
	if s.status != "" {
		fmt.Fprint(s.Out, ClearLine)
	}
	s.status = ""
}

// truncate shortens a text to width characters.
func truncate(text Text, width int) Text {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return Text(runes[:max(width-1, 0)]) + "…"
}
