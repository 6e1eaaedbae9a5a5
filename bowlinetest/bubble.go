package bowlinetest

import (
	"slices"
	"testing"
	"testing/synctest"
)

// Bubble runs a test of a plane in virtual time: the plane, its controllers and every goroutine that f starts
// belong to one bubble of testing/synctest. Its clock stands still while a goroutine can run, and advances to
// the next timer when all are blocked, so days pass in milliseconds. synctest.Wait returns when no goroutine
// has work left at the current time.
//
// The rules of synctest apply: f must not call t.Run or t.Parallel (call these before Bubble), nor use
// channels that were created outside. A goroutine that outlives f ends the test with a panic that shows its
// stack. Sockets do not work, because synctest does not see their blocking as durable.
func Bubble(t *testing.T, f func(t *testing.T, p *Plane), options ...Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, Start(t, append(slices.Clone(options), noSocket)...))
	})
}

// noSocket marks the plane as part of a bubble, in which the option Socket is an error.
func noSocket(s *settings) { s.bubble = true }
