package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// What terminals understand.
const (
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	yellow    = "\x1b[33m"
	strong    = "\x1b[1m"
	faint     = "\x1b[2m"
	normal    = "\x1b[0m"
	clearLine = "\r\x1b[2K"
)

// screen is where up prints: the lines of its report, of which the last may change while a terminal shows it, and its
// log, which may go to the same terminal and must not end up in that line. Its methods may be called by many goroutines.
type screen struct {
	out, err terminal

	mu       sync.Mutex
	changing string // the line that is shown for now; empty for none
	settled  bool   // no line changes any more
}

// terminal is a writer that may be one. width is nil when it is none, or is asked to be treated so.
type terminal struct {
	io.Writer
	width func() int
}

func newScreen(out, err io.Writer) *screen {
	return &screen{out: newTerminal(out), err: newTerminal(err)}
}

func newTerminal(to io.Writer) terminal {
	file, ok := to.(interface{ Fd() uintptr })
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	if !ok || plain || !term.IsTerminal(int(file.Fd())) {
		return terminal{Writer: to}
	}
	return terminal{Writer: to, width: func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}}
}

// forPeople reports whether somebody watches.
func (t terminal) forPeople() bool { return t.width != nil }

// in is a text in a colour, for people.
func (t terminal) in(colour, text string) string {
	if !t.forPeople() || colour == "" || text == "" {
		return text
	}
	return colour + text + normal
}

// line prints a line that stays.
func (s *screen) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintln(s.out, text)
}

// change shows a line until the next one, cut to what fits: a terminal cannot take back what it has wrapped. Where nobody
// watches, the line stays.
func (s *screen) change(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.out.forPeople():
		fmt.Fprintln(s.out, text)
	case !s.settled:
		s.show(fitting(text, s.out.width()-1))
	}
}

// settle takes the changing line away for good: somebody else is about to print.
func (s *screen) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.settled = true
}

// Write takes whole lines of the log.
func (s *screen) Write(log []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := s.changing
	if s.err.forPeople() {
		s.clear()
		defer s.show(shown)
	}
	return s.err.Write(log)
}

// show draws the changing line. The lock is held.
func (s *screen) show(text string) {
	if text != "" {
		fmt.Fprint(s.out, clearLine, text)
	}
	s.changing = text
}

// clear takes the changing line away. The lock is held.
func (s *screen) clear() {
	if s.changing != "" {
		fmt.Fprint(s.out, clearLine)
	}
	s.changing = ""
}

// fitting is a text cut to so many characters.
func fitting(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(width-1, 0)]) + "…"
}
