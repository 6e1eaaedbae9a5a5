package bowlinetest

import (
	"slices"
	"testing"
	"testing/synctest"
)

// Bubble runs a test of a plane in virtual time: the plane, its controllers and everything that f starts live in one bubble of
// testing/synctest. Its clock stands still while anybody works, and jumps to the next timer once all wait; days pass in
// milliseconds, and synctest.Wait returns when there is nothing left to do at this instant.
//
// What synctest says of bubbles holds: f must not use t.Run or t.Parallel, which are called before Bubble, nor channels
// that were made outside; a goroutine that is left when f has returned ends the test with a panic that shows it. There are
// no sockets: their waiting is not the bubble's.
func Bubble(t *testing.T, f func(t *testing.T, p *Plane), options ...Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, Start(t, append(slices.Clone(options), noSocket)...))
	})
}

// noSocket is an option of planes in a bubble.
func noSocket(s *settings) { s.bubble = true }
