package bowlinetest

import (
	"slices"
	"testing"
	"testing/synctest"
)

// Bubble starts a plane as Start does and calls f with it in virtual time: the plane, its controllers and every
// goroutine that f starts belong to one bubble of testing/synctest. Its clock stands still while a goroutine can run,
// and advances to the next timer when all are blocked, so days pass in milliseconds. synctest.Wait returns when all
// other goroutines of the bubble wait for the clock or for each other.
//
// The rules of synctest apply: f must not call t.Run or t.Parallel (call these before Bubble), nor use
// channels that were created outside the bubble. A goroutine that outlives f ends the test with a panic that prints its
// stack. Sockets do not work, because for synctest a goroutine that waits for the network can still run.
func Bubble(t *testing.T, f func(t *testing.T, p *Plane), options ...Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, Start(t, append(slices.Clone(options), noSocket)...))
	})
}

// noSocket marks the plane as part of a bubble, in which the option Socket is an error.
func noSocket(s *settings) { s.bubble = true }
